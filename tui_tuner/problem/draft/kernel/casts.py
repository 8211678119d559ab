"""Casts, which say nothing of where a kernel reads and writes."""

from __future__ import annotations

import re
from functools import lru_cache

_NAMED = re.compile(
    r"\b(?:reinterpret|static|const)_cast\s*<(?:[^<>;]|<[^<>;]*>)*\*\s*(?:const\s*)?(?:__restrict__\s*)?>\s*(?=\()"
)
_OF_C = re.compile(
    r"(?<![\w>])\(\s*(?:const\s+|volatile\s+)*(?:unsigned\s+)?[\w:]+(?:\s*<[^<>;()]*>)?\s*\*+\s*(?:const\s*)?\)"
)
_TO_NUMBER = (
    r"(?:\(\s*(?:const\s+)?(?:(?:unsigned|signed|long|int|uint|ulong|\w+_t)\b\s*)+\)\s*(?=[\w(])"
    r"|\bstatic_cast\s*<[^<>*]*>\s*(?=\()|(?<![\w.>])(?:int|unsigned|uint|size_t|u?int\d+_t)\s*(?=\())"
)
_WORD_CAST = re.compile(rf"{_TO_NUMBER}\(\s*([A-Za-z_][\w.]*)\s*\)")
_CAST_TO_NUMBER = re.compile(_TO_NUMBER)
_NAME_ALONE = re.compile(r"(?<![\w>\])])\(\s*(\w+)\s*\)(?=\s*\[)")
_INDEX = r"\[(?:[^][;=]|\[[^][;=]*\])*\]"
_SUM = re.compile(rf"(?<![\w>\])])\(\s*(\w+)\s*\+((?:[^;=()]|\([^;=()]*\))*)\)\s*(?={_INDEX})")
_ADDRESSED = re.compile(rf"\*\s*(?:\(\s*&\s*(\w+\s*{_INDEX})\s*\)|&\s*(\w+\s*{_INDEX}))")
_FIRST = re.compile(rf"\(\s*&\s*(?:\(\s*(\w+\s*{_INDEX})\s*\)|(\w+\s*{_INDEX}))\s*\)\s*\[\s*0\s*\]")
_SET_IN_BRACKETS = re.compile(rf"(?<![\w>\])])\(\s*(\w+\s*{_INDEX})\s*\)(?=\s*(?:[-+*/%|&^]|<<|>>)?=(?!=))")
_STORED = re.compile(rf"\b__st(?:cs|cg|wb|wt)\s*\(\s*(?:&\s*(\w+\s*{_INDEX})|(\w+)(?:\s*\+([^,;=]*))?)\s*,")


@lru_cache(maxsize=32)
def without_casts(body: str) -> str:
    """A kernel's text in which elements are named plainly: `reinterpret_cast<float4 *>(x)[i]` as `x[i]`.

    So are `((float4 *)x)[i]`, `(x + n)[i]`, `*(float4 *)&x[i]` and `((float4 *)&x[i])[0]`; of `__stcs(x + i, v)` it is
    `x[i] = (v)`.
    """
    plain = _OF_C.sub("", _NAMED.sub("", body))
    while (shorter := re.sub(r"\(\s*(\([^()]*\))\s*\)", r"\1", plain)) != plain:
        plain = shorter
    plain = _SUM.sub(r"\1[\2]", _NAME_ALONE.sub(r"\1", plain))
    plain = _ADDRESSED.sub(lambda found: found[1] or found[2], plain)
    plain = without_brackets(_FIRST.sub(lambda found: found[1] or found[2], plain))
    return _STORED.sub(lambda found: f"{found[1] or f'{found[2]}[{found[3] or 0}]'} = (", plain)


def without_brackets(body: str) -> str:
    """A kernel's text in which elements that are set stand in no brackets, as those of a macro do: `(x[i]) += v`."""
    return _SET_IN_BRACKETS.sub(r"\1", body)


@lru_cache(maxsize=32)
def without_number_casts(body: str) -> str:
    """A kernel's text without casts to numbers: `(size_t)row * n + int(threadIdx.x)` as `row * n + threadIdx.x`."""
    return _CAST_TO_NUMBER.sub("", _WORD_CAST.sub(r"\1", body))
