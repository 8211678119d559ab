"""What Tensile and the programs that it starts inherit."""

from __future__ import annotations

from tui_tuner.processes.environment import environment_without_keys


def environment() -> dict[str, str]:
    """All but what could be a key: Tensile's toolchain is steered by too many variables to name them.

    PYTHONUNBUFFERED makes its lines arrive as they are printed.
    """
    return environment_without_keys() | {"PYTHONUNBUFFERED": "1"}
