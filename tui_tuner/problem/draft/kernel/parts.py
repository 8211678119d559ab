"""Outputs in which each block leaves a part of the result, and by what the parts make it.

With other blocks there are other parts. What they come to is the same, so that is what a draft has compared; where it
is certain enough that something combines them, since somebody may look at each part for itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tui_tuner.problem.argument import ComparedAs
from tui_tuner.problem.draft.kernel.guesses import is_written
from tui_tuner.problem.signature import KernelSignature
from tui_tuner.problem.syntax import name_in, split_list

_BLOCK = r"\b(?:blockIdx|get_group_id)\b"
_NAME = re.compile(r"(?<![.\w])[A-Za-z_]\w*")
_ASSIGNED = re.compile(r"\b([A-Za-z_]\w*)\s*(?:[-+*/%&|^]|<<|>>)?=(?!=)(?=((?:[^;{}(),]|\((?:[^()]|\([^()]*\))*\))*))")
"""A variable and what it is made, or made more by."""
_SHARED = re.compile(r"\b(?:__shared__|__local|local)\b[^;=]*?\b(\w+)\s*(?:\[|;)")
_CONSTANT = re.compile(r"\bconst(?:expr)?\s+(?:unsigned\s+)?(?:int|unsigned|size_t)\s+(\w+)\s*=\s*\d+\s*;")
_COMBINES = re.compile(
    r"(?i)reduc|sum|dot|norm|accum|total|max|min|count|partial|mean|average|varian|energy|integra|loss|residual|largest|smallest"
)
"""In the name of a kernel, or of an output, whose parts are to be combined."""
_EXTREMES: dict[ComparedAs, str] = {
    "max": r"\b(?:\w+::)*(?:f?max[fl]?|atomicMax|__reduce_max_sync|Max)\b|(?i:reduce_?max|max_?reduce)",
    "min": r"\b(?:\w+::)*(?:f?min[fl]?|atomicMin|__reduce_min_sync|Min)\b|(?i:reduce_?min|min_?reduce)",
}
_SUMS = r"__reduce_add_sync|\batomicAdd\b|\.\s*Sum\s*\(|\bplus\s*<|(?i:reduce_?(?:sum|add)|sum_?reduce)"


def parts_of(signature: KernelSignature, code: str) -> dict[str, ComparedAs]:
    """The outputs, by name, with how their parts are combined; nothing where one of them holds anything else.

    Args:
        code: of kernel and host, without comments.
    """
    body = signature.body
    written = [one.name for one in signature.parameters if one.is_array and is_written(one.name, signature)]
    if not (
        _is_in_a_row(body) and _takes_a_share(signature, code) and all(has_one_a_block(name, body) for name in written)
    ):
        return {}
    found = {name: _combined(name, signature) for name in written}
    named = {name for name in written if _COMBINES.search(f"{signature.name} {name}")}
    is_meant = all(name in named or _is_combined(name, signature, code) for name in written)
    return {name: how for name, how in found.items() if how} if is_meant and all(found.values()) else {}


def _is_in_a_row(body: str) -> bool:
    """Whether blocks lie along one axis, so that parts of all are parts of the same."""
    axes = re.findall(rf"{_BLOCK}\s*(?:\.\s*(\w)|\(\s*(\d))", body)
    return {one or other for one, other in axes} in ({"x"}, {"0"})


def _takes_a_share(signature: KernelSignature, code: str) -> bool:
    """Whether a block begins at its number times its extent, and not with a row of its own."""
    own = [*map(name_in, signature.template), *_CONSTANT.findall(code)]
    extent = (
        rf"\b(?:blockDim|get_local_size|[bB]lock_?[sS]ize\w*|[A-Z][A-Z0-9_]+{''.join(f'|{name}' for name in own)})\b"
    )
    between = r"[^;,{}]*\*[^;,{}]*"
    share = rf"\bget_global_id\b|{_BLOCK}{between}{extent}|{extent}{between}{_BLOCK}"
    return re.search(share, signature.body) is not None


def has_one_a_block(name: str, body: str) -> bool:
    """Whether the elements of an output are told apart by the number of a block alone."""
    found = [where[1] for where in _written(name, body)]
    blocks = {one for one, text in _ASSIGNED.findall(body) if re.fullmatch(rf"\s*{_BLOCK}[\s.()xyz0-2]*", text)}
    threads = _of_threads(body)
    words = [{*_NAME.findall(index)} for index in found]
    return bool(found) and all(
        (re.search(_BLOCK, index) or blocks & own) and not threads & own
        for index, own in zip(found, words, strict=True)
    )


def _written(name: str, body: str) -> Iterator[re.Match[str]]:
    """Where an element is set: its index, and to what."""
    return re.finditer(rf"\b{re.escape(name)}\s*\[([^][;]*)\]\s*=(?!=)([^;]*)", body)


def _of_threads(body: str) -> set[str]:
    """What differs from thread to thread of a block: its number, and variables that it goes into."""
    found, more = set[str](), {"threadIdx", "get_local_id", "get_global_id"}
    while not more <= found:
        found |= more
        more = {name for name, text in _ASSIGNED.findall(body) if found & {*_NAME.findall(text)}}
    return found


def _combined(name: str, signature: KernelSignature) -> ComparedAs | None:
    """By what a block makes its part, where its text has only one such thing; a root of it is no part."""
    body = signature.body
    values = [where[2] for where in _written(name, body)]
    if any(re.search(r"\b(?!\w*(?i:reduc|sum|max|min|float|double|int|cast))\w+\s*\(", value) for value in values):
        return None
    held = {*_SHARED.findall(body), *_NAME.findall(" ".join(values))} - {"threadIdx", "blockIdx", "x", "y", "z"}
    any_held = "|".join(map(re.escape, held)) or "(?!)"
    element = rf"\b(?:{any_held})\b(?:\s*\[[^][]*\])?"
    added = rf"{element}\s*\+=|{element}\s*\+(?!\+)|[^+]\+\s*{element}(?!\s*\[)|{_SUMS}"
    statements = [one for one in re.split(r"[;{}]", body) if re.search(rf"{element}|__shfl|{_SUMS}", one)]
    kinds: set[ComparedAs] = {kind for kind, words in _EXTREMES.items() if any(re.search(words, s) for s in statements)}
    if any(re.search(added, _without_indices(one)) for one in statements):
        kinds.add("sum")
    return kinds.pop() if len(kinds) == 1 else None


def _without_indices(statement: str) -> str:
    return re.sub(r"\[[^][]*\]", "", statement)


def _is_combined(name: str, signature: KernelSignature, code: str) -> bool:
    """Whether the host combines the elements of an output, or has the same kernel do so."""
    position = [one.name for one in signature.parameters].index(name)
    given = re.findall(rf"\b{signature.name}\s*(?:<[^<>]*>)?\s*<<<[^;]*>>>\s*\(([^;]*)\)\s*;", code)
    launches = [[{*_NAME.findall(one)} for one in split_list(text)] for text in given]
    held = {word for one in launches for word in set().union(*one[position : position + 1])}
    for array in set(held):
        held |= {*re.findall(rf"\b\w*[mM]emcpy\w*\s*\(\s*&?\s*(\w+)[^,;]*,\s*&?\s*{array}\b", code)}
    again = any(held & words for one in launches for index, words in enumerate(one) if index != position)
    return again or any(_is_summed_up(array, code) for array in held)


def _is_summed_up(array: str, code: str) -> bool:
    by_host = rf"\+=\s*{array}\s*\[|\b(?:f?max|f?min)\w*\s*\([^;]*\b{array}\s*\["
    by_library = rf"\b(?:accumulate|reduce|max_element|min_element)\s*\([^;]*\b{array}\b"
    return re.search(f"{by_host}|{by_library}", code) is not None
