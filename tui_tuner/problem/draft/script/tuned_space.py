"""What a script has kernel_tuner vary, as the tables of a problem file."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice, product

from tui_tuner.problem.draft.arithmetic.worked_out import value_in
from tui_tuner.problem.draft.drafted_launch import DraftedLaunch, TunedSpace
from tui_tuner.problem.draft.kernel.guesses import AXES
from tui_tuner.problem.draft.script.arithmetic import UNKNOWN
from tui_tuner.problem.draft.script.formulas import formula, formulas
from tui_tuner.problem.draft.script.values import ScriptValues, called
from tui_tuner.problem.expressions import names_in
from tui_tuner.problem.languages import COMPILED_LANGUAGES, Language, Value

_USUAL_BLOCK = ("256", "1", "1")
"""Of kernel_tuner, where no tunable says it."""
_DEFINED = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+(\d{1,9})[ \t]*$", re.MULTILINE)
_OPTION = re.compile(
    r"-D\w+(?:=\S*)?|--?use_fast_math|--?fmad=\w+|--?std=c\+\+2\w|-cl-\S+|-f(?:openmp|fast-math)|-march=\S+"
)
"""Options that are taken over; directories are not, since what is in them may be read by builds: the user's to say."""
_NEEDLESS = re.compile(r"-O\w|--?std=c\+\+[01]\w|--?(?:arch|code|gencode)(?:=\S+)?|-W\S*|-g")
"""Options that change nothing, or that the device says."""
_LEAST_NAMED = 128
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
    for node in _restrictions(values, words.get("restrictions")):
        text = formula(values, node, tunables)
        (kept if text else left).append(text or _said(values, node))
    keys, others = _keys(values, words, tunables, items)
    options, unusual = taken_options(values, words.get("compiler_options"))
    left += [*others, *(f"{key} = {ast.unparse(words[key])}" for key in ("texmem_args", "verify") if key in words)]
    left += [f"compiler_options: {one}" for one in unusual]
    return TunedSpace(line, tunables, tuple(kept), keys, options, tuple(left))


def _keys(
    values: ScriptValues, words: Mapping[str, ast.expr], tunables: Mapping[str, list[Value]], items: Sequence[str]
) -> tuple[dict[str, list[str] | str], list[str]]:
    """The keys of [launch] that the call's arguments say, and which of these are none."""
    keys: dict[str, list[str] | str] = {}
    left: list[str] = []
    for key in (*(f"grid_div_{axis}" for axis in AXES), "problem_size"):
        if key in words and values.value(words[key]) is not None:
            found = formulas(values, words[key], tunables)
            is_own = key != "problem_size" or any(names_in(one) for one in found if one)
            if "" in found and (is_own or not items):
                left.append(f"{key} = {_said(values, words[key])}")
            elif is_own:
                keys[key] = found or ["1"]
    if "smem_args" in words:
        size = _item(values, words["smem_args"], "size")
        text = formula(values, size, tunables) if size is not None else ""
        keys |= {"shared_memory": text} if text else {}
        left += [] if text else [f"smem_args = {_said(values, size or words['smem_args'])}"]
    if (block := _block(values, words.get("block_size_names"), tunables, len(items) or 1)) is not None:
        keys["block_size"] = block
    return keys, left


def taken_options(values: ScriptValues, node: ast.expr | None) -> tuple[list[str], list[str]]:
    """The options of a compiler that are taken over, and the others."""
    given = [] if node is None or values.value(node) is None else values.items(node)
    known = [found if isinstance(found := values.value(one), str) else ast.unparse(one) for one in given]
    words = [word for text in known for word in (text.split() if text.startswith("-") else [text])]
    taken = [one for one in words if _OPTION.fullmatch(one)]
    return taken, [one for one in words if one not in taken and not _NEEDLESS.fullmatch(one)]


def _block(
    values: ScriptValues, named: ast.expr | None, tunables: Mapping[str, list[Value]], axes: int
) -> list[str] | None:
    """The threads of a block along each axis; None where they are as usual."""
    usual = [f"block_size_{axis}" for axis in AXES]
    names = _texts(values, named)[: len(AXES)]
    names += usual[len(names) :]
    block = [name if name in tunables else number for name, number in zip(names, _USUAL_BLOCK, strict=True)]
    return block[: max(axes, sum(name in tunables for name in names))] if block[:axes] != usual[:axes] else None


def _item(values: ScriptValues, node: ast.expr, key: str) -> ast.expr | None:
    """What stands under a name in a dictionary that is written out, or called for by `dict`."""
    match values.meant(node):
        case ast.Dict(keys=keys, values=found):
            given = {one.value: value for one, value in zip(keys, found, strict=True) if isinstance(one, ast.Constant)}
            return given.get(key)
        case ast.Call() as call if called(call) == "dict":
            return next((one.value for one in call.keywords if one.arg == key), None)
    return None


def _said(values: ScriptValues, node: ast.expr) -> str:
    """What the script says there, with what a name stands for."""
    meant = values.meant(node)
    named = f"{ast.unparse(node)}: " if isinstance(node, ast.Name) and meant is not node else ""
    return named + ast.unparse(meant)


def with_space(launch: DraftedLaunch | None, space: TunedSpace, source: str, language: Language) -> DraftedLaunch:
    """A launch that was read, with what is to be varied in the place of what was found in it.

    Args:
        source: of the kernel, which may give its macros numbers.
    """
    said = launch or DraftedLaunch(line=space.line)
    said = said.renamed({name: f"{name}_of_host" for name in said.sizes.keys() & space.tunables.keys()})
    sizes = {key: text for key, text in said.keys.items() if key == "problem_size"}
    if "problem_size" in space.keys:
        sizes = {"problem_size": [_named(text, said.sizes) for text in space.keys["problem_size"]]}
    keys = {**space.keys, **sizes} if COMPILED_LANGUAGES[language].has_blocks else {}
    if language != "cuda":
        keys.pop("shared_memory", None)
    stated = {name: int(number) for name, number in _DEFINED.findall(source)}
    varied = replace(space, defaults=_first(space, stated))
    return replace(said, keys=keys, tunables={}, defaults={}, space=varied)


def _named(text: str, sizes: Mapping[str, int | None]) -> str:
    """An expression with the sizes in the place of their numbers; small numbers are more than one thing."""
    names = {number: name for name, number in sizes.items() if number is not None and number >= _LEAST_NAMED}
    return re.sub(r"(?<![\w.])\d+(?![\w.])", lambda found: names.get(int(found[0]), found[0]), text)


def _tunable(given: object) -> list[Value]:
    listed = given if isinstance(given, list | tuple) else (given,)
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


def _restrictions(values: ScriptValues, node: ast.expr | None) -> list[ast.expr]:
    return [] if node is None or values.value(node) is None else values.items(node)


def _first(space: TunedSpace, stated: Mapping[str, Value]) -> dict[str, Value]:
    """The first configuration that the restrictions allow, the source's own numbers before others."""
    ordered = [
        [*(one for one in values if one == stated.get(name)), *values] for name, values in space.tunables.items()
    ]
    for chosen in islice(product(*ordered), _MOST_TRIED):
        names = dict(zip(space.tunables, chosen, strict=True))
        if all(value_in(text, names) for text in space.restrictions):
            return names
    return {}
