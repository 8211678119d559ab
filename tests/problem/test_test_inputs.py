from __future__ import annotations

import numpy as np
import pytest

from tests.problem.examples import PROBLEM, write
from tui_tuner.errors import ProblemError
from tui_tuner.problem.check_inputs import faults_of_test
from tui_tuner.problem.inputs import make_arguments, repoisoned, untouched
from tui_tuner.problem.load import load_problem
from tui_tuner.problem.model import Argument, InputFill, Problem, Test

SIZES = "sizes = { n = 1000 }"


def with_inputs(inputs: str) -> str:
    return PROBLEM.replace(SIZES, f"{SIZES}\ninputs = {{ {inputs} }}", 1)


def test_a_test_fills_the_arrays_that_it_names_and_leaves_sizes_and_fills_of_the_problem_alone(tmp_path):
    file = write(tmp_path, with_inputs('in = { fill = "integers", low = -2, high = "n // 500" }'))
    problem = load_problem(file)
    _, values, _, n = make_arguments(problem.at(problem.tests[0]), {}, 1)
    assert set(np.unique(values)) == {-2, -1, 0, 1}
    assert (values.shape, n) == ((1000,), 1000)
    _, plain, _, n = make_arguments(problem, {}, 1)
    assert len(np.unique(plain)) > 4000
    assert n == 4096


def test_the_fill_of_a_test_does_not_inherit_the_bounds_of_the_argument():
    argument = Argument(name="x", dtype="float32", shape=["n"], fill="uniform", low=5.0, high=9.0)
    problem = Problem.model_validate(
        {"kernel": {"source": "k.cu", "name": "k"}, "launch": {}, "arguments": [argument], "sizes": {"n": 50}}
    )
    values = make_arguments(problem.at(Test(sizes={}, inputs={"x": InputFill(fill="uniform")})), {}, 1)[0]
    assert 0 <= values.min() < values.max() < 1


def test_the_emulators_tests_have_inputs_at_the_emulators_sizes(tmp_path):
    text = PROBLEM.replace("n = 100 }", 'n = 100 }, inputs = { in = { fill = "arange" } }')
    problem = load_problem(write(tmp_path, text)).on_emulator()
    assert make_arguments(problem.at(problem.tests[0]), {}, 1)[1].tolist() == list(range(100))


@pytest.mark.parametrize(
    ("inputs", "message", "hint"),
    [
        ('inn = { fill = "zeros" }', "the kernel has no argument 'inn'", "did you mean 'in'?"),
        ('n = { fill = "zeros" }', "the argument 'n' is a scalar and has no fill", "only arrays are filled: out, in"),
        ('out = { fill = "zeros" }', "the output 'out' starts poisoned", "take it out"),
        ('in = { fill = "zeros", low = 1.0 }', "'low' bounds only those fills", 'fill = "uniform"'),
        ('in = { fill = "uniform", low = 2 }', "there is nothing between low = 2", "n = 1000"),
        ('in = { fill = "uniform", low = -inf }', "not finite", "n = 1000"),
        ('in = { fill = "uniform", high = 1e39 }', "does not fit into float32", "n = 1000"),
        ('in = { fill = "uniform", low = -3e38, high = 3e38 }', "does not fit into float32", "n = 1000"),
        ('in = { fill = "integers", high = 1e30 }', "does not fit into int64", "n = 1000"),
        ('in = { fill = "integers", high = "m" }', "unknown name 'm'", "the names of [sizes]"),
        ('in = { fill = "integers", high = "n - 1000" }', "there is nothing between low = 0 and high = 0", "n = 1000"),
        ('in = { fill = "integres" }', "[tests[1].inputs.in.fill]: input should be", ""),
        ('in = { fil = "zeros" }', "unknown key 'fil' in [tests[1].inputs.in]", "did you mean 'fill'?"),
        ("in = { low = 1 }", "[tests[1].inputs.in] needs 'fill'", "add fill"),
    ],
)
def test_a_mistake_in_the_inputs_of_a_test_is_told_with_its_line_and_a_way_out(tmp_path, inputs, message, hint):
    file = write(tmp_path, with_inputs(inputs))
    with pytest.raises(ProblemError) as caught:
        load_problem(file)
    assert message in caught.value.message
    assert hint in (caught.value.hint or "")
    assert (caught.value.file, caught.value.line) == (file, 49)


def test_fractions_for_an_array_of_integers_and_counting_beyond_its_dtype_are_refused_in_a_test():
    arguments = [{"name": "x", "dtype": "int8", "shape": ["n"]}]
    problem = Problem.model_validate(
        {"kernel": {"source": "k.cu", "name": "k"}, "launch": {}, "arguments": arguments, "sizes": {"n": 500}}
    )
    for fill, message in (("normal", "int8 holds none"), ("arange", "counting to 500 does not fit into int8")):
        (fault,) = faults_of_test(problem, Test(sizes={}, inputs={"x": InputFill(fill=fill)}))
        assert message in fault.message


def test_bounds_that_only_a_test_makes_possible_are_no_mistake(tmp_path):
    def loaded(text: str) -> Problem:
        text = text.partition("[emulator]")[0]
        return load_problem(
            write(tmp_path, text.replace('name = "in"', 'name = "in"\nfill = "integers"\nhigh = "n - 1000"'))
        )

    with pytest.raises(ProblemError, match="there is nothing between"):
        loaded(PROBLEM)
    assert loaded(with_inputs('in = { fill = "ones" }')).tests[0].inputs.keys() == {"in"}


def test_tests_without_inputs_are_written_as_before_there_were_any():
    assert Test(sizes={"n": 3}).model_dump() == {"sizes": {"n": 3}}
    test = Test(sizes={"n": 3}, inputs={"x": InputFill(fill="uniform", high="n")})
    assert Test.model_validate_json(test.model_dump_json()) == test


@pytest.mark.parametrize("dtype", ["float16", "float64", "uint8", "int64", "bool"])
def test_an_element_that_keeps_both_poisons_was_not_written(dtype):
    argument = Argument(name="y", dtype=dtype, shape=[2, 4], output=True)
    problem = Problem.model_validate({"kernel": {"source": "k.cu", "name": "k"}, "launch": {}, "arguments": [argument]})
    first = np.array(make_arguments(problem, {}, 1)[0])
    second = repoisoned(argument, first)
    start = second.copy()
    first[0, 1:] = second[0, 1:] = first[1, 2] if dtype != "bool" else True
    left = untouched(argument, first) & (second == start)
    assert left.tolist() == [[True, False, False, False], [True] * 4]


def test_only_poison_is_replaced_by_another():
    read = Argument(name="y", dtype="float32", shape=[2], output=True, fill="zeros")
    assert repoisoned(read, np.zeros(2, np.float32)).tolist() == [0, 0]
    assert repoisoned(Argument(name="n", dtype="int32", value=3), np.int32(3)) == 3
