"""Functions of the user's that compute what the kernel does: found without importing them, and called.

The reference in NumPy says what is right; that of a library, with torch on the device, what time others need. Functions
beside the reference make inputs that no fill can.
"""

from __future__ import annotations

import ast
import functools
import importlib.util
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from tui_tuner.errors import ProblemError
from tui_tuner.problem.argument import POINTER
from tui_tuner.problem.blocks import copied
from tui_tuner.problem.by_value import layout
from tui_tuner.problem.compared import combined_shapes, compared
from tui_tuner.problem.dtypes import is_floating, is_number
from tui_tuner.problem.model import Argument, Problem
from tui_tuner.problem.placement import in_order
from tui_tuner.text import suggestion

RANDOM = "random"
"""What a function that makes an input may take beside sizes: NumPy's generator, seeded anew for each data set."""


@dataclass(frozen=True)
class ReferenceFunction:
    """Where a function stands that computes what the kernel does.

    Attributes:
        line: where its `def` stands, counted from 1.
        what: the table of the problem file that names it.
    """

    file: Path
    name: str
    line: int
    what: str = "reference"

    @property
    def title(self) -> str:
        """What the function is, and its name."""
        return f"{self.what} {self.name}()"


def find_reference(problem: Problem) -> ReferenceFunction:
    """Find the reference's function in its file, which is parsed and not imported.

    Raises:
        ProblemError: the file or function is missing, or it does not take the kernel's arguments by name.
    """
    if problem.reference is None:
        raise ProblemError("there is no reference", hint='add [reference] with python = "file.py:function"')
    return _found(problem, problem.reference.python, "reference")


def find_library(problem: Problem) -> ReferenceFunction:
    """Do as `find_reference` for what a library computes.

    Raises:
        ProblemError: as `find_reference`.
    """
    if problem.library is None:
        raise ProblemError("no library is named", hint='add [library] with python = "file.py:function"')
    return _found(problem, problem.library.python, "library")


def find_input_function(problem: Problem, name: str) -> tuple[ReferenceFunction, ast.arguments]:
    """Find a function that makes an input, in the reference's file, which is parsed and not imported.

    Raises:
        ProblemError: there is no reference or no such function, or it wants something else than sizes and `random`.
    """
    if problem.reference is None:
        hint = 'add [reference] with python = "file.py:function": inputs are made by functions of the same file'
        raise ProblemError(f"there is no reference beside which '{name}' could stand", hint=hint)
    found, node = _function(problem, f"{_split(problem.reference.python)[0]}:{name}", "reference")
    if foreign := [parameter for parameter in _needed(node.args) if parameter not in (*problem.sizes, RANDOM)]:
        hint = f"it is called with those that it names: {', '.join((*problem.sizes, RANDOM))}"
        raise ProblemError(f"the function {name}() wants {foreign[0]}", hint=hint, file=found.file, line=found.line)
    return replace(found, what="function"), node.args


def made_by_function(
    problem: Problem,
    name: str,
    sizes: Mapping[str, int],
    random: np.random.Generator,
    wanted: tuple[tuple[int, ...], np.dtype],
) -> np.ndarray:
    """An input that a function of the user's makes.

    Args:
        wanted: shape and dtype.

    Raises:
        ProblemError: it raises, or returns something else; with the line in the user's file.
    """
    place, taken = find_input_function(problem, name)
    names = {parameter.arg for parameter in (*taken.args, *taken.kwonlyargs)}
    named = {name: value for name, value in {**sizes, RANDOM: random}.items() if name in names or taken.kwarg}
    shape, dtype = wanted
    try:
        made = np.asarray(load_function(place)(**named))
    except Exception as error:  # whatever the user's code raises is the user's to fix
        raise _failure(place, error) from error
    if made.shape != shape or made.dtype != dtype:
        message = f"the {place.title} returns {made.dtype} of shape {made.shape} instead of {dtype} of shape {shape}"
        raise ProblemError(message, file=place.file, line=place.line)
    return made


def _found(problem: Problem, place: str, what: str) -> ReferenceFunction:
    found, node = _function(problem, place, what)
    _refuse_other_parameters(problem, node.args, found)
    return found


def _function(problem: Problem, place: str, what: str) -> tuple[ReferenceFunction, ast.FunctionDef]:
    name, function = _split(place)
    file = problem.directory / name
    functions = {node.name: node for node in _tree(file, what).body if isinstance(node, ast.FunctionDef)}
    if function not in functions:
        hint = suggestion(function, functions, "functions")
        raise ProblemError(f"the {what} has no function '{function}'", hint=hint, file=file)
    return ReferenceFunction(file, function, functions[function].lineno, what), functions[function]


def call_reference(problem: Problem, arguments: Sequence[np.ndarray | np.generic]) -> dict[str, np.ndarray]:
    """The expected outputs by argument name, from the user's function.

    It receives every argument by name: read-only copies, floating-point arrays as float64, scalars as Python numbers.

    Raises:
        ProblemError: it raises, or returns something else than the outputs; with the line in the user's file.
    """
    reference = find_reference(problem)
    given = zip(problem.arguments, arguments, strict=True)
    named = with_arrays(problem, {a.name: _given(_as_function(a, value)) for a, value in given if a.local is None})
    found = outputs_of(reference, lambda: _in_bytes(load_function(reference)(**named)), problem, arguments)
    return {a.name: in_order(a, found[a.name]) for a in problem.arguments if a.output}


def _as_function(argument: Argument, value: np.ndarray | np.generic) -> np.ndarray | np.generic:
    """An array of structures as NumPy has one, with its members by name, and parts in the order of their list."""
    if not argument.holds_structures:
        return in_order(argument, value) if isinstance(value, np.ndarray) else value
    structures: np.ndarray = np.asarray(value).reshape(-1).view(layout(argument.members or []))
    return structures


def _in_bytes(returned: object) -> object:
    """What a function returns, with arrays of structures as their bytes, one row for each."""
    if isinstance(returned, Mapping):
        return {name: _in_bytes(value) for name, value in returned.items()}
    if isinstance(returned, tuple):
        return tuple(map(_in_bytes, returned))
    if not isinstance(returned, np.ndarray) or returned.dtype.names is None:
        return returned
    held = np.zeros((returned.size, 1), returned.dtype)  # NumPy copies no bytes between members
    for name in returned.dtype.names:
        held[name] = returned[name].reshape(held[name].shape)
    return held.view(np.uint8)


def outputs_of(
    function: ReferenceFunction,
    call: Callable[[], object],
    problem: Problem,
    arguments: Sequence[np.ndarray | np.generic],
) -> dict[str, np.ndarray]:
    """What is compared of what a function of the user's computes, by the names of the outputs.

    Args:
        call: calls it.
        arguments: of the launch.

    Raises:
        ProblemError: it raises, or returns something else than the outputs; with the line in the user's file.
    """
    try:
        returned = call()
    except (Exception, SystemExit) as error:  # whatever the user's code raises is the user's to fix
        raise _failure(function, error) from error
    given = zip(problem.arguments, arguments, strict=True)
    outputs = {one.name: (one, np.shape(value)) for one, value in given if one.output}
    return _checked(function, _by_name(function, returned, list(outputs)), outputs)


def _split(text: str) -> tuple[str, str]:
    file, colon, function = text.rpartition(":")
    if not colon or not file or not function.isidentifier():
        raise ProblemError(f"'{text}' names no function", hint='write python = "file.py:function"')
    return file, function


def _tree(file: Path, what: str) -> ast.Module:
    try:
        return ast.parse(file.read_text("utf-8"))
    except OSError as error:
        raise ProblemError(
            f"the {what} {file} cannot be read: {error.strerror}", hint=f"correct [{what}] python"
        ) from None
    except UnicodeDecodeError:
        raise ProblemError(f"the {what} is not UTF-8 text", file=file) from None
    except (SyntaxError, ValueError) as error:
        line = error.lineno if isinstance(error, SyntaxError) else None
        raise ProblemError(f"the {what} is not Python: {error.args[0]}", file=file, line=line) from None


def _refuse_other_parameters(problem: Problem, taken: ast.arguments, place: ReferenceFunction) -> None:
    named = {parameter.arg for parameter in (*taken.args, *taken.kwonlyargs)}
    given = [argument.name for argument in problem.arguments if argument.local is None]
    if taken.kwarg is None and (missing := [name for name in given if name not in named]):
        message = f"the {place.title} does not take the kernel's argument '{missing[0]}'"
    else:
        if not (foreign := [name for name in _needed(taken) if name not in given]) and not taken.posonlyargs:
            return
        message = f"the {place.title} wants {', '.join(foreign) or 'arguments by position'}"
    hint = f"write def {place.name}({', '.join(given)}): it is called with these by name"
    raise ProblemError(message, hint=hint, file=place.file, line=place.line)


def _needed(taken: ast.arguments) -> list[str]:
    """Parameters that a call by name has to give."""
    needed = [p.arg for p in taken.args[: len(taken.args) - len(taken.defaults)]]
    return needed + [p.arg for p, value in zip(taken.kwonlyargs, taken.kw_defaults, strict=True) if value is None]


def plain_scalar(value: np.generic) -> object:
    """A scalar as a number of Python; a structure as an object with its members, arrays as lists."""
    if not isinstance(value, np.void):
        return value.item()
    held = SimpleNamespace()
    for name in value.dtype.names or ():
        *within, own = name.split(".")
        there = held
        for one in within:
            there = there.__dict__.setdefault(one, SimpleNamespace())
        setattr(there, own, value[name].tolist())
    return held


def with_arrays(problem: Problem, named: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a function by name, the pointers in their structures as the arrays that they point to."""
    for argument in problem.arguments:
        for member in () if argument.holds_structures else argument.members or ():
            *within, own = member.name.split(".")
            if member.dtype == POINTER:
                held = functools.reduce(getattr, within, named[argument.name])
                setattr(held, own, None if member.array is None else named[member.array])
    return named


def _given(value: np.ndarray | np.generic) -> object:
    if not isinstance(value, np.ndarray):
        return plain_scalar(value)
    floating = is_floating(value.dtype)
    copy = copied(value, np.dtype(np.float64) if floating else value.dtype)
    copy.setflags(write=False)
    return copy


def load_function(reference: ReferenceFunction) -> Callable[..., Any]:
    """The function itself, its file run.

    Raises:
        Exception: whatever the user's file raises.
    """
    name = f"tuner_tui_reference_{reference.file.stem}"
    spec = importlib.util.spec_from_file_location(name, reference.file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{reference.file.name} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their own module up
    with _writing_nothing():
        spec.loader.exec_module(module)
    function: Callable[..., Any] = getattr(module, reference.name)
    return function


@contextmanager
def _writing_nothing() -> Iterator[None]:
    """Leave no compiled modules beside the user's files."""
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        yield
    finally:
        sys.dont_write_bytecode = before


def _failure(reference: ReferenceFunction, error: BaseException) -> ProblemError:
    own = reference.file.absolute()
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename).absolute() == own]
    line = frames[-1].lineno if frames else reference.line
    return ProblemError(
        f"the {reference.title} failed: {type(error).__name__}: {error}",
        hint="its arrays are read-only; it returns new ones" if "read-only" in str(error) else None,
        file=reference.file,
        line=line,
    )


def _by_name(reference: ReferenceFunction, returned: object, outputs: list[str]) -> Mapping[str, object]:
    if isinstance(returned, Mapping):
        return returned
    values = list(returned) if isinstance(returned, tuple) else [returned]
    if len(values) != len(outputs):
        message = f"the {reference.title} returns {len(values)} arrays, the kernel has {len(outputs)} outputs"
        raise ProblemError(message, hint=f"return {', '.join(outputs)}", file=reference.file, line=reference.line)
    return dict(zip(outputs, values, strict=True))


def _checked(
    reference: ReferenceFunction,
    returned: Mapping[str, object],
    outputs: Mapping[str, tuple[Argument, tuple[int, ...]]],
) -> dict[str, np.ndarray]:
    def refuse(message: str) -> ProblemError:
        return ProblemError(
            f"the {reference.title} {message}",
            hint=f"it returns the outputs: {', '.join(outputs)}",
            file=reference.file,
            line=reference.line,
        )

    if foreign := [name for name in returned if name not in outputs]:
        raise refuse(f"returns '{foreign[0]}', which is no output")
    arrays = {}
    for name, (argument, shape) in outputs.items():
        if returned.get(name) is None:
            raise refuse(f"does not return '{name}'")
        array = np.asarray(returned[name])
        if not is_number(array.dtype):
            raise refuse(f"returns '{name}' as {array.dtype}, not as numbers")
        if array.shape not in (shape, *combined_shapes(argument, shape)):
            raise refuse(f"returns '{name}' of shape {array.shape} instead of {shape}")
        arrays[name] = compared(argument, np.atleast_1d(array))
    return arrays
