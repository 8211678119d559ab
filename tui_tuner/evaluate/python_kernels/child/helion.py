"""Helion's kernels. All that is private in Helion stands here and in `fragments`; written against 1.4.0."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from functools import partial
from importlib.metadata import version

import helion
import torch
from helion.exc import InvalidConfig
from helion.runtime import default_launcher
from helion.runtime.kernel import BoundKernel, Kernel
from triton.runtime.jit import JITFunction

from tui_tuner.evaluate.python_kernels.child.faults import compile_fault
from tui_tuner.evaluate.python_kernels.child.fragments import HelionSpace
from tui_tuner.evaluate.python_kernels.child.idle import idle_restrictions
from tui_tuner.evaluate.python_kernels.child.kernel import (
    Arguments,
    JitLaunch,
    KernelFault,
    ReadyKernel,
    ReportCompiled,
    TunableKernel,
    sizes_of,
    tensors_of,
)
from tui_tuner.evaluate.python_kernels.messages import KernelDescription
from tui_tuner.evaluate.python_kernels.names import gathered
from tui_tuner.evaluate.results import FailureKind
from tui_tuner.problem.model import Configuration


class _Extracted(Exception):
    """Carries a launch out of Helion's host code instead of making it."""

    def __init__(self, launch: JitLaunch) -> None:
        super().__init__()
        self.launch = launch


class ReadyHelionKernel(ReadyKernel):
    """Host code that Helion generated for one configuration."""

    def __init__(self, bound: BoundKernel, config: helion.Config) -> None:
        self.key = repr(config)
        self.as_written = repr(helion.Config.from_dict({k: v for k, v in config.config.items() if v != []}))
        self._run = bound.compile_config(config, allow_print=False)

    def jit_launches(self, arguments: Arguments) -> list[JitLaunch]:
        """The first launch of the host code; others are compiled when they are first made."""
        try:
            self._run(*arguments, _launcher=_extract)
        except _Extracted as extracted:
            return [extracted.launch]
        return []

    def launch(self, arguments: Arguments, report: ReportCompiled) -> list[torch.Tensor]:
        """Run the host code; the tensors that it returns."""
        return tensors_of(self._run(*arguments, _launcher=partial(_launch, report)))


class HelionKernel(TunableKernel):
    """A `@helion.kernel`, bound to its arguments."""

    def __init__(self, kernel: Kernel, name: str, arguments: Arguments) -> None:
        self.framework = f"helion {version('helion')}"
        self.name = name
        self._kernel = kernel
        self._arguments = arguments
        self._bound = kernel.bind(kernel.normalize_args(*arguments))
        self._space = HelionSpace(self._bound.config_spec)

    def describe(self) -> KernelDescription:
        """The ConfigSpec, flat."""
        return described(self._bound, self._space, self.name, self._arguments)

    def ready(self, configuration: Configuration) -> ReadyKernel:
        """The kernel in a configuration, as Helion normalizes it; what is not named has its default."""
        try:
            config = self._space.normalized(helion.Config.from_dict(gathered(configuration)))
            return ReadyHelionKernel(self._bound, config)
        except (InvalidConfig, KeyError) as error:
            raise KernelFault(FailureKind.INVALID, f"Helion refuses it: {error}".partition("\n")[0]) from None
        except Exception as error:
            raise compile_fault(error, "") from None


def described(bound: BoundKernel, space: HelionSpace, name: str, arguments: Sequence[object]) -> KernelDescription:
    """A bound kernel's search space; configurations of the decorator come before those of the compiler."""
    spec = bound.config_spec
    known: list[helion.Config] = [*list(bound.configs), spec.default_config(), *list(spec.compiler_seed_configs)]
    default, *seeds = (space.flat(space.normalized(config)) for config in known)
    return KernelDescription(
        framework=f"helion {version('helion')}",
        name=name,
        tunables=space.tunables(default, *seeds),
        defaults=default,
        seeds=[seed for seed in seeds if seed != default],
        restrictions=[*space.restrictions(), *idle_restrictions(space, default)],
        sizes=sizes_of(dict(zip(inspect.signature(bound.kernel.fn).parameters, arguments, strict=False))),
    )


def kernels_in(members: dict[str, object]) -> dict[str, object]:
    """The Helion kernels among a module's members."""
    return {name: member for name, member in members.items() if isinstance(member, Kernel)}


def _extract(function: JITFunction, _grid: object, *arguments: object, **options: object) -> None:
    options.setdefault("launch_cooperative_grid", False)  # as Helion's own launcher: options are part of a build's key
    if options.get("ptx_options") is None:
        options.pop("ptx_options", None)
    raise _Extracted(JitLaunch(function, arguments, options))


def _launch(report: ReportCompiled, function: object, grid: object, *arguments: object, **options: object) -> object:
    compiled = default_launcher(function, grid, *arguments, **options)
    report(compiled)
    return compiled
