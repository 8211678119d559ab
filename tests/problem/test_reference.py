"""References, and inputs that a function beside the reference makes."""

from __future__ import annotations

import numpy as np
import pytest

from tests.problem.examples import PROBLEM, write
from tui_tuner.errors import ProblemError
from tui_tuner.problem.inputs import call_reference, fill_in_words, fill_of, make_arguments
from tui_tuner.problem.load import load_problem
from tui_tuner.problem.model import InputFill, Test
from tui_tuner.problem.textures import Texture, textured


def loaded(directory, body, signature="**a"):
    text = PROBLEM.replace("[work]", '[reference]\npython = "ref.py:expected"\n\n[work]')
    (directory / "ref.py").write_text(f"import numpy as np\n\ndef expected({signature}):\n    x = 1\n    {body}\n")
    return load_problem(write(directory, text))


def called(problem):
    arguments = make_arguments(problem, {"n": 10}, 1)
    return arguments, call_reference(problem, arguments)


@pytest.mark.parametrize("returned", ["result", "(result,)", "{'out': result}", "list(result)"])
def test_the_reference_gets_all_arguments_by_name_and_returns_the_outputs(tmp_path, returned):
    problem = loaded(tmp_path, f"result = a['in'] * a['factor']; return {returned}")
    arguments, outputs = called(problem)
    assert outputs["out"].dtype == np.float64
    assert np.array_equal(outputs["out"], arguments[1].astype(np.float64) * 1.5)
    assert not (tmp_path / "__pycache__").exists()


def test_floating_point_arrays_are_double_and_scalars_are_python_numbers(tmp_path):
    check = "assert a['in'].dtype == 'float64' and type(a['n']) is int and type(a['factor']) is float"
    called(loaded(tmp_path, f"{check}; return a['in']"))


@pytest.mark.parametrize(
    ("body", "message", "line"),
    [
        ("return a['in'][3:]", r"returns 'out' of shape \(7,\) instead of \(10,\)", 3),
        ("return a['in'], a['in']", "returns 2 arrays, the kernel has 1 outputs", 3),
        ("return {'in': a['in']}", "returns 'in', which is no output", 3),
        ("return {}", "does not return 'out'", 3),
        ("return None", "does not return 'out'", 3),
        ("return np.array(['x'] * 10)", "as <U1, not as numbers", 3),
        ("return a['in'] @ np.ones((3, 3))", "failed: ValueError", 5),
        ("a['in'] += 1", "failed: ValueError: output array is read-only", 5),
        ("return undefined", "failed: NameError", 5),
        ("import sys; sys.exit(3)", "failed: SystemExit: 3", 5),
    ],
)
def test_a_reference_that_fails_is_told_with_its_line(tmp_path, body, message, line):
    problem = loaded(tmp_path, body)
    with pytest.raises(ProblemError, match=message) as caught:
        called(problem)
    assert (caught.value.file, caught.value.line) == (tmp_path / "ref.py", line)


def test_the_users_arrays_stay_as_they_are(tmp_path):
    problem = loaded(tmp_path, "b = a['in'].copy(); b += 1; return b")
    arguments = make_arguments(problem, {"n": 10}, 1)
    before = arguments[1].copy()
    call_reference(problem, arguments)
    assert np.array_equal(arguments[1], before)
    assert arguments[1].flags.writeable


MADE = '[[arguments]]\nname = "in"\ndtype = "float32"\nshape = ["n"]\n'
RISING = "def rising(n, random):\n    return np.sort(random.random(n)).astype(np.float32)\n"


def loaded_with_function(directory, code=RISING, key='function = "rising"\n', reference=True):
    text = PROBLEM.replace(MADE, MADE + key)
    if reference:
        text = text.replace("[work]", '[reference]\npython = "ref.py:expected"\n\n[work]')
    (directory / "ref.py").write_text(f"import numpy as np\n\ndef expected(**a):\n    return a['in']\n\n{code}")
    return load_problem(write(directory, text))


def test_a_function_makes_the_array_at_the_sizes_of_each_launch_anew_for_each_seed(tmp_path):
    problem = loaded_with_function(tmp_path)
    first, again, other = (make_arguments(problem, {"n": 50}, seed)[1] for seed in (1, 1, 2))
    assert first.shape == (50,)
    assert (np.diff(first) >= 0).all()
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert fill_in_words(fill_of(problem.arguments[1]), problem.arguments[1]) == "by rising()"


def test_what_a_function_made_is_tested_as_it_is_and_a_test_may_fill_it_otherwise(tmp_path):
    problem = loaded_with_function(tmp_path)
    noise = make_arguments(problem, {}, 1)
    assert all(textured(problem, noise, texture, 1) is None for texture in Texture if texture is not Texture.NOISE)
    at = problem.at(Test(sizes={}, inputs={"in": InputFill(fill="ones")}))
    assert (make_arguments(at, {}, 1)[1] == 1).all()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"key": 'function = "rise"\n'}, "no function 'rise'"),
        ({"key": 'function = "rising"\nfill = "ones"\n'}, "a fill and a function"),
        ({"reference": False}, "no reference beside which"),
        ({"code": RISING.replace("(n,", "(m, n,")}, r"rising\(\) wants m"),
    ],
)
def test_a_function_that_cannot_be_is_refused_when_the_file_is_read(tmp_path, changed, message):
    with pytest.raises(ProblemError, match=message):
        loaded_with_function(tmp_path, **changed)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return np.ones(n, np.float32)[1:]", r"returns float32 of shape \(49,\) instead of float32 of shape \(50,\)"),
        ("return np.ones(n)", "returns float64"),
        ("return 1 / 0", "ZeroDivisionError"),
    ],
)
def test_what_a_function_returns_must_be_the_array(tmp_path, body, message):
    problem = loaded_with_function(tmp_path, f"def rising(n):\n    {body}\n")
    with pytest.raises(ProblemError, match=message) as caught:
        make_arguments(problem, {"n": 50}, 1)
    assert (caught.value.file, bool(caught.value.line)) == (tmp_path / "ref.py", True)
