"""What is around the function of a Triton kernel: what tunes it, and what chooses its options."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from triton.runtime.autotuner import Autotuner, Heuristics
from triton.runtime.jit import JITFunction, KernelInterface


def decorated(kernel: Any) -> Iterator[Any]:  # noqa: ANN401
    """A kernel with what tunes it and what chooses its options, Triton's or a project's own, the outermost first."""
    yield kernel
    while isinstance(getattr(kernel, "fn", None), KernelInterface):
        kernel = kernel.fn
        yield kernel


def function_of(kernel: object) -> JITFunction | None:
    """What is behind the decorators of a Triton kernel; None of anything else."""
    return next((one for one in decorated(kernel) if isinstance(one, JITFunction)), None)


def tuned_by(kernel: object) -> Autotuner | None:
    """What tunes a Triton kernel; None where nothing does."""
    return next((one for one in decorated(kernel) if isinstance(one, Autotuner)), None)


def of_a_project(kernel: object) -> object | None:
    """What is around a kernel that is none of Triton's own; None where nothing is."""
    return next((one for one in decorated(kernel) if not isinstance(one, JITFunction | Heuristics | Autotuner)), None)


def name_of(kernel: object) -> str:
    """What a kernel is called in whatever copy of its file: its function and the decorators around it."""
    *_, innermost = layers = [*decorated(kernel)]
    function = getattr(getattr(innermost, "fn", None), "__name__", "")
    return f"{function} of {', '.join(type(one).__name__ for one in layers)}"


def without_choices(kernel: JITFunction | Heuristics, tuned: Collection[str]) -> JITFunction | Heuristics:
    """The kernel without heuristics for what is tuned."""
    if not isinstance(kernel, Heuristics):
        return kernel
    values = {name: choose for name, choose in kernel.values.items() if name not in tuned}
    return Heuristics(without_choices(kernel.fn, tuned), kernel.arg_names, values)


def untuned(tuner: Autotuner, kernel: Any) -> JITFunction | Heuristics:  # noqa: ANN401
    """A kernel without what tunes it, which other decorators may be around."""
    return tuner.fn if kernel is tuner else Heuristics(untuned(tuner, kernel.fn), kernel.arg_names, kernel.values)
