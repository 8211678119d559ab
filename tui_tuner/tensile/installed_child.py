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
import json
import os
import sys
from math import prod
from pathlib import Path
from typing import Any

MODULE = "Tensile.BenchmarkStructs"
_FATAL = "Tensile::FATAL: "
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
    try:
        answer = _answer(request)
    except _Refused as refusal:
        answer = {"standing": "refused", "message": str(refusal)}
    except _CannotAsk as reason:
        answer = {"standing": "not asked", "message": str(reason)}
    with answers:
        json.dump(answer, answers)


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    structs = _imported()
    structs.deepcopy = _as_it_is  # counting changes nothing, and copies of long lists would take minutes
    configuration = _configuration(request["text"], request["sizes"])
    counts = []
    for problem, *groups in configuration.get("BenchmarkProblems") or []:
        for group in groups or [{}]:
            counts.append(_listened(lambda p=problem, g=group: _permutations(structs, p, g)))
    names = sorted(getattr(structs, "validParameters", ()))
    return {"standing": "taken", "permutations": counts, "parameters": names}


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
        words = said.getvalue().rpartition(_FATAL)[2].strip()
        raise _Refused(words or "it ended without a word") from None
    except _CannotAsk:
        raise
    except Exception as error:
        raise _Refused(f"it ends by a Python exception: {type(error).__name__}: {error}") from None


if __name__ == "__main__":
    main()
