"""The value of a parameter, and numbers of runs, in the words that prompts, screen, lines and files share."""

from __future__ import annotations

from collections.abc import Mapping

from tui_tuner.format import counted

ParameterValue = bool | int | float | str | list[int]
"""A number, a switch, a word, or a list of numbers as in `MatrixInstruction: [16, 16, 16, 1, 1, 2, 2, 2, 2]`."""

_FEW = 1000
"""Speeds below it, in GFLOP/s, are written with decimals."""


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


def values_words(values: Mapping[str, ParameterValue]) -> str:
    """Forked parameters with their values, on one line, lists without blanks; empty where nothing is forked."""
    return " ".join(f"{name} {value_text(value).replace(', ', ',')}" for name, value in values.items())


def gflops_words(gflops: float) -> str:
    """A speed in GFLOP/s with four digits or more, as in 9,310 and 81.27."""
    if gflops >= _FEW:
        return f"{gflops:,.0f}"
    return f"{gflops:.1f}" if gflops >= _FEW / 10 else f"{gflops:.2f}"


def work_words(permutations: int, sizes: int) -> str:
    """What a run has to measure."""
    return f"{counted(permutations, 'permutation')} x {counted(sizes, 'size')}"
