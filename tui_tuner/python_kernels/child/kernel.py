"""What the kernel's process needs of a kernel in any framework; the user's file; exceptions as failures.

    arguments()        the kernel's arguments, a tuple (or a dictionary by name, for Triton); or ARGUMENTS. Without them
                       the launches say them that the file makes when it is run (`seen`)
    reference(*args)   optional: what is right, a tensor or several
    grid(meta)         Triton only: the grid, as in `kernel[grid](...)`
    CONFIGS            Triton only: the list of configurations, where the kernel has no @triton.autotune

In a file with several kernels each of these may be one kernel's own: `arguments_NAME`, `reference_NAME`, and so on.
"""

from __future__ import annotations

import importlib.util
import re
import sys
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import torch
from triton.compiler import CompiledKernel
from triton.runtime.jit import JITFunction

from tui_tuner.errors import ProblemError
from tui_tuner.evaluate.results import Failure, FailureKind
from tui_tuner.problem.model import Configuration
from tui_tuner.python_kernels import KernelDescription, Rewritten
from tui_tuner.text import clean, suggestion


class UserFile:
    """A loaded file.

    Raises:
        ProblemError: it cannot be loaded.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        sys.path.insert(0, str(file.parent))  # its imports work as in `python kernel.py`
        self.module = self._loaded()

    def _loaded(self) -> ModuleType:
        spec = importlib.util.spec_from_file_location(self.file.stem, self.file)
        if spec is None or spec.loader is None:
            raise ProblemError("cannot be loaded as a Python module", file=self.file)
        module = importlib.util.module_from_spec(spec)
        sys.modules[self.file.stem] = module
        try:
            spec.loader.exec_module(module)
        except ImportError as error:
            hint = "install what it imports; for Helion: pip install 'tuner-tui[helion]'"
            raise self.error(error, "cannot be loaded", hint=hint) from None
        except Exception as error:
            raise self.error(error, "cannot be loaded") from None
        return module

    def error(self, error: Exception, what: str, *, hint: str | None = None) -> ProblemError:
        """An exception of the file's code, with the line it comes from."""
        return error_of_file(self.file, error, what, hint=hint)

    @property
    def says_arguments(self) -> bool:
        """Whether it has arguments, of one of its kernels at least."""
        return any(name.partition("_")[0] in ("arguments", "ARGUMENTS") for name in vars(self.module))

    def member(self, name: str, kernel: str) -> object | None:
        """What the file calls `name_kernel`, else `name`; None where it has neither."""
        return getattr(self.module, f"{name}_{kernel}", getattr(self.module, name, None))

    def arguments(self, kernel: str, seed: int) -> Arguments | dict[str, object]:
        """Arguments made afresh, from a seed where the file leaves that to torch.

        Raises:
            ProblemError: there are none.
        """
        made = self.member("arguments", kernel)
        if made is None:
            made = self.member("ARGUMENTS", kernel)
        if made is None:
            hint = f"write `def arguments_{kernel}():` that returns a tuple of the tensors and values to tune with"
            raise ProblemError(f"says nothing about the arguments of '{kernel}'", hint=hint, file=self.file)
        if callable(made):
            torch.manual_seed(seed)
            made = self.call(made, "arguments() fails")
        if isinstance(made, dict):
            return made
        return tuple(made) if isinstance(made, tuple | list) else (made,)

    def reference(self, kernel: str, arguments: Arguments) -> object | None:
        """What `reference(*arguments)` gives; None without one."""
        function = self.member("reference", kernel)
        return self.call(lambda: function(*arguments), "reference() fails") if callable(function) else None

    def call(self, function: Callable[[], object], failing: str) -> object:
        """The result of code of the file.

        Raises:
            ProblemError: it raises.
        """
        try:
            return function()
        except Exception as error:
            raise self.error(error, failing) from None

    def chosen(self, kernels: Mapping[str, object], wanted: str | None) -> str:
        """The name of the kernel to tune.

        Raises:
            ProblemError: there is none, or several and no name.
        """
        if wanted is not None:
            if wanted in kernels:
                return wanted
            raise ProblemError(f"has no kernel '{wanted}'", hint=suggestion(wanted, kernels, "kernels"), file=self.file)
        if len(kernels) == 1:
            return next(iter(kernels))
        if kernels:
            hint = f"name one of them, as in {self.file.name}:{next(iter(kernels))}"
            raise ProblemError(f"has several kernels: {', '.join(kernels)}", hint=hint, file=self.file)
        hint = "decorate one with @helion.kernel, or with @triton.autotune over @triton.jit"
        raise ProblemError("has no kernel that can be tuned", hint=hint, file=self.file)


def error_of_file(file: Path, error: Exception, what: str, *, hint: str | None = None) -> ProblemError:
    """An exception of a file's code, with the line it comes from."""
    frames = traceback.extract_tb(error.__traceback__)
    line = next((frame.lineno for frame in reversed(frames) if Path(frame.filename) == file), None)
    if isinstance(error, SyntaxError):
        line = error.lineno
    reason = f"{type(error).__name__}: {error}".strip().partition("\n")[0]
    return ProblemError(f"{what}: {reason}", hint=hint, file=file, line=line)


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
