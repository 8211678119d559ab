"""One question to the model: which configurations to measure next, read while the reply arrives."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from tui_tuner.llm.arriving import ArrivingObjects
from tui_tuner.llm.schema import schema_of
from tui_tuner.llm.tokens import estimate
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.model import Configuration
from tui_tuner.strategies.base import ATTEMPTS, Effects, FaultyReply, ModelFailed, ask_and_read
from tui_tuner.strategies.parameters.rounds.chooser import Chooser
from tui_tuner.strategies.parameters.rounds.prompt import Round, SearchKnowledge, first_prompt, next_prompt
from tui_tuner.strategies.parameters.rounds.reply import ConfigurationsReply, reply_type

FIRST, MORE = "first_configurations", "more_configurations"
"""Names of the two prompts."""


@dataclass(frozen=True)
class RoundQuestion:
    """What is asked in one round; it knows what was known when the round began, whatever is measured meanwhile.

    Attributes:
        candidate: the kernel whose configurations are measured.
        taken: configurations that are measured, or will be before those of the reply.
        best: gives the values that a proposal leaves out.
    """

    session: Effects
    candidate: Candidate
    known: SearchKnowledge
    wanted: Round
    taken: Sequence[Configuration]
    best: Configuration

    async def ask(self) -> Chooser:
        """The configurations that the model proposes, each evaluated on speculation as soon as it has arrived.

        Raises:
            ModelFailed: it gives no usable reply, and none of it that had arrived can be used.
            BudgetSpent: no call is left, or the model is gone.
        """
        is_first = self.wanted.number == 1
        prompt = first_prompt if is_first else next_prompt
        form = reply_type(self.known.free)
        messages, left_out = prompt(self.known, self.wanted, await self._room(form))
        if left_out:
            self.session.note(f"the model's context has no room for {left_out}", warning=True)
        try:
            return await ask_and_read(
                lambda check: self.session.ask(
                    FIRST if is_first else MORE, messages, form, check, ATTEMPTS, self._listener
                ),
                self._read,
            )
        except ModelFailed as failed:
            arrived = self._chosen(ArrivingObjects("configurations").feed(failed.partial))
            if not arrived.chosen:
                raise
            self.session.note(f"the reply broke off, {len(arrived.chosen)} configurations of it are used: {failed}")
            return arrived

    async def _room(self, form: type[ConfigurationsReply]) -> int | None:
        """Tokens for the prompt beside the form of the reply, which goes with it; None if unknown."""
        tokens = await self.session.model.prompt_tokens()
        return None if tokens is None else tokens - estimate(json.dumps(schema_of(form)))

    def _read(self, reply: ConfigurationsReply) -> Chooser:
        chooser = self._chosen(reply.proposals)
        if not chooser.chosen:
            raise FaultyReply(["none of the configurations is new and valid", *chooser.remarks])
        return chooser

    def _chosen(self, proposals: Iterable[Mapping[str, object]]) -> Chooser:
        chooser = self._chooser()
        for proposal in proposals:
            chooser.take(proposal)
        return chooser

    def _chooser(self) -> Chooser:
        return Chooser(self.known.space, self.best, self.taken, self.wanted.count)

    def _listener(self) -> Callable[[str], None]:
        arriving, chooser = ArrivingObjects("configurations"), self._chooser()

        def listen(piece: str) -> None:
            for proposal in arriving.feed(piece):
                configuration = chooser.take(proposal)
                if configuration is not None:
                    self.session.bench.speculate(self.candidate, configuration)

        return listen
