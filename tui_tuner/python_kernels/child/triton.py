"""Triton's kernels with a list of configurations: `@triton.autotune` over `@triton.jit`, or `CONFIGS` beside one.

The search space is the values that occur in the list, each with each; the first configuration is the default one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version

import torch
import triton
from triton.runtime.autotuner import Autotuner, Heuristics
from triton.runtime.jit import JITFunction

from tui_tuner.errors import ProblemError
from tui_tuner.evaluate.results import FailureKind
from tui_tuner.problem.languages import Value
from tui_tuner.problem.model import Configuration
from tui_tuner.python_kernels import KernelDescription, plain_values, triton_line, value_of
from tui_tuner.python_kernels.child.kernel import (
    Arguments,
    JitLaunch,
    KernelFault,
    ReadyKernel,
    ReportCompiled,
    TunableKernel,
    UserFile,
    sizes_of,
)

Grid = Callable[[dict[str, object]], Sequence[int]] | Sequence[int]
Hook = Callable[[dict[str, object]], object]
_OPTIONS = {"num_warps": 4, "num_stages": 3, "num_ctas": 1, "maxnreg": None}
"""What every launch takes; the last two are tunables only where the list says something about them."""
_ALWAYS = ("num_warps", "num_stages")


class ReadyTritonKernel(ReadyKernel):
    """A kernel with the options of one configuration.

    Args:
        names: of the arguments, in the order in which they come.
        hooks: called with all arguments and options before each launch.
    """

    def __init__(
        self,
        kernel: JITFunction | Heuristics,
        names: Sequence[str],
        options: dict[str, object],
        grid: Grid,
        hooks: Sequence[Hook],
    ) -> None:
        self.key = repr(sorted(options.items()))
        self.as_written = triton_line(options)
        self._kernel = kernel
        self._names = names
        self._options = options
        self._grid = grid
        self._hooks = hooks

    def jit_launches(self, arguments: Arguments) -> list[JitLaunch]:
        """The one launch, what heuristics choose included."""
        function, options = self._kernel, self._all(arguments)
        while isinstance(function, Heuristics):
            options |= {name: choose(options) for name, choose in function.values.items()}
            function = function.fn
        return [JitLaunch(function, (), options)]

    def launch(self, arguments: Arguments, report: ReportCompiled) -> list[torch.Tensor]:
        """Launch; such a kernel returns nothing, it writes to its arguments."""
        options = self._all(arguments)
        for hook in self._hooks:
            hook(options)
        grid = self._grid(options) if callable(self._grid) else self._grid
        report(self._kernel.run(grid=tuple(grid), warmup=False, **options))
        return []

    def _all(self, arguments: Arguments) -> dict[str, object]:
        return {**dict(zip(self._names, arguments, strict=True)), **self._options}


class TritonKernel(TunableKernel):
    """A `@triton.jit` kernel of the user's file with its list of configurations."""

    def __init__(self, file: UserFile, name: str, arguments: Arguments | dict[str, object]) -> None:
        self.framework = f"triton {version('triton')}"
        self.name = name
        self._kernel, self._configs, hook = _parts(file, name)
        self._tuned = list(self._options_of(self._configs[0]))
        self._file = file
        self._named = self._by_name(arguments)
        self._hooks: list[Hook] = [h for h in (hook, self._configs[0].pre_hook) if h is not None]
        self._grid = _grid(file, name)

    def arguments_in_order(self, arguments: Arguments | dict[str, object]) -> Arguments:
        """The values of arguments that are given by name or in order."""
        return tuple(self._by_name(arguments).values())

    def describe(self) -> KernelDescription:
        """The values that occur in the list, in the order in which they do."""
        options = [self._options_of(config) for config in self._configs]
        columns = {name: list(dict.fromkeys(each.get(name) for each in options)) for name in self._tuned}
        plain: dict[str, list[Value]] = {name: plain_values(values) for name, values in columns.items()}
        listed: list[Configuration] = [
            {name: plain[name][columns[name].index(each.get(name))] for name in self._tuned} for each in options
        ]
        return KernelDescription(
            framework=self.framework,
            name=self.name,
            tunables={name: _ascending(values) for name, values in plain.items()},
            defaults=listed[0],
            seeds=listed[1:],
            sizes=sizes_of(self._named),
        )

    def ready(self, configuration: Configuration) -> ReadyKernel:
        """The kernel in a configuration."""
        options = {name: value_of(plain) for name, plain in configuration.items()}
        unknown = options.keys() - set(self._tuned)
        if unknown:
            raise KernelFault(FailureKind.INVALID, f"the kernel has no parameter '{min(unknown)}'")
        options = {name: value for name, value in options.items() if value is not None}
        return ReadyTritonKernel(self._kernel, [*self._named], options, self._grid, self._hooks)

    def _by_name(self, arguments: Arguments | dict[str, object]) -> dict[str, object]:
        """Arguments by name, in the kernel's order; those that are tuned are none.

        Raises:
            ProblemError: a name is no argument, or there are too many.
        """
        free = [name for name in self._kernel.arg_names if name not in self._tuned]
        if isinstance(arguments, dict):
            unknown = arguments.keys() - set(free)
            if unknown:
                message = f"arguments() gives '{min(unknown)}', which is no argument of '{self.name}'"
                raise ProblemError(message, hint=f"it takes {', '.join(free)}", file=self._file.file)
            return {name: arguments[name] for name in free if name in arguments}
        if len(arguments) > len(free):
            message = f"arguments() gives {len(arguments)} values, '{self.name}' takes {', '.join(free)}"
            raise ProblemError(message, file=self._file.file)
        return dict(zip(free, arguments, strict=False))

    def _options_of(self, config: triton.Config) -> dict[str, object]:
        told = config.all_kwargs()
        unsaid = {name for name, usual in _OPTIONS.items() if name not in _ALWAYS and self._all_have(name, usual)}
        return {name: value for name, value in told.items() if name not in unsaid}

    def _all_have(self, name: str, usual: object) -> bool:
        return all(getattr(config, name, usual) == usual for config in self._configs)


def kernels_in(members: Mapping[str, object]) -> dict[str, object]:
    """The Triton kernels with a list among a module's members, and all if the module has the list itself."""
    kinds = (Autotuner, JITFunction, Heuristics) if "CONFIGS" in members else (Autotuner,)
    return {name: member for name, member in members.items() if isinstance(member, kinds)}


def _parts(file: UserFile, name: str) -> tuple[JITFunction | Heuristics, list[triton.Config], Hook | None]:
    kernel = getattr(file.module, name)
    configs = file.member("CONFIGS", name)
    hook = kernel.pre_hook if isinstance(kernel, Autotuner) and kernel.user_defined_pre_hook else None
    if isinstance(kernel, Autotuner):
        configs, kernel = kernel.configs, kernel.fn
    if not isinstance(configs, list | tuple) or not all(isinstance(c, triton.Config) for c in configs) or not configs:
        hint = "as in CONFIGS = [triton.Config({'BLOCK': 64}, num_warps=4), ...]"
        raise ProblemError(f"'{name}' has no list of configurations", hint=hint, file=file.file)
    return kernel, list(configs), hook


def _grid(file: UserFile, name: str) -> Grid:
    grid = file.member("grid", name)
    if callable(grid) or isinstance(grid, tuple | list):
        return grid
    hint = "write `def grid(meta):` that returns the grid, as in kernel[grid](...)"
    raise ProblemError(f"says nothing about the grid of '{name}'", hint=hint, file=file.file)


def _ascending(values: list[Value]) -> list[Value]:
    return sorted(values) if all(type(value) in (int, float) for value in values) else values
