"""The Python in the documents runs, against a made-up machine and a model that answers by purpose."""

from __future__ import annotations

import inspect
import json
import re
import runpy
from pathlib import Path
from typing import Any, get_args

import pytest

import tui_tuner
from docs.make_reference import names
from tests.api.model import Model
from tests.documents import ROOT
from tests.session.fakes import REWRITE, FakeEvaluator, reply, write_problem
from tui_tuner.app import choosing, sessions
from tui_tuner.evaluate.results import Failure, FailureKind
from tui_tuner.llm import Structured
from tui_tuner.problem.candidate import Candidate
from tui_tuner.report import SessionOutcome

PYTHON_API = (ROOT / "docs/python-api.md").read_text("utf-8")
COMING = (ROOT / "docs/coming-from-llm-kernel-tuner.md").read_text("utf-8")
ANSWERS = {
    "one_prompt": reply(),
    "apply_step": reply(),
    "break_down": json.dumps({"valid": True, "reason": "It fits.", "steps": []}),
    "plan": json.dumps(
        {
            "summary": "The idea.",
            "steps": [{"title": "A", "description": "Do A.", "enabling": False, "builds_on": 0}],
        }
    ),
    "replan": json.dumps({"summary": "Nothing left.", "steps": []}),
    "worth_step": json.dumps({"worth_doing": True, "already_done": False, "reason": "It fits."}),
    "custom": json.dumps({"text": f"Here it is:\n```cuda\n{REWRITE}```"}),
    "fix_parameters": json.dumps({"parameters": [{"name": "work_per_thread", "values": [1, 2, 4], "default": 1}]}),
    "restrictions": json.dumps({"restrictions": ["work_per_thread <= block_size_x"]}),
}


def examples(text: str) -> list[Any]:
    """Each block of Python with the heading that it stands under."""
    found = []
    for section in re.split(r"^#{2,3} ", text, flags=re.MULTILINE)[1:]:
        heading, _, body = section.partition("\n")
        for number, block in enumerate(re.findall(r"^```python\n(.*?)^```$", body, re.DOTALL | re.MULTILINE), 1):
            found.append(pytest.param(heading, number, block, id=f"{heading}-{number}"))
    return found


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, evaluators: list[FakeEvaluator]) -> Model:
    """What `model="auto"` finds, in a directory with `scale.cu` and its problem file."""
    double = Model(**ANSWERS)

    async def choose(*_: object) -> Model:
        return double

    monkeypatch.setattr(choosing, "choose", choose)
    monkeypatch.chdir(tmp_path)
    write_problem(tmp_path)
    return double


def run(block: str) -> dict[str, Any]:
    """The names that a block leaves."""
    file = Path("example.py")
    file.write_text(block, "utf-8")
    return runpy.run_path(str(file))


@pytest.mark.usefixtures("model")
@pytest.mark.parametrize(("heading", "number", "block"), examples(PYTHON_API))
def test_every_example_of_the_python_api_runs(heading: str, number: int, block: str) -> None:
    result = run(block).get("result")
    if result is not None:
        assert isinstance(result.outcome, SessionOutcome)
        assert result.speedup[1] > 1


@pytest.mark.slow
def test_the_strategy_of_the_document_keeps_a_sketch_with_its_parameters(model: Model) -> None:
    (block,) = (case.values[2] for case in examples(PYTHON_API) if case.values[0] == "A strategy of your own")
    result = run(block)["result"]

    assert model.purposes == ["custom", "fix_parameters", "restrictions"]
    assert result.outcome.best_title == "Sketch 1"
    assert result.configuration["work_per_thread"] == 4


def test_going_on_with_a_larger_budget_evaluates_only_what_is_new(
    model: Model, evaluators: list[FakeEvaluator]
) -> None:
    (block,) = (case.values[2] for case in examples(PYTHON_API) if case.values[0] == "Going on")
    names = run(block)

    assert names["first"].outcome.evaluations <= 10
    before, after = (evaluator.evaluated for evaluator in evaluators)
    assert not [configuration for configuration in after if configuration in before and len(configuration) == 1]


def test_every_choice_has_its_row_and_no_other_is_named() -> None:
    rows = re.findall(r"^\| (`[^|]+`) \|", PYTHON_API.split("| choice |")[1].split("\n\n")[0], re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert named == set(tui_tuner.Choices.__annotations__)


def test_every_method_for_a_strategy_of_ones_own_has_its_row() -> None:
    rows = re.findall(r"^\| (`[^|]+`) \|", PYTHON_API.split("| method |")[1].split("\n\n")[0], re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    own = {name for name, value in vars(tui_tuner.CustomStrategy).items() if callable(value) and name[0] != "_"}
    assert named == own


def test_every_public_name_has_its_section_with_the_words_of_the_code() -> None:
    told = names()
    for name in tui_tuner.__all__:
        described = inspect.getdoc(getattr(tui_tuner, name))
        assert described, name
        assert described.splitlines()[0] in told.split(f"\n## {name}\n")[1].partition("\n## ")[0]


@pytest.mark.parametrize("name", ["add_step", "update_step", "ask"])
def test_the_arguments_of_what_nearly_every_strategy_needs_stand_in_its_table(name: str) -> None:
    table = PYTHON_API.split(f"| `session.{name}` |")[1].partition("\n\n")[0]
    rows = re.findall(r"^\| `(\w+)`(?: \(`?(.*?)`?\))? \|", table, re.MULTILINE)
    arguments = {**inspect.signature(getattr(tui_tuner.Effects, name)).parameters}
    del arguments["self"]
    defaults = {key: "" if one.default is one.empty else str(one.default) for key, one in arguments.items()}
    assert {key: default.strip('"') for key, default in rows} == defaults


def test_the_states_of_a_step_are_all_told() -> None:
    told = PYTHON_API.split("`StepState`: ")[1].partition("\n")[0]
    assert re.findall(r"`(\w+)`", told) == [*tui_tuner.StepState.__members__]


def test_the_tree_of_failures_is_that_of_the_classes() -> None:
    drawn = re.search(r"^    CandidateFailed\n(.*?)\n\n", PYTHON_API, re.DOTALL | re.MULTILINE)
    there: set[str] = set()
    kinds = [tui_tuner.CandidateFailed, tui_tuner.UnusableKernel]
    while kinds:
        kind = kinds.pop()
        kinds += [one for one in kind.__subclasses__() if one.__module__.startswith("tui_tuner.")]  # no test's own
        there.add(kind.__name__)
    assert drawn is not None
    assert set(re.findall(r"\b[A-Z]\w+", drawn[1])) == there - {"CandidateFailed"}


@pytest.mark.parametrize("text", [PYTHON_API, COMING], ids=["python-api", "coming-from"])
def test_every_public_name_in_a_document_is_there(text: str) -> None:
    for name in re.findall(r"tui_tuner\.(\w+)", text):
        assert name in {*tui_tuner.__all__, "strategies", "session", "llm"}, name


UNROLLED = reply(
    code=REWRITE.replace("int i =", "int unroll = unroll_factor; int i ="),
    tunables=[{"name": "unroll_factor", "values": [2, 4, 8], "default": 2}],
)
ASKED = {
    "Getting started": ["plan", "apply_step", "replan"],
    "No breakdown, no replanning": ["plan", "apply_step"],
    "Other limits": ["plan", "break_down", "apply_step", "replan"],
    "Steps of your own, with dependencies": ["apply_step", "worth_step", "apply_step"],
    "A strategy of your own": ["custom", "fix_parameters", "restrictions"],
    "A retry policy of your own": ["one_prompt"],
    "Following the performance": ["plan", "apply_step", "replan"],
    "Inputs of a test": [],
    "Another model": ["plan", "apply_step", "replan"] * 2,
}


@pytest.mark.parametrize(("heading", "number", "block"), examples(COMING))
def test_every_translated_example_asks_what_it_says_and_finds_a_faster_kernel(
    model: Model, evaluators: list[FakeEvaluator], heading: str, number: int, block: str
) -> None:
    if heading == "Steps of your own, with dependencies":
        model.answer("apply_step", reply(), UNROLLED)
    result = run(block)["result"]

    assert model.purposes == ASKED[heading]
    assert result.speedup[1] > 1
    assert result.configuration["block_size_x"] in (128, 256)
    if heading == "Steps of your own, with dependencies":
        assert result.configuration["work_per_thread"] == 4
        assert {configuration.get("unroll_factor") for configuration in evaluators[0].evaluated} == {None, 2, 4, 8}
        assert "Let each thread of scale compute" in model.requests[0].messages[-1].content


def test_every_translated_example_is_there() -> None:
    assert [case.values[0] for case in examples(COMING)] == list(ASKED)


def test_the_retry_policy_of_the_document_says_its_own_words_to_a_compilers_error(
    model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(candidate: Candidate, _: object) -> Failure | None:
        right = "work_per_thread" not in candidate.tunables
        return None if right else Failure(kind=FailureKind.COMPILE, message="no such thing", detail="line 3")

    monkeypatch.setattr(sessions, "LocalEvaluator", lambda problem, _: FakeEvaluator(problem, broken))
    (block,) = (case.values[2] for case in examples(COMING) if case.values[0] == "A retry policy of your own")
    result = run(block)["result"]

    assert model.purposes == ["one_prompt"] * 5
    told = model.requests[1].messages[-1].content
    assert told.startswith("The compiler says:\n")
    assert "line 3" in told
    assert "work_per_thread" not in result.configuration


def test_names_on_the_right_of_the_tables_exist() -> None:
    rows = re.findall(r"^\| `AutonomousTuningStrategy\((.*?)\)` ", COMING, re.MULTILINE)
    assert rows
    assert set(rows[0].split(", ")) <= set(tui_tuner.AutonomousStrategy.model_fields)
    rows = re.findall(r"^\| `TuningStep\((.*?)\)` ", COMING, re.MULTILINE)
    ours = {"unless", "languages", "min_architecture", "when", "watch"}
    assert set(rows[0].split(", ")) | ours == set(tui_tuner.TuningStep.model_fields)
    ways = set(re.findall(r'`structured = "(\w+)"`', COMING))
    assert ways == set(get_args(Structured))
