"""Alt with a letter, a digit or a sign, which most terminals send as Esc and the character.

Textual 8.2 makes a key of it that types: alt+p types `p`, alt+2 types `™`, so that none acts where somebody types.
Terminals with Kitty's protocol send what types nothing.
"""

from __future__ import annotations

import unicodedata
from collections.abc import MutableMapping
from types import SimpleNamespace
from typing import cast

from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual.keys import KEY_NAME_REPLACEMENTS

_BEGIN_MORE = frozenset("[]OPNX^_\\")
"""Behind Esc these begin what is longer, or end it."""


def know_alt_keys() -> None:
    """Let each of them be a key of its own, from now on and in all apps; those that move in a text stay."""
    table = cast("MutableMapping[str, object]", ANSI_SEQUENCES_KEYS)
    for character in map(chr, range(33, 127)):
        known = table.get(f"\x1b{character}")
        if character not in _BEGIN_MORE and (known is None or isinstance(known, str)):
            table[f"\x1b{character}"] = (SimpleNamespace(value=_name(character)),)


def _name(character: str) -> str:
    if character.isalnum():
        return f"alt+shift+{character.lower()}" if character.isupper() else f"alt+{character}"
    name = unicodedata.name(character).lower().replace("-", "_").replace(" ", "_")
    return f"alt+{KEY_NAME_REPLACEMENTS.get(name, name)}"
