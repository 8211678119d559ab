"""Steps from a file of their own or from a problem file: read, or refused with a place and a way out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.documents import PROBLEM_FILE
from tests.problem.examples import PROBLEM, write
from tui_tuner.errors import ProblemError
from tui_tuner.problem.load import load_problem
from tui_tuner.problem.tuning_step import TuningStep, faults_of_steps
from tui_tuner.strategies.step_lists import load_steps, steps_prompt


def test_a_template_is_filled_with_source_and_name_and_dollars_in_the_source_stay():
    filled = steps_prompt(
        "\nRewrite $name, which costs 5 $$:\n${kernel}\n", kernel="int a$b; // $name $$", name="scale"
    )
    assert filled == "Rewrite scale, which costs 5 $:\nint a$b; // $name $$"


def test_a_dollar_in_words_from_the_screen_stays_where_it_asks_for_nothing_known():
    assert steps_prompt("make $name cost $5 or $less $", kernel="", name="scale") == "make scale cost $5 or $less $"


STEPS = '''\
[[steps]]
id = "first"
prompt_template = "Do this to $name."
tune_params = { tile = [1, 2], layout = ["row", "column"] }

[[steps]]
id = "second"
prompt_template = """
Then that, for 5 $$:
$kernel
"""
depends_on = ["first"]
languages = ["cuda"]
min_architecture = 80
skip_evaluation = true
'''


def read(directory: Path, text: str) -> list[TuningStep]:
    file = directory / "steps.toml"
    file.write_text(text, "utf-8")
    return load_steps(file)


def test_a_file_of_steps_is_read_in_its_order(tmp_path):
    first, second = read(tmp_path, STEPS)
    assert first == TuningStep(
        id="first",
        prompt_template="Do this to $name.",
        tune_params={"tile": [1, 2], "layout": ["row", "column"]},
    )
    assert (second.depends_on, second.languages, second.min_architecture) == (["first"], ["cuda"], 80)
    assert second.skip_evaluation


MISTAKES = [
    ("$name", "$nmae", 3, "has the placeholder $nmae, which nothing fills", "known placeholders: $kernel, $name"),
    ("$name", "${Kernel}", 3, "the placeholder $Kernel", "known placeholders: $kernel, $name"),
    ("5 $$", "5 $", 8, "step 'second' has a dollar that is no placeholder", "write $$ for a dollar"),
    ('["first"]', '["fisrt"]', 12, "step 'second' depends on 'fisrt', which is not there", "did you mean 'first'?"),
    ('depends_on = ["first"]', 'unless = ["fisrt"]', 12, "depends on 'fisrt', which is not there", "mean 'first'?"),
    ('depends_on = ["first"]', 'unless = ["second"]', 12, "in a circle: second", "take one"),
    ("$name", "{kernel_string}", 3, "has {kernel_string}, as LLM Kernel Tuner fills it", "write $kernel, or nothing"),
    ('id = "second"', 'id = "first"', 7, "step 'first' is there twice", "another id"),
    ('"first"\n', '"first"\ndepends_on = ["second"]\n', 3, "in a circle: first, second", "take one"),
    ('["first"]', '["second"]', 12, "in a circle: second", "take one"),
    ("[1, 2]", "[1, 1]", 4, "'tile' has the value 1 twice", "take one"),
    ("[1, 2]", "[\n1,\n2.5]", 6, "the values of 'tile' are of different kinds", "one kind"),
    ("[1, 2]", "[]", 4, "[steps[1].tune_params.tile]: list should have at least 1 item", ""),
    ("tile =", "kernel =", 4, "'kernel' has a meaning in the kernel's language already", "another name"),
    ("tile =", "threadIdx =", 4, "'threadIdx' has a meaning in the kernel's language already", "another name"),
    ('["cuda"]', '["hip"]', 13, "[steps[2].languages[1]]: input should be 'cuda', 'opencl' or 'c'", ""),
    ("= 80", "= 9.0", 14, "step 'second' has min_architecture = 9, which is no architecture", "write 80 for sm_80"),
    ("= 80", "= -80", 14, "step 'second' has min_architecture = -80", "write 80 for sm_80"),
    ('id = "first"\n', "", 1, "[steps[1]] needs 'id'", "add id"),
    ('"first"\nprompt', '""\nprompt', 2, "[steps[1].id]: string should have at least 1 character", ""),
    ("depends_on =", "depend_on =", 12, "unknown key 'depend_on' in [steps[2]]", "did you mean 'depends_on'?"),
]
each_mistake = pytest.mark.parametrize(("old", "new", "line", "message", "hint"), MISTAKES)


@each_mistake
def test_a_mistake_in_a_file_of_steps_is_told_with_its_line_and_a_way_out(tmp_path, old, new, line, message, hint):
    assert old in STEPS
    with pytest.raises(ProblemError) as caught:
        read(tmp_path, STEPS.replace(old, new, 1))
    assert message in caught.value.message
    assert hint in (caught.value.hint or "")
    assert (caught.value.file, caught.value.line) == (tmp_path / "steps.toml", line)


@pytest.mark.parametrize(
    ("text", "line", "message", "hint"),
    [
        ("", None, "the file needs 'steps'", "add a table [[steps]]"),
        ("steps = []", 1, "[steps]: list should have at least 1 item", ""),
        ("[[step]]\nid = 'a'", 1, "unknown key 'step'", "did you mean 'steps'?"),
        ("[steps]\nid = 'a'", 1, "[steps]: input should be a valid list", ""),
        ("[[steps]]\nid = a", 2, "this is not TOML", "quotes"),
    ],
)
def test_a_file_without_a_list_of_steps_is_refused(tmp_path, text, line, message, hint):
    with pytest.raises(ProblemError) as caught:
        read(tmp_path, text)
    assert message in caught.value.message
    assert hint in (caught.value.hint or "")
    assert caught.value.line == line


def test_a_file_of_steps_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(ProblemError, match=r"gone\.toml: cannot be read: No such file"):
        load_steps(tmp_path / "gone.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ProblemError, match="not UTF-8"):
        load_steps(tmp_path / "binary.toml")


def test_a_problem_file_may_hold_steps_and_needs_none(tmp_path):
    assert load_problem(write(tmp_path)).steps == []
    assert load_problem(write(tmp_path, f"{PROBLEM}\n{STEPS}")).steps == read(tmp_path, STEPS)


@each_mistake
def test_a_mistake_in_the_steps_of_a_problem_file_is_told_likewise(tmp_path, old, new, line, message, hint):
    file = write(tmp_path, f"{PROBLEM}{STEPS.replace(old, new, 1)}")
    with pytest.raises(ProblemError) as caught:
        load_problem(file)
    assert message in caught.value.message
    assert hint in (caught.value.hint or "")
    assert (caught.value.file, caught.value.line) == (file, PROBLEM.count("\n") + line)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("n", "'n' is a size and a tunable"),
        ("factor", "'factor' is an argument of the kernel"),
        ("scale", "'scale' is the kernel's own name"),
    ],
)
def test_a_tunable_of_a_step_cannot_have_a_name_that_the_problem_uses(tmp_path, name, reason):
    file = write(tmp_path, f"{PROBLEM}{STEPS.replace('tile =', f'{name} =')}")
    with pytest.raises(ProblemError) as caught:
        load_problem(file)
    assert (caught.value.message, caught.value.line) == (reason, PROBLEM.count("\n") + 4)


def test_the_faults_of_steps_made_in_python_are_told_in_words():
    steps = [TuningStep(id="a", prompt_template="$x", depends_on=["b"], tune_params={"t": [1, 1]})]
    assert faults_of_steps(steps) == [
        "step 'a' depends on 'b', which is not there",
        "the prompt_template of step 'a' has the placeholder $x, which nothing fills",
        "'t' has the value 1 twice",
    ]


def test_the_example_of_steps_in_the_document_is_a_file_of_steps(tmp_path):
    section = PROBLEM_FILE.split("\n### `[[steps]]`\n")[1].split("\n##")[0]
    example = "\n".join(line[4:] for line in section.splitlines() if line.startswith("    "))
    assert [step.id for step in read(tmp_path, example)] == ["two_rows", "many_rows"]
