"""What the kernel's process needs of a kernel in any framework; exceptions as failures."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from triton.compiler import CompiledKernel
from triton.runtime.jit import JITFunction

from tui_tuner.evaluate.results import Failure, FailureKind
from tui_tuner.problem.model import Configuration
from tui_tuner.python_kernels import KernelDescription, Rewritten
from tui_tuner.text import clean

Arguments = tuple[object, ...]
"""What the file's `arguments()` gives."""
ReportLaunch = Callable[[object, Sequence[int]], None]
"""Is handed what Triton compiled for each launch, and the grid."""


class KernelFault(Exception):
    """A configuration that cannot be used.

    Args:
        kind: the class of the failure.
        message: the reason in one line.
        detail: what the compiler said, cut.
        fatal: whether the device's context is lost.
    """

    def __init__(self, kind: FailureKind, message: str, detail: str = "", *, fatal: bool = False) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.detail = detail
        self.fatal = fatal


@dataclass(frozen=True)
class JitLaunch:
    """One launch of a `triton.jit` function: what is needed to compile it."""

    function: JITFunction
    arguments: Sequence[object]
    options: Mapping[str, object]

    def compiled(self) -> CompiledKernel:
        """What it is compiled to; from Triton's cache, where it was before."""
        return self.function.run(*self.arguments, grid=None, warmup=True, **self.options)


class ReadyKernel(ABC):
    """A kernel in one configuration.

    Attributes:
        key: the same for configurations that are the same to the framework.
        as_written: the configuration as the user's file would have it, ready to paste.
        is_rewritten: whether its code is another than that of the user's file.
    """

    key: str
    as_written: str
    is_rewritten: bool = False

    def fits(self, arguments: Arguments) -> bool:
        """Whether the configuration may be used with other arguments than those that are timed."""
        return True

    @abstractmethod
    def jit_launches(self, arguments: Arguments) -> list[JitLaunch]:
        """What a launch will compile; nothing is launched."""

    @abstractmethod
    def launch(self, arguments: Arguments, report: ReportLaunch) -> list[torch.Tensor]:
        """Launch once without waiting; the tensors that it returns."""


class TunableKernel(ABC):
    """The kernel of the user's file, bound to its arguments.

    Attributes:
        framework: name and version.
    """

    framework: str
    name: str

    @abstractmethod
    def describe(self) -> KernelDescription:
        """The search space."""

    @abstractmethod
    def ready(self, configuration: Configuration, rewritten: Rewritten | None = None) -> ReadyKernel:
        """The kernel in a configuration; code is generated, nothing is compiled for the device.

        Args:
            rewritten: None for the kernel as the file has it.

        Raises:
            KernelFault: the framework refuses the configuration, or what is rewritten.
        """

    def another(self) -> ReadyKernel | None:
        """The kernel as given in a configuration that divides its work otherwise; None where there is none."""
        return None

    def at_odd_sizes(self, arguments: Arguments) -> Arguments | None:
        """Arguments with somewhat smaller sizes, which nothing divides; None where no argument is a size."""
        return None


def tensors_of(tree: object) -> list[torch.Tensor]:
    """All tensors of a value, of its elements and of theirs, in order."""
    from torch.utils._pytree import tree_leaves

    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, torch.Tensor)]


def sizes_of(named: Mapping[str, object]) -> dict[str, int]:
    """Extents of the tensors (`x_0`, `x_1`) and the whole numbers among arguments by name."""
    sizes: dict[str, int] = {}
    for name, value in named.items():
        if isinstance(value, torch.Tensor):
            sizes |= {f"{name}_{axis}": extent for axis, extent in enumerate(value.shape)}
        elif isinstance(value, int) and not isinstance(value, bool):
            sizes[name] = value
    return sizes


def bytes_of(tree: object) -> int:
    """Of all tensors of a value, as `tensors_of` finds them."""
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors_of(tree))


def arguments_in_words(named: Mapping[str, object]) -> Iterator[str]:
    """What a launch is given, by name, a line each for a model."""
    for name, value in named.items():
        if isinstance(value, torch.Tensor):
            extents = ", ".join(f"{name}_{axis}" for axis in range(value.dim()))
            strides = "" if value.is_contiguous() else f", strides {value.stride()}"
            dtype = str(value.dtype).removeprefix("torch.")
            nbytes = value.numel() * value.element_size()
            yield f"argument {name}: {dtype} tensor of shape ({extents}){strides}, {nbytes / 1e6:.4g} MB"
        elif isinstance(value, bool | int | float | str):
            yield f"argument {name}: {value!r}"


_LOST = re.compile(
    r"illegal memory access|misaligned address|unspecified launch failure|illegal instruction|device-side assert"
    r"|hardware stack error|invalid program counter|CUDA_ERROR_ILLEGAL",
    re.IGNORECASE,
)
_RESOURCES = re.compile(
    r"out of resource|out of memory|too many resources|too many blocks in cooperative launch|invalid argument",
    re.IGNORECASE,
)
_NO_MEMORY = re.compile(r"Required: (\d+), Hardware limit: (\d+)")
_COMPILERS = ("CompilationError", "PTXASError", "UnsupportedLanguageConstruct", "InductorError")
_TELLING = re.compile(r"error\s*:|error:|fatal|not supported|must |cannot |exceeds|failed", re.IGNORECASE)
_HEADING = re.compile(r"^at \d|Internal Triton PTX codegen error|^`?ptxas`? stderr", re.IGNORECASE)
"""Comes before what is wrong."""
_LONGEST = 240
_DETAIL = 2000


def compile_fault(error: BaseException, log: str) -> KernelFault:
    """A failure to generate or compile code.

    Args:
        log: what the compiler printed meanwhile.
    """
    text = clean(f"{error}\n{log}")
    if _RESOURCES.search(str(error)):
        return KernelFault(FailureKind.LAUNCH, _resource_line(str(error)), text[-_DETAIL:])
    return KernelFault(FailureKind.COMPILE, telling_line(text, type(error).__name__), text[-_DETAIL:])


def launch_fault(error: BaseException) -> KernelFault:
    """A failure of a launch, or of waiting for it."""
    text = str(error)
    if _LOST.search(text):
        return KernelFault(FailureKind.ILLEGAL_ACCESS, telling_line(clean(text), "the launch failed"), fatal=True)
    if _RESOURCES.search(text):
        return KernelFault(FailureKind.LAUNCH, _resource_line(text))
    if type(error).__name__ in _COMPILERS or "PassManager" in text:
        return compile_fault(error, "")
    line = f"{type(error).__name__}: {telling_line(clean(text), 'no reason given')}"
    return KernelFault(FailureKind.LAUNCH, line, fatal="CUDA error" in text)


def failure(fault: KernelFault) -> Failure:
    """The fault as a result says it."""
    return Failure(kind=fault.kind, message=fault.message, detail=fault.detail)


def telling_line(text: str, otherwise: str) -> str:
    """The first line that says what is wrong, without the paths before it."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = next((line for line in lines if _TELLING.search(line) and not _HEADING.search(line)), None)
    chosen = telling or (lines[-1] if lines else otherwise)
    return re.sub(r"(?:/[\w.+-]+){2,}/", "", chosen)[:_LONGEST]


def _resource_line(text: str) -> str:
    found = _NO_MEMORY.search(text)
    if found and "shared memory" in text:
        return f"{found[1]} bytes of shared memory in a block: the device takes {found[2]}"
    return telling_line(clean(text), "too many resources")
