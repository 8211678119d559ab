"""Which permutation a solution is: Tensile writes solutions as it derived them, and not as they were forked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tui_tuner.tensile.document.configuration import Alternative, SizeGroup
from tui_tuner.tensile.values import ParameterValue, same

INSTRUCTION = "MatrixInstruction"
_WORK_GROUP = "WorkGroup"
_AUTOMATIC = -1
"""A value by which Tensile is asked to choose one itself."""


def identified(group: SizeGroup, solution: Mapping[str, object]) -> dict[str, ParameterValue]:
    """The values that a solution has of the parameters that its size group varies.

    Args:
        solution: its parameters, as in the results' YAML.

    Returns:
        No entry for a parameter whose value cannot be told, as where Tensile derives it from others.
    """
    found: dict[str, ParameterValue] = {}
    for name, values in group.forked.items():
        value = _matching(name, values, solution)
        if value is not None:
            found[name] = value
    for alternatives in group.groups:
        found.update(_alternative(alternatives, solution))
    return found


def _alternative(alternatives: Sequence[Alternative], solution: Mapping[str, object]) -> Alternative:
    """The alternative that fits best: nothing of it contradicts the solution, most of it is told by it."""
    fitting = [one for one in alternatives if all(_fits(name, value, solution) for name, value in one.items())]
    told = [sum(_is(name, value, solution) for name, value in one.items()) for one in fitting]
    return {} if not fitting else fitting[told.index(max(told))]


def _fits(name: str, value: ParameterValue, solution: Mapping[str, object]) -> bool:
    return name not in solution or _is(name, value, solution) or value == _AUTOMATIC


def _matching(name: str, values: Sequence[ParameterValue], solution: Mapping[str, object]) -> ParameterValue | None:
    for value in values:
        if _is(name, value, solution):
            return value
    return next((value for value in values if value == _AUTOMATIC), None)


def _is(name: str, value: ParameterValue, solution: Mapping[str, object]) -> bool:
    if name == INSTRUCTION and isinstance(value, list) and len(value) == 9:
        return _instruction(value) == _instruction_of(solution)
    if name == _WORK_GROUP and isinstance(value, list) and solution.get("EnableMatrixInstruction"):
        return _last(solution.get(name)) == _last(value)  # the first two follow from the instruction
    told = solution.get(name)
    return isinstance(told, bool | int | float | str | list) and same(value, told)


def _last(value: object) -> object:
    return value[-1] if isinstance(value, list) and value else None


def _instruction(nine: Sequence[int]) -> tuple[object, ...]:
    """Instruction, blocks, wave tile and wave group, as Tensile derives them from nine numbers."""
    _m, _, _, blocks, block, tile_m, tile_n, wave_m, wave_n = nine
    in_m = min(block * wave_m, blocks) or 1
    waves = wave_m * wave_n
    group_m = min(block * wave_m // in_m, waves) or 1
    return list(nine[:4]), in_m, [tile_m, tile_n], [group_m, waves // group_m]


def _instruction_of(solution: Mapping[str, object]) -> tuple[object, ...]:
    block = solution.get("MIBlock")
    in_m = block[4] if isinstance(block, list) and len(block) > 4 else None
    return solution.get(INSTRUCTION), in_m, solution.get("MIWaveTile"), solution.get("MIWaveGroup")
