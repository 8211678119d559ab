"""Triton's kernels: described, made ready in a configuration, rewritten or not, and launched."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from importlib.metadata import version

import torch
from triton.runtime.autotuner import Heuristics
from triton.runtime.jit import JITFunction

from tui_tuner.errors import ProblemError
from tui_tuner.evaluate.results import FailureKind
from tui_tuner.problem.candidate import blocks
from tui_tuner.problem.expressions import ExpressionError, evaluate
from tui_tuner.problem.languages import Value
from tui_tuner.problem.model import Configuration, Expression
from tui_tuner.python_kernels import KernelDescription, Rewritten
from tui_tuner.python_kernels.child.around import OPTIONS, Asked, Grid, divided_otherwise, odd_sizes
from tui_tuner.python_kernels.child.decorators import decorated, function_of
from tui_tuner.python_kernels.child.kernel import (
    Arguments,
    JitLaunch,
    KernelFault,
    ReadyKernel,
    ReportLaunch,
    TunableKernel,
    arguments_in_words,
    bytes_of,
    sizes_of,
    tensors_of,
)
from tui_tuner.python_kernels.child.rewritten import RewrittenKernels
from tui_tuner.python_kernels.child.seen import SeenLaunch
from tui_tuner.python_kernels.child.tuned import Hook, tuned
from tui_tuner.python_kernels.child.user_file import UserFile
from tui_tuner.python_kernels.flat import plain_values, triton_line, value_of


class ReadyTritonKernel(ReadyKernel):
    """A kernel with the options of one configuration.

    Args:
        names: of the arguments, in the order in which they come.
        hooks: called with all arguments and options before each launch.
        fixed: options that all launches have.
        text: of a rewritten kernel; empty for the file's own.
        restrictions: what has to hold for this configuration, over sizes and options.
    """

    def __init__(
        self,
        kernel: JITFunction | Heuristics,
        names: Sequence[str],
        options: dict[str, object],
        grid: Grid,
        hooks: Sequence[Hook],
        fixed: Mapping[str, object],
        text: str = "",
        restrictions: Sequence[str] = (),
    ) -> None:
        self.key = f"{sorted(options.items())!r}{text}"
        self.as_written = triton_line(options)
        self.is_rewritten = bool(text)
        self._restrictions = restrictions
        self._kernel = kernel
        self._names = names
        self._options = {**fixed, **options}
        self._grid = grid
        self._hooks = hooks

    def fits(self, arguments: Arguments) -> bool:
        """Whether what the model says of its configurations holds there."""
        numbers = _numbers(self._all(arguments))
        try:
            return all(bool(evaluate(text, numbers)) for text in self._restrictions)
        except ExpressionError:
            return False

    def jit_launches(self, arguments: Arguments) -> list[JitLaunch]:
        """The one launch, what heuristics choose included."""
        function, options = self._kernel, self._all(arguments)
        while isinstance(function, Heuristics):
            options |= {name: choose(options) for name, choose in function.values.items()}
            function = function.fn
        return [JitLaunch(function, (), options)]

    def launch(self, arguments: Arguments, report: ReportLaunch) -> list[torch.Tensor]:
        """Launch; such a kernel returns nothing, it writes to its arguments."""
        options = self._all(arguments)
        for hook in self._hooks:
            hook(options)
        grid = tuple(self._asked(options))
        report(self._kernel.run(grid=grid, warmup=False, **options), grid)
        return []

    def _asked(self, options: Mapping[str, object]) -> Sequence[int]:
        """The grid.

        Raises:
            KernelFault: it is a function of what a rewritten kernel no longer has.
        """
        if not callable(self._grid):
            return self._grid
        try:
            return self._grid(dict(options))
        except KeyError as error:
            raise KernelFault(FailureKind.INVALID, f"the launch's own grid asks for {error}: say another") from None

    def _all(self, arguments: Arguments) -> dict[str, object]:
        return {**dict(zip(self._names, arguments, strict=True)), **self._options}


class TritonKernel(TunableKernel):
    """A `@triton.jit` kernel of the user's file and its launch.

    Args:
        launch: that it was seen to have; None where the file says arguments and grid.

    Attributes:
        notes: what is taken for granted of the launch, a line each.
    """

    def __init__(
        self,
        file: UserFile,
        name: str,
        arguments: Arguments | Mapping[str, object],
        launch: SeenLaunch | None = None,
    ) -> None:
        self.framework = f"triton {version('triton')}"
        self.name = name
        self._file = file
        self._launch = launch
        what = tuned(file, name, launch)
        self._kernel, self._space, self._grid, self._hooks = what.kernel, what.space, what.grid, what.hooks
        self._fixed, self.notes, self._restrictions = what.fixed, what.notes, [*what.restrictions]
        self._named = self._by_name(arguments)
        self._rewritten = None if (own := function_of(self._kernel)) is None else RewrittenKernels(file, name, own)

    def arguments_in_order(self, arguments: Arguments | Mapping[str, object]) -> Arguments:
        """The values of arguments that are given by name or in order."""
        return tuple(self._by_name(arguments).values())

    def describe(self) -> KernelDescription:
        """The values that occur in the list, in the order in which they do."""
        columns = self._space.columns
        plain: dict[str, list[Value]] = {name: plain_values(values) for name, values in columns.items()}
        listed: list[Configuration] = [
            {name: plain[name][values.index(each.get(name))] for name, values in columns.items()}
            for each in self._space.listed
        ]
        return KernelDescription(
            framework=self.framework,
            name=self.name,
            tunables={name: _ascending(values) for name, values in plain.items()},
            defaults=listed[0],
            seeds=listed[1:],
            restrictions=self._restrictions,
            sizes=sizes_of(self._named),
            tensor_bytes=bytes_of(self._named),
            launched=[*arguments_in_words(self._named), self._grid_in_words(self._space.listed[0])],
        )

    def _grid_in_words(self, default: Mapping[str, object]) -> str:
        """The blocks of the default configuration, and what they are made of."""
        asked = Asked({**self._named, **self._fixed, **default})
        try:
            grid = self._grid(asked) if callable(self._grid) else self._grid
        except Exception:  # the user's code, which may ask for what only a launch has
            return "grid: a function of the file"
        made_of = sorted(asked.names - {name for name, value in self._named.items() if isinstance(value, torch.Tensor)})
        how = f"a function of {', '.join(made_of)}" if made_of else "the same whatever the configuration"
        return f"grid with the default configuration: {tuple(grid)}, {how}"

    def ready(self, configuration: Configuration, rewritten: Rewritten | None = None) -> ReadyKernel:
        """The kernel in a configuration, as it is or rewritten."""
        options = {name: value_of(plain) for name, plain in configuration.items()}
        kernel, grid, text = self._kernel, self._grid, ""
        restrictions: Sequence[str] = ()
        if rewritten is not None:
            kernel, text = self._made_of(rewritten.source, configuration), rewritten.source
            restrictions = rewritten.restrictions
            grid = grid if rewritten.grid is None else self._grid_of(rewritten.grid)
        elif unknown := options.keys() - {*self._space.columns, *kernel.arg_names, *OPTIONS}:
            raise KernelFault(FailureKind.INVALID, f"the kernel has no parameter '{min(unknown)}'")
        options = {name: value for name, value in options.items() if value is not None}
        fixed = {name: value for name, value in self._fixed.items() if name not in options}
        return ReadyTritonKernel(kernel, [*self._named], options, grid, self._hooks, fixed, text, restrictions)

    def _made_of(self, source: str, tunables: Collection[str]) -> JITFunction | Heuristics:
        """The kernel of another text, with what chooses its options around it."""
        if self._rewritten is None:
            raise KernelFault(FailureKind.REFUSED, f"'{self.name}' is no function under @triton.jit")
        made: JITFunction | Heuristics = self._rewritten.function(source, tunables, self._space.columns)
        for layer in reversed([one for one in decorated(self._kernel) if isinstance(one, Heuristics)]):
            chosen = {name: choose for name, choose in layer.values.items() if name in made.arg_names}
            made = Heuristics(made, made.arg_names, chosen)
        return made

    def _grid_of(self, expressions: Sequence[Expression]) -> Grid:
        """A grid of expressions over the sizes of the arguments and the options of a launch."""

        def grid(meta: Mapping[str, object]) -> Sequence[int]:
            numbers = _numbers(meta)
            try:
                return [blocks(expression, numbers) for expression in expressions]
            except ExpressionError as error:
                raise KernelFault(FailureKind.INVALID, f"grid: {error}") from None

        return grid

    def another(self) -> ReadyKernel | None:
        """The kernel as given with other blocks: those of its list that differ most, or each the nearest other one."""
        options = divided_otherwise(self._space)
        if options is None:
            return None
        return self.ready({name: plain_values([value])[0] for name, value in options.items()})

    def at_odd_sizes(self, arguments: Arguments) -> Arguments | None:
        """Arguments in which whole numbers that are extents of tensors are smaller."""
        tensors, function = tensors_of(arguments), function_of(self._kernel)
        extents = {extent for one in tensors for extent in one.shape} | {one.numel() for one in tensors}
        fixed = () if function is None else [function.arg_names[number] for number in function.constexprs]
        named = dict(zip(self._named, arguments, strict=True))
        smaller = odd_sizes({name: value for name, value in named.items() if name not in fixed}, extents)
        return tuple({**named, **smaller}.values()) if smaller else None

    def _by_name(self, arguments: Arguments | Mapping[str, object]) -> dict[str, object]:
        """Arguments by name, in the kernel's order; those that are tuned are none.

        Raises:
            ProblemError: a name is no argument, or there are too many.
        """
        free = [name for name in self._kernel.arg_names if name not in self._space.columns]
        if isinstance(arguments, Mapping):
            unknown = arguments.keys() - set(free)
            if unknown and self._launch is None:
                message = f"arguments() gives '{min(unknown)}', which is no argument of '{self.name}'"
                raise ProblemError(message, hint=f"it takes {', '.join(free)}", file=self._file.file)
            return {name: arguments[name] for name in free if name in arguments}
        if len(arguments) > len(free):
            message = f"arguments() gives {len(arguments)} values, '{self.name}' takes {', '.join(free)}"
            raise ProblemError(message, file=self._file.file)
        return dict(zip(free, arguments, strict=False))


def _numbers(options: Mapping[str, object]) -> Mapping[str, object]:
    """What expressions may name of a launch: extents of its tensors, and the numbers that it is given."""
    return {**sizes_of(options), **{name: one for name, one in options.items() if isinstance(one, int | float)}}


def _ascending(values: list[Value]) -> list[Value]:
    return sorted(values) if all(type(value) in (int, float) for value in values) else values
