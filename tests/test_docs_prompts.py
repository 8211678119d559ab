"""docs/prompts.md is what its script writes, and the prompts in it hold what a model needs."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from docs.make_prompts import KERNEL, TARGET, document
from docs.prompting import recorded, templates
from docs.prompting.collected import Collected, collect
from docs.prompting.failures import example_failures
from docs.prompting.scenes import default_steps_scene, good_path, good_scenes, other_scenes
from docs.prompting.session import H200, Scene, is_first, requests_of, sample
from tests.documents import ROOT
from tests.slow import slow_but_for
from tui_tuner.evaluate.results import FailureKind
from tui_tuner.journal.reading import Record
from tui_tuner.llm import Message, Request
from tui_tuner.llm.prices import estimate, estimate_messages
from tui_tuner.problem.languages import LANGUAGES
from tui_tuner.problem.model import Problem
from tui_tuner.problem.space import SearchSpace
from tui_tuner.resources import samples_directory
from tui_tuner.session import session
from tui_tuner.strategies.rewriting.failures import (
    CandidateFailed,
    EvaluationFailed,
    NoneRight,
    NotFaster,
    Rejected,
    RetryPolicy,
)

TEMPLATES = ROOT / "tui_tuner/prompts"
TENSILE_TEMPLATES = ROOT / "tui_tuner/tensile/prompts"
SAMPLES = sorted(path.stem for path in samples_directory().iterdir() if path.suffix in LANGUAGES)
MOST_TOKENS = 8000
each_sample = pytest.mark.parametrize("name", slow_but_for(("matmul_tiled", "softmax"), SAMPLES))


@pytest.fixture(scope="module", autouse=True)
def _spaces_are_counted_once() -> Iterator[None]:
    """Many sessions about the same few spaces, and to count a large one takes a second."""
    counted: dict[str, int | None] = {}
    count = SearchSpace._count.func

    def known(space: SearchSpace) -> int | None:
        key = json.dumps(space.description)
        if key not in counted:
            counted[key] = count(space)
        return counted[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SearchSpace, "_count", property(known))
        patch.setattr(session, "write_outcome", lambda *_: "result.json")  # no prompt has anything of it
        yield


@pytest.fixture(scope="module")
def collected() -> Collected:
    return asyncio.run(collect(sample(KERNEL)))


async def asked(*scenes: Scene) -> list[Request]:
    """Every request of some sessions but those that only ask again."""
    return [request for scene in scenes for request in await requests_of(scene) if is_first(request)]


def text(request: Request) -> str:
    return "\n".join(message.content for message in request.messages)


def wants_kernel(request: Request) -> bool:
    return "code" in (request.schema or {})["properties"]


def test_the_document_is_what_the_script_writes_today(collected):
    assert TARGET.read_text("utf-8") == document(collected), "write it with: python -m docs.make_prompts"


def test_every_template_has_its_row_in_the_document():
    for template in (*TEMPLATES.glob("*.md"), *TENSILE_TEMPLATES.glob("*.md")):
        assert re.search(rf"^\| `{template.name}` \| \d+ \| \S", TARGET.read_text("utf-8"), re.MULTILINE), template.name


@pytest.mark.slow
def test_a_template_that_no_session_asks_with_makes_the_script_fail(collected, tmp_path, monkeypatch):
    shutil.copytree(TEMPLATES, tmp_path / "prompts")
    (tmp_path / "prompts/orphan.md").write_text("Say $something that nobody ever asks.")
    monkeypatch.setattr(templates, "files", lambda _: tmp_path / "prompts")
    with pytest.raises(ValueError, match=r"orphan\.md is in no prompt"):
        document(collected)


async def test_an_example_answer_that_is_of_no_use_makes_the_script_fail():
    requests = await requests_of(other_scenes(sample(KERNEL))["put back"])
    with pytest.raises(ValueError, match="the example answer to 'one_prompt' was put back"):
        good_path(requests)


def test_every_kind_of_failure_that_has_advice_of_its_own_has_its_row():
    shown = TARGET.read_text("utf-8")
    assert {*FailureKind} <= {failed.kind for failed in example_failures() if isinstance(failed, EvaluationFailed)}
    assert {NoneRight, NotFaster, Rejected} <= {type(failed) for failed in example_failures()}
    for failed in example_failures():
        assert failed.advice != CandidateFailed.advice
        assert f"| `{type(failed).__name__}` | " in shown
        assert RetryPolicy().message(failed).startswith("The kernel of your last answer is not accepted.")


def test_a_step_takes_two_calls_at_most_when_all_goes_well_and_never_more_than_its_attempts(collected):
    figures = {calls.strategy: (len(calls.purposes), calls.most) for calls in collected.calls}
    assert figures == {
        "`autonomous`": (1, 3),
        "`autonomous` with `validate_steps`": (2, 6),
        "`autonomous` with `breakdown_steps`": (2, 6),
        "`explicit`": (2, 6),
        "`explicit` with `skip_evaluation`": (1, 3),
        "`one_prompt`": (1, 3),
    }


def test_tokens_are_estimated_by_the_rule_that_the_document_tells():
    assert estimate("x" * 300) == 100
    assert estimate("\u8a9e" * 7) == 7
    assert estimate_messages([Message("user", "")]) == 8


@each_sample
async def test_no_prompt_for_a_sample_has_anything_left_to_fill_in_or_is_too_long(name):
    problem = sample(name)
    for request in await asked(*other_scenes(problem).values()):
        assert not re.search(r"\$\{?[A-Za-z_]|\{\{", text(request)), request.purpose
        assert estimate_messages(request.messages) <= MOST_TOKENS


@each_sample
async def test_every_prompt_for_a_kernel_holds_its_source_the_limits_of_the_device_the_sizes_and_the_times(name):
    problem = sample(name)
    requests = await asked(*good_scenes(problem).values(), default_steps_scene(problem))
    kernels = [request for request in requests if wants_kernel(request)]
    assert len(kernels) > 5
    for request in kernels:
        assert estimate_messages(request.messages) <= MOST_TOKENS
        assert_holds_the_facts(text(request), problem)


def assert_holds_the_facts(prompt: str, problem: Problem) -> None:
    assert (
        f'<kernel language="{problem.language}" name="{problem.kernel.name}">\n{problem.source_text.strip()}' in prompt
    )
    assert H200.name in prompt
    if problem.language != "c":
        assert f"at most {H200.max_threads_per_block}" in prompt
        assert f"{H200.shared_bytes} bytes static, up to {H200.shared_bytes_optin} dynamic" in prompt
    for sizes in (problem.sizes, *(problem.at(test).sizes for test in problem.tests)):
        for size, value in sizes.items():
            assert re.search(rf"^(timed|verified): .*\b{size}={value}\b", prompt, re.MULTILINE)
    for what in ("the kernel as given", "  "):
        assert re.search(rf"^{what}\S.*=.*: [\d.e-]+ ms \[[\d.e-]+, [\d.e-]+\]", prompt, re.MULTILINE), what


async def test_the_history_tells_of_an_accepted_step_and_of_one_that_was_not_faster():
    requests = await asked(other_scenes(sample(KERNEL))["history"])
    replan = next(request for request in requests if request.purpose == "replan")
    told = text(replan).partition("<history>")[2].partition("</history>")[0]
    assert re.search(r"^accepted 1\.\d+x \[", told, re.MULTILINE)
    assert re.search(r"^rejected 0\.\d+x \[.*not faster", told, re.MULTILINE)
    assert len(re.findall(r"^its best: .* ms \[", told, re.MULTILINE)) == 2


def test_the_rewritten_kernel_of_the_example_is_another_one_with_the_same_arguments():
    given = (samples_directory() / f"{KERNEL}.cu").read_text("utf-8")
    rewritten = (Path(templates.__file__).parent / "rewrite.cu").read_text("utf-8")
    signature = re.search(r"__global__.*\)", given)
    assert signature is not None
    assert signature[0] in rewritten
    assert rewritten != given


def test_counts_that_a_provider_told_stand_beside_the_estimates(tmp_path, monkeypatch):
    messages = [{"role": "user", "content": "x" * 30}]
    usages = [{"input": 11, "output": 5, "estimated": False}, {"input": 11, "output": 5, "estimated": True}]
    content = {"purpose": "plan", "messages": messages, "schema": None}
    replies = [Record("ask", str(i), 1.0, {"text": "y" * 9, "usage": usage}, content) for i, usage in enumerate(usages)]
    others = [Record("ask", "a", 0.5, {"failed": "gone"}, content), Record("device", "b", 0.0, {})]
    lines = [{"journal": 1, "model": "a:b"}, *(record.fields() for record in [*others, *replies])]
    journal = tmp_path / "recorded/matmul/journal.jsonl"
    journal.parent.mkdir(parents=True)
    journal.write_text("".join(json.dumps(line) + "\n" for line in lines))
    monkeypatch.setattr(recorded, "samples_directory", lambda: tmp_path)
    told, untold = recorded.recorded_replies()
    assert (told.session, told.model, told.purpose) == ("matmul", "a:b", "plan")
    assert (told.prompt, told.reply, told.told) == (18, 3, (11, 5))
    assert untold.told is None
