"""What a script has kernel_tuner vary, as the tables of a problem file."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice, product

from tui_tuner.problem.draft.drafted import DraftedLaunch, TunedSpace
from tui_tuner.problem.draft.guesses import AXES
from tui_tuner.problem.draft.script_arithmetic import UNKNOWN
from tui_tuner.problem.draft.script_values import ScriptValues
from tui_tuner.problem.expressions import ExpressionError, evaluate, names_in
from tui_tuner.problem.languages import COMPILED_LANGUAGES, Language, Value

_USUAL_BLOCK = ("256", "1", "1")
"""Of kernel_tuner, where no tunable says it."""
_DEFINED = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+(\d{1,9})[ \t]*$", re.MULTILINE)
_MOST_TRIED = 100_000


def tuned_space(
    values: ScriptValues, words: Mapping[str, ast.expr], items: Sequence[str], line: int
) -> TunedSpace | None:
    """The space of a call of `tune_kernel`; None where its tunables cannot be read.

    Args:
        words: the call's arguments by their names.
        items: the problem size along each axis.
    """
    table = values.value(words["tune_params"]) if "tune_params" in words else UNKNOWN
    if not isinstance(table, dict):
        return None
    tunables = {name: _tunable(given) for name, given in table.items() if isinstance(name, str) and name.isidentifier()}
    tunables = {name: found for name, found in tunables.items() if found}
    if not tunables:
        return None
    left = [str(name) for name in table if name not in tunables]
    kept: list[str] = []
    for node, text in _restrictions(values, words.get("restrictions")):
        (kept if text and _is_expression(text, tunables) else left).append(text or ast.unparse(node))
    divisors = {name: words[name] for axis in AXES if (name := f"grid_div_{axis}") in words}
    keys = {name: _texts(values, node) or ["1"] for name, node in divisors.items() if _is_listed(values, node)}
    if any({*re.findall(r"\w+", one)} & tunables.keys() for one in items):
        keys["problem_size"] = [*items]
    axes = len(items) or 1
    usual = [f"block_size_{axis}" for axis in AXES]
    names = _texts(values, words.get("block_size_names"))[: len(AXES)]
    names += usual[len(names) :]
    block = [name if name in tunables else number for name, number in zip(names, _USUAL_BLOCK, strict=True)]
    if block[:axes] != usual[:axes]:
        keys["block_size"] = block[: max(axes, sum(name in tunables for name in names))]
    return TunedSpace(line, tunables, tuple(kept), keys, tuple(left))


def with_space(
    launch: DraftedLaunch | None, space: TunedSpace | None, source: str, language: Language
) -> DraftedLaunch | None:
    """A launch that was read, with what is to be varied in the place of what was found in it.

    Args:
        source: of the kernel, which may give its macros numbers.
    """
    if space is None:
        return launch
    said = launch or DraftedLaunch(line=space.line)
    sizes = {key: text for key, text in said.keys.items() if key == "problem_size"}
    keys = {**sizes, **space.keys} if COMPILED_LANGUAGES[language].has_blocks else {}
    stated = {name: int(number) for name, number in _DEFINED.findall(source)}
    varied = replace(space, defaults=_first(space, stated))
    return replace(said, keys=keys, tunables={}, defaults={}, space=varied)


def _tunable(given: object) -> list[Value]:
    listed = given if isinstance(given, list | tuple) else ()
    found = list(dict.fromkeys(one for one in listed if isinstance(one, bool | int | float | str)))
    return found if len(found) == len({*map(str, listed)}) and len({type(one) for one in found}) == 1 else []


def _texts(values: ScriptValues, node: ast.expr | None) -> list[str]:
    given = UNKNOWN if node is None else values.value(node)
    given = [given] if isinstance(given, str) else given
    return (
        [str(one) for one in given]
        if isinstance(given, list) and all(isinstance(one, str | int) for one in given)
        else []
    )


def _is_listed(values: ScriptValues, node: ast.expr) -> bool:
    return isinstance(values.value(node), list | str)


def _restrictions(values: ScriptValues, node: ast.expr | None) -> list[tuple[ast.expr, str]]:
    """Each restriction as an expression over tunables; without a text where it is none."""
    given = [] if node is None or values.value(node) is None else values.items(node)
    return [(one, _restriction(values, values.meant(one))) for one in given]


def _restriction(values: ScriptValues, node: ast.expr) -> str:
    if isinstance(node, ast.Lambda):
        return ast.unparse(_OfTable(node.args.args[0].arg if len(node.args.args) == 1 else "").visit(node.body))
    text = values.value(node)
    return " ".join(text.split()) if isinstance(text, str) else ""


class _OfTable(ast.NodeTransformer):
    """Makes `p["tile"]` the name `tile`."""

    def __init__(self, table: str) -> None:
        self._table = table

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """An item of the table is the tunable of that name."""
        match node:
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str(key))) if name == self._table:
                return ast.Name(key)
        return self.generic_visit(node)


def _is_expression(text: str, tunables: Mapping[str, list[Value]]) -> bool:
    try:
        return names_in(text) <= tunables.keys()
    except ExpressionError:
        return False


def _first(space: TunedSpace, stated: Mapping[str, Value]) -> dict[str, Value]:
    """The first configuration that the restrictions allow, the source's own numbers before others."""
    ordered = [
        [*(one for one in values if one == stated.get(name)), *values] for name, values in space.tunables.items()
    ]
    for chosen in islice(product(*ordered), _MOST_TRIED):
        names = dict(zip(space.tunables, chosen, strict=True))
        if all(_holds(text, names) for text in space.restrictions):
            return names
    return {}


def _holds(text: str, names: Mapping[str, Value]) -> bool:
    try:
        return bool(evaluate(text, names))
    except ExpressionError:
        return False
