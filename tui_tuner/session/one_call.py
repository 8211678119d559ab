"""One call of the model: found on record, or sent, listened to, and what became of it as the journal has it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pydantic import BaseModel

from tui_tuner.errors import ModelError
from tui_tuner.journal.recall import Recall
from tui_tuner.llm import Backend, Chunk, Reply, Request, Stop, prompt_text
from tui_tuner.llm.errors import TransportError
from tui_tuner.llm.lacking import lacking, way_out
from tui_tuner.llm.prices import estimate_messages
from tui_tuner.llm.replay import RecordedRequest, was_sent
from tui_tuner.llm.streams import complete, fault_of
from tui_tuner.llm.structured import CutReply
from tui_tuner.session import events
from tui_tuner.session.budget import Budget
from tui_tuner.session.plan import Emit
from tui_tuner.strategies.base import Listener


@dataclass(frozen=True)
class Asked:
    """A call that is to be made.

    Attributes:
        number: of the call, counted from 1.
        wanted: the type that the reply is to have.
        listener: is given the words of the reply as they arrive.
    """

    number: int
    request: Request
    wanted: type[BaseModel]
    listener: Listener | None


class Calls:
    """Makes the calls of a session, and tells of each.

    Attributes:
        way_out: what the user can do about the last reply; empty where it was an answer.
        broke_off: whether the last call failed in the middle of its reply, which may be whole the next time.
        pauses: why the call under way, or the last one, is made again, in the words that the user was told.
    """

    def __init__(self, recall: Recall, budget: Budget, emit: Emit) -> None:
        self._recall = recall
        self._budget = budget
        self._emit = emit
        self.way_out = ""
        self.pauses: list[str] = []
        self.broke_off = False
        self._told = {""}

    def recorded(self, request: Request) -> tuple[dict[str, Any], dict[str, Any] | None]:
        """A request as the journal names it, and what became of it; None where that is not known.

        A reply stays what it is where replies may be longer by now, or shorter, and where prompts are worded otherwise.
        """
        content = self._recall.nth("ask", asdict(request), limit="max_tokens")
        result = self._recall.known("ask", content)
        if result is None and (found := self._recall.in_other_words("ask", content, _likeness)) is not None:
            content, result = {**found}, self._recall.known("ask", found)
        return content, result

    def tell_sent(self, asked: Asked, content: Mapping[str, Any] | None = None) -> None:
        """Tell what is asked, or what was, as the journal has it."""
        request = asked.request
        messages = request.messages if content is None else RecordedRequest.model_validate(content).messages
        text, tokens = prompt_text(messages), estimate_messages(messages)
        self._emit(events.PromptSent(call=asked.number, purpose=request.purpose, text=text, tokens=tokens))

    async def made(self, backend: Backend, asked: Asked) -> dict[str, Any]:
        """Send the request; its reply, or why there is none."""
        self.tell_sent(asked)
        call, listener = asked.number, asked.listener
        listen, heard, self.pauses = listener() if listener else None, list[str](), []
        silent, self.broke_off = True, False

        def on_chunk(chunk: Chunk) -> None:
            nonlocal silent
            if chunk.notice and chunk.stop is None:
                self.pauses.append(chunk.notice)
                self.tell_pauses([chunk.notice])
            if chunk.text or chunk.thinking:
                silent = False
                self._emit(events.ModelText(call=call, text=chunk.text, thinking=chunk.thinking))
            if chunk.text:
                heard.append(chunk.text)
                if listen is not None:
                    listen(chunk.text)

        try:
            replying = complete(backend, asked.request, on_chunk)
            reply = await self._recall.in_time(replying, lambda: self._budget.call_ends_s)
        except TransportError as error:
            self.broke_off = error.retryable and not silent
            partial = {"partial": "".join(heard)} if heard else {}
            cost = 0.0 if error.usage is None else error.usage.cost
            return {"failed": str(error), "cost": cost, **partial, **self.paused}
        except ModelError as error:
            return {"failed": str(error), "cost": 0.0, **self.paused}
        if reply is None:
            awaited = (
                f" while the model could not answer: {fault_of(self.pauses[-1])}" if self.pauses and silent else ""
            )
            reason = f"{self._budget.time_is_up}{awaited}"
            self._emit(events.CallFailed(call=call, reason=reason))
            return {"stopped": reason, **self.paused}
        return {**asdict(reply), **self.paused}

    @property
    def paused(self) -> dict[str, Any]:
        """The pauses as a part of what became of a call; nothing where there were none."""
        return {"pauses": [*self.pauses]} if self.pauses else {}

    def tell_pauses(self, pauses: Iterable[str]) -> None:
        """Tell why a call is made again, as it is made or as it was."""
        for text in pauses:
            self._emit(events.Note(level="warning", text=text))

    def tell_tries(self, call: int, result: dict[str, Any]) -> None:
        """Tell of a call on record what came before its end: tries that failed, and pauses."""
        for failed in result.get("before", []):
            self.tell_pauses(failed.get("pauses", []))
            self._emit(events.CallFailed(call=call, reason=failed["failed"]))
        self.tell_pauses(result.get("pauses", []))
        if was_sent(result) and "stopped" in result:
            self._emit(events.CallFailed(call=call, reason=result["stopped"]))

    def tell_lacking(self, call: int, reply: Reply, max_tokens: int) -> None:
        """Tell what the user can do about a reply that is no answer, the same once.

        Args:
            max_tokens: the limit of the reply.
        """
        self.way_out = way_out(reply, max_tokens)
        if self.way_out not in self._told:
            self._told.add(self.way_out)
            self._emit(events.Note(level="warning", text=f"reply {call} {lacking(reply)}: {self.way_out}"))


def _likeness(asked: Mapping[str, Any], recorded: Mapping[str, Any]) -> float:
    """The share of lines that two requests have in common; 0 where they are for something else, or of another try."""
    if asked["purpose"] != recorded["purpose"] or len(asked["messages"]) != len(recorded["messages"]):
        return 0.0
    lines, others = _lines(asked), _lines(recorded)
    return 2 * (lines & others).total() / (lines.total() + others.total())


def _lines(content: Mapping[str, Any]) -> Counter[str]:
    return Counter(line for message in content["messages"] for line in message["content"].splitlines())


def is_of_use(wanted: type[BaseModel], partial: str) -> bool:
    """Whether a part of a reply is one."""
    return issubclass(wanted, CutReply) and wanted.of_part(partial) is not None


def in_short(failed: dict[str, Any]) -> dict[str, Any]:
    """What is kept of a try that failed."""
    return {name: failed[name] for name in ("failed", "cost", "pauses") if name in failed}


def is_in_vain(given: Sequence[Reply]) -> bool:
    """Whether nothing else is to be expected: a reply was cut again although less was asked for, or declined again."""
    return len(given) > 1 and given[-1].stop is given[-2].stop is not Stop.COMPLETE


def with_tries(cost: float | None, before: Iterable[dict[str, Any]]) -> float | None:
    """What a call costs with the tries before it, US dollars; None where one of the prices is not known."""
    for failed in before:
        cost = None if cost is None or failed["cost"] is None else cost + failed["cost"]
    return cost
