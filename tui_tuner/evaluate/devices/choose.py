"""From `--device` and the kernel's language to a device and the compiler that builds for it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from tui_tuner.errors import DeviceError
from tui_tuner.evaluate.build.compilers import Compiler
from tui_tuner.evaluate.devices.base import Device
from tui_tuner.evaluate.devices.kind import ALL, Address, DeviceChoice, DeviceKind, DeviceSelection
from tui_tuner.evaluate.devices.kinds import KINDS, RecordedKind, kind_named, kinds_for, usable_kind
from tui_tuner.evaluate.devices.probe import Probe, probe_preferred
from tui_tuner.evaluate.results import DeviceInfo
from tui_tuner.problem.languages import COMPILED_LANGUAGES
from tui_tuner.problem.model import Language, Problem

_FORM = re.compile(r"(?P<kind>\w+)(?::(?P<places>[\w.,-]+))?(?:@(?P<backend>[\w-]+))?", re.ASCII)
_PLACE = re.compile(
    r"(?:(?P<platform>\d+)\.)?(?P<index>\d+)|(?P<uuid>(?:gpu|mig)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})",
    re.ASCII,
)


def device_named(text: str) -> DeviceChoice:
    """A device as the user names it: `cuda`, `cuda:1`, `cuda:0@cupy`, `opencl:1`, `opencl:0.1`, `c`, `emulator`.

    Raises:
        DeviceError: nothing is called that, or several devices are.
    """
    selection = devices_named(text)
    if selection.others:
        raise DeviceError(f"'{text}' names several devices, and one is needed", hint="name one of them")
    return selection.first


def devices_named(text: str) -> DeviceSelection:
    """One device or several of a kind, as the user names them: `cuda:1`, `cuda:0,1`, `cuda:all`, `emulator:0,1`.

    Raises:
        DeviceError: nothing is called that, one is named twice, or such devices cannot be used side by side.
    """
    form = _FORM.fullmatch(text.strip().lower())
    name = form["kind"] if form else ""
    if name == "hip":
        raise DeviceError(
            "kernels cannot be built for HIP yet", hint="an AMD GPU runs .cl kernels with --device opencl"
        )
    kind, places = KINDS.get(name), form["places"] if form else None
    if form is None or kind is None:
        raise _no_device(text)
    if kind.has_several and places == ALL and kind.is_spelled(None, None, form["backend"]):
        return DeviceSelection(DeviceChoice(name, backend=form["backend"] or "auto", unit=ALL))
    if not kind.has_several and places and ("," in places or places == ALL):
        message = f"'{name}' runs one kernel at a time: several on one machine would disturb each other"
        raise DeviceError(message, hint=f"use --device {name}")
    choices = [_choice(kind, place, form["backend"]) for place in (places.split(",") if places else [None])]
    named = [choice for choice in choices if choice is not None]
    if len(named) < len(choices):
        raise _no_device(text)
    if len(set(named)) < len(named):
        raise DeviceError(f"'{text}' names a device twice", hint="name each once")
    return DeviceSelection(named[0], tuple(named[1:]))


def _choice(kind: DeviceKind, place: str | None, backend: str | None) -> DeviceChoice | None:
    """The device of a kind at a place; None where there is none that can be called that."""
    form = None if place is None else _PLACE.fullmatch(place)
    platform, index, uuid = form.groups() if form else (None, None, None)
    if (place is not None and form is None) or (uuid and not kind.has_uuids):
        return None
    if not kind.is_spelled(platform, index, backend):
        return None
    if kind.address is Address.CORE and index is not None:
        return DeviceChoice(kind.name, backend=backend or "auto", unit=str(int(index)))
    return DeviceChoice(kind.name, int(index or 0), int(platform or 0), backend or "auto", uuid or "")


def _no_device(text: str) -> DeviceError:
    return DeviceError(f"there is no device called '{text}'", hint=f"one of: {', '.join(_spellings())}")


def spelled(choice: DeviceChoice) -> str:
    """The device as `device_named` reads it."""
    return kind_named(choice.kind).spelled(choice)


def _spellings() -> list[str]:
    return ["auto", *(form for kind in KINDS.values() for form in kind.spellings()), "ray", "ray://HOST:PORT"]


def cluster_address(text: str) -> str | None:
    """The address of a cluster that is named as the device; empty for `ray`; None where another device is named.

    Raises:
        DeviceError: it is no address.
    """
    text = text.strip()
    if text.lower() == "ray":
        return ""
    if not text.lower().startswith("ray:"):
        return None
    if not re.fullmatch(r"ray://[^\s/@:]+:\d+", text):
        raise DeviceError(f"there is no cluster at '{text}'", hint="name it as in ray://head:10001, or use ray")
    return text


def check_cluster(language: Language) -> None:
    """Whether kernels of a language run in a cluster, and Ray is installed.

    Raises:
        DeviceError: they do not, or it is not.
    """
    if language not in KINDS["cuda"].languages or language not in COMPILED_LANGUAGES:
        title = COMPILED_LANGUAGES[language].title if language in COMPILED_LANGUAGES else language
        raise DeviceError(f"a kernel in {title} does not run in a cluster", hint="CUDA kernels in a .cu file do")
    if find_spec("ray") is None:
        raise DeviceError("a cluster needs Ray, which is not installed", hint="pip install 'tuner-tui[cluster]'")


_RECORDED = f"{RecordedKind.name}:"


def recorded_file(text: str) -> Path | None:
    """The file of a recorded device, as in `recorded:conv.json.gz`; None where another device is named.

    Raises:
        DeviceError: it names no file.
    """
    if not is_recorded(text):
        return None
    file = text.strip()[len(_RECORDED) :]
    if not file:
        raise DeviceError("a recorded device needs a file", hint="name it, as in recorded:conv.json.gz")
    return Path(file)


def is_recorded(text: str) -> bool:
    """Whether a recording is named as the device, with or without its file."""
    return f"{text.strip().lower()}:".startswith(_RECORDED)


async def choose_device(text: str, language: Language, probe: Probe = probe_preferred) -> tuple[DeviceSelection, str]:
    """The devices that the user named or, with "auto", the best for the language, and a note for the user.

    Args:
        probe: looks for devices; asked only where the answer decides.

    Raises:
        DeviceError: nothing is called that, or the language does not run there.
    """
    kinds = kinds_for(language)
    if all(kind.is_record for kind in kinds):
        hint = "name the recording, as in --device recorded:conv.json.gz"
        raise DeviceError("the kernel's times are on file, and nothing can run it", hint=hint)
    if text.strip().lower() != "auto":
        selection = devices_named(text)
        if language not in kind_named(selection.first.kind).languages:
            ways = " or ".join(f"--device {kind.name}" for kind in kinds)
            title = COMPILED_LANGUAGES[language].title
            raise DeviceError(f"a kernel in {title} does not run on '{selection.first.kind}'", hint=f"use {ways}")
        return selection, ""
    preferred = kinds[0]
    if len(kinds) == 1:
        return DeviceSelection(DeviceChoice(preferred.name)), ""
    report = await probe()
    chosen = usable_kind(language, report)
    if chosen is preferred:
        return DeviceSelection(DeviceChoice(chosen.name)), ""
    why = f"no {preferred.noun} can be used here ({preferred.missing(report)})"
    return DeviceSelection(DeviceChoice(chosen.name)), f"{why}: {chosen.substitution}"


def open_device(choice: DeviceChoice, *, allow_unconfined: bool = False) -> Device:
    """Take the device; see `DeviceKind.open`."""
    return kind_named(choice.kind).open(choice, allow_unconfined=allow_unconfined)


def compiler_for(choice: DeviceChoice, device: DeviceInfo, problem: Problem, nvcc: Path | None = None) -> Compiler:
    """What builds for the device; see `DeviceKind.compiler`."""
    return kind_named(choice.kind).compiler(choice, device, problem, nvcc)


def titles_of(selection: DeviceSelection, place: str, siblings: Mapping[str, str]) -> dict[str, str]:
    """How each selected device is surely found, and its name for people.

    Args:
        place: where the first was found.
        siblings: the devices that are there, by their numbers, and how each is surely found.

    Raises:
        DeviceError: one is not there, or is named twice.
    """
    seen = {name: title for title, name in siblings.items()}
    if selection.first.unit == ALL:
        return seen
    if not selection.others:
        return {place: seen.get(place, place)}
    found: dict[str, str] = {}
    for choice in (selection.first, *selection.others):
        wanted = spelled(choice)
        name = siblings.get(spelled(replace(choice, backend="auto")), wanted)
        if name not in seen:
            raise DeviceError(f"there is no {wanted}", hint=f"here are: {', '.join(siblings)}")
        if name in found:
            raise DeviceError(f"{wanted} is {seen[name]}, which is named already", hint="name each once")
        found[name] = seen[name]
    return found
