"""A kernel in Triton for the example sessions, as the program that launches it describes it, and one rewriting."""

from __future__ import annotations

import json
from pathlib import Path

from docs.prompting.replies import plan
from docs.prompting.session import Scene
from tui_tuner.problem.model import Kernel, Launch, Problem
from tui_tuner.strategies.autonomous import AutonomousStrategy
from tui_tuner.strategies.single_step import OnePromptStrategy

_TEXT = '''"""Adds a bias to the rows of a matrix."""
import torch
import triton
import triton.language as tl


@triton.jit
def add_bias(y, x, bias, rows, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    for start in range(0, columns, BLOCK):
        column = start + tl.arange(0, BLOCK)
        inside = column < columns
        value = tl.load(x + row * columns + column, inside) + tl.load(bias + column, inside)
        tl.store(y + row * columns + column, value, inside)


def add(x, bias):
    y = torch.empty_like(x)
    launch = add_bias[(x.shape[0],)]
    launch(y, x, bias, *x.shape, BLOCK=128)
    return y


x = torch.randn(8192, 5000, device="cuda")
torch.testing.assert_close(add(x, x[0]), x + x[0])
'''
_REWRITTEN = """
@triton.jit
def add_bias(y, x, bias, rows, columns, BLOCK: tl.constexpr, ROWS: tl.constexpr):
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    added = tl.load(bias + column, column < columns)
    for row in range(tl.program_id(0) * ROWS, min(rows, tl.program_id(0) * ROWS + ROWS)):
        value = tl.load(x + row * columns + column, column < columns) + added
        tl.store(y + row * columns + column, value, column < columns)
"""
_LAUNCHED = [
    "argument y: float32 tensor of shape (y_0, y_1), 163.8 MB",
    "argument x: float32 tensor of shape (x_0, x_1), 163.8 MB",
    "argument bias: float32 tensor of shape (bias_0), 0.02 MB",
    "argument rows: 8192",
    "argument columns: 5000",
    "grid with the default configuration: (8192,), the same whatever the configuration",
]


def triton_scenes() -> dict[str, Scene]:
    """Sessions about such a kernel, by what they show."""
    rows = {"name": "ROWS", "values": [4, 8, 16], "default": 8}
    answer = {"summary": "The bias is loaded once.", "code": _REWRITTEN, "tunables": [rows], "restrictions": []}
    rewritten = json.dumps({**answer, "grid": ["ceil_div(rows, ROWS)", "ceil_div(columns, BLOCK)"]})
    answers = {"plan": [plan("Load the bias once")], "replan": [plan()], "apply_step": [rewritten]}
    problem = _problem()
    return {
        "Triton, planned": Scene(problem, AutonomousStrategy(), answers),
        "Triton": Scene(problem, OnePromptStrategy(), {"one_prompt": [rewritten]}),
    }


def _problem() -> Problem:
    extents = {"y_0": 8192, "y_1": 5000, "x_0": 8192, "x_1": 5000, "bias_0": 5000}
    return Problem(
        kernel=Kernel(
            source=Path("add_bias.py"), name="add_bias", language="python", launched=_LAUNCHED, tensor_bytes=327_700_000
        ),
        sizes={**extents, "rows": 8192, "columns": 5000},
        launch=Launch(),
        arguments=[],
        tunables={"num_warps": [4, 1, 2, 8], "num_stages": [3, 1, 2], "BLOCK": [128, 64, 256, 512]},
        source_text=_TEXT,
    )
