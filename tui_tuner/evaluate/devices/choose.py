"""From `--device` and the kernel's language to a device and the compiler that builds for it."""

from __future__ import annotations

import re
from pathlib import Path

from tui_tuner.errors import DeviceError
from tui_tuner.evaluate.compilers.base import Compiler
from tui_tuner.evaluate.devices.base import Device, DeviceChoice
from tui_tuner.evaluate.devices.kinds import KINDS, RecordedKind, kind_named, kinds_for
from tui_tuner.evaluate.devices.probe import Probe, probe_devices
from tui_tuner.evaluate.results import DeviceInfo
from tui_tuner.problem.languages import COMPILED_LANGUAGES
from tui_tuner.problem.model import Language, Problem

_FORM = re.compile(r"(?P<kind>\w+)(?::(?:(?P<platform>\d+)\.)?(?P<index>\d+))?(?:@(?P<backend>[\w-]+))?", re.ASCII)


def device_named(text: str) -> DeviceChoice:
    """A device as the user names it: `cuda`, `cuda:1`, `cuda:0@cupy`, `opencl:1`, `opencl:0.1`, `c`, `emulator`.

    Raises:
        DeviceError: nothing is called that.
    """
    form = _FORM.fullmatch(text.strip().lower())
    name = form["kind"] if form else ""
    if name == "hip":
        raise DeviceError(
            "kernels cannot be built for HIP yet", hint="an AMD GPU runs .cl kernels with --device opencl"
        )
    kind = KINDS.get(name)
    if form is None or kind is None or not kind.is_spelled(form["platform"], form["index"], form["backend"]):
        raise DeviceError(f"there is no device called '{text}'", hint=f"one of: {', '.join(_spellings())}")
    return DeviceChoice(name, int(form["index"] or 0), int(form["platform"] or 0), form["backend"] or "auto")


def spelled(choice: DeviceChoice) -> str:
    """The device as `device_named` reads it."""
    return kind_named(choice.kind).spelled(choice)


def _spellings() -> list[str]:
    return ["auto", *(form for kind in KINDS.values() for form in kind.spellings())]


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


async def choose_device(text: str, language: Language, probe: Probe = probe_devices) -> tuple[DeviceChoice, str]:
    """The device that the user named or, with "auto", the best for the language, and a note for the user.

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
        choice = device_named(text)
        if language not in kind_named(choice.kind).languages:
            ways = " or ".join(f"--device {kind.name}" for kind in kinds)
            title = COMPILED_LANGUAGES[language].title
            raise DeviceError(f"a kernel in {title} does not run on '{choice.kind}'", hint=f"use {ways}")
        return choice, ""
    preferred = kinds[0]
    if len(kinds) == 1:
        return DeviceChoice(preferred.name), ""
    report = await probe()
    chosen = next((kind for kind in kinds if not kind.missing(report)), preferred)
    if chosen is preferred:
        return DeviceChoice(chosen.name), ""
    why = f"no {preferred.noun} can be used here ({preferred.missing(report)})"
    return DeviceChoice(chosen.name), f"{why}: {chosen.substitution}"


def open_device(choice: DeviceChoice, *, allow_unconfined: bool = False) -> Device:
    """Take the device; see `DeviceKind.open`."""
    return kind_named(choice.kind).open(choice, allow_unconfined=allow_unconfined)


def compiler_for(choice: DeviceChoice, device: DeviceInfo, problem: Problem, nvcc: Path | None = None) -> Compiler:
    """What builds for the device; see `DeviceKind.compiler`."""
    return kind_named(choice.kind).compiler(choice, device, problem, nvcc)
