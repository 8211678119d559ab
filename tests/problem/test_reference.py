from __future__ import annotations

import numpy as np
import pytest

from tests.problem.examples import PROBLEM, write
from tui_tuner.errors import ProblemError
from tui_tuner.problem.inputs import call_reference, make_arguments
from tui_tuner.problem.load import load_problem


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
