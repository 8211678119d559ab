"""Runs in the Python that Tensile uses: has Tensile read a configuration and count its permutations.

A request comes on the standard input, the answer goes to the standard output, both JSON. It may import the standard
library, Tensile and what Tensile needs, and nothing of this package: there it is not installed.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import inspect
import io
import itertools
import json
import os
import sys
from math import prod
from pathlib import Path
from typing import Any

MODULE = "Tensile.BenchmarkStructs"
_FATAL = "Tensile::FATAL: "
_FEWEST_OF_A_RANGE, _MOST_LISTED = 8, 64
_MOST_COUNTED = 200_000
"""Permutations that Tensile is had to make a list of; beyond them only their number is told."""


class _Refused(Exception):
    """Tensile's words."""


class _CannotAsk(Exception):
    """Why there is no answer."""


def main() -> None:
    """Answer one request."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what Tensile and its libraries print must not get into the answer
    request = json.loads(sys.stdin.read())
    sys.path[:1] = request["directories"]  # in the place of this file's own directory
    table = {}
    try:
        structs = _imported()
        table = _table(structs) if request.get("table") else {}
        answer = _answer(structs, request)
    except _Refused as refusal:
        answer = {"standing": "refused", "message": str(refusal)}
    except _CannotAsk as reason:
        answer = {"standing": "not asked", "message": str(reason)}
    answer["table"] = table
    with answers:
        json.dump(answer, answers)


def _answer(structs: Any, request: dict[str, Any]) -> dict[str, Any]:  # noqa: ANN401
    structs.deepcopy = _as_it_is  # counting changes nothing, and copies of long lists would take minutes
    configuration = _configuration(request["text"], request["sizes"])
    counts = []
    for problem, *groups in configuration.get("BenchmarkProblems") or []:
        for group in groups or [{}]:
            counts.append(_listened(lambda p=problem, g=group: _permutations(structs, p, g)))
    return {"standing": "taken", "permutations": counts}


def _table(structs: Any) -> dict[str, Any]:  # noqa: ANN401
    """Every parameter with its valid values and its default, small enough to hand on."""
    valid = _named(structs, "validParameters") or {}
    defaults = {}
    for entry in _named(structs, "defaultBenchmarkCommonParameters") or []:
        defaults.update({name: values[0] for name, values in entry.items() if values and _is_plain(values[0])})
    return {name: _rule(values) | _default(defaults, name) for name, values in valid.items()}


def _named(structs: Any, name: str) -> Any:  # noqa: ANN401
    return getattr(structs, name, None) or getattr(sys.modules.get("Tensile.Common"), name, None)


def _default(defaults: dict[str, Any], name: str) -> dict[str, Any]:
    return {"default": defaults[name]} if name in defaults else {}


def _is_plain(value: Any) -> bool:  # noqa: ANN401
    if isinstance(value, list | tuple):
        return all(isinstance(part, int) for part in value)
    return isinstance(value, bool | int | float | str)


def _rule(values: Any) -> dict[str, Any]:  # noqa: ANN401 - a list, or -1 for whatever there is
    """Numbers that go up in equal steps as a range; what is too much to hand on as a shape that is known elsewhere."""
    if not isinstance(values, list | tuple) or not values:
        return {"any": True}
    if not all(map(_is_plain, values)) or (len(values) > _MOST_LISTED and isinstance(values[0], list | tuple)):
        return {"shape": True}
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    others = [list(value) if isinstance(value, tuple) else value for value in values if value not in numbers]
    steps = {round(after - before, 9) for before, after in itertools.pairwise(numbers)}
    if len(numbers) >= _FEWEST_OF_A_RANGE and len(steps) == 1 and min(steps) > 0:
        return {"values": others, "ranges": [[numbers[0], numbers[-1], min(steps)]]}
    runs = _runs(numbers)
    single = [run[0] for run in runs if len(run) == 1]
    return {"values": [*others, *single], "ranges": [[run[0], run[-1], 1] for run in runs if len(run) > 1]}


def _runs(numbers: list[Any]) -> list[list[Any]]:
    """Whole numbers in rows of many that go up by one; all others alone."""
    rows: list[list[Any]] = []
    for number in numbers:
        if rows and isinstance(number, int) and number - rows[-1][-1] == 1:
            rows[-1].append(number)
        else:
            rows.append([number])
    return [part for row in rows for part in ([row] if len(row) >= _FEWEST_OF_A_RANGE else [[one] for one in row])]


def _imported() -> Any:  # noqa: ANN401 - a module of Tensile's
    try:
        return importlib.import_module(MODULE)
    except BaseException as error:  # a module of Tensile's may also end the program
        raise _CannotAsk(f"its Python cannot load {MODULE}: {type(error).__name__}: {error}") from None


def _as_it_is(value: Any) -> Any:  # noqa: ANN401
    return value


def _configuration(text: str, sizes: str | None) -> dict[str, Any]:
    """The configuration as Tensile reads it; one in the alternate format as Tensile rewrites it."""
    base = _loaded(text)
    if not isinstance(base, dict):
        raise _Refused("the configuration is no map")
    if "BenchmarkProblems" in base or "ProblemType" not in base:
        return base
    group = {key: base.get(key) for key in ("BenchmarkCommonParameters", "ForkParameters")}
    group["BenchmarkFinalParameters"] = [{"ProblemSizes": [] if sizes is None else _loaded(sizes)}]
    return {"BenchmarkProblems": [[base["ProblemType"], group]]}


def _loaded(text: str) -> Any:  # noqa: ANN401 - whatever the file says
    try:
        import yaml
    except ImportError:
        raise _CannotAsk("its Python has no PyYAML") from None
    try:
        return yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - both are safe
    except yaml.YAMLError as error:
        raise _Refused(f"it is not valid YAML: {error}") from None


def _permutations(structs: Any, problem: Any, group: Any) -> int:  # noqa: ANN401
    process = structs.BenchmarkProcess(*_arguments(structs.BenchmarkProcess, problem, group))
    if "ForkParameters" in group and not group["ForkParameters"] and _passes_over_empty_forks():
        return 0
    step = process[0]
    count = prod(map(len, [*step.forkParams.values(), *step.paramGroups]))
    return count if count > _MOST_COUNTED else len(structs.constructForkPermutations(step.forkParams, step.paramGroups))


def _passes_over_empty_forks() -> bool:
    """Whether this version makes nothing of empty fork parameters, and not the one permutation of all constants.

    That module cannot be loaded without compilers, so its text is looked at.
    """
    spec = importlib.util.find_spec("Tensile.BenchmarkProblems")
    if spec is None or spec.origin is None:
        return False
    text = Path(spec.origin).read_text(encoding="utf-8")
    return 'if problemSizeGroupConfig["ForkParameters"] else []' in text


def _arguments(maker: Any, problem: Any, group: Any) -> list[Any]:  # noqa: ANN401
    """Arguments for the constructor: two in older versions, switches for what is printed behind them in newer ones."""
    wanted = list(inspect.signature(maker).parameters.values())
    arguments: list[Any] = [problem, group]
    for parameter in wanted[2:]:
        if parameter.default is not inspect.Parameter.empty:
            break
        if not parameter.name.startswith("print"):
            raise _CannotAsk(f"this version's BenchmarkProcess wants {parameter.name}, which is unknown here")
        arguments.append(False)
    return arguments


def _listened(ask: Any) -> int:  # noqa: ANN401
    """The answer of a function that may end the program instead, its reason printed."""
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said):
            return int(ask())
    except SystemExit:
        raise _Refused(_last_words(said.getvalue()) or "it ended without a word") from None
    except _CannotAsk:
        raise
    except Exception as error:
        raise _Refused(f"it ends by a Python exception: {type(error).__name__}: {error}") from None


def _last_words(said: str) -> str:
    """What is behind the mark of older versions, else the last lines that stand together and tell no progress."""
    if _FATAL in said:
        return said.rpartition(_FATAL)[2].strip()
    words: list[str] = []
    for line in said.rstrip().splitlines():
        words = [] if not line.strip() or line.startswith("#") else [*words, line.rstrip()]
    return "\n".join(words)


if __name__ == "__main__":
    main()
