"""A tuning strategy of your own. Try it: tuner-tui kernel.cu --strategy my_strategy.py:MyStrategy"""

from tui_tuner import CustomStrategy, Effects
from tui_tuner.strategies.history import Outcome

IDEAS = {
    "Fewer memory accesses": "Load what several threads or iterations need only once, and keep it close.",
    "More work per thread": "Let a thread compute several elements; make their number tunable.",
}


class MyStrategy(CustomStrategy):
    """Try each idea of a list on the best kernel so far."""

    # A field is an option: --set rounds=2
    rounds: int = 1

    async def run(self, session: Effects) -> None:
        """Everything goes through `self` and `session`, so that the run can be resumed and replayed."""
        await self.tune_baseline(session)  # what a rewrite has to beat

        for _ in range(self.rounds):
            for title, detail in IDEAS.items():
                session.add_step(title, detail)  # a line of the plan, which the user may change

        outcomes: list[Outcome] = []
        while steps := session.proposed_steps():
            # The model rewrites, the machine checks, tunes and times; what fails is put back to the model.
            outcomes.append(await self.develop(session, steps[0], outcomes=outcomes))

        await self.tune_best(session)  # with what is left of the budget
