"""The kinds of devices: how each is named, what it runs, how its times and limits are told, how it is opened.

A kind is one object here. A new one is a class below, its place in `KINDS`, and a file that drives its devices.
What drives a device or builds for it is imported when it is needed, so that everybody can ask a kind for its traits.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from tui_tuner.errors import DeviceError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tui_tuner.evaluate.compilers.base import Compiler
    from tui_tuner.evaluate.devices.base import Device, DeviceChoice
    from tui_tuner.evaluate.devices.probe import DeviceReport, Probe
    from tui_tuner.evaluate.results import DeviceInfo
    from tui_tuner.evaluate.sandbox.run import Policy
    from tui_tuner.problem.languages import Language
    from tui_tuner.problem.model import Problem


class Address(Enum):
    """What stands behind a kind's name on the command line."""

    NONE = ""
    INDEX = ":N"
    PLATFORM = ":PLATFORM.N"
    FILE = ":FILE"


class DeviceKind:
    """Traits of all devices of a kind; those of this class are a GPU's.

    Attributes:
        name: on the command line, in `DeviceInfo.kind` and in journals.
        noun: what is missing where there is none, as in "CUDA GPU".
        languages: that its devices run.
        address: how they are told apart.
        is_record: whether times were taken before and stand in a file.
        has_blocks: whether a launch is a grid of blocks of threads, with limits of the device.
        has_warps: whether blocks run in warps, of which occupancy is told.
        has_ceilings: whether its bandwidth and its peak are measured by the runner.
        is_emulated: whether it is so slow that a problem has other sizes there.
        time_note: what is said of the unit over a column of times; may be empty.
        substitution: what the user is told where it replaces a device that is not there.
    """

    name = ""
    noun = "device"
    languages: tuple[Language, ...] = ()
    address = Address.NONE
    is_record = False
    has_blocks = True
    has_warps = False
    has_ceilings = False
    is_emulated = False
    time_note = ""
    substitution = ""

    def backends(self) -> Iterable[str]:
        """Packages that can be named to drive its devices."""
        return ()

    def is_spelled(self, platform: str | None, index: str | None, backend: str | None) -> bool:
        """Whether a device of this kind can be named with these parts; None for one that was left out."""
        if self.address is Address.FILE or (platform is not None and self.address is not Address.PLATFORM):
            return False
        if index is not None and self.address is Address.NONE:
            return False
        return backend is None or backend in self._named_backends()

    def _named_backends(self) -> tuple[str, ...]:
        backends = (*self.backends(),)
        return ("auto", *backends) if backends else ()

    def spelled(self, choice: DeviceChoice) -> str:
        """A device of this kind as it is named on the command line."""
        index = {Address.INDEX: f":{choice.index}", Address.PLATFORM: f":{choice.platform}.{choice.index}"}
        backend = "" if choice.backend == "auto" else f"@{choice.backend}"
        return f"{self.name}{index.get(self.address, '')}{backend}"

    def spellings(self) -> Iterable[str]:
        """The forms in which its devices can be named."""
        if self.address is not Address.FILE:
            yield self.name
        if self.address is not Address.NONE:
            yield f"{self.name}{self.address.value}"

    def missing(self, report: DeviceReport) -> str:
        """Why no such device can be used on this machine; empty where one can."""
        return ""

    def sized(self, problem: Problem) -> Problem:
        """A problem at the sizes that such a device is tuned for."""
        return problem.on_emulator() if self.is_emulated else problem

    def time_label(self, device: DeviceInfo) -> str:
        """The unit over a column of times."""
        unit = "CPU ms" if device.cpu_times else "ms"
        return f"{unit} ({self.time_note})" if self.time_note else unit

    def facts(self, device: DeviceInfo) -> str:
        """A device and its limits, in words for a model."""
        return "\n".join(self._limits(device))

    def _limits(self, device: DeviceInfo) -> Iterable[str]:
        yield f"{device.name} ({device.architecture or device.kind}), {device.toolchain}"
        if device.is_cpu:
            yield (
                "it is a CPU: its cores share the work-groups, the items of a group are vectorised or run one after "
                "another, and local memory is ordinary memory; times are wall-clock times of one launch"
            )
        warp = f", {device.warp_size} a warp" if self.has_warps else ""
        yield f"threads a block: at most {device.max_threads_per_block}{warp}"
        yield f"shared memory a block: {device.shared_bytes} bytes static, up to {device.shared_bytes_optin} dynamic"
        for what, value, unit in (
            ("multiprocessors", device.multiprocessors, ""),
            ("registers a multiprocessor", device.registers_per_multiprocessor, ""),
            ("shared memory a multiprocessor", device.shared_bytes_per_multiprocessor, " bytes"),
            ("L2 cache", device.l2_bytes, " bytes"),
            ("measured bandwidth of a copy", device.memory_gbs, " GB/s"),
            ("measured peak of float32 multiply-add", device.flops_gflops, " GFLOP/s"),
        ):
            if value is not None:
                yield f"{what}: {value:.0f}{unit}"

    def open(self, choice: DeviceChoice, *, allow_unconfined: bool) -> Device:
        """Take a device; only inside the runner process, since drivers stay loaded.

        Args:
            allow_unconfined: whether kernels that run on the CPU may run where they cannot be confined.

        Raises:
            DeviceError: it is not there, or a package or driver is missing, or its kernels cannot be confined.
        """
        raise DeviceError(f"a device of the kind '{choice.kind}' cannot be opened")

    def compiler(self, choice: DeviceChoice, device: DeviceInfo, problem: Problem, nvcc: Path | None) -> Compiler:
        """What builds for a device.

        Args:
            nvcc: the CUDA compiler of the settings; None to look for one.

        Raises:
            DeviceError: no compiler for it is installed.
        """
        raise DeviceError(f"nothing builds for a device of the kind '{choice.kind}'")

    async def confinement(
        self, choice: DeviceChoice, problem: Problem, builds: Path, policy: Policy, probe: Probe
    ) -> tuple[Path, ...] | None:
        """What a runner may read that must be confined since kernels run in it; None where none run there.

        Args:
            builds: directory of the artifacts.
            probe: looks for devices.

        Raises:
            ProblemError: the reference cannot be used.
            SandboxError: the runner must be confined and cannot be.
        """
        return None


class CudaKind(DeviceKind):
    """An NVIDIA GPU, driven by one of three packages."""

    name = "cuda"
    noun = "CUDA GPU"
    languages = ("cuda", "python")
    address = Address.INDEX
    has_warps = True
    has_ceilings = True

    def backends(self) -> Iterable[str]:
        """Packages that can drive a CUDA device."""
        from tui_tuner.evaluate.devices.cuda.backends import BACKENDS

        return BACKENDS

    def missing(self, report: DeviceReport) -> str:
        """Why no CUDA device can be used."""
        return report.no_cuda

    def open(self, choice: DeviceChoice, *, allow_unconfined: bool) -> Device:
        """Take a CUDA device."""
        from tui_tuner.evaluate.devices.cuda.device import CudaDevice

        return CudaDevice(choice.index, choice.backend)

    def compiler(self, choice: DeviceChoice, device: DeviceInfo, problem: Problem, nvcc: Path | None) -> Compiler:
        """The toolkit's nvcc, else NVRTC of the installed packages."""
        from tui_tuner.evaluate.compilers.cuda import Nvcc, Nvrtc

        try:
            return Nvcc.find(device.architecture, nvcc)
        except DeviceError as no_nvcc:
            if nvcc is not None:
                raise
            try:
                return Nvrtc.find(device.architecture)
            except DeviceError as no_nvrtc:
                raise DeviceError(f"{no_nvcc.message}, and {no_nvrtc.message}", hint=no_nvcc.hint) from no_nvrtc


class OpenCLKind(DeviceKind):
    """A device of an OpenCL driver, a CPU as well."""

    name = "opencl"
    languages = ("opencl",)
    address = Address.PLATFORM

    def open(self, choice: DeviceChoice, *, allow_unconfined: bool) -> Device:
        """Take an OpenCL device."""
        try:
            from tui_tuner.evaluate.devices.opencl import OpenCLDevice
        except ImportError as error:
            raise DeviceError(f"OpenCL needs pyopencl: {error}", hint="pip install 'tuner-tui[opencl]'") from error
        return OpenCLDevice(choice.platform, choice.index, allow_unconfined=allow_unconfined)

    def compiler(self, choice: DeviceChoice, device: DeviceInfo, problem: Problem, nvcc: Path | None) -> Compiler:
        """The compiler inside the device's driver."""
        from tui_tuner.evaluate.compilers.opencl import OpenCLCompiler

        return OpenCLCompiler(choice.platform, choice.index, f"{device.architecture}, {device.name}")

    async def confinement(
        self, choice: DeviceChoice, problem: Problem, builds: Path, policy: Policy, probe: Probe
    ) -> tuple[Path, ...] | None:
        """What a runner may read where the device is a CPU."""
        from tui_tuner.evaluate.compilers.opencl import opencl_confinement

        return await opencl_confinement(f"{choice.platform}.{choice.index}", problem, builds, policy, probe)


class CFunctionKind(DeviceKind):
    """This machine's processor, for kernels that are functions of C or C++."""

    name = "c"
    languages = ("c",)
    has_blocks = False

    def facts(self, device: DeviceInfo) -> str:
        """The processor and its compiler."""
        return f"{device.name}: a CPU, compiler {device.backend}. Times are wall-clock times of one call."

    def open(self, choice: DeviceChoice, *, allow_unconfined: bool) -> Device:
        """Take the processor."""
        from tui_tuner.evaluate.devices.native.code import C_FUNCTION
        from tui_tuner.evaluate.devices.native.device import NativeDevice

        return NativeDevice(C_FUNCTION, allow_unconfined=allow_unconfined)

    def compiler(self, choice: DeviceChoice, device: DeviceInfo, problem: Problem, nvcc: Path | None) -> Compiler:
        """The gcc or g++ of the search path."""
        from tui_tuner.evaluate.compilers.gnu import CCompiler

        return CCompiler.find(problem.kernel.source.suffix)


class EmulatorKind(DeviceKind):
    """This machine's processor, for CUDA kernels compiled as C++."""

    name = "emulator"
    languages = ("cuda",)
    is_emulated = True
    time_note = "emulator"
    substitution = "the emulator runs the kernel, and its times are CPU times"

    def facts(self, device: DeviceInfo) -> str:
        """How the emulator runs a kernel, and what is fast there."""
        return (
            f"{device.name}: there is no GPU. The CUDA kernel is compiled as C++ ({device.backend}, -O3 for any CPU of "
            "its kind) and runs on one CPU core: blocks one after another, the threads of a block one after another as "
            "well. A thread that reaches a barrier or a warp shuffle is set aside until the others arrive, so each "
            "costs a switch of every thread; shared memory is ordinary memory. What is fast: long inner loops over "
            "consecutive elements in registers that the compiler can vectorise, few barriers, good use of the CPU's "
            "caches, few threads that each do much work. Write plain CUDA that nvcc accepts as well: no compiler's own "
            "vector types, attributes or builtins. Times are CPU times. At most "
            f"{device.max_threads_per_block} threads a block and {device.shared_bytes_optin} bytes of shared memory."
        )

    def open(self, choice: DeviceChoice, *, allow_unconfined: bool) -> Device:
        """Take the processor."""
        from tui_tuner.evaluate.devices.native.code import EMULATED
        from tui_tuner.evaluate.devices.native.device import NativeDevice

        return NativeDevice(EMULATED, allow_unconfined=allow_unconfined)

    def compiler(self, choice: DeviceChoice, device: DeviceInfo, problem: Problem, nvcc: Path | None) -> Compiler:
        """The g++ of the search path."""
        from tui_tuner.evaluate.compilers.emulator import EmulatorCompiler

        return EmulatorCompiler.find()


class RecordedKind(DeviceKind):
    """A file with the times of every configuration, in the place of a device."""

    name = "recorded"
    languages = ("recorded",)
    address = Address.FILE
    is_record = True
    time_note = "recorded"

    def facts(self, device: DeviceInfo) -> str:
        """That a record answers for the device."""
        return (
            f"{device.name}: every configuration was built, run and timed there before, and the record answers for the "
            "device. Its limits are not on record; what failed because of them is. Only configurations on record exist."
        )


KINDS: dict[str, DeviceKind] = {
    kind.name: kind for kind in (CudaKind(), OpenCLKind(), CFunctionKind(), EmulatorKind(), RecordedKind())
}
"""All kinds by name; of those that run a language, an earlier one is preferred."""
_UNKNOWN = DeviceKind()


def kind_named(name: str) -> DeviceKind:
    """The kind of a device; the traits of a GPU for a name that is none of ours."""
    return KINDS.get(name, _UNKNOWN)


def kinds_for(language: Language) -> list[DeviceKind]:
    """The kinds of devices that run a language, the preferred one first."""
    return [kind for kind in KINDS.values() if language in kind.languages]
