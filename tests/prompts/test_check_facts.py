"""What a prompt says of inputs, of what is right, and of how it is built."""

from __future__ import annotations

from pathlib import Path

import pytest

from tui_tuner.problem.model import Argument, Kernel, Launch, Problem, Tolerance
from tui_tuner.prompts import build_facts, check_facts

FLOATS = {"name": "x", "dtype": "float32", "shape": ["n"]}
BYTES = {"name": "x", "dtype": "uint8", "shape": ["n"], "fill": "integers", "low": 0, "high": 2}
OFF, WHOLE = "a floating-point element of a result", "a whole number of a result must be equal"


def problem(*arrays: dict[str, object], output: str, options: tuple[str, ...] = ()) -> Problem:
    arguments = [Argument.model_validate(array) for array in arrays]
    arguments.append(Argument.model_validate({"name": "y", "dtype": output, "shape": ["n"], "output": True}))
    kernel = Kernel(source=Path("k.cu"), name="k", compiler_options=list(options))
    return Problem(kernel=kernel, sizes={"n": 8}, launch=Launch(), arguments=arguments, tolerance=Tolerance(relative=1))


@pytest.mark.parametrize(
    ("arrays", "output", "there", "absent"),
    [
        ([FLOATS], "float32", [OFF, "tiny values", "zeros"], [WHOLE, "infinities"]),
        ([{**FLOATS, "infinities": True}], "float16", [OFF, "infinities"], [WHOLE, "NaN"]),
        ([{**FLOATS, "nans": True}], "float16", [OFF, "NaN"], [WHOLE, "infinities"]),
        (
            [BYTES],
            "uint8",
            [WHOLE, "quiet and loud parts", "zeros"],
            [OFF, "large values", "infinities"],
        ),
        ([{**FLOATS, "fill": "uniform", "low": 0.5}], "int32", [WHOLE, "equal values"], [OFF, "zeros", "tiny values"]),
        ([], "int32", [WHOLE], [OFF, "verified with other inputs"]),
    ],
)
def test_a_prompt_names_the_inputs_that_can_occur_and_how_its_results_are_judged(arrays, output, there, absent):
    told = check_facts(problem(*arrays, output=output))
    assert [words for words in there if words not in told] == []
    assert [words for words in absent if words in told] == []


def test_compiler_options_of_the_problem_are_told():
    assert build_facts(problem(output="int32", options=("-fmad=false",))) == "compiled with -fmad=false"
    assert build_facts(problem(output="int32")) == ""
