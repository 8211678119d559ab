"""From `--device` and the kernel's language to a device and the compiler that builds for it."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Literal, cast

from tui_tuner.errors import DeviceError
from tui_tuner.evaluate.compilers.base import Compiler
from tui_tuner.evaluate.devices.base import Device
from tui_tuner.evaluate.devices.cuda.backends import BACKENDS
from tui_tuner.evaluate.devices.probe import DeviceReport, probe_devices
from tui_tuner.evaluate.results import DeviceInfo, Result
from tui_tuner.problem.model import Language, Problem

Kind = Literal["cuda", "opencl", "c", "emulator"]
RUNS_ON: dict[Language, tuple[Kind, ...]] = {"cuda": ("cuda", "emulator"), "opencl": ("opencl",), "c": ("c",)}
"""Which devices a language runs on."""

_FORM = re.compile(r"(?P<kind>\w+)(?::(?:(?P<platform>\d+)\.)?(?P<index>\d+))?(?:@(?P<backend>[\w-]+))?", re.ASCII)
_KNOWN = "auto, cuda, cuda:N, opencl, opencl:PLATFORM.N, c, emulator, recorded:FILE"
_RECORDED = "recorded:"


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


class DeviceChoice(Result):
    """One device.

    Attributes:
        index: number of the CUDA device, or of the OpenCL device on its platform.
        platform: number of the OpenCL platform.
        backend: package that drives a CUDA device, or auto for the first that works.
    """

    kind: Kind
    index: int = 0
    platform: int = 0
    backend: str = "auto"

    @classmethod
    def parse(cls, text: str) -> DeviceChoice:
        """A device as the user names it: `cuda`, `cuda:1`, `cuda:0@cupy`, `opencl:1`, `opencl:0.1`, `c`, `emulator`.

        Raises:
            DeviceError: nothing is called that.
        """
        found = _FORM.fullmatch(text.strip().lower())
        kind = found["kind"] if found else ""
        if kind == "hip":
            raise DeviceError(
                "kernels cannot be built for HIP yet", hint="an AMD GPU runs .cl kernels with --device opencl"
            )
        if found is None or kind not in ("cuda", "opencl", "c", "emulator") or not _fits(found):
            raise DeviceError(f"there is no device called '{text}'", hint=f"one of: {_KNOWN}")
        return cls(
            kind=cast(Kind, kind),
            index=int(found["index"] or 0),
            platform=int(found["platform"] or 0),
            backend=found["backend"] or "auto",
        )

    def __str__(self) -> str:
        match self.kind:
            case "cuda":
                return f"cuda:{self.index}" + ("" if self.backend == "auto" else f"@{self.backend}")
            case "opencl":
                return f"opencl:{self.platform}.{self.index}"
        return self.kind


def _fits(found: re.Match[str]) -> bool:
    if found["platform"] is not None and found["kind"] != "opencl":
        return False
    if found["index"] is not None and found["kind"] not in ("cuda", "opencl"):
        return False
    return found["backend"] is None or (found["kind"] == "cuda" and found["backend"] in ("auto", *BACKENDS))


async def choose_device(
    text: str, language: Language, probe: Callable[[], Awaitable[DeviceReport]] = probe_devices
) -> tuple[DeviceChoice, str]:
    """The device that the user named or, with "auto", the best for the language, and a note for the user.

    Args:
        probe: looks for devices; asked only where the answer decides.

    Raises:
        DeviceError: nothing is called that, or the language does not run there.
    """
    if language == "recorded":
        hint = "name the recording, as in --device recorded:conv.json.gz"
        raise DeviceError("the kernel's times are on file, and nothing can run it", hint=hint)
    if text.strip().lower() != "auto":
        choice = DeviceChoice.parse(text)
        if choice.kind not in RUNS_ON[language]:
            ways = " or ".join(f"--device {kind}" for kind in RUNS_ON[language])
            raise DeviceError(f"a kernel in {_name(language)} does not run on '{choice.kind}'", hint=f"use {ways}")
        return choice, ""
    if language != "cuda":
        return DeviceChoice(kind=RUNS_ON[language][0]), ""
    missing = (await probe()).no_cuda
    if not missing:
        return DeviceChoice(kind="cuda"), ""
    note = f"no CUDA GPU can be used here ({missing}): the emulator runs the kernel, and its times are CPU times"
    return DeviceChoice(kind="emulator"), note


def _name(language: Language) -> str:
    return {"cuda": "CUDA", "opencl": "OpenCL C", "c": "C or C++"}[language]


def open_device(choice: DeviceChoice, *, allow_unconfined: bool = False) -> Device:
    """Take the device; only inside the runner process, since drivers stay loaded.

    Args:
        allow_unconfined: whether kernels that run on the CPU may run where they cannot be confined.

    Raises:
        DeviceError: it is not there, or a package or driver is missing, or its kernels cannot be confined.
    """
    match choice.kind:
        case "cuda":
            from tui_tuner.evaluate.devices.cuda.device import CudaDevice

            return CudaDevice(choice.index, choice.backend)
        case "opencl":
            return _open_opencl(choice, allow_unconfined=allow_unconfined)
        case "c" | "emulator":
            from tui_tuner.evaluate.devices.native.device import NativeDevice

            return NativeDevice(choice.kind, allow_unconfined=allow_unconfined)


def compiler_for(choice: DeviceChoice, device: DeviceInfo, problem: Problem, nvcc: Path | None = None) -> Compiler:
    """What builds for the device.

    Args:
        nvcc: the CUDA compiler of the settings; None to look for one.

    Raises:
        DeviceError: no compiler for it is installed.
    """
    match choice.kind:
        case "cuda":
            return _cuda_compiler(device.architecture, nvcc)
        case "opencl":
            from tui_tuner.evaluate.compilers.opencl import OpenCLCompiler

            return OpenCLCompiler(choice.platform, choice.index, f"{device.architecture}, {device.name}")
        case "c":
            from tui_tuner.evaluate.compilers.c import CCompiler

            return CCompiler.find(problem.kernel.source.suffix)
        case "emulator":
            from tui_tuner.evaluate.compilers.emulator import EmulatorCompiler

            return EmulatorCompiler.find()


def _cuda_compiler(architecture: str, nvcc: Path | None) -> Compiler:
    from tui_tuner.evaluate.compilers.nvcc import Nvcc
    from tui_tuner.evaluate.compilers.nvrtc import Nvrtc

    try:
        return Nvcc.find(architecture, nvcc)
    except DeviceError as no_nvcc:
        if nvcc is not None:
            raise
        try:
            return Nvrtc.find(architecture)
        except DeviceError as no_nvrtc:
            raise DeviceError(f"{no_nvcc.message}, and {no_nvrtc.message}", hint=no_nvcc.hint) from no_nvrtc


def _open_opencl(choice: DeviceChoice, *, allow_unconfined: bool) -> Device:
    try:
        from tui_tuner.evaluate.devices.opencl.device import OpenCLDevice
    except ImportError as error:
        raise DeviceError(f"OpenCL needs pyopencl: {error}", hint="pip install 'tuner-tui[opencl]'") from error
    return OpenCLDevice(choice.platform, choice.index, allow_unconfined=allow_unconfined)
