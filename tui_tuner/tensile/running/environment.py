"""What Tensile and the programs that it starts inherit."""

from __future__ import annotations

import os

_SECRETS = ("KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "COOKIE", "AUTH")


def environment() -> dict[str, str]:
    """All but what could be a key: Tensile's toolchain is steered by too many variables to name them.

    PYTHONUNBUFFERED makes its lines arrive as they are printed.
    """
    kept = {name: value for name, value in os.environ.items() if not any(word in name.upper() for word in _SECRETS)}
    return kept | {"PYTHONUNBUFFERED": "1"}
