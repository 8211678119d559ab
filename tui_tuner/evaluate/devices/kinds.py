"""The kinds of devices: how each is named, what it runs, how its times and limits are told, how it is opened.

A kind is one object here. A new one is a class below, its place in `KINDS`, and a file that drives its devices.
What drives a device or builds for it is imported when it is needed, so that everybody can ask a kind for its traits.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING

from tui_tuner.errors import DeviceError
from tui_tuner.evaluate.devices.kind import Address, DeviceKind
from tui_tuner.evaluate.toolkit import LATE_WARPS, ORDERCHECK, WARPCHECK, WITH_LINES

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tui_tuner.evaluate.build.compilers import Compiler
    from tui_tuner.evaluate.build.compilers.cuda import Nvcc, Nvrtc
    from tui_tuner.evaluate.devices.base import Device
    from tui_tuner.evaluate.devices.kind import DeviceChoice
    from tui_tuner.evaluate.devices.probe import DeviceReport, Probe
    from tui_tuner.evaluate.results import DeviceInfo
    from tui_tuner.evaluate.sandbox.run import Policy
    from tui_tuner.problem.languages import Language
    from tui_tuner.problem.model import Problem


class CudaKind(DeviceKind):
    """An NVIDIA GPU, driven by one of three packages."""

    name = "cuda"
    noun = "CUDA GPU"
    languages = ("cuda", "python")
    address = Address.INDEX
    has_uuids = True
    has_several = True
    has_warps = True
    has_ceilings = True
    has_toolkit = True
    sanitizers = MappingProxyType(
        dict.fromkeys(("memcheck", "racecheck", WARPCHECK, "initcheck", "synccheck"), WITH_LINES)
        | {ORDERCHECK: LATE_WARPS}
    )

    def backends(self) -> Iterable[str]:
        """Packages that can drive a CUDA device."""
        from tui_tuner.evaluate.devices.cuda.backends import BACKENDS

        return BACKENDS

    def missing(self, report: DeviceReport) -> str:
        """Why no CUDA device can be used."""
        return report.no_cuda

    def toolchain(self, report: DeviceReport) -> str:
        """The nvcc or NVRTC, for the first GPU or, where there is none, for any."""
        architecture = next(iter(re.findall(r"\((sm_\w+)\)", " ".join(report.cuda_devices))), "sm_80")
        return _cuda_compiler(architecture, None).toolchain.rpartition(" ")[0]  # without the architecture

    def means(self, device: DeviceInfo, *, tensor_maps: bool = True) -> str:
        """What nvcc and NVRTC build and a launch through the driver API can do."""
        means = [words for least, words in _CUDA_MEANS if device.capability >= least]
        has_own = device.toolchain.endswith(f"sm_{device.capability}a")
        if has_own and device.capability in _OWN_MEANS:
            means.append(_OWN_MEANS[device.capability])
        said = (
            f"It is compiled alone, by {device.toolchain}, and launched through the driver API with the "
            f"arguments above. It may use inline PTX and the toolkit's device headers: {'; '.join(means)}. There is no "
            "host code: "
            "no tensor maps (descriptors of TMA), no cooperative launch or barrier of the whole grid, no launch from "
            "the device, nothing that a host would have to fill or set."
        )
        said += f" {_CLUSTER_WORDS}" if device.capability >= _HOPPER else ""
        return f"{said} {_TENSOR_MAPS}" if tensor_maps and has_own and device.capability == _HOPPER else said

    def open(self, choice: DeviceChoice, *, allow_unconfined: bool) -> Device:
        """Take a CUDA device."""
        from tui_tuner.evaluate.devices.cuda.device import CudaDevice

        return CudaDevice(choice.index, choice.backend, choice.uuid)

    def compiler(self, choice: DeviceChoice, device: DeviceInfo, problem: Problem, nvcc: Path | None) -> Compiler:
        """The toolkit's nvcc, else NVRTC of the installed packages."""
        return _cuda_compiler(device.architecture, nvcc)


_CUDA_MEANS = (
    (0, "warp shuffles and votes, <cooperative_groups.h> within a block"),
    (70, "tensor cores by WMMA (<mma.h>) or mma.sync"),
    (80, "cp.async, by <cuda_pipeline.h> or cuda::pipeline of <cuda/pipeline>"),
    (90, "clusters of blocks by __cluster_dims__ before the name, if the grid is always whole clusters"),
    (90, "bulk copies of one dimension (cp.async.bulk)"),
)
"""Means of a CUDA kernel, each from a compute capability on."""
_OWN_MEANS = {90: "wgmma", 100: "tcgen05", 103: "tcgen05"}
"""What only the architecture of its own has, which is built for as in sm_90a."""

_HOPPER = 90
_CLUSTER_WORDS = (
    "Words by which threads wait for each other without a barrier, as blocks of a cluster do for each other's sums, "
    "are written and read by atomics (atomicExch, and atomicAdd of 0, or cuda::atomic_ref): through volatile they are "
    "a race."
)
_TENSOR_MAPS = (
    "But a kernel can make a tensor map for cp.async.bulk.tensor itself: one thread sets 128 aligned bytes of shared "
    "memory to zero, then each field by tensormap.replace.tile.FIELD.shared::cta.b1024.b32 (global_address and "
    "global_stride: .b64): rank (dimensions - 1); box_dim, global_dim and element_stride of each dimension by its "
    "index, the contiguous one first; global_stride in bytes of each but that one, from index 0 on; elemtype (6 "
    "float16, 7 float32, 10 bfloat16, 0 bytes); interleave_layout 0; swizzle_mode (3: 128 bytes); fill_mode 0. Then "
    "one whole warp runs tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned "
    "[map], [draft], 128 into a __device__ array with 128 aligned bytes for each block, and the thread that issues "
    "the copies runs fence.proxy.tensormap::generic.acquire.gpu [map], 128 first. Base and strides must be multiples "
    "of 16 bytes, so other sizes need a path without. In a cluster mask shared addresses with 0x3ffff in descriptors "
    "of wgmma, and free a stage of another block by mapa and mbarrier.arrive.shared::cluster.b64: its form "
    ".release.cluster waits for all memory, which costs hundreds of cycles a stage."
)
"""How tiles come by TMA without a host; measured on an H100, where maps made so are as fast as a host's."""


def _cuda_compiler(architecture: str, nvcc: Path | None) -> Nvcc | Nvrtc:
    from tui_tuner.evaluate.build.compilers.cuda import Nvcc, Nvrtc

    try:
        return Nvcc.find(architecture, nvcc)
    except DeviceError as no_nvcc:
        if nvcc is not None:
            raise
        try:
            return Nvrtc.find(architecture)
        except DeviceError as no_nvrtc:
            raise DeviceError(f"{no_nvcc.message}, and {no_nvrtc.message}", hint=no_nvcc.hint) from no_nvrtc


class OpenCLKind(DeviceKind):
    """A device of an OpenCL driver, a CPU as well."""

    name = "opencl"
    languages = ("opencl",)
    address = Address.PLATFORM
    has_several = True

    def missing(self, report: DeviceReport) -> str:
        """Why no OpenCL device can be used."""
        return "" if report.opencl_devices else report.opencl_problem

    def open(self, choice: DeviceChoice, *, allow_unconfined: bool) -> Device:
        """Take an OpenCL device."""
        try:
            from tui_tuner.evaluate.devices.opencl import OpenCLDevice
        except ImportError as error:
            raise DeviceError(f"OpenCL needs pyopencl: {error}", hint="pip install 'tuner-tui[opencl]'") from error
        return OpenCLDevice(choice.platform, choice.index, allow_unconfined=allow_unconfined)

    def compiler(self, choice: DeviceChoice, device: DeviceInfo, problem: Problem, nvcc: Path | None) -> Compiler:
        """The compiler inside the device's driver."""
        from tui_tuner.evaluate.build.compilers.opencl import OpenCLCompiler

        return OpenCLCompiler(choice.platform, choice.index, f"{device.architecture}, {device.name}")

    async def confinement(
        self, choice: DeviceChoice, problem: Problem, builds: Path, policy: Policy, probe: Probe
    ) -> tuple[Path, ...] | None:
        """What the runner may read where the device is a CPU: its driver, its builds, the reference.

        A GPU's kernels do not run in the runner, and the drivers of GPUs write to caches and talk to daemons in
        places that only their vendors know: confined, they might fail, with nothing gained.

        Raises:
            ProblemError: the reference cannot be used.
            SandboxError: the runner must be confined and cannot be.
        """
        from tui_tuner.evaluate.build.compilers.opencl import DRIVERS
        from tui_tuner.evaluate.sandbox.process import existing
        from tui_tuner.problem.reference import find_reference

        if policy.allow_unconfined or f"{choice.platform}.{choice.index}" not in (await probe()).opencl_cpus:
            return None
        await policy.confinement_demanded()
        builds.mkdir(parents=True, exist_ok=True, mode=0o700)  # only what is there can be allowed
        # The reference's file alone: beside it may lie keys, or all of a home directory.
        reference = () if problem.reference is None else (find_reference(problem).file,)
        return (*existing(DRIVERS), builds, *reference)


class CFunctionKind(DeviceKind):
    """This machine's processor, for kernels that are functions of C or C++."""

    name = "c"
    languages = ("c",)
    has_blocks = False

    def toolchain(self, report: DeviceReport) -> str:
        """The gcc for C, the g++ for C++."""
        return f"{_gnu('gcc')}, {_gnu('g++')}"

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
        from tui_tuner.evaluate.build.compilers.gnu import CCompiler

        return CCompiler.find(problem.kernel.source.suffix)


def _gnu(command: str) -> str:
    from tui_tuner.evaluate.build.compilers.gnu import find_gnu

    return find_gnu(command).name


class EmulatorKind(DeviceKind):
    """This machine's processor, for CUDA kernels compiled as C++."""

    name = "emulator"
    languages = ("cuda",)
    address = Address.CORE
    has_several = True
    is_emulated = True
    sanitizers = MappingProxyType({"memcheck": "-fsanitize=address", "racecheck": "-fsanitize=thread"})
    time_note = "emulator"
    substitution = "the emulator runs the kernel, and its times are CPU times"

    def toolchain(self, report: DeviceReport) -> str:
        """The g++."""
        return _gnu("g++")

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

        return NativeDevice(EMULATED, allow_unconfined=allow_unconfined, core=choice.unit)

    def compiler(self, choice: DeviceChoice, device: DeviceInfo, problem: Problem, nvcc: Path | None) -> Compiler:
        """The g++ of the search path."""
        from tui_tuner.evaluate.build.compilers.emulator import EmulatorCompiler

        return EmulatorCompiler.find()


class RecordedKind(DeviceKind):
    """A file with the times of every configuration, in the place of a device."""

    name = "recorded"
    languages = ("recorded",)
    address = Address.FILE
    is_record = True
    time_note = "recorded"

    def facts(self, device: DeviceInfo) -> str:
        """Says that a record answers for the device."""
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


def usable_kind(language: Language, report: DeviceReport) -> DeviceKind:
    """Of these the first that can be used on this machine; the preferred one where none can."""
    kinds = kinds_for(language)
    return next((kind for kind in kinds if not kind.missing(report)), kinds[0])
