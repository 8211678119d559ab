"""Strategy `one_prompt`: ask for a faster, tunable kernel in one prompt; search its parameters; accept it or not."""

from __future__ import annotations

from typing import ClassVar

from tui_tuner.prompts.render import render
from tui_tuner.strategies.base import Effects
from tui_tuner.strategies.model_strategy import ModelStrategy, tune_baseline_first, tune_incumbent_last
from tui_tuner.strategies.recollected import facts_from_memory
from tui_tuner.strategies.rewriting.development import RewriteJob, StartingPoint, develop
from tui_tuner.strategies.situation import rewrite_answer, situation


class OnePromptStrategy(ModelStrategy):
    """Tune the kernel as given, then let the model rewrite it, with what went wrong told to the next attempt."""

    name: ClassVar[str] = "one_prompt"

    async def run(self, session: Effects) -> None:
        """One step; the first rewrite that is accepted ends it."""
        await tune_baseline_first(session)
        step = session.add_step("Rewrite the kernel", "one prompt: code, tunables, launch")
        evaluations = max(1, session.budget.evaluations_left * 2 // 3)
        facts = situation(session, session.baseline, await facts_from_memory(session))
        prompt = render("one_prompt", situation=facts, answer=rewrite_answer(evaluations))
        start = StartingPoint(session.baseline, session.incumbent.evaluation.configuration)
        job = RewriteJob("one_prompt", prompt, start, evaluations, puts_back_slow=True)
        await develop(session, step, job, self.retry_policy)
        await tune_incumbent_last(session)
