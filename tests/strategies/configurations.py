"""A problem whose tunables span more configurations than are measured, and replies that choose among them."""

from __future__ import annotations

import json

from tests.session.fakes import PROBLEM
from tests.strategies.world import Answer

GRID = PROBLEM.replace(
    "block_size_x = [32, 64, 128, 256]",
    "block_size_x = [32, 64, 128, 256]\nmatters = [1, 2, 4, 8]\nother = [0, 1, 2, 3, 4, 5, 6, 7]\n\n"
    '[search]\nrestrictions = ["block_size_x * matters <= 1024"]',
)
"""120 valid configurations; the fastest have matters = 8 and block_size_x = 128."""
OPTIONS = {"problem": GRID, "max_evaluations": 12, "search": "llm"}
ROUNDS = {"initial_batch_size": 6, "refinement_batch_size": 3, "seeds": 1}


def rounds(**changes: object) -> dict[str, object]:
    return {**OPTIONS, "rounds": {**ROUNDS, **changes}}


def proposal(block_size_x: object, matters: object, other: object = 0) -> dict[str, object]:
    return {"block_size_x": block_size_x, "matters": matters, "other": other, "reason": "to see"}


def reply(*proposals: dict[str, object]) -> str:
    return json.dumps({"analysis": "It depends.", "configurations": list(proposals)})


def first(*proposals: dict[str, object]) -> Answer:
    return "first_configurations", reply(*proposals)


def more(*proposals: dict[str, object]) -> Answer:
    return "more_configurations", reply(*proposals)


MIDDLING = proposal(64, 4)
BEST = proposal(128, 8)
ANOTHER = [proposal(32, 1, other) for other in range(1, 8)]
"""As fast as the kernel as given."""
