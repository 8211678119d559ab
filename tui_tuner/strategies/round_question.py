"""One question to the model: which configurations to measure next, read and repaired while the reply arrives."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Self, cast

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationError, WithJsonSchema, create_model

from tui_tuner.format import configuration_words, counted_in_lines
from tui_tuner.llm.prices import estimate
from tui_tuner.llm.streams import split_thinking
from tui_tuner.llm.structured import CutReply
from tui_tuner.llm.typed import schema_of
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.model import Configuration, Value
from tui_tuner.problem.nearby import nearest_valid
from tui_tuner.problem.space import SearchSpace
from tui_tuner.problem.tunables import exact_key
from tui_tuner.strategies.base import ATTEMPTS, Effects, FaultyReply, ModelFailed, ModelGone, ask_and_read
from tui_tuner.strategies.round_prompt import Round, SearchKnowledge, first_prompt, next_prompt

FIRST, MORE = "first_configurations", "more_configurations"
"""Names of the two prompts."""


@dataclass(frozen=True)
class RoundQuestion:
    """What is asked in one round; it knows what was known when the round began, whatever is measured meanwhile.

    Attributes:
        candidate: the kernel whose configurations are measured.
        taken: configurations that are measured, or will be before those of the reply.
        best: gives the values that a proposal leaves out.
        sure: how many of the first proposals are measured whatever happens; None for all.
    """

    session: Effects
    candidate: Candidate
    known: SearchKnowledge
    wanted: Round
    taken: Sequence[Configuration]
    best: Configuration
    sure: int | None = None

    async def ask(self) -> Chooser:
        """The configurations that the model proposes, those that are sure evaluated as soon as they have arrived.

        Raises:
            ModelFailed: it gives no usable reply, and none of it that had arrived can be used.
            BudgetSpent: no call is left, or the model is gone and none of its reply can be used.
        """
        is_first = self.wanted.number == 1
        prompt = first_prompt if is_first else next_prompt
        form = reply_type(self.known.free)
        messages, left_out = prompt(self.known, self.wanted, await self._room(form))
        if left_out:
            self.session.note(f"the model's context has no room for {left_out}", warning=True)
        try:
            chooser = await ask_and_read(
                lambda check: self.session.ask(
                    FIRST if is_first else MORE, messages, form, check, ATTEMPTS, self._listener
                ),
                self._read,
            )
        except (ModelFailed, ModelGone) as failed:
            usable = isinstance(failed, ModelFailed) or self.session.wording > 5
            arrived = self._chosen(_arrived(failed.partial if usable else ""))
            if not arrived.chosen:
                raise
            self._note_cut(arrived, f": {failed}")
            return arrived
        if chooser.is_cut:
            self._note_cut(chooser)
        return chooser

    def _note_cut(self, chooser: Chooser, why: str = "") -> None:
        used = counted_in_lines(len(chooser.chosen), "configuration")
        self.session.note(f"the reply broke off, {used} of it used{why}")

    async def _room(self, form: type[ConfigurationsReply]) -> int | None:
        """Tokens for the prompt beside the form of the reply, which goes with it; None if unknown."""
        tokens = await self.session.model.prompt_tokens()
        return None if tokens is None else tokens - estimate(json.dumps(schema_of(form)))

    def _read(self, reply: ConfigurationsReply) -> Chooser:
        chooser = self._chosen(reply.proposals)
        chooser.is_cut = reply.is_cut
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
        arriving, chooser = ArrivingObjects(), self._chooser()

        def listen(piece: str) -> None:
            for proposal in arriving.feed(piece):
                configuration = chooser.take(proposal)
                if configuration is not None and (self.sure is None or len(chooser.chosen) <= self.sure):
                    self.session.bench.speculate(self.candidate, configuration)

        return listen


_LIST = re.compile(r'"configurations"\s*:\s*\[')
_DECODER = json.JSONDecoder()
_BETWEEN = re.compile(r"[\s,]*")


class ArrivingObjects:
    """The configurations that a reply lists, as it arrives.

    Where it turns out to be no such JSON, nothing more is found; whether it can be used is decided when it is whole.
    """

    def __init__(self) -> None:
        self._text = ""
        self._at: int | None = None

    def feed(self, piece: str) -> list[dict[str, Any]]:
        """The objects that are complete with this piece of the reply."""
        self._text += piece
        if self._at is None:
            self._at = self._array()
        return [] if self._at is None else self._complete(self._at)

    def _array(self) -> int | None:
        """Where the array begins; a draft among a model's thoughts is none."""
        answer, thoughts = split_thinking(self._text)
        found = _LIST.search(answer)
        if thoughts and found is not None:
            self._text = answer
        return None if found is None else found.end()

    def _complete(self, at: int) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        while True:
            begin = _end_of(_BETWEEN, self._text, at)
            if not self._text.startswith("{", begin):
                break
            try:
                value, at = _DECODER.raw_decode(self._text, begin)
            except (ValueError, RecursionError):
                break
            found.append(value)
        self._at = at
        return found


def _arrived(text: str) -> list[dict[str, Any]]:
    """The configurations that are complete in a reply."""
    return ArrivingObjects().feed(text)


def _end_of(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return at if found is None else found.end()


MOST_VALUES = 400
"""Values that a schema lists; of larger spaces it says the types only, since providers limit how many it may have."""
_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string"}


class ConfigurationsReply(CutReply):
    """What a model answers; `configurations` has one field a tunable, which `reply_type` adds."""

    model_config = ConfigDict(extra="ignore")
    _is_cut: bool = PrivateAttr(default=False)

    analysis: str

    @classmethod
    def of_part(cls, text: str) -> Self | None:
        """The configurations that are complete."""
        if not (complete := _arrived(text)):
            return None
        try:
            part = cls.model_validate({"analysis": "", "configurations": complete}, strict=True)
        except ValidationError:
            return None
        part._is_cut = True
        return part

    @property
    def is_cut(self) -> bool:
        """Whether the reply broke off behind these configurations."""
        return self._is_cut

    @property
    def proposals(self) -> list[dict[str, object]]:
        """Each proposed configuration as it was written, its reason aside; missing values are None."""
        proposed = cast(Sequence[BaseModel], getattr(self, "configurations"))  # noqa: B009 (added by `reply_type`)
        return [one.model_dump(by_alias=True, exclude={"reason"}) for one in proposed]


def reply_type(tunables: Mapping[str, Sequence[Value]]) -> type[ConfigurationsReply]:
    """The form of a reply for these tunables.

    Its JSON schema lists the values; its validation does not insist on them, so that one wrong value costs one
    configuration at most and not the reply.
    """
    listed = sum(map(len, tunables.values())) <= MOST_VALUES
    fields: dict[str, Any] = {
        f"value_{index}": (Annotated[Any, WithJsonSchema(_schema(values, listed=listed))], Field(None, alias=name))
        for index, (name, values) in enumerate(tunables.items())
    }
    configuration = create_model("ProposedConfiguration", **fields, reason=(str, ""))
    return create_model("Configurations", __base__=ConfigurationsReply, configurations=(list[configuration], ...))  # type: ignore[valid-type]


def _schema(values: Sequence[Value], *, listed: bool) -> dict[str, object]:
    kinds = list(dict.fromkeys(_TYPES[type(value)] for value in values))
    if len(kinds) > 1:
        return {"anyOf": [{"type": kind} for kind in kinds]}
    return {"type": kinds[0], "enum": list(values)} if listed else {"type": kinds[0]}


class Chooser:
    """Takes proposals in their order; the same ones give the same choice, while they arrive and when all are there.

    Args:
        space: the valid configurations.
        best: gives the values that a proposal leaves out.
        measured: what is known already.
        limit: configurations chosen at most.

    Attributes:
        chosen: the configurations to measure.
        remarks: what was wrong with the others, in words for the model.
        proposed: how many proposals there were, up to the limit.
        invalid: how many of them were not valid as proposed.
        is_cut: whether the reply broke off, so that these are all that had arrived.
    """

    def __init__(
        self, space: SearchSpace, best: Configuration, measured: Collection[Configuration], limit: int
    ) -> None:
        self._space = space
        self._best = best
        self._known = {exact_key(configuration) for configuration in measured}
        self._limit = limit
        self.chosen: list[Configuration] = []
        self.remarks: list[str] = []
        self.proposed = 0
        self.invalid = 0
        self.is_cut = False

    @property
    def mostly_invalid(self) -> bool:
        """Whether more than half of the proposals were not valid."""
        return self.invalid * 2 > self.proposed

    def take(self, proposal: Mapping[str, object]) -> Configuration | None:
        """The configuration to measure for a proposal; None if there is none."""
        if len(self.chosen) >= self._limit:
            return None
        self.proposed += 1
        wanted = self._read(proposal)
        fault = self._space.is_valid(wanted)
        if fault is None:
            return self._new(wanted)
        self.invalid += 1
        return self._repaired(wanted, fault)

    def _new(self, wanted: Configuration) -> Configuration | None:
        if exact_key(wanted) in self._known:
            self.remarks.append(f"{self._words(wanted)}: was proposed or measured before")
            return None
        return self._choose(wanted)

    def _repaired(self, wanted: Configuration, fault: str) -> Configuration | None:
        near = nearest_valid(self._space, wanted, self._best)
        if near is None:
            self.remarks.append(f"{self._words(wanted)}: {fault}; nothing valid is near")
            return None
        changed = configuration_words({name: value for name, value in near.items() if value != wanted.get(name)})
        if exact_key(near) in self._known:
            self.remarks.append(f"{self._words(wanted)}: {fault}; with {changed} it is known, so it was left out")
            return None
        self.remarks.append(f"{self._words(wanted)}: {fault}; measured instead with {changed}")
        return self._choose(near)

    def _choose(self, configuration: Configuration) -> Configuration:
        self._known.add(exact_key(configuration))
        self.chosen.append(configuration)
        return configuration

    def _read(self, proposal: Mapping[str, object]) -> Configuration:
        """A proposal with a value for each tunable, as the space writes it where it means a listed one."""
        wanted: Configuration = {}
        for name, values in self._space.tunables.items():
            value = proposal.get(name)
            if len(values) == 1 or not isinstance(value, bool | int | float | str):
                value = values[0] if len(values) == 1 else self._best[name]
            wanted[name] = next((listed for listed in values if means(value, listed)), value)
        return wanted

    def _words(self, configuration: Configuration) -> str:
        free = {name: value for name, value in configuration.items() if len(self._space.tunables[name]) > 1}
        return configuration_words(free)


def means(value: object, listed: Value) -> bool:
    """Whether a value is the listed one in other letters: 64.0 or "64" for 64, true for 1."""
    return value == listed or str(value).strip().lower() == str(listed).lower()
