"""What a scripted model answers: an analysis and edits, as JSON."""

from __future__ import annotations

import json

Edit = dict[str, object]
INSTRUCTION = "MatrixInstruction"
SMALL = [16, 16, 16, 1, 1, 2, 2, 2, 2]
BEST = [16, 16, 16, 1, 1, 4, 4, 2, 2]
SMALL_32 = [32, 32, 8, 1, 1, 2, 2, 2, 2]


def advice(*edits: Edit, analysis: str = "It is bound by memory.", expected: str = "", stop: bool = False) -> str:
    return json.dumps({"analysis": analysis, "edits": edits, "expected": expected, "stop": stop})


STOP = advice(analysis="Nothing is left to try.", stop=True)


def _edit(kind: str, reason: str, **more: object) -> Edit:
    return {"kind": kind, "reason": reason, **more}


def fork(parameter: str, values: list[object], *, group: int = 0, reason: str = "It may matter.") -> Edit:
    return _edit("add_multiplicative", reason, parameter=parameter, values=values, size_group=group)


def hold(parameter: str, keep: object, *, group: int = 0, reason: str = "It never won.") -> Edit:
    return _edit("remove_multiplicative", reason, parameter=parameter, keep=keep, size_group=group)


def try_value(parameter: str, value: object, *, group: int = 0, reason: str = "It may be faster.") -> Edit:
    return _edit("add_candidate", reason, parameter=parameter, value=value, size_group=group)


def drop(parameter: str, value: object, *, group: int = 0, reason: str = "It never won.") -> Edit:
    return _edit("remove_candidate", reason, parameter=parameter, value=value, size_group=group)


DEEPER = advice(try_value("DepthU", 64), expected="A fifth more.")
SPLIT = advice(try_value("GlobalSplitU", 4))
MORE_TILES = advice(try_value(INSTRUCTION, SMALL_32))
"""Those that help at both sizes, at the first size, and nowhere."""
