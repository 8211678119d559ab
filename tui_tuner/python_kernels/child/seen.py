"""Launches that the user's own program makes of its kernels, for a file that does not say what to tune them with.

The file, or a script beside it, is run as `python FILE` runs it, and each launch is looked at before it is made. Of the
launches of a kernel the one with the largest arguments is kept: programs begin with a small test and go on to what
matters. An autotuned kernel runs in its first configuration alone, so that nothing is tuned meanwhile.
"""

from __future__ import annotations

import importlib.util
import inspect
import math
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
import triton
from torch.utils._pytree import tree_map
from triton.compiler import CompiledKernel
from triton.runtime.autotuner import Autotuner, Heuristics
from triton.runtime.jit import JITFunction

from tui_tuner.errors import ProblemError
from tui_tuner.format import counted_in_lines
from tui_tuner.python_kernels.child.around import Grid
from tui_tuner.python_kernels.child.data import copied
from tui_tuner.python_kernels.child.decorators import decorated, function_of, name_of, tuned_by
from tui_tuner.python_kernels.child.kernel import Arguments, bytes_of
from tui_tuner.python_kernels.child.user_file import error_of_file, placed
from tui_tuner.resources import installed_version

LOOKED_S = 10.0
"""How long a program may go on after the first launch, seconds: it may have larger ones."""
_TESTS = ("test", "bench", "main")
"""How functions begin that are called where running the program launches nothing."""
_EFFORT = "HELION_AUTOTUNE_EFFORT"
_NO_END: Mapping[str, int] = {}


@dataclass
class SeenLaunch:
    """A launch of a kernel, as it was before it was made.

    Attributes:
        arguments: by the kernel's names for Triton, in order for Helion.
        options: what a launch in Triton is given beside them, as `num_warps`.
        grid: in Triton.
        nbytes: of all tensors.
        line: where it stands in the user's code, 0 if that is not known.
        count: of the launches of this kernel that were looked at.
        configs: of what tunes it in Triton, whose options are not among those of the launch.
    """

    arguments: Mapping[str, object] | Arguments
    options: Mapping[str, object]
    grid: Grid | None
    nbytes: int
    file: Path
    line: int
    count: int = 1
    configs: Sequence[triton.Config] = ()

    @property
    def in_words(self) -> str:
        """Where it is, and which of how many."""
        where = f"{self.file.name}, line {self.line}" if self.line else self.file.name
        largest = "" if self.count == 1 else f", the largest of {counted_in_lines(self.count, 'launch', 'launches')}"
        return f"{where}{largest} ({self.nbytes / 1e6:.4g} MB)"

    def afresh(self, seed: int) -> Mapping[str, object] | Arguments:
        """The arguments, the elements of floating tensors in another order: numbers of the same kind, seen by none.

        Whole numbers may be places of something and stay, as do numbers in order, and those of which some are infinite
        or none.
        """
        shift = torch.Generator().manual_seed(seed)
        made: Mapping[str, object] | Arguments = tree_map(lambda leaf: _turned(leaf, shift), self.arguments)
        return made


def _turned(leaf: object, random: torch.Generator) -> object:
    own = copied(leaf)
    if not isinstance(own, torch.Tensor) or not own.is_floating_point() or own.numel() < 3 or 0 in own.stride():
        return own
    flat = own.reshape(-1)
    numbers = flat.float() if own.element_size() == 1 else flat
    if not bool(torch.isfinite(numbers).all()) or bool((numbers[1:] >= numbers[:-1]).all()):
        return own
    by = int(torch.randint(1, own.numel() - 1, (), generator=random))
    own.copy_(torch.cat([flat[by:], flat[:by]]).reshape(own.shape))
    return own


@dataclass(frozen=True)
class _Bound:
    """What a launch in Triton is given: arguments by name, those that have a default included, options and grid."""

    kernel: object
    function: JITFunction
    arguments: Mapping[str, object]
    options: Mapping[str, object]
    grid: Grid | None

    @classmethod
    def to(cls, kernel: object, function: JITFunction, given: Sequence[object], named: Mapping[str, object]) -> _Bound:
        """What `run` is called with."""
        parameters = function.signature.parameters.values()
        usual = {one.name: one.default for one in parameters if one.default is not one.empty}
        bound: dict[str, Any] = {**usual, **dict(zip(function.arg_names, given, strict=False)), **named}
        grid = bound.pop("grid")
        bound.pop("warmup", None)
        options = {name: bound.pop(name) for name in [*bound] if name not in function.arg_names}
        return cls(kernel, function, bound, options, grid)


class _EnoughSeen(BaseException):
    """Ends the user's program; no `except Exception` of it takes it for a fault."""


@dataclass
class Watch:
    """Looks at the launches of a file's kernels.

    Args:
        kernels: the file that they stand in.
        program: what is run.
        ends: bytes of the arguments of a launch that ends it, by the kernel's name.
    """

    kernels: Path
    program: Path
    ends: Mapping[str, int] = field(default_factory=dict)
    seen: dict[str, SeenLaunch] = field(default_factory=dict)
    _is_inside: bool = False
    _compiled: dict[int, tuple[object, _Bound]] = field(default_factory=dict)
    _are_of_file: dict[Path, bool] = field(default_factory=dict)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Meanwhile launches are looked at."""
        with ExitStack() as replaced:
            for kind in (Autotuner, Heuristics, JITFunction):
                replaced.enter_context(_around(kind, "run", self._launch))
            replaced.enter_context(_around(CompiledKernel, "__getitem__", self._launch_compiled))
            if installed_version("helion") is not None:
                from helion.runtime.kernel import Kernel

                replaced.enter_context(_around(Kernel, "__call__", self._call))
            yield

    def _launch(self, real: Callable[..., object], kernel: Any, *given: object, **named: object) -> object:  # noqa: ANN401
        function = function_of(kernel)
        if self._is_inside or function is None:
            return real(kernel, *given, **named)
        bound = _Bound.to(kernel, function, given, named)
        if named.get("warmup"):
            compiled = real(kernel, *given, **named)
            self._compiled[id(compiled)] = compiled, bound
            return compiled
        self._saw(kernel, bound.arguments, bound.options, bound.grid)
        return self._inside(lambda: real(kernel, *given, **named), tuned_by(kernel))

    def _launch_compiled(self, real: Callable[..., object], compiled: Any, grid: Grid) -> object:  # noqa: ANN401
        """A launch of what `kernel.warmup(...)` gave, which takes all arguments in their order."""
        launch: Any = real(compiled, grid)
        _, known = self._compiled.get(id(compiled), (None, None))
        if self._is_inside or known is None:
            return launch

        def seen(*given: object, **named: object) -> object:
            names = known.function.arg_names
            self._saw(known.kernel, dict(zip(names, given, strict=False)), known.options, grid)
            return launch(*given, **named)

        return seen

    def _call(self, real: Callable[..., object], kernel: Any, *given: object, **named: object) -> object:  # noqa: ANN401
        if self._is_inside:
            return real(kernel, *given, **named)
        self._saw(kernel, tuple(kernel.normalize_args(*given, **named)), {}, None)
        return self._inside(lambda: real(kernel, *given, **named), None)

    def _inside(self, launch: Callable[[], object], tuned: Autotuner | None) -> object:
        self._is_inside = True
        listed = [] if tuned is None else tuned.configs
        if tuned is not None:
            tuned.configs = listed[:1]
        try:
            return launch()
        finally:
            self._is_inside = False
            if tuned is not None:
                tuned.configs = listed

    def _saw(
        self,
        kernel: object,
        arguments: Mapping[str, object] | Arguments,
        options: Mapping[str, object],
        grid: Grid | None,
    ) -> None:
        *_, innermost = decorated(kernel)
        name, code = name_of(kernel), getattr(innermost.fn, "__code__", None)
        if code is None or not self._is_of_file(Path(code.co_filename)):
            return
        nbytes = bytes_of(arguments)
        before = self.seen.get(name)
        if before is not None:
            before.count += 1
        elif not self.seen and threading.current_thread() is threading.main_thread():
            signal.setitimer(signal.ITIMER_REAL, LOOKED_S)
        if before is None or nbytes > before.nbytes:
            file, line = self._place()
            kept = tree_map(copied, arguments)
            count = 1 if before is None else before.count
            tuned = tuned_by(kernel)
            configs = () if tuned is None else tuned.configs
            self.seen[name] = SeenLaunch(kept, options, grid, nbytes, file, line, count, configs)
        if nbytes >= self.ends.get(name, math.inf):
            raise _EnoughSeen

    def _is_of_file(self, file: Path) -> bool:
        """Whether it is the kernels' file, or the one that this is a copy of, as a run keeps one."""
        if file not in self._are_of_file:
            same = file.resolve() == self.kernels.resolve()
            self._are_of_file[file] = same or (file.is_file() and file.read_bytes() == self.kernels.read_bytes())
        return self._are_of_file[file]

    def _place(self) -> tuple[Path, int]:
        """File and line of the innermost frame of the user's code."""
        frame = inspect.currentframe()
        while frame is not None:
            for file in (self.program, self.kernels):
                if Path(frame.f_code.co_filename).resolve() == file.resolve():
                    return file, frame.f_lineno
            frame = frame.f_back
        return self.program, 0


@contextmanager
def _around(kind: type, name: str, watched: Callable[..., object]) -> Iterator[None]:
    """A method of all objects of a kind replaced by one that is given it."""
    real = getattr(kind, name)

    def replacement(self: object, *given: object, **named: object) -> object:
        return watched(real, self, *given, **named)

    setattr(kind, name, replacement)
    try:
        yield
    finally:
        setattr(kind, name, real)


def seen_launches(kernels: Path, program: Path, ends: Mapping[str, int] = _NO_END) -> Mapping[str, SeenLaunch]:
    """Run a program; the launches that it makes of the kernels of a file, as `name_of` calls them.

    Args:
        ends: as of `Watch`.

    Raises:
        ProblemError: it makes none; the message says how it ended.
    """
    watch = Watch(kernels, program, ends)
    fault: Exception | None = None
    with watch.watching(), _as_a_program(program) as run:
        try:
            run(watch)
            signal.setitimer(signal.ITIMER_REAL, 0)
        except Exception as error:
            fault = error
        except SystemExit as end:
            fault = RuntimeError(f"it ends with {end.code}") if end.code else None
        except _EnoughSeen:
            pass
    if watch.seen:
        return watch.seen
    hint = "write `def arguments():` that returns what to tune with, or name a script that launches it: --host FILE"
    if fault is not None:
        raise error_of_file(program, fault, f"fails before it launches a kernel of {kernels.name}", hint=hint)
    raise ProblemError(f"launches no kernel of {kernels.name} when it is run", hint=hint, file=program)


@contextmanager
def _as_a_program(file: Path) -> Iterator[Callable[[Watch], None]]:
    """What runs a file as `python FILE` does, and then its tests as long as nothing was launched."""
    spec = importlib.util.spec_from_file_location("__main__", file)
    if spec is None or spec.loader is None:
        raise ProblemError("cannot be loaded as a Python module", file=file)
    module, loader = importlib.util.module_from_spec(spec), spec.loader
    if package := placed(file, None)[1].rpartition(".")[0]:  # as `python -m` does it
        module.__spec__, module.__package__ = None, package
    before = sys.argv, signal.signal(signal.SIGALRM, _ends), os.environ.get(_EFFORT)

    def run(watch: Watch) -> None:
        loader.exec_module(module)
        for function in _tests(module):
            if watch.seen:
                break
            function()

    sys.modules["__main__"], sys.argv, os.environ[_EFFORT] = module, [str(file)], "none"
    sys.path.insert(0, str(file.parent))
    try:
        yield run
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        sys.argv, alarm, effort = before  # the module stays the main one: functions among the arguments are of it
        signal.signal(signal.SIGALRM, alarm)
        os.environ.pop(_EFFORT)
        if effort is not None:
            os.environ[_EFFORT] = effort


def _ends(*_: object) -> None:
    raise _EnoughSeen


def _tests(module: ModuleType) -> Iterator[Callable[[], object]]:
    """Functions of a program that can be called as they are, and are there to be run."""
    for name, member in [*vars(module).items()]:
        if inspect.isfunction(member) and member.__module__ == "__main__" and name.startswith(_TESTS):
            needed = inspect.signature(member).parameters.values()
            if all(one.default is not one.empty for one in needed):
                yield member
