"""What a session says to the model: a call, its recorded reply, and which model it is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import Any

from pydantic import TypeAdapter

from tui_tuner.errors import ModelError, UserError
from tui_tuner.journal import Recall
from tui_tuner.llm import Backend, Chunk, Message, Reply, Request
from tui_tuner.llm.errors import TransportError
from tui_tuner.llm.prices import estimate_messages, worst_cost
from tui_tuner.llm.streams import complete
from tui_tuner.llm.structured import NoUsableReply, ask
from tui_tuner.session import events
from tui_tuner.session.budget import Budget
from tui_tuner.session.controls import Controls
from tui_tuner.session.plan import Emit
from tui_tuner.strategies.base import BudgetSpent, Listener, ModelFailed, ModelGone, ReplyType, StepSkipped

_REPLY = TypeAdapter(Reply)
GONE = 2
"""So many calls in a row that cannot be made mean that the model is gone."""
Models = Callable[[str], Awaitable[Backend]]
"""Makes the model of a name, as in `--llm`; raises UserError where there is none."""
_LEAST_FOR_A_PROMPT = 1024
"""Tokens that a prompt may have in any case, however small the context is."""


class Conversation:
    """Asks the model; every call is an effect of its own.

    Args:
        backend: None where there is no model, and in a replay.
        controls: end a call that the user skips.
        max_tokens: limit of each reply.
        models: makes another model by its name; None where none can be had.
        required: whether the session is to end where the model turns out to be of no use.

    Attributes:
        fault: why no reply could be used; empty where one could, or none was asked for.
    """

    def __init__(
        self,
        backend: Backend | None,
        recall: Recall,
        budget: Budget,
        emit: Emit,
        controls: Controls,
        max_tokens: int,
        *,
        models: Models | None = None,
        required: bool = False,
    ) -> None:
        self.fault = ""
        self._required = required
        self._was_of_use = False
        self._backend = backend
        self._models = models
        self._wanted = ""
        self._switched = ""
        self._controls = controls
        self._max_tokens = max_tokens
        self._recall = recall
        self._budget = budget
        self._emit = emit
        self._unreachable = 0
        self._complete: Callable[[Sequence[Message]], tuple[Message, ...]] = tuple

    def on_prompt(self, complete: Callable[[Sequence[Message]], tuple[Message, ...]]) -> None:
        """Let the messages of every call be completed, also where a refused reply is put back."""
        self._complete = complete

    def use(self, name: str) -> None:
        """Ask another model from the next call on."""
        self._wanted = self._switched = name
        self._unreachable = 0
        self._emit(events.ModelChanged(model=name))

    async def _present(self) -> Backend | None:
        """The model to ask: the one that the user wants by now, if there is one."""
        name, self._wanted = self._wanted, ""
        if not name:
            return self._backend
        try:
            if self._models is None:
                raise ModelError("models cannot be switched here")
            backend = await self._models(name)
        except UserError as error:
            stays = "none" if self._backend is None else self._backend.name
            self._emit(events.Note(level="warning", text=f"model '{name}': {error.message}; asked is still {stays}"))
            self._emit(events.ModelChanged(model=stays))
            return self._backend
        await self.close()
        self._backend = backend
        return backend

    async def close(self) -> None:
        """Give the model back."""
        if self._backend is not None:
            await self._backend.aclose()

    async def prompt_tokens(self) -> int | None:
        """How many tokens a prompt may have beside its reply; None if unknown."""

        async def live() -> dict[str, Any]:
            backend = await self._present()
            context = None if backend is None else backend.context_tokens
            return {"prompt_tokens": None if context is None else max(_LEAST_FOR_A_PROMPT, context - self._max_tokens)}

        result = await self._recall.once("context", {"model": self._switched} if self._switched else {}, live)
        tokens: int | None = result["prompt_tokens"]
        return tokens

    async def ask(
        self,
        purpose: str,
        messages: Sequence[Message],
        reply_type: type[ReplyType],
        check: Callable[[ReplyType], list[str]],
        attempts: int,
        listener: Listener | None = None,
    ) -> ReplyType:
        """A validated reply.

        Raises:
            ModelFailed: the model cannot be reached, or its replies stay unusable.
            ModelGone: it could not be reached for the question before either.
            BudgetSpent: the budget allows no further call.
            ModelError: it is required, and was of no use until now.
        """
        request = Request(purpose, tuple(messages), max_tokens=self._max_tokens)

        async def call(request: Request) -> Reply:
            return await self._call(request, listener)

        with self._minding_use():
            try:
                answer = await ask(call, request, reply_type, check=check, attempts=attempts, on_refused=self._refused)
            except NoUsableReply as refused:
                raise ModelFailed(f"no usable reply in {_calls(attempts)}: {refused}") from refused
        return answer.value

    @contextmanager
    def _minding_use(self) -> Iterator[None]:
        """Remember whether a question was answered, and whether any was.

        Raises:
            ModelError: a model is required, and was of no use until now.
        """
        try:
            yield
        except (ModelFailed, ModelGone) as failed:
            self.fault = "" if self._was_of_use else str(failed)
            if self.fault and self._required:
                hint = "start the model, or leave --require-model out: then the machine searches without one"
                raise ModelError(f"the model is of no use: {failed}", hint=hint) from failed
            raise
        self.fault, self._was_of_use = "", True

    def _refused(self, problems: list[str]) -> None:
        self._emit(events.ReplyRefused(call=self._budget.model_calls, problems=problems))

    async def _call(self, request: Request, listener: Listener | None) -> Reply:
        request = replace(request, messages=self._complete(request.messages))
        call = self._budget.model_calls + 1
        content = self._recall.nth("ask", asdict(request))
        result = self._recall.known("ask", content)
        if result is None:
            result = await self._recall.once("ask", content, lambda: self._skippable(call, request, listener))
        elif "stopped" not in result:
            self._tell_sent(call, request)
        if "stopped" in result:
            raise BudgetSpent(result["stopped"])
        if "skipped" in result:
            self._emit(events.CallFailed(call=call, reason=result["skipped"]))
            raise StepSkipped(result["skipped"])
        if "failed" in result:
            self._budget.book_call(result["cost"])
            self._emit(events.CallFailed(call=call, reason=result["failed"]))
            raise self._failure(result["failed"], result.get("partial", ""))
        self._unreachable = 0
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

    def _tell_sent(self, call: int, request: Request) -> None:
        text = "\n\n".join(f"[{message.role}]\n{message.content}" for message in request.messages)
        tokens = estimate_messages(request.messages)
        self._emit(events.PromptSent(call=call, purpose=request.purpose, text=text, tokens=tokens))

    def _failure(self, reason: str, partial: str) -> ModelFailed | ModelGone:
        self._unreachable += 1
        if self._unreachable < GONE:
            return ModelFailed(reason, partial)
        return ModelGone(f"the model is gone: {reason}")

    async def _skippable(self, call: int, request: Request, listener: Listener | None) -> dict[str, Any]:
        (result,) = await self._controls.run([self._live(call, request, listener)], ends_with_stop=True)
        if isinstance(result, StepSkipped):
            return {"skipped": str(result)}
        if isinstance(result, BudgetSpent):
            self._emit(events.CallFailed(call=call, reason=str(result)))
            return {"stopped": str(result)}
        return result

    async def _live(self, call: int, request: Request, listener: Listener | None) -> dict[str, Any]:
        backend = await self._present()
        if backend is None:
            return {"stopped": "there is no model"}
        try:
            self._budget.check_calls()
            self._budget.check_time(self._recall.elapsed)
            self._budget.check_cost(worst_cost(backend.name, request))
        except BudgetSpent as spent:
            return {"stopped": str(spent)}
        self._tell_sent(call, request)

        listen, heard = listener() if listener else None, list[str]()

        def on_chunk(chunk: Chunk) -> None:
            if chunk.text or chunk.thinking:
                self._emit(events.ModelText(call=call, text=chunk.text, thinking=chunk.thinking))
            if chunk.text:
                heard.append(chunk.text)
                if listen is not None:
                    listen(chunk.text)

        try:
            reply = await complete(backend, request, on_chunk)
        except TransportError as error:
            partial = {"partial": "".join(heard)} if heard else {}
            return {"failed": str(error), "cost": 0.0 if error.usage is None else error.usage.cost, **partial}
        except ModelError as error:
            return {"failed": str(error), "cost": 0.0}
        return asdict(reply)


def _calls(count: int) -> str:
    return "1 call" if count == 1 else f"{count} calls"
