"""Structures as launches pass them by value: one with gaps and an array, and a vector."""

from tui_tuner.problem.inputs import scalar_of
from tui_tuner.problem.model import Argument

TWO = [
    {"name": "mark", "dtype": "int8", "value": 1},
    {"name": "by", "dtype": "float64", "value": 0.25},
    {"name": "at", "dtype": "int32", "value": [3, 4, "n"]},
]
FOUR = [{"name": "x", "dtype": "float32", "value": 1.0, "alignment": 16}]
FOUR += [{"name": name, "dtype": "float32", "value": value} for name, value in zip("yzw", (2.0, 3.0, 4.0), strict=True)]

HELD = {"two": TWO, "four": FOUR}
ARGUMENTS = [Argument.model_validate({"name": name, "dtype": "struct", "members": HELD[name]}) for name in HELD]
STRUCTURES = [scalar_of(argument, {"n": 5}) for argument in ARGUMENTS]
