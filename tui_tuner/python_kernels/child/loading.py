"""From the user's file to its kernel and its device."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import torch
from triton.runtime.autotuner import Autotuner

from tui_tuner.errors import DeviceError, ProblemError
from tui_tuner.evaluate.devices.cuda.ceilings import computed_ceilings, computed_peak_of_float32
from tui_tuner.evaluate.results import DeviceInfo
from tui_tuner.python_kernels import KernelDescription
from tui_tuner.python_kernels.child.decorators import function_of, name_of
from tui_tuner.python_kernels.child.kernel import Arguments, TunableKernel
from tui_tuner.python_kernels.child.seen import SeenLaunch, seen_launches
from tui_tuner.python_kernels.child.triton import TritonKernel
from tui_tuner.python_kernels.child.user_file import UserFile
from tui_tuner.resources import installed_version


class KernelFromFile:
    """A kernel with what its file says about it, or with what a launch of it was seen to be given.

    Args:
        wanted: its name; None where the file has one only.
        host: a script that launches it, and is run to see that; None for the file itself, where that says no arguments.
        enough: bytes of the arguments of the launch to look for, which ends the script; 0 for the largest there is.

    Raises:
        ProblemError: the file cannot be loaded, or says too little.
    """

    def __init__(self, file: Path, wanted: str | None, host: Path | None = None, enough: int = 0) -> None:
        self._file = UserFile(file, host)
        members = {name: member for name, member in vars(self._file.module).items() if not name.startswith("__")}
        helion_kernels = _helion_kernels(members)
        self._launch: SeenLaunch | None = None
        if host is None and self._file.says_arguments:
            self.name = self._file.chosen({**helion_kernels, **_triton_kernels(members)}, wanted)
            made: Arguments | Mapping[str, object] = self._file.arguments(self.name, seed=0)
        else:
            kernels = {**helion_kernels, **_triton_kernels(members, listed=False)}
            ends = {name_of(kernels[wanted]): enough} if enough and wanted in kernels else {}
            launched = _launched(kernels, seen_launches(file, host or file, ends))
            self.name = self._file.chosen(launched, wanted)
            self._launch = launched[self.name]
            made = self._launch.arguments
        if self.name in helion_kernels:
            self.kernel = self._helion_kernel(helion_kernels[self.name], made)
        else:
            self.kernel = TritonKernel(self._file, self.name, made, self._launch)

    @property
    def description(self) -> KernelDescription:
        """The kernel's search space, and where its arguments are from."""
        described = self.kernel.describe()
        if self._launch is None:
            return described
        more = self.kernel.notes if isinstance(self.kernel, TritonKernel) else ()
        notes = [f"arguments   as in the launch at {self._launch.in_words}", *more]
        return described.model_copy(update={"notes": notes})

    def arguments(self, seed: int) -> Arguments:
        """The kernel's arguments, made afresh."""
        made = self._file.arguments(self.name, seed) if self._launch is None else self._launch.afresh(seed)
        if isinstance(self.kernel, TritonKernel):
            return self.kernel.arguments_in_order(made)
        return _in_order(made, self._file)

    def reference(self, arguments: Arguments) -> object | None:
        """What is right for these arguments; None where the file does not say."""
        return self._file.reference(self.name, arguments) if self._launch is None else None

    def _helion_kernel(self, member: object, made: Arguments | Mapping[str, object]) -> TunableKernel:
        from tui_tuner.python_kernels.child.helion import HelionKernel

        try:
            return HelionKernel(member, self.name, _in_order(made, self._file))
        except Exception as error:
            raise self._file.error(error, "Helion cannot bind the kernel to its arguments") from None


def check_device() -> None:
    """Whether there is a GPU.

    Raises:
        DeviceError: there is none.
    """
    if not torch.cuda.is_available():
        raise DeviceError(
            "kernels in Python need a CUDA GPU that torch can use, and there is none",
            hint="python -c 'import torch; torch.cuda.init()' says why; `tuner-tui replay RUN` needs none",
        )


def device_info(framework: str) -> DeviceInfo:
    """The device as torch tells about it."""
    properties = torch.cuda.get_device_properties()
    clock_khz = getattr(properties, "clock_rate", 0)  # not in every torch
    versions = [f"{name} {found}" for name in ("helion", "triton", "torch") if (found := installed_version(name))]
    info = DeviceInfo(
        kind="cuda",
        name=properties.name,
        backend=framework,
        architecture=f"sm_{properties.major}{properties.minor}",
        toolchain=", ".join(versions if framework.startswith("helion") else versions[-2:]),
        multiprocessors=properties.multi_processor_count,
        max_threads_per_block=getattr(properties, "max_threads_per_block", 1024),
        max_threads_per_multiprocessor=properties.max_threads_per_multi_processor,
        warp_size=properties.warp_size,
        registers_per_multiprocessor=properties.regs_per_multiprocessor,
        shared_bytes=properties.shared_memory_per_block,
        shared_bytes_optin=properties.shared_memory_per_block_optin,
        shared_bytes_per_multiprocessor=properties.shared_memory_per_multiprocessor,
        l2_bytes=properties.L2_cache_size,
        memory_bytes=properties.total_memory,
        clock_mhz=clock_khz / 1000 if clock_khz else None,
        memory_gbs=_copied_gbs(),
    )
    bandwidths, peaks = computed_ceilings(info)
    of_floats = computed_peak_of_float32(info)
    if of_floats is None:
        return info
    peaks["float32"] = of_floats
    return info.model_copy(update={"bandwidths": bandwidths, "peaks": peaks, "flops_gflops": of_floats.rate})


_COPIED = 2**29
"""Bytes of a copy that the bandwidth is measured with, where so many are free."""


def _copied_gbs() -> float | None:
    """What a copy moves, read and written, in 10^9 bytes a second; None where there is too little memory."""
    free, _ = torch.cuda.mem_get_info()
    if free < 4 * _COPIED:
        return None
    source = torch.empty(_COPIED, dtype=torch.int8, device="cuda")
    target, best = torch.empty_like(source), math.inf
    for _ in range(5):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        target.copy_(source)
        end.record()
        end.synchronize()
        best = min(best, start.elapsed_time(end))
    return 2 * _COPIED / best / 1e6


def _helion_kernels(members: dict[str, object]) -> dict[str, object]:
    if installed_version("helion") is None:
        return {}
    from tui_tuner.python_kernels.child.helion import kernels_in

    return kernels_in(members)


def _triton_kernels(members: Mapping[str, object], *, listed: bool = True) -> dict[str, object]:
    """The Triton kernels with a list among a module's members, and all if the module has the list itself.

    Args:
        listed: whether a list is needed; else all.
    """
    needs_list = listed and "CONFIGS" not in members
    return {
        name: member
        for name, member in members.items()
        if (isinstance(member, Autotuner) if needs_list else function_of(member) is not None)
    }


def _launched(members: Mapping[str, object], seen: Mapping[str, SeenLaunch]) -> dict[str, SeenLaunch]:
    """The launches of the kernels among a file's members, by the member's name."""
    called = {name: name_of(member) for name, member in members.items()}
    found = {name: seen[full] for name, full in called.items() if full in seen}
    others = {full: launch for full, launch in seen.items() if full not in called.values()}
    for name, full in called.items():  # a function that the program itself put decorators around
        alike = [launch for other, launch in others.items() if other.split()[0] == full.split()[0]]
        if name not in found and len(alike) == 1:
            found[name] = alike[0]
    return found


def _in_order(made: Arguments | Mapping[str, object], file: UserFile) -> Arguments:
    if isinstance(made, Mapping):
        raise ProblemError("arguments() of a Helion kernel must be a tuple, in its order", file=file.file)
    return made
