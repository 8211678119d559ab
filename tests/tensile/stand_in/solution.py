"""A solution as Tensile writes it: its permutation's values, and what follows from them."""

from __future__ import annotations

from typing import Any

_RESOLVED = {"VectorWidthA": 1, "TransposeLDS": 1, "LdsPadA": 16, "LocalWritePerMfma": 1.0}
"""What -1 becomes."""
_IN_NAMES = ("GlobalSplitU", "StaggerU", "StaggerUStride", "WorkGroupMapping")
LDS_BYTES = 65536
_TYPES = {"s": 0, "d": 1, "c": 2, "z": 3, "h": 4, "i": 6, "b": 7, "i8": 8}
_BYTES = {0: 4, 1: 8, 2: 8, 3: 16, 4: 2, 6: 4, 7: 2, 8: 1}


def type_number(name: object) -> int:
    """A data type's number."""
    return name if isinstance(name, int) else _TYPES[str(name).lower()]


def problem_name(problem: dict[str, Any]) -> str:
    """A problem type's name: indices of the matrices, data types, options."""
    first, second = bool(problem.get("TransposeA")), bool(problem.get("TransposeB", True))
    if problem.get("Batched"):
        indices = f"Cijk_A{'lik' if first else 'ilk'}_B{'jlk' if second else 'ljk'}"
    else:
        indices = f"Cij_A{'ki' if first else 'ik'}_B{'jk' if second else 'kj'}"
    kinds = [str(problem.get(key, "s")).upper() for key in ("DataType", "DestDataType", "ComputeDataType")]
    types = "".join(kinds) + "_BH" if problem.get("HighPrecisionAccumulate") else f"{kinds[0]}B"
    options = [word for word, key in (("Bias", "UseBias"), ("A", "Activation")) if problem.get(key)]
    return "_".join([indices, types, *options, "UserArgs"])


def derived(values: dict[str, Any], problem: dict[str, Any]) -> dict[str, Any]:
    """All parameters of a solution."""
    state = {name: _RESOLVED.get(name, value) if value == -1 else value for name, value in values.items()}
    instruction = values["MatrixInstruction"]
    if len(instruction) == 9:
        state |= _matrix(instruction, values)
    else:
        work, tile = values["WorkGroup"], values["ThreadTile"]
        macro = work[0] * tile[0], work[1] * tile[1]
        state |= {"EnableMatrixInstruction": False, "MacroTile0": macro[0], "MacroTile1": macro[1]}
    state["LoopUnroll"] = state["DepthU"] // state["WorkGroup"][2]
    number = type_number(problem.get("DataType", "s"))
    state["LdsNumBytes"] = (state["MacroTile0"] + state["MacroTile1"]) * state["DepthU"] * _BYTES[number]
    types = ("DataType", "DestDataType", "ComputeDataType")
    state["ProblemType"] = {**problem, **{key: type_number(problem.get(key, "s")) for key in types}}
    return state | {"ISA": [9, 0, 10], "Valid": True}


def _matrix(nine: list[int], values: dict[str, Any]) -> dict[str, Any]:
    m, n, k, blocks, block, tile_m, tile_n, wave_m, wave_n = nine
    waves, side = wave_m * wave_n, block * m * wave_m
    block_m = min(side // m, blocks)
    block_n = blocks // block_m
    group_m = min(side // m // block_m, waves)
    return {
        "EnableMatrixInstruction": True,
        "MatrixInstruction": [m, n, k, blocks],
        "MatrixInstM": m,
        "MatrixInstN": n,
        "MatrixInstB": blocks,
        "MIBlock": [m, n, k, blocks, block_m, block_n],
        "MIWaveGroup": [group_m, waves // group_m],
        "MIWaveTile": [tile_m, tile_n],
        "WorkGroup": [side, waves * values["WavefrontSize"] // side, values["WorkGroup"][2]],
        "ThreadTile": [1, 1],
        "MacroTile0": m * block_m * tile_m * group_m,
        "MacroTile1": n * block_n * tile_n * (waves // group_m),
    }


def name(state: dict[str, Any], problem: str, forked: set[str], *, kernel: bool = False) -> str:
    """A solution's name, or its kernel's, which leaves out what is an argument of the kernel."""
    inside = set() if kernel else set(_IN_NAMES)
    told = (forked - set(_IN_NAMES) | inside) - {"MatrixInstruction", "DepthU"}
    told.add("MIWaveTile" if state["EnableMatrixInstruction"] else "ThreadTile")
    parts = [problem, f"MT{state['MacroTile0']}x{state['MacroTile1']}x{state['DepthU']}"]
    if state["EnableMatrixInstruction"]:
        parts.append(f"MI{state['MatrixInstM']}x{state['MatrixInstN']}x{state['MatrixInstB']}")
    parts.append("SN")
    return "_".join(parts + [_short(key) + _text(state[key]) for key in sorted(told)])


def _short(key: str) -> str:
    return "".join(letter for letter in key if letter.isupper() or letter.isdigit())


def _text(value: Any) -> str:
    if isinstance(value, list):
        return "_".join(map(_text, value))
    if isinstance(value, str):
        return _short(value)
    if isinstance(value, float):
        return f"{value:g}".replace(".", "p")
    return f"n{-value}" if value < 0 else str(int(value))
