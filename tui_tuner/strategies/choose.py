"""From the name of a strategy, or the place of a user's own, to a strategy with its options."""

from __future__ import annotations

import difflib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Iterator, Mapping
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from pydantic import ValidationError

from tui_tuner.errors import SettingsError, StrategyError
from tui_tuner.strategies import PLACES
from tui_tuner.strategies.base import Strategy
from tui_tuner.subjects import loaded

STRATEGIES: dict[str, type[Strategy]] = {name: loaded(place) for name, place in PLACES.items()}
"""The strategies that the program brings."""
ENTRY_POINTS = "tui_tuner.strategies"
"""The group under which installed packages offer strategies."""
_OBJECT = "python:"


def strategy_named(spec: str, options: Mapping[str, Any] | None = None) -> Strategy:
    """The strategy of this name, with its options.

    Args:
        spec: a name, that of an installed entry point, or `file.py:Class`; a file is run as Python code.

    Raises:
        SettingsError: there is none, or an option is wrong.
    """
    found = _class_in_file(spec) if names_file(spec) else _class_named(spec)
    try:
        return found.model_validate(dict(options or {}))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        known = ", ".join(found.model_fields) or "none"
        raise SettingsError(f"strategy '{spec}': {place}: {first['msg']}", hint=f"its options: {known}") from error


def check_name(spec: str) -> None:
    """Refuse what names no strategy; of a file nothing is run, so it need only be there.

    Raises:
        SettingsError: there is none.
    """
    if names_file(spec):
        _file_of(spec)
    else:
        _class_named(spec)


def installed_strategies() -> dict[str, str]:
    """Names of strategies that installed packages offer, with the place of each."""
    return {point.name: point.value for point in entry_points(group=ENTRY_POINTS)}


def found_anywhere(spec: str) -> str:
    """What finds the same strategy from another directory as well."""
    path, colon, name = spec.rpartition(":")
    return f"{Path(path).expanduser().absolute()}{colon}{name}" if ".py:" in spec else spec


def spec_of(strategy: Strategy) -> str:
    """What `strategy_named` finds the class of a strategy by; for a class of the user's own only what it is called.

    A file is not looked for: to run it would run the very program that the class is part of.
    """
    found = type(strategy)
    if STRATEGIES.get(found.name) is found:
        return found.name
    place = f"{found.__module__}:{found.__qualname__}"
    installed = {value: name for name, value in installed_strategies().items()}
    return installed.get(place, f"{_OBJECT}{place}")


def all_strategies() -> Iterator[tuple[str, type[Strategy] | SettingsError]]:
    """Names and classes of the strategies that there are; the reason instead of an installed one that is unusable."""
    yield from STRATEGIES.items()
    for point in entry_points(group=ENTRY_POINTS):
        try:
            yield point.name, _loaded(point)
        except SettingsError as error:
            yield point.name, error


def names_file(spec: str) -> bool:
    """Whether a strategy is named by its file, which is run to have it."""
    return ".py:" in spec or spec.endswith(".py")


def _class_named(name: str) -> type[Strategy]:
    if name.startswith(_OBJECT):
        hint = "go on from Python: tui_tuner.tune(..., strategy=..., run_directory=...)"
        raise SettingsError(f"the strategy was an object of the class {name.removeprefix(_OBJECT)}", hint=hint)
    key = name.replace("-", "_")
    if key in STRATEGIES:
        return STRATEGIES[key]
    for point in entry_points(group=ENTRY_POINTS, name=name):
        return _loaded(point)
    known = [*STRATEGIES, *installed_strategies()]
    near = difflib.get_close_matches(key, known, n=1)
    question = f"; did you mean '{near[0]}'?" if near else ""
    hint = f"strategies: {', '.join(known)}, or your own as file.py:Class"
    raise SettingsError(f"unknown strategy '{name}'{question}", hint=hint)


def _loaded(point: EntryPoint) -> type[Strategy]:
    place = f"entry point '{point.name}' ({point.value})"
    try:
        found = point.load()
    except Exception as error:  # whatever the package does when it is imported
        raise SettingsError(f"{place} cannot be used: {type(error).__name__}: {error}") from error
    return _checked(found, place)


def _class_in_file(spec: str) -> type[Strategy]:
    file, name = _file_of(spec)
    module = _run(file)
    if not hasattr(module, name):
        own = [n for n, value in vars(module).items() if inspect.isclass(value) and value.__module__ == module.__name__]
        what = f"there is no class '{name}' in it" if name else f"which class of it? Write {file}:Class"
        raise SettingsError(what, hint=f"it has: {', '.join(own) or 'none'}", file=file)
    return _checked(getattr(module, name), str(file))


def _file_of(spec: str) -> tuple[Path, str]:
    """The file that a strategy is in, and the name of its class."""
    path, _, name = spec.rpartition(":") if ".py:" in spec else (spec, "", "")
    file = Path(path).expanduser()
    if not file.is_file():
        raise SettingsError("there is no such file", hint="write it with: tuner-tui strategy new", file=file)
    return file, name


def _run(file: Path) -> ModuleType:
    """The user's own file as a module; it is their code, as if they had started it themselves."""
    spec = importlib.util.spec_from_file_location(f"tuner_tui_strategy_{file.stem}", file)
    if spec is None or spec.loader is None:
        raise SettingsError("is no Python file", file=file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where Pydantic looks up the names in annotations
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[spec.name]
        message = error.msg if isinstance(error, SyntaxError) else str(error)
        raise SettingsError(
            f"cannot be used: {type(error).__name__}: {message}", file=file, line=_line_of(error, file)
        ) from error
    return module


def _line_of(error: Exception, file: Path) -> int | None:
    """The line of the file that an error comes from."""
    if isinstance(error, SyntaxError):
        return error.lineno
    frames = traceback.extract_tb(error.__traceback__)
    return next((frame.lineno for frame in reversed(frames) if Path(frame.filename) == file.absolute()), None)


def _checked(found: object, place: str) -> type[Strategy]:
    if not (inspect.isclass(found) and issubclass(found, Strategy)) or inspect.isabstract(found):
        raise SettingsError(f"{place} is no strategy", hint="derive it from tui_tuner.Strategy and give it `run`")
    return found


def fault_of(strategy: Strategy, error: Exception | SystemExit) -> StrategyError:
    """An error in a user's own strategy, with the line of their file that it comes from."""
    file = inspect.getsourcefile(type(strategy)) or ""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return StrategyError(
        f"the strategy failed: {type(error).__name__}: {' '.join(str(error).split())}",
        hint="correct it and resume the run: what it asked and measured is kept, and the best so far is on the disk",
        file=file or None,
        line=lines[-1] if lines else None,
    )
