"""Inputs that a function beside the reference makes."""

from __future__ import annotations

import numpy as np
import pytest

from tests.problem.examples import PROBLEM, write
from tui_tuner.errors import ProblemError
from tui_tuner.problem.inputs import fill_in_words, fill_of, make_arguments
from tui_tuner.problem.load import load_problem
from tui_tuner.problem.model import InputFill, Test
from tui_tuner.problem.textures import Texture, textured

MADE = '[[arguments]]\nname = "in"\ndtype = "float32"\nshape = ["n"]\n'
RISING = "def rising(n, random):\n    return np.sort(random.random(n)).astype(np.float32)\n"


def loaded(directory, code=RISING, key='function = "rising"\n', reference=True):
    text = PROBLEM.replace(MADE, MADE + key)
    if reference:
        text = text.replace("[work]", '[reference]\npython = "ref.py:expected"\n\n[work]')
    (directory / "ref.py").write_text(f"import numpy as np\n\ndef expected(**a):\n    return a['in']\n\n{code}")
    return load_problem(write(directory, text))


def test_a_function_makes_the_array_at_the_sizes_of_each_launch_anew_for_each_seed(tmp_path):
    problem = loaded(tmp_path)
    first, again, other = (make_arguments(problem, {"n": 50}, seed)[1] for seed in (1, 1, 2))
    assert first.shape == (50,)
    assert (np.diff(first) >= 0).all()
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert fill_in_words(fill_of(problem.arguments[1]), problem.arguments[1]) == "by rising()"


def test_what_a_function_made_is_tested_as_it_is_and_a_test_may_fill_it_otherwise(tmp_path):
    problem = loaded(tmp_path)
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
        loaded(tmp_path, **changed)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return np.ones(n, np.float32)[1:]", r"returns float32 of shape \(49,\) instead of float32 of shape \(50,\)"),
        ("return np.ones(n)", "returns float64"),
        ("return 1 / 0", "ZeroDivisionError"),
    ],
)
def test_what_a_function_returns_must_be_the_array(tmp_path, body, message):
    problem = loaded(tmp_path, f"def rising(n):\n    {body}\n")
    with pytest.raises(ProblemError, match=message) as caught:
        make_arguments(problem, {"n": 50}, 1)
    assert (caught.value.file, bool(caught.value.line)) == (tmp_path / "ref.py", True)
