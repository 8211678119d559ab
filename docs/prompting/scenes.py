"""Example sessions in which every prompt is asked at least once, for any problem; and what can be counted in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from docs.prompting.replies import (
    BUFFERS,
    CUT_OFF,
    NO_JSON,
    NO_STEP,
    NOT_WORTH,
    RESULTS,
    STAGES,
    answers_for,
    faulty,
    plan,
    rewrite,
    rewritten,
)
from docs.prompting.session import Scene, is_first, requests_of
from tui_tuner.llm import Request
from tui_tuner.problem.model import Problem
from tui_tuner.session.plan import Say
from tui_tuner.strategies.autonomous import AutonomousStrategy
from tui_tuner.strategies.base import Effects
from tui_tuner.strategies.custom import CustomStrategy
from tui_tuner.strategies.explicit import ExplicitStrategy
from tui_tuner.strategies.rewriting.failures import RetryPolicy
from tui_tuner.strategies.single_step import LlmSearchStrategy, OnePromptStrategy
from tui_tuner.strategies.step_lists import default_steps
from tui_tuner.strategies.steps import Decision

WORDS = "Keep the kernel readable: no inline PTX."
REMARK = "No step that needs tensor cores, please."
_APPROVE, _SKIP = Decision(action="approve"), Decision(action="skip")


class _OwnStrategy(CustomStrategy):
    """Asks what only strategies of the user's own ask."""

    async def run(self, session: Effects) -> None:
        """Ask for restrictions, then for the values of a parameter."""
        await self.tune_baseline(session)
        await self.ask_restrictions(session, session.baseline)
        source, name = rewritten(session.problem)
        await self.fix_parameters(session, session.baseline.model_copy(update={"source": source}), [name])


def good_scenes(problem: Problem) -> dict[str, Scene]:
    """Sessions with one step, in which all goes well, by the strategy and its options."""
    answers = answers_for(problem)
    step = next(step for step in default_steps() if step.id == "shared_memory_input")
    step = step.model_copy(update={"languages": []})
    at_once = step.model_copy(update={"skip_evaluation": True})
    carried_out = {**answers, "apply_step": [rewrite(problem, *step.tune_params)]}
    return {
        "`autonomous`": Scene(problem, AutonomousStrategy(), answers),
        "`autonomous` with `validate_steps`": Scene(problem, AutonomousStrategy(validate_steps=True), answers),
        "`autonomous` with `breakdown_steps`": Scene(problem, AutonomousStrategy(breakdown_steps=True), answers),
        "`explicit`": Scene(problem, ExplicitStrategy(steps=[step]), carried_out),
        "`explicit` with `skip_evaluation`": Scene(problem, ExplicitStrategy(steps=[at_once]), carried_out),
        "`one_prompt`": Scene(problem, OnePromptStrategy(), answers),
    }


def other_scenes(problem: Problem) -> dict[str, Scene]:
    """Sessions in which something in particular happens, by what that is."""
    plain, answers = OnePromptStrategy(), answers_for(problem)
    refused = [_APPROVE, Decision(action="reject", message=REMARK), Decision(action="reject")]
    patient = OnePromptStrategy(retry_policy=RetryPolicy(attempts=4, final=()))
    useless = [NO_JSON, faulty(problem), CUT_OFF, rewrite(problem)]
    return {
        "history": _with_history(problem),
        "plan refused": Scene(problem, AutonomousStrategy(), answers, decisions=refused),
        "custom": Scene(problem, _OwnStrategy(), answers),
        "no tests": Scene(problem.model_copy(update={"tests": []}), plain, answers),
        "words": Scene(problem, plain, answers, told=[Say(text=WORDS)]),
        "rounds": Scene(problem, LlmSearchStrategy(), answers, max_evaluations=15),
        "several": _with_several(problem),
        "judged": _with_unfit_steps(problem),
        "put back": Scene(problem, patient, {**answers, "one_prompt": useless}),
    }


def default_steps_scene(problem: Problem) -> Scene:
    """A session that asks for every default step that fits the problem, whatever it depends on."""
    steps = [step.model_copy(update={"depends_on": []}) for step in default_steps()]
    introduced = [name for step in steps for name in step.tune_params if name not in problem.tunables]
    answers = {**answers_for(problem), "apply_step": [rewrite(problem, *introduced)]}
    decisions = [_APPROVE, *[_SKIP] * len(steps)]
    return Scene(problem, ExplicitStrategy(steps=steps), answers, decisions=decisions)


def _with_history(problem: Problem) -> Scene:
    """One step is accepted, one is not faster, and a further one is planned knowing both."""
    answers = {**answers_for(problem), "plan": [plan(STAGES, RESULTS)], "replan": [plan(BUFFERS), plan()]}
    answers["apply_step"] = [rewrite(problem), rewrite(problem, "results_a_thread")]
    strategy = AutonomousStrategy(validate_steps=True)
    return Scene(problem, strategy, answers, speeds={STAGES: 1.62, RESULTS: 1.55, BUFFERS: 1.7})


def _with_several(problem: Problem) -> Scene:
    """Two kernels for the first of two planned steps; the second step is dropped."""
    answers = {**answers_for(problem), "plan": [plan(STAGES, RESULTS)]}
    answers["validate_step"] = [*answers["validate_step"], NO_STEP]
    answers["apply_step"] = [rewrite(problem), rewrite(problem, "results_a_thread")]
    return Scene(problem, AutonomousStrategy(candidates=2, validate_steps=True), answers)


def _with_unfit_steps(problem: Problem) -> Scene:
    """Two steps of the default list, neither of which is worth doing."""
    named = [step for step in default_steps() if step.id in ("shared_memory_input", "loop_unrolling")]
    steps = [step.model_copy(update={"languages": [], "depends_on": []}) for step in named]
    return Scene(problem, ExplicitStrategy(steps=steps), {**answers_for(problem), "worth_step": [NOT_WORTH]})


def first_asked(requests: Sequence[Request]) -> dict[str, Request]:
    """The last request of each purpose, those put aside that only ask again."""
    return {request.purpose: request for request in requests if is_first(request)}


def good_path(requests: Sequence[Request]) -> list[str]:
    """The purposes of all calls of a session in which all goes well.

    Raises:
        ValueError: an answer was put back, so it did not.
    """
    again = next((request for request in requests if not is_first(request)), None)
    if again is not None:
        raise ValueError(f"the example answer to '{again.purpose}' was put back: {again.messages[-1].content}")
    return [request.purpose for request in requests]


async def limit_of(scene: Scene, purpose: str) -> int:
    """How often the model is called at most for one question: as often as when its answers are of no use."""
    stubborn = replace(scene, answers={**scene.answers, purpose: [NO_JSON]})
    asked = [request for request in await requests_of(stubborn) if request.purpose == purpose]
    again = [number for number, request in enumerate(asked) if is_first(request)][1:]
    return again[0] if again else len(asked)
