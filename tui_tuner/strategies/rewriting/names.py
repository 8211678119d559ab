"""Names of tunables in a rewritten kernel: a variant of a name that is in use becomes that name.

A variant is spelt differently ("BLOCK_SIZE_X", "blockSizeX"), lacks the axis of the only one of its kind in use
("block_size" where that is "block_size_x"), or is another word for the block size: block_dim, threads_per_block,
work_group_size, and with an axis also threads_x, local_size_x. Words that may mean something else are left alone:
"BX" and "block_x" are as often a tile of elements, "threads" any number of threads, "local_size" bytes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping

from tui_tuner.problem.expressions import ExpressionError, respelt
from tui_tuner.problem.syntax import code_only

_WITH_AXIS = re.compile(r"(.*[^_])(?:_([xyzXYZ])|(?<=[a-z0-9])([XYZ]))")
_BLOCK_SIZE = "blocksize"
_BLOCK_SIZE_WORDS = frozenset({"blockdim", "threadsperblock", "workgroupsize"})
_BLOCK_SIZE_WORDS_WITH_AXIS = _BLOCK_SIZE_WORDS | {"threads", "localsize"}
_NAMES_OF_THE_LAUNCH = frozenset({"block_size_x", "block_size_y", "block_size_z"})
_TOKENS = re.compile(
    r"""
      ^[ \t]*\#[ \t]*include\b[^\n]*
    | \.?\d(?:[eEpP][+-]|[\w.])*                      # a number with its suffix
    | (?:(?<!\.)\.|->|\#\#)\s*[^\W\d]\w*            # a member, or what a macro pastes behind something
    | [^\W\d]\w*(?=\s*\#\#)                         # what a macro pastes something behind
    | (?P<name>[^\W\d]\w*)
    """,
    re.VERBOSE | re.MULTILINE,
)


def renames(listed: Collection[str], in_use: Collection[str], used_names: Collection[str]) -> dict[str, str]:
    """The established name of each variant that can simply be renamed.

    Left alone is a variant of several names, or of one that occurs itself or has other variants here; and
    block_size_x, _y and _z, which say what the block size is where the launch does not.

    Args:
        listed: the tunables of the rewritten kernel.
        in_use: the tunables of the problem and of the incumbent.
        used_names: names that occur in the rewritten code and its launch.
    """
    found = {}
    for name in listed:
        established = _established(name, in_use)
        if len(established) == 1 and name not in _NAMES_OF_THE_LAUNCH:
            found[name] = established[0]
    variants = Counter(found.values())
    return {
        name: established
        for name, established in found.items()
        if variants[established] == 1 and established not in listed and established not in used_names
    }


def conflicts(listed: Collection[str], in_use: Collection[str], used_names: Collection[str]) -> list[str]:
    """What is wrong with variants that cannot be renamed, in words for the model; arguments as of `renames`."""
    return list(dict.fromkeys(_conflicts(listed, in_use, {*listed, *used_names})))


def _conflicts(listed: Collection[str], in_use: Collection[str], occurring: Collection[str]) -> Iterator[str]:
    established = {name: _established(name, in_use) for name in listed}
    for name, known in established.items():
        for one in known:
            if one in occurring:
                yield f"tunables: '{name}' stands beside '{one}', which is in use; use {one} alone"
                continue
            same = [other for other, its in established.items() if its == [one]]
            if len(same) > 1:
                yield f"tunables: {_quoted(same)} all mean '{one}', which is in use; use {one} alone"


def _quoted(names: Collection[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def rename_identifiers(source: str, names: Mapping[str, str]) -> str:
    """The source with these identifiers renamed wherever a macro of the old name would be replaced.

    That is in code, conditions and bodies of macros; not in comments, strings and names of files, not where a
    name is part of a longer one or made by `##`, and not after `.` or `->`, since members keep their names.
    """
    pieces: list[str] = []
    end = 0
    for token in _TOKENS.finditer(code_only(source)):
        if token["name"] in names:
            pieces += [source[end : token.start()], names[token["name"]]]
            end = token.end()
    return "".join([*pieces, source[end:]])


def rename_in_expression(expression: str, names: Mapping[str, str]) -> str:
    """An expression of a launch or restriction with these names replaced; as it is if it cannot be read."""
    try:
        return respelt(expression, names)
    except ExpressionError:
        return expression


def _established(name: str, in_use: Collection[str]) -> list[str]:
    """The names in use that this one is a variant of; none if it is in use itself."""
    if name in in_use:
        return []
    stem, axis = _meaning(name)
    same = [known for known in in_use if _folded(known) == _folded(name) or _meaning(known) == (stem, axis)]
    if same or axis:
        return same
    return [known for known in in_use if _meaning(known)[0] == stem]


def _folded(name: str) -> str:
    return name.replace("_", "").lower()


def _meaning(name: str) -> tuple[str, str]:
    """The name without spelling, and its axis: ("blocksize", "x") for "BLOCK_DIM_X"."""
    match = _WITH_AXIS.fullmatch(name)
    if match is None:
        stem = _folded(name)
        return (_BLOCK_SIZE if stem in _BLOCK_SIZE_WORDS else stem), ""
    stem = _folded(match[1])
    return (_BLOCK_SIZE if stem in _BLOCK_SIZE_WORDS_WITH_AXIS else stem), (match[2] or match[3]).lower()
