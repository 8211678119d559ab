"""What there is: devices, sandbox, models, strategies with options, what is remembered; and a report of it all."""

from __future__ import annotations

import asyncio
import inspect
import os
import shlex
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import tomlkit
from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode
from pydantic_core import PydanticSerializationError

from tui_tuner.errors import DeviceError, SettingsError, UserError
from tui_tuner.evaluate.devices.kind import DeviceKind
from tui_tuner.evaluate.devices.kinds import KINDS
from tui_tuner.evaluate.devices.probe import DeviceReport, probe_devices
from tui_tuner.evaluate.sandbox.run import Policy
from tui_tuner.evaluate.toolkit import toolkit_program
from tui_tuner.format import configuration_words, counted_in_lines, factor_in_prompts, in_columns
from tui_tuner.llm import shown
from tui_tuner.llm.choose import choose
from tui_tuner.log import last_entries, log_file, this_system, without_secrets
from tui_tuner.memory import KeptReplies
from tui_tuner.memory.sessions import Database, RememberedSessions, StoredEntry
from tui_tuner.problem.load import OF_NO_FILE
from tui_tuner.problem.model import Problem
from tui_tuner.report import SessionOutcome
from tui_tuner.resources import VARIABLES, __version__, installed_version, settings_file
from tui_tuner.session.events import stream_schema
from tui_tuner.settings import Layered, Settings
from tui_tuner.settings.models import with_subjects
from tui_tuner.strategies.base import Strategy
from tui_tuner.strategies.choose import all_strategies
from tui_tuner.subjects import loaded, subjects, subjects_with_settings

_HEAD = ("id", "date", "kernel", "device", "speed-up", "best configuration")


@dataclass(frozen=True)
class Forgetting:
    """What is to be forgotten.

    Attributes:
        ids: sessions by their numbers.
        kernel: the sessions of kernels of this name.
        everything: all sessions and all cached replies.
        replies: all cached replies.
    """

    ids: Sequence[int] = ()
    kernel: str | None = None
    everything: bool = False
    replies: bool = False

    def check(self) -> None:
        """Whether it names something.

        Raises:
            SettingsError: it does not.
        """
        if not (self.ids or self.kernel or self.everything or self.replies):
            hint = "name ids of `tuner-tui memory list`, --kernel NAME, --replies or --all"
            raise SettingsError("nothing is named that is to be forgotten", hint=hint)


def session_lines(file: Path) -> Iterator[str]:
    """A table of the sessions that are remembered, the newest first; nothing where there are none.

    Raises:
        MemoryUnusable: the file cannot be read.
    """
    rows = [_row(remembered) for remembered in RememberedSessions(Database(file)).all()]
    if rows:
        yield from in_columns([_HEAD, *rows])


def reply_line(file: Path) -> str:
    """How many replies are cached, and their size.

    Raises:
        MemoryUnusable: the file cannot be read.
    """
    count, size = KeptReplies(Database(file)).count()
    return f"{counted_in_lines(count, 'cached reply', 'cached replies')}, {size / 1024:.0f} KiB, in {file}"


def forget(file: Path, what: Forgetting) -> str:
    """Forget, and say what was forgotten.

    Raises:
        SettingsError: nothing is named.
        MemoryUnusable: a session that is named is not there, or the file cannot be written.
    """
    what.check()
    told = []
    if what.ids or what.kernel or what.everything:
        sessions = RememberedSessions(Database(file))
        count = sessions.forget(what.ids, kernel=what.kernel, everything=what.everything)
        told.append(counted_in_lines(count, "session"))
    if what.replies or what.everything:
        told.append(counted_in_lines(KeptReplies(Database(file)).forget(), "cached reply", "cached replies"))
    return f"forgot {' and '.join(told)}"


def _row(remembered: StoredEntry) -> tuple[str, ...]:
    entry = remembered.entry
    if entry is None:
        return (str(remembered.id), "?", "?", "?", "?", "cannot be read: forget it")
    unit = " (CPU)" if entry.is_cpu else ""
    best, factor = configuration_words(entry.best.configuration, between=" "), factor_in_prompts(entry.speedup)
    return (str(remembered.id), entry.created[:10], entry.features.kernel, f"{entry.device}{unit}", factor, best)


def schema_of(what: str) -> dict[str, Any]:
    """The JSON Schema of the events, the result, the problem file or the settings, by that word."""
    if what == "events":
        return stream_schema()
    models: dict[str, type[BaseModel]] = {
        "result": SessionOutcome,
        "problem": Problem,
        "settings": with_subjects(subjects_with_settings()),
    }
    mode: JsonSchemaMode = "serialization" if what == "result" else "validation"
    schema = models[what].model_json_schema(mode=mode)
    for name in OF_NO_FILE if what == "problem" else ():
        schema["properties"].pop(name)
    return schema


class Finding(NamedTuple):
    """What is looked at and what was found.

    Attributes:
        stops: whether nothing can be tuned because of it.
    """

    name: str
    text: str
    stops: bool = False


async def findings(settings: Settings) -> AsyncIterator[Finding]:
    """What there is on this machine and what is missing, a line each."""
    file = settings_file()
    yield Finding("settings", str(file) if file.exists() else f"none ({file})")
    yield Finding("log", f"{log_file()} ({settings.log.level})")
    sandbox = await Policy().prove()
    yield Finding("sandbox", sandbox.line, stops=sandbox.level != "confined")
    report = await probe_devices()
    for line in report.lines():
        yield Finding("device", line)
    ready = []
    for kind in _KINDS_HERE:
        builds, text = await asyncio.to_thread(_toolchain, kind, report)
        yield Finding("builds", f"{kind.name}: {text}")
        if builds and not kind.missing(report):
            ready.append(kind.name)
    for program, purpose in _TOOLS.items():
        place = await asyncio.to_thread(toolkit_program, program, settings.build.nvcc)
        missing = "not found: it comes with the CUDA toolkit"
        yield Finding("tool", f"{program}: {missing if place is None else place} ({purpose})")
    ray = f"Ray {version('ray')}" if find_spec("ray") else "no Ray: pip install 'tuner-tui[cluster]'"
    yield Finding("cluster", ray)
    async for name, text in _models(settings):
        yield Finding(name, text)
    for subject in subjects().values():
        if subject.findings:
            yield Finding(subject.name, await asyncio.to_thread(loaded(subject.findings), settings))
    nothing = "nothing: install one of the devices and compilers above"
    yield Finding("ready", f"--device {', '.join(ready)}" if ready else nothing, stops=not ready)


_TOOLS = {
    "nvdisasm": "the machine code of a kernel, for the model and `show`",
    "ncu": "what a launch counts: memory, occupancy, stalls",
    "compute-sanitizer": "watches a kernel's memory and races before it is accepted",
}
"""Programs of the CUDA toolkit that are run where they are there, and what they are for."""
_KINDS_HERE = [kind for kind in KINDS.values() if not kind.is_record]


def ready_devices(report: DeviceReport) -> list[tuple[str, str]]:
    """What can be tuned on, as `--device` takes it, with what it is."""
    found: list[tuple[str, str]] = []
    for kind in _KINDS_HERE:
        builds, text = _toolchain(kind, report)
        if builds and not kind.missing(report):
            numbered = {"cuda": enumerate(report.cuda_devices), "opencl": report.opencl_devices.items()}
            units = [(f"{kind.name}:{unit}", name) for unit, name in numbered.get(kind.name, ())]
            found += units or [(kind.name, text)]
    return found


def _toolchain(kind: DeviceKind, report: DeviceReport) -> tuple[bool, str]:
    """Whether something builds for the kind, and what or why not."""
    try:
        return True, kind.toolchain(report)
    except DeviceError as error:
        return False, f"{error.message} ({error.hint})" if error.hint else error.message


async def _models(settings: Settings) -> AsyncIterator[tuple[str, str]]:
    """The model that is set, where one is; then why `auto` passes over which, and what it finds."""
    for spec in dict.fromkeys((settings.session.llm, "auto")):
        own = "" if spec == "auto" else f"session.llm is set to '{spec}': "
        passed: list[str] = []
        try:
            backend = await choose(spec, settings.model, passed.append)
        except UserError as error:
            yield "model", f"{own}{error.message}"
            continue
        for reason in passed:
            yield "model", f"not {reason}"
        if backend is not None:
            yield "model", f"{own}{backend.name} answers"
            await backend.aclose()
        elif own or settings.session.llm == "auto":
            yield "model", f"{own}none: `tuner-tui` runs the strategy 'search'"


def strategy_lines() -> Iterator[str]:
    """Name and purpose of each strategy, and its options with their defaults."""
    for name, found in all_strategies():
        if isinstance(found, SettingsError):
            yield f"{name}: {found.message}"
            continue
        yield f"{name}: {(inspect.getdoc(found) or 'no description').splitlines()[0]}"
        yield from (f"  --set {option}" for option in _options(found))


def _options(strategy: type[Strategy]) -> Iterator[str]:
    """Each option with its default, as `--set` takes it."""
    needed = {name for name, field in strategy.model_fields.items() if field.is_required()}
    try:
        defaults = strategy.model_construct().model_dump(mode="json", exclude=needed)
    except PydanticSerializationError:  # an option that only Python can set
        defaults = {}
    for name in strategy.model_fields:
        value = defaults.get(name)
        if value is None:
            yield f"{name}=...{', needed' if name in needed else ''}"
        else:
            yield shlex.quote(f"{name}={_toml(value)}")


def _toml(value: Any) -> str:  # noqa: ANN401 (whatever an option holds)
    if isinstance(value, dict):
        table = tomlkit.inline_table()
        table.update(value)
        return table.as_string()
    return str(tomlkit.item(value).as_string())


_PACKAGES = (
    "textual", "rich", "pydantic", "kernel_tuner", "numpy", "scipy", "tree-sitter", "httpx", "ollama", "openai",
    "anthropic", "keyring", "cuda-python", "nvidia-ml-py", "pycuda", "cupy-cuda12x", "cupy-cuda13x", "pyopencl", "ray",
    "torch", "triton", "helion", "textual-serve",
)  # fmt: skip
_TELLING = (VARIABLES, "CUDA_", "OCL_", "POCL_", "OLLAMA_", "TERM", "COLORTERM", "NO_COLOR", "LANG", "LC_", "TEXTUAL")
"""How the names of variables begin that change what this program does."""
_ENTRIES = 50


async def bug_report(layered: Layered) -> dict[str, Any]:
    """The report as one JSON object, without keys; paths in the home directory begin with `~`."""
    found = [finding async for finding in findings(layered.settings)]
    report: dict[str, Any] = without_secrets(
        {
            "program": __version__,
            **this_system(),
            "packages": {name: installed_version(name) for name in _PACKAGES},
            "findings": [finding._asdict() for finding in found],
            "settings": list(_set(layered)),
            "environment": dict(_environment()),
            "log": {"file": log_file(), "last": last_entries(_ENTRIES)},
        }
    )
    return report


def _set(layered: Layered) -> Iterator[dict[str, Any]]:
    """What is set, with where."""
    paths = dict.fromkeys(path for layer in layered.layers for path, _ in layer.leaves())
    for path in paths:
        names = [str(part) for part in path]
        setting = next(layer for layer in reversed(layered.layers) if layer.sets(names))
        value = dict(setting.leaves())[path]
        yield {"key": ".".join(names), "value": _without_password(value), "from": str(setting.place(path))}


def _environment() -> Iterator[tuple[str, str]]:
    for name, value in sorted(os.environ.items()):
        if name.endswith("_API_KEY"):
            yield name, "is set" if value else "is empty"
        elif name.startswith(_TELLING) or name.endswith("_BASE_URL"):
            yield name, _without_password(value)


def _without_password(value: Any) -> Any:  # noqa: ANN401 (whatever is set)
    """An address without what may give access to it."""
    return shown(value) if isinstance(value, str) and "://" in value else value
