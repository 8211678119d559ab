"""From the user's file to its kernel and its device."""

from __future__ import annotations

from pathlib import Path

import torch

from tui_tuner.errors import DeviceError, ProblemError
from tui_tuner.evaluate.results import DeviceInfo
from tui_tuner.python_kernels.child.kernel import Arguments, TunableKernel, UserFile
from tui_tuner.python_kernels.child.triton import TritonKernel, kernels_in
from tui_tuner.resources import installed_version


class KernelFromFile:
    """A kernel with what its file says about it.

    Args:
        wanted: its name; None where the file has one only.

    Raises:
        ProblemError: the file cannot be loaded, or says too little.
    """

    def __init__(self, file: Path, wanted: str | None) -> None:
        self._file = UserFile(file)
        members = {name: member for name, member in vars(self._file.module).items() if not name.startswith("__")}
        helion_kernels = _helion_kernels(members)
        self.name = self._file.chosen({**helion_kernels, **kernels_in(members)}, wanted)
        made = self._file.arguments(self.name, seed=0)
        if self.name in helion_kernels:
            self.kernel = self._helion_kernel(helion_kernels[self.name], made)
        else:
            self.kernel = TritonKernel(self._file, self.name, made)

    def arguments(self, seed: int) -> Arguments:
        """The kernel's arguments, made afresh."""
        made = self._file.arguments(self.name, seed)
        if isinstance(self.kernel, TritonKernel):
            return self.kernel.arguments_in_order(made)
        return _in_order(made, self._file)

    def reference(self, arguments: Arguments) -> object | None:
        """What is right for these arguments; None where the file does not say."""
        return self._file.reference(self.name, arguments)

    def _helion_kernel(self, member: object, made: Arguments | dict[str, object]) -> TunableKernel:
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
    versions = [f"{name} {found}" for name in ("helion", "triton", "torch") if (found := installed_version(name))]
    return DeviceInfo(
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
    )


def _helion_kernels(members: dict[str, object]) -> dict[str, object]:
    if installed_version("helion") is None:
        return {}
    from tui_tuner.python_kernels.child.helion import kernels_in

    return kernels_in(members)


def _in_order(made: Arguments | dict[str, object], file: UserFile) -> Arguments:
    if isinstance(made, dict):
        raise ProblemError("arguments() of a Helion kernel must be a tuple, in its order", file=file.file)
    return made
