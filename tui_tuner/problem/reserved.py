"""Names that mean something already and cannot be tunables, which become compiler macros."""

from __future__ import annotations

import keyword
import re

from tui_tuner.problem.languages import COMPILED_LANGUAGES
from tui_tuner.problem.table import Language

_C_WORDS = """
    alignas alignof asm auto bool break case catch char class const constexpr const_cast continue decltype default
    delete do double dynamic_cast else enum explicit export extern false float for friend goto if inline int long
    mutable namespace new noexcept nullptr operator private protected public register reinterpret_cast restrict return
    short signed sizeof static static_assert static_cast struct switch template this throw true try typedef typeid
    typename union unsigned using virtual void volatile while
"""
_PREDEFINED_WORDS = """
    threadIdx blockIdx blockDim gridDim warpSize get_global_id get_local_id get_group_id get_global_size
    get_local_size get_num_groups barrier main defined min max abs ceil ceil_div size_t half kernel_tuner
"""
_C_FAMILY = frozenset(_C_WORDS.split())
_PREDEFINED = frozenset(_PREDEFINED_WORDS.split())
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def keywords(language: Language) -> frozenset[str]:
    """Words that can be no identifier in this language."""
    traits = COMPILED_LANGUAGES.get(language)
    return _C_FAMILY if traits is None else _C_FAMILY | traits.reserved


def why_no_size(name: str) -> str | None:
    """Why expressions cannot use this name, in words."""
    if not _NAME.fullmatch(name):
        return f"'{name}' is not a name: letters, digits and underscores, not a digit first"
    return f"'{name}' is a word of expressions" if keyword.iskeyword(name) else None


def why_no_tunable(name: str, language: Language) -> str | None:
    """Why this name cannot be a tunable, in words."""
    if reason := why_no_size(name):
        return reason
    if name in keywords(language) | _PREDEFINED or name.startswith("__"):
        return f"'{name}' has a meaning in the kernel's language already"
    return None
