"""Softmax of the rows of a matrix, written in Triton with a list of configurations.

tuner-tui softmax_triton.py
"""

import torch
import triton
import triton.language as tl

ROWS, COLUMNS = 8192, 4096


@triton.autotune(
    configs=[
        triton.Config({"ROWS_A_PROGRAM": rows, "EXP2": exp2}, num_warps=warps, num_stages=stages)
        for rows in (1, 2, 4)
        for exp2 in (False, True)
        for warps in (4, 8, 16)
        for stages in (1, 2)
    ],
    key=["columns"],
)
@triton.jit
def softmax(y, x, rows, columns, BLOCK: tl.constexpr, ROWS_A_PROGRAM: tl.constexpr, EXP2: tl.constexpr):
    first = tl.program_id(0) * ROWS_A_PROGRAM
    column = tl.arange(0, BLOCK)
    for row in tl.range(first, min(first + ROWS_A_PROGRAM, rows)):
        values = tl.load(x + row * columns + column, column < columns, other=float("-inf"))
        values -= tl.max(values, axis=0)
        powers = tl.exp2(values * 1.4426950408889634) if EXP2 else tl.exp(values)
        tl.store(y + row * columns + column, powers / tl.sum(powers, axis=0), column < columns)


def arguments():
    x = torch.randn(ROWS, COLUMNS, device="cuda")
    block = triton.next_power_of_2(COLUMNS)
    return {"y": torch.empty_like(x), "x": x, "rows": ROWS, "columns": COLUMNS, "BLOCK": block}


def grid(meta):
    return (triton.cdiv(meta["rows"], meta["ROWS_A_PROGRAM"]),)


def reference(y, x, rows, columns, *_):
    return torch.softmax(x, dim=1)
