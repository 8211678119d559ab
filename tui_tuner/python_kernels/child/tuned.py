"""What is tuned of a kernel in Triton, and with which grid.

The values that occur in its list of configurations, each with each; the first configuration is the default one. Of a
list of one, and without a list, it lies around what a launch has: warps, stages and the extents of blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import triton
from triton.runtime.autotuner import Heuristics
from triton.runtime.jit import JITFunction

from tui_tuner.errors import ProblemError
from tui_tuner.python_kernels.child.around import ALWAYS, OPTIONS, Around, Grid, Space, around
from tui_tuner.python_kernels.child.decorators import (
    decorated,
    function_of,
    of_a_project,
    tuned_by,
    untuned,
    without_choices,
)
from tui_tuner.python_kernels.child.kernel import tensors_of
from tui_tuner.python_kernels.child.seen import SeenLaunch
from tui_tuner.python_kernels.child.user_file import UserFile

Hook = Callable[[dict[str, object]], object]


@dataclass(frozen=True)
class Tuned:
    """A kernel, and what is chosen of its launches.

    Attributes:
        kernel: without what tunes it.
        hooks: called with all arguments and options before each launch.
        fixed: options that all launches have.
        notes: what is taken for granted, a line each.
        restrictions: what each configuration must satisfy.
    """

    kernel: JITFunction | Heuristics
    space: Space
    grid: Grid
    hooks: Sequence[Hook]
    fixed: Mapping[str, object]
    notes: Sequence[str] = ()
    restrictions: Sequence[str] = ()


def tuned(file: UserFile, name: str, launch: SeenLaunch | None) -> Tuned:
    """What is tuned of a kernel of a file.

    Args:
        launch: that it was seen to have; None where the file says arguments and grid.

    Raises:
        ProblemError: there is neither a list of configurations nor a launch, or the file says no grid.
    """
    kernel, configs, hooks = _parts(file, name, () if launch is None else launch.configs)
    if not configs and launch is None:
        hint = "as in CONFIGS = [triton.Config({'BLOCK': 64}, num_warps=4), ...]"
        raise ProblemError(f"'{name}' has no list of configurations", hint=hint, file=file.file)
    if launch is None:
        return Tuned(kernel, _listed(configs), _grid(file, name), hooks, {})
    options = {**launch.options, **_said(configs)}
    if len(configs) > 1:
        space, grid = _listed(configs), _grid(file, name) if launch.grid is None else launch.grid
        return Tuned(kernel, space, grid, hooks, _left_out(launch.options, space))
    lies = _around(launch, kernel, options)
    kernel = without_choices(kernel, lies.space.columns)
    return Tuned(kernel, lies.space, lies.grid, hooks, _left_out(options, lies.space), lies.notes, lies.restrictions)


def _left_out(options: Mapping[str, object], space: Space) -> dict[str, object]:
    return {name: value for name, value in options.items() if name not in space.columns}


def _said(configs: Sequence[triton.Config]) -> dict[str, object]:
    """The options of the only configuration of a list; nothing of any other list."""
    options = configs[0].all_kwargs() if len(configs) == 1 else {}
    return {name: value for name, value in options.items() if value is not None}


def _listed(configs: Sequence[triton.Config]) -> Space:
    """The values that occur in a list of configurations."""
    unsaid = {
        name
        for name, usual in OPTIONS.items()
        if name not in ALWAYS and all(getattr(config, name, usual) == usual for config in configs)
    }
    listed = [{name: value for name, value in one.all_kwargs().items() if name not in unsaid} for one in configs]
    return Space(listed, {name: list(dict.fromkeys(each.get(name) for each in listed)) for name in listed[0]})


def _around(launch: SeenLaunch, kernel: JITFunction | Heuristics, options: Mapping[str, object]) -> Around:
    """What lies around a launch with some options."""
    given: dict[str, object] = {**OPTIONS, **dict(launch.arguments), **options}  # type: ignore[arg-type]
    for chosen in (one for one in decorated(kernel) if isinstance(one, Heuristics)):
        given |= {name: choose(given) for name, choose in chosen.values.items()}
    function = function_of(kernel)
    names = [] if function is None else [function.arg_names[number] for number in function.constexprs]
    tensors = tensors_of(launch.arguments)
    extents = {extent for one in tensors for extent in (*one.shape, one.numel())}
    return around(given, names, launch.grid or (1,), extents)


def _parts(
    file: UserFile, name: str, launched: Sequence[triton.Config]
) -> tuple[JITFunction | Heuristics, list[triton.Config], list[Hook]]:
    """The kernel without what tunes it, its list of configurations, and what is called before each launch.

    Args:
        launched: the list that its launch had.
    """
    kernel, configs = getattr(file.module, name), file.member("CONFIGS", name) or launched
    hooks: list[Hook | None] = []
    if (tuner := tuned_by(kernel)) is not None:
        configs, kernel = tuner.configs, untuned(tuner, kernel)
        hooks.append(tuner.pre_hook if tuner.user_defined_pre_hook else None)
    elif (own := of_a_project(kernel)) is not None:
        configs, kernel = getattr(own, "configs", configs), function_of(kernel)
    if not isinstance(configs, list | tuple) or not all(isinstance(c, triton.Config) for c in configs) or not configs:
        return kernel, [], []
    return kernel, list(configs), [hook for hook in (*hooks, configs[0].pre_hook) if hook is not None]


def _grid(file: UserFile, name: str) -> Grid:
    grid = file.member("grid", name)
    if callable(grid) or isinstance(grid, tuple | list):
        return grid
    hint = "write `def grid(meta):` that returns the grid, as in kernel[grid](...)"
    raise ProblemError(f"says nothing about the grid of '{name}'", hint=hint, file=file.file)
