"""Which devices there are, and what is missing for the others; from `--device` and the language to one of them."""

from __future__ import annotations

import asyncio
import re
import sys
from asyncio.subprocess import PIPE
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from tui_tuner.errors import DeviceError
from tui_tuner.evaluate.compilers.base import Compiler
from tui_tuner.evaluate.devices.base import Device
from tui_tuner.evaluate.devices.kinds import KINDS, RecordedKind, kind_named, kinds_for
from tui_tuner.evaluate.results import DeviceInfo
from tui_tuner.problem.languages import COMPILED_LANGUAGES
from tui_tuner.problem.model import Language, Problem
from tui_tuner.processes import driver_environment
from tui_tuner.processes.child import Program, running

LIMIT_S = 60.0
CHILD = "tui_tuner.evaluate.devices.probe_child"


class DeviceReport(BaseModel):
    """What a look at this machine found.

    Attributes:
        cuda_devices: names, in the driver's order.
        cuda_problem: why there are none.
        backends: packages that can drive a CUDA device, with their versions.
        backend_problems: the other such packages, and why they cannot.
        opencl_devices: "platform.device" to name.
        opencl_cpus: which of these are the CPU.
        opencl_problem: why there are none.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    cuda_devices: list[str] = []
    cuda_problem: str = ""
    backends: dict[str, str] = {}
    backend_problems: dict[str, str] = {}
    opencl_devices: dict[str, str] = {}
    opencl_cpus: list[str] = []
    opencl_problem: str = ""

    @property
    def no_cuda(self) -> str:
        """Why no CUDA device can be used; empty where one can."""
        if not self.cuda_devices:
            return self.cuda_problem or "no GPU was found"
        if not self.backends:
            return "none of cuda-python, pycuda and cupy can be used"
        return ""

    def lines(self) -> list[str]:
        """All of it, a line for each thing found or missing."""
        lines = [f"cuda:{number}: {name}" for number, name in enumerate(self.cuda_devices)]
        lines += [f"cuda: {self.cuda_problem}"] if not self.cuda_devices else []
        lines += [f"{name} {version}" for name, version in self.backends.items()]
        lines += [f"{name}: {problem}" for name, problem in self.backend_problems.items()]
        lines += [f"opencl:{place}: {name}" for place, name in self.opencl_devices.items()]
        lines += [f"opencl: {self.opencl_problem}"] if not self.opencl_devices else []
        return lines


Probe = Callable[[], Awaitable[DeviceReport]]
"""Looks for devices."""


async def probe_devices() -> DeviceReport:
    """Look in a child process, which is killed when a driver makes it hang."""
    program = Program((sys.executable, "-P", "-m", CHILD), environment=driver_environment(), output=PIPE)
    try:
        async with asyncio.timeout(LIMIT_S), running(program) as child:
            output = await child.talk()
    except TimeoutError:
        return _nothing(f"looking for devices took more than {LIMIT_S:.0f} s")
    try:
        return DeviceReport.model_validate_json(output.splitlines()[-1])
    except (IndexError, ValidationError):
        return _nothing(f"looking for devices ended with status {child.returncode}")


def _nothing(problem: str) -> DeviceReport:
    return DeviceReport(cuda_problem=problem, opencl_problem=problem)


_FORM = re.compile(r"(?P<kind>\w+)(?::(?:(?P<platform>\d+)\.)?(?P<index>\d+))?(?:@(?P<backend>[\w-]+))?", re.ASCII)


@dataclass(frozen=True)
class DeviceChoice:
    """One device, as it is named on the command line.

    Attributes:
        kind: name of its kind.
        index: number of the device, of an OpenCL device on its platform.
        platform: number of the OpenCL platform.
        backend: package that drives the device, or auto for the first that works.
    """

    kind: str
    index: int = 0
    platform: int = 0
    backend: str = "auto"

    @classmethod
    def parse(cls, text: str) -> DeviceChoice:
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
        return cls(name, int(form["index"] or 0), int(form["platform"] or 0), form["backend"] or "auto")

    def __str__(self) -> str:
        return kind_named(self.kind).spelled(self)


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
        choice = DeviceChoice.parse(text)
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
