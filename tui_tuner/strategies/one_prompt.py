"""Strategy `one_prompt`: ask once for a faster, tunable kernel; search its parameters; accept it or not."""

from __future__ import annotations

from tui_tuner.evaluate.results import Evaluation, FailureKind
from tui_tuner.llm.base import Message
from tui_tuner.problem.candidate import Candidate
from tui_tuner.prompts.facts import (
    device_facts,
    evaluation_facts,
    launch_facts,
    measurement_facts,
    size_facts,
)
from tui_tuner.prompts.render import render
from tui_tuner.strategies.acceptance import challenge_incumbent
from tui_tuner.strategies.base import Effects, ModelFailed, Strategy
from tui_tuner.strategies.parameter_search import search_parameters
from tui_tuner.strategies.rewrite import RewriteReply, candidate_of, faults_of
from tui_tuner.strategies.search import tune_baseline
from tui_tuner.strategies.steps import Step, StepState

ATTEMPTS = 3
BASELINE_SHARE = 3
"""One part in so many of the evaluations goes to the kernel as given."""
HOPELESS = frozenset(FailureKind) - {FailureKind.INVALID, FailureKind.LAUNCH, FailureKind.IMPLAUSIBLE}
"""Failures of the default configuration that every other configuration would share."""


class OnePromptStrategy(Strategy):
    """Tune the kernel as given, then let the model rewrite it, with what went wrong told to the next attempt."""

    name = "one_prompt"
    needs_model = True

    async def run(self, session: Effects) -> None:
        """Up to `ATTEMPTS` rewrites; the first that is accepted ends the strategy."""
        await tune_baseline(session, max(1, session.evaluations_left // BASELINE_SHARE))
        history: list[str] = []
        for attempt in range(1, ATTEMPTS + 1):
            outcome = await self._attempt(session, attempt, history)
            if outcome is None:
                return
            history.append(outcome)

    async def _attempt(self, session: Effects, attempt: int, history: list[str]) -> str | None:
        """One rewrite; None if there shall be no other, else what the next one must know."""
        step = session.add_step(f"Rewrite the kernel, attempt {attempt}", "one prompt: code, tunables, launch")
        step = session.update_step(step, state=StepState.RUNNING)
        try:
            reply = await self._ask(session, history)
        except ModelFailed as failed:
            session.update_step(step, state=StepState.REJECTED, reason=str(failed))
            session.note(f"the model gives no usable kernel: {failed}", warning=True)
            return None
        candidate = candidate_of(reply, session.problem, f"rewrite {attempt}")
        step = session.update_step(step, detail=reply.summary)
        decision = await session.approve(step, candidate, reply.summary)
        if decision.action == "skip":
            session.update_step(step, state=StepState.SKIPPED, reason="you skipped it")
            return None
        if decision.action == "reject":
            session.update_step(step, state=StepState.REJECTED, reason=f"you: {decision.message or 'no'}")
            return _told(candidate, f"The programmer rejected it: {decision.message or 'no reason given'}")
        if decision.source is not None:
            candidate = candidate.model_copy(update={"source": decision.source, "title": f"{candidate.title}, edited"})
        step = session.update_step(step, state=StepState.RUNNING)
        share = 1 if attempt == ATTEMPTS else 2
        return await self._try(session, step, candidate, share)

    async def _ask(self, session: Effects, history: list[str]) -> RewriteReply:
        problem, best = session.problem, session.incumbent
        prompt = render(
            "one_prompt",
            device=device_facts(session.device),
            language=problem.language,
            kernel=problem.kernel.name,
            source=problem.source_text.strip(),
            launch=launch_facts(problem, session.baseline),
            sizes=size_facts(problem),
            measurements=measurement_facts(
                problem, session.device, session.given, best.evaluation, session.evaluations_of(session.baseline)
            ),
            failures=_failures(history),
            evaluations=max(1, session.evaluations_left),
        )
        messages = [Message("system", render("system")), Message("user", prompt)]
        limit = session.device.max_threads_per_block
        return await session.ask("one_prompt", messages, RewriteReply, lambda reply: faults_of(reply, problem, limit))

    async def _try(self, session: Effects, step: Step, candidate: Candidate, share: int) -> str | None:
        """Evaluate, search with one part in `share` of what is left, challenge; None if it was accepted."""
        first = (await session.evaluate(candidate, [candidate.default_configuration]))[0]
        if first.failure is not None and first.failure.kind in HOPELESS:
            session.update_step(step, state=StepState.REJECTED, reason=f"{first.failure.kind}: {first.failure.message}")
            return _told(candidate, _why(first))
        best = await search_parameters(session, candidate, max(1, session.evaluations_left // share))
        if best is None:
            session.update_step(step, state=StepState.REJECTED, reason="no configuration passed the checks")
            reasons = {_why(e) for e in session.evaluations_of(candidate)}
            return _told(candidate, "No configuration passed the checks:\n" + "\n".join(sorted(reasons)[:5]))
        reason = await challenge_incumbent(session, step, candidate, best)
        if reason is None:
            return None
        return _told(candidate, f"Right, but {reason}. Its best configuration: {evaluation_facts(best)}")


def _why(evaluation: Evaluation) -> str:
    failure = evaluation.failure
    return "" if failure is None else f"{failure.kind}: {failure.message}\n{failure.detail}".strip()


def _told(candidate: Candidate, outcome: str) -> str:
    return f"<attempt>\n{candidate.source.strip()}\n</attempt>\n<outcome>\n{outcome}\n</outcome>"


def _failures(history: list[str]) -> str:
    if not history:
        return ""
    told = "\n\n".join(history)
    return f"\nWhat was tried before and what came of it; do not repeat it:\n\n{told}\n"
