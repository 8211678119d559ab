"""What the kernel's process needs of a kernel, whatever framework it is written in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from triton.runtime.jit import JITFunction

from tui_tuner.evaluate.python_kernels.messages import KernelDescription
from tui_tuner.evaluate.results import FailureKind
from tui_tuner.problem.model import Configuration

Arguments = tuple[object, ...]
"""What the file's `arguments()` gives."""
ReportCompiled = Callable[[object], None]
"""Is handed each kernel that Triton compiled for a launch."""


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


class ReadyKernel(ABC):
    """A kernel in one configuration.

    Attributes:
        key: the same for configurations that are the same to the framework.
        as_written: the configuration as the user's file would have it, ready to paste.
    """

    key: str
    as_written: str

    @abstractmethod
    def jit_launches(self, arguments: Arguments) -> list[JitLaunch]:
        """What a launch will compile; nothing is launched."""

    @abstractmethod
    def launch(self, arguments: Arguments, report: ReportCompiled) -> list[torch.Tensor]:
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
    def ready(self, configuration: Configuration) -> ReadyKernel:
        """The kernel in a configuration; code is generated, nothing is compiled for the device.

        Raises:
            KernelFault: the framework refuses the configuration.
        """


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
