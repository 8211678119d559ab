"""The value of a parameter in a Tensile configuration."""

from __future__ import annotations

ParameterValue = bool | int | float | str | list[int]
"""A number, a switch, a word, or a list of numbers as in `MatrixInstruction: [16, 16, 16, 1, 1, 2, 2, 2, 2]`."""


def same(one: ParameterValue, other: ParameterValue) -> bool:
    """Whether Tensile takes two values for the same: as in Python, `True` is 1 and 2.0 is 2."""
    return one == other


def value_text(value: ParameterValue) -> str:
    """A value as a configuration file has it, on one line."""
    if isinstance(value, list):
        return f"[{', '.join(map(value_text, value))}]"
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, float) and "e" in str(value):  # YAML reads 1e-05 as a word
        return f"{value:.20f}".rstrip("0")
    return str(value)
