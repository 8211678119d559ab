"""What no ceiling counts: which kernels are told of it, and which are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tui_tuner.evaluate.profiling.uncounted import uncounted
from tui_tuner.problem.argument import ArgumentFill
from tui_tuner.problem.model import Argument, Kernel, Launch, Problem


def array(
    name: str, dtype: str, *, output: bool = False, fill: ArgumentFill | None = None, shape: str = "n"
) -> Argument:
    return Argument.model_validate({"name": name, "dtype": dtype, "shape": [shape], "output": output, "fill": fill})


PROBLEM = Problem(
    kernel=Kernel(source=Path("k.cu"), name="k"),
    sizes={"n": 1_000_000, "bins": 256},
    launch=Launch(),
    arguments=[
        array("starts", "int32", fill="offsets"),
        array("columns", "int32"),
        array("flags", "uint8"),
        array("x", "float32"),
        array("w", "float32"),
        array("y", "float32", output=True),
        array("counts", "int32", output=True, shape="bins"),
    ],
)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("y[i] = x[columns[i]];", "x is reached by indices of columns"),
        ("int c = columns[i]; y[i] = x[c];", "x is reached by indices of columns"),
        ("int4 c = ((const int4 *)columns)[i]; y[i] = x[c.x] + w[c.y];", "x and w are reached by indices of columns"),
        ("const int c = __ldg(&columns[i]); y[3 * c] = x[i];", "y is reached by indices of columns"),
        ("y[i] = x[i]; // x[columns[i]]", ""),
        ("y[i] = columns[i] * x[i];", ""),
        ("if (flags[i] == 1) y[i] = x[i];", ""),
        ("for (int j = starts[i]; j < starts[i + 1]; j++) y[i] += x[j];", ""),
        ("int own[4]; own[columns[i]] += 1;", ""),
        ("counts[columns[i]] = 1;", ""),
    ],
)
def test_arrays_that_are_reached_by_indices_are_named_with_them(body: str, told: str) -> None:
    lines = [*uncounted(PROBLEM, f"__global__ void k() {{ {body} }}")]
    assert len(lines) == bool(told)
    assert all(line.startswith(told) and "whole sector" in line for line in lines)


def test_atomic_operations_are_told_and_words_like_them_are_not() -> None:
    (line,) = uncounted(PROBLEM, "atomicAdd(&y[i], 1.0f);")
    assert "wait for each other" in line
    assert not [*uncounted(PROBLEM, "// atomicAdd(&y[i], 1.0f);")]
