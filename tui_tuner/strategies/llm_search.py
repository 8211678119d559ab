"""Strategy `llm_search`: a model chooses the configurations that are measured, a local search goes on from its best.

The rounds follow the public design of an LLM-first parallel autotuner for Helion; `docs/llm-search.md` says where they
differ and why. The code of the kernel stays as it is.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from tui_tuner.search.methods import DEFAULT_METHOD
from tui_tuner.strategies.base import Effects, Strategy
from tui_tuner.strategies.parameters.methods import methods_of
from tui_tuner.strategies.search import tune_baseline


class LlmSearchStrategy(Strategy):
    """Search the tunables of the kernel as given by a model's rounds and what `--search` names after them.

    `--search llm` leaves the model alone; the settings of the rounds are the session's, `[session.rounds]`.
    """

    name: ClassVar[str] = "llm_search"
    needs_model: ClassVar[bool] = True

    async def run(self, session: Effects) -> None:
        """One step: rounds, local search, finalists, challenge.

        Raises:
            ModelFailed: the model gave nothing and the fallback is `error`.
        """
        methods = replace(methods_of(session.options.search or DEFAULT_METHOD), rounds=True)
        await tune_baseline(session, session.budget.evaluations_left, methods)
