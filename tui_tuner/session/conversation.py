"""The effect `ask`: one whole reply of the model, recorded before it is parsed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from pydantic import TypeAdapter

from tui_tuner.errors import ModelError
from tui_tuner.llm.base import Backend, Chunk, Message, Reply, Request
from tui_tuner.llm.complete import complete
from tui_tuner.llm.errors import TransportError
from tui_tuner.llm.prices import worst_cost
from tui_tuner.llm.structured import ReplyRefused, ask
from tui_tuner.llm.tokens import estimate_messages
from tui_tuner.session import events
from tui_tuner.session.budget import Budget
from tui_tuner.session.recall import Recall
from tui_tuner.strategies.base import ModelFailed, ReplyType

_REPLY = TypeAdapter(Reply)
ATTEMPTS = 3
"""Calls for one question at most: the first and two that put faults back to the model."""


class Conversation:
    """Asks the model; every call is an effect of its own.

    Args:
        backend: None where there is no model, and in a replay.
        max_tokens: limit of each reply.
    """

    def __init__(
        self,
        backend: Backend | None,
        recall: Recall,
        budget: Budget,
        emit: Callable[[events.Event], None],
        max_tokens: int,
    ) -> None:
        self._backend = backend
        self._max_tokens = max_tokens
        self._recall = recall
        self._budget = budget
        self._emit = emit

    async def ask(
        self,
        purpose: str,
        messages: Sequence[Message],
        reply_type: type[ReplyType],
        check: Callable[[ReplyType], list[str]],
    ) -> ReplyType:
        """A validated reply.

        Raises:
            ModelFailed: the model cannot be reached, or its replies stay unusable.
            BudgetSpent: the budget allows no further call.
        """
        request = Request(purpose, tuple(messages), max_tokens=self._max_tokens)
        try:
            answer = await ask(
                self._call, request, reply_type, check=check, attempts=ATTEMPTS, on_refused=self._refused
            )
        except ReplyRefused as refused:
            raise ModelFailed(f"{ATTEMPTS} replies were unusable: {refused}") from refused
        return answer.value

    def _refused(self, problems: list[str]) -> None:
        self._emit(events.ReplyRefused(call=self._budget.model_calls, problems=problems))

    async def _call(self, request: Request) -> Reply:
        call = self._budget.model_calls + 1
        text = "\n\n".join(f"[{message.role}]\n{message.content}" for message in request.messages)
        tokens = estimate_messages(request.messages)
        content = self._recall.nth("ask", asdict(request))
        self._emit(events.PromptSent(call=call, purpose=request.purpose, text=text, tokens=tokens))
        result = await self._recall.once("ask", content, lambda: self._live(call, request))
        if "failed" in result:
            self._budget.book_call(result["cost"])
            raise ModelFailed(result["failed"])
        reply = _REPLY.validate_python(result)
        self._budget.book_call(reply.usage.cost)
        if reply.notice:
            self._emit(events.Note(text=reply.notice))
        self._emit(
            events.ReplyReceived(
                call=call,
                text=reply.text,
                thinking=reply.thinking,
                input_tokens=reply.usage.input,
                output_tokens=reply.usage.output,
                cost=reply.usage.cost,
            )
        )
        return reply

    async def _live(self, call: int, request: Request) -> dict[str, Any]:
        if self._backend is None:
            raise ModelFailed("there is no model")
        self._budget.check_time(self._recall.elapsed)
        self._budget.check_cost(worst_cost(self._backend.name, request))

        def on_chunk(chunk: Chunk) -> None:
            if chunk.text or chunk.thinking:
                self._emit(events.ModelText(call=call, text=chunk.text, thinking=chunk.thinking))

        try:
            reply = await complete(self._backend, request, on_chunk)
        except TransportError as error:
            return {"failed": str(error), "cost": 0.0 if error.usage is None else error.usage.cost}
        except ModelError as error:
            return {"failed": str(error), "cost": 0.0}
        return asdict(reply)
