"""The plan as the user sees it, and the effect `approve`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tui_tuner.problem.candidate import Candidate
from tui_tuner.session import events
from tui_tuner.session.recall import Recall
from tui_tuner.strategies.steps import Approver, Decision, Factor, Proposal, Step, StepState


class Plan:
    """The steps of a session, each with its state."""

    def __init__(self, approver: Approver, recall: Recall, emit: Callable[[events.Event], None]) -> None:
        self._approver = approver
        self._recall = recall
        self._emit = emit
        self._steps: dict[int, Step] = {}

    def add(self, title: str, detail: str) -> Step:
        """Append a step."""
        return self._put(Step(id=len(self._steps) + 1, title=title, detail=detail))

    def update(
        self,
        step: Step,
        *,
        state: StepState | None = None,
        reason: str = "",
        factor: Factor | None = None,
        detail: str | None = None,
    ) -> Step:
        """Change a step as it is now; its state and detail stay where they are not given."""
        now = self._steps[step.id]
        changes = {
            "state": state or now.state,
            "reason": reason,
            "factor": factor,
            "detail": now.detail if detail is None else detail,
        }
        return self._put(now.model_copy(update=changes))

    async def approve(self, step: Step, candidate: Candidate | None, rationale: str) -> Decision:
        """Put a step to the user; a decision that is recorded is not asked for again."""
        if candidate is not None:
            self._emit(events.CandidateProposed(step=step.id, candidate=candidate, rationale=rationale))
        step = self.update(step, state=StepState.AWAITING)
        proposal = Proposal(step=step, candidate=candidate, rationale=rationale)
        content = self._recall.nth("approve", proposal.model_dump(mode="json"))
        decision = Decision.model_validate(await self._recall.once("approve", content, lambda: self._live(proposal)))
        self._emit(events.ApprovalGiven(step=step.id, decision=decision))
        return decision

    async def _live(self, proposal: Proposal) -> dict[str, Any]:
        self._emit(events.ApprovalAsked(proposal=proposal))
        decision = await self._approver.decide(proposal)
        return decision.model_dump(mode="json")

    def _put(self, step: Step) -> Step:
        self._steps[step.id] = step
        self._emit(events.StepChanged(step=step))
        return step
