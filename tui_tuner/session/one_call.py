"""One call of the model: found on record, or sent, listened to, and what became of it as the journal has it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from tui_tuner.errors import ModelError
from tui_tuner.journal.recall import Recall
from tui_tuner.llm import Backend, Chunk, Reply, Request
from tui_tuner.llm.errors import TransportError
from tui_tuner.llm.lacking import lacking, way_out
from tui_tuner.llm.prices import estimate_messages
from tui_tuner.llm.streams import complete
from tui_tuner.session import events
from tui_tuner.session.budget import Budget
from tui_tuner.session.plan import Emit
from tui_tuner.strategies.base import Listener


class Calls:
    """Makes the calls of a session, and tells of each.

    Attributes:
        way_out: what the user can do about the last reply; empty where it was an answer.
    """

    def __init__(self, recall: Recall, budget: Budget, emit: Emit) -> None:
        self._recall = recall
        self._budget = budget
        self._emit = emit
        self.way_out = ""
        self._told = {""}

    def recorded(self, request: Request) -> tuple[dict[str, Any], dict[str, Any] | None]:
        """A request as the journal names it, and what became of it; None where that is not known.

        A reply stays what it is where replies may be longer by now, or shorter.
        """
        content = self._recall.nth("ask", asdict(request), limit="max_tokens")
        return content, self._recall.known("ask", content)

    def tell_sent(self, call: int, request: Request) -> None:
        """Tell what is asked."""
        text = "\n\n".join(f"[{message.role}]\n{message.content}" for message in request.messages)
        tokens = estimate_messages(request.messages)
        self._emit(events.PromptSent(call=call, purpose=request.purpose, text=text, tokens=tokens))

    async def made(self, backend: Backend, call: int, request: Request, listener: Listener | None) -> dict[str, Any]:
        """Send the request; its reply, or why there is none."""
        self.tell_sent(call, request)
        listen, heard = listener() if listener else None, list[str]()

        def on_chunk(chunk: Chunk) -> None:
            if chunk.notice and chunk.stop is None:
                self._emit(events.Note(level="warning", text=chunk.notice))
            if chunk.text or chunk.thinking:
                self._emit(events.ModelText(call=call, text=chunk.text, thinking=chunk.thinking))
            if chunk.text:
                heard.append(chunk.text)
                if listen is not None:
                    listen(chunk.text)

        try:
            replying = complete(backend, request, on_chunk)
            reply = await self._recall.in_time(replying, lambda: self._budget.call_ends_s)
        except TransportError as error:
            partial = {"partial": "".join(heard)} if heard else {}
            return {"failed": str(error), "cost": 0.0 if error.usage is None else error.usage.cost, **partial}
        except ModelError as error:
            return {"failed": str(error), "cost": 0.0}
        if reply is None:
            self._emit(events.CallFailed(call=call, reason=self._budget.time_is_up))
            return {"stopped": self._budget.time_is_up}
        return asdict(reply)

    def tell_lacking(self, call: int, reply: Reply, max_tokens: int) -> None:
        """Tell what the user can do about a reply that is no answer, the same once.

        Args:
            max_tokens: the limit of the reply.
        """
        self.way_out = way_out(reply, max_tokens)
        if self.way_out not in self._told:
            self._told.add(self.way_out)
            self._emit(events.Note(level="warning", text=f"reply {call} {lacking(reply)}: {self.way_out}"))
