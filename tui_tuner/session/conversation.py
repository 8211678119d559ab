"""What a session says to the model: a call, its recorded reply, which model it is, and what becomes of a failure."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from pydantic import BaseModel, TypeAdapter

from tui_tuner.errors import ModelError, UserError
from tui_tuner.journal.recall import Recall
from tui_tuner.llm import Backend, Chunk, Message, Reply, Request
from tui_tuner.llm.prices import worst_cost
from tui_tuner.llm.replay import was_sent
from tui_tuner.llm.streams import complete
from tui_tuner.llm.structured import InVain, NoUsableReply, ask
from tui_tuner.session import events
from tui_tuner.session.budget import Budget
from tui_tuner.session.controls import Controls
from tui_tuner.session.one_call import Asked, Calls, in_short, is_in_vain, is_of_use, with_tries
from tui_tuner.session.plan import Emit
from tui_tuner.strategies.base import BudgetSpent, Listener, ModelFailed, ModelGone, ReplyType, StepSkipped
from tui_tuner.strategies.steps import Helper, ModelTrouble, Remedy
from tui_tuner.text import in_line

_REPLY = TypeAdapter(Reply)
GONE = 2
"""So many calls in a row that cannot be made mean that the model is gone."""
_LEAST_FOR_A_PROMPT = 1024
"""Tokens that a prompt may have in any case, however small the context is."""
_WITHOUT = "the session goes on without the model"
_UNANSWERED = "it had not answered when the session ended"
Models = Callable[[str], Awaitable[Backend]]
"""Makes the model of a name, as in `--llm`; raises UserError where it cannot be used."""


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
        helper: says how to go on after a call that came to nothing; None where nobody does.
        is_over: whether the user had the session go on without the model.
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
        models: Models | None,
        required: bool,
    ) -> None:
        self.fault = ""
        self.helper: Helper | None = None
        self.is_over = False
        self._models = models
        self._name = "" if backend is None else backend.name
        self._wanted = ""
        self._switched = ""
        self._controls = controls
        self._required = required
        self._was_of_use = False
        self._backend = backend
        self._max_tokens = max_tokens
        self._recall = recall
        self._budget = budget
        self._emit = emit
        self._unreachable = 0
        self._calls = Calls(recall, budget, emit)
        self._complete: Callable[[Sequence[Message]], tuple[Message, ...]] = tuple

    async def aclose(self) -> None:
        """Close the model's connections."""
        if self._backend is not None:
            await self._backend.aclose()

    def on_prompt(self, complete: Callable[[Sequence[Message]], tuple[Message, ...]]) -> None:
        """Let the messages of every call be completed, also where a refused reply is put back."""
        self._complete = complete

    def use(self, name: str) -> None:
        """Ask another model from the next call on."""
        self._wanted = self._switched = name
        self._unreachable = 0
        self._emit(events.ModelChanged(model=name))

    async def _present(self) -> Backend | None:
        """The model to ask: the one that the user wants by now, if it can be had."""
        name, self._wanted = self._wanted, ""
        fault = await self._bring(name) if name else ""
        if fault:
            stays = "none" if self._backend is None else self._backend.name
            self._emit(events.Note(level="warning", text=f"model '{name}': {fault}. Asked is still {stays}"))
            self._emit(events.ModelChanged(model=stays))
        return self._backend

    async def _bring(self, name: str) -> str:
        """Let another model answer from now on; why it cannot, or nothing."""
        if self._models is None:
            return "no other model can be chosen here"
        try:
            backend = await self._models(name)
        except UserError as error:
            return in_line(str(error))
        await self.aclose()
        self._backend, self._name = backend, backend.name
        return ""

    async def answer(self, request: Request, on_chunk: Callable[[Chunk], None]) -> Reply:
        """A reply to a question of the user's own, beside the calls of the strategy.

        Raises:
            BudgetSpent: it might cost more than is left.
            TransportError: there is no reply.
            ModelError: there is no model.
        """
        backend = self._backend or await self._present()  # one that a call is under way with stays as it is
        if backend is None:
            raise ModelError("there is no model to ask: name one with --llm, or with m while the session runs")
        self._budget.check_cost(worst_cost(backend.name, request))
        return await complete(backend, request, on_chunk)

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

        given: list[Reply] = []

        async def call(request: Request) -> Reply:
            request = replace(request, messages=self._complete(request.messages))
            asked = Asked(self._budget.model_calls + 1, request, reply_type, listener)
            given.append(await self._call(asked, given))
            return given[-1]

        with self._minding_use(reply_type):
            try:
                answer = await ask(call, request, reply_type, check=check, attempts=attempts, on_refused=self._refused)
            except NoUsableReply as refused:
                calls = _calls(len(refused.replies) or attempts)
                raise ModelFailed(f"no usable reply in {calls}: {refused}", way_out=self._calls.way_out) from refused
        return answer.value

    @contextmanager
    def _minding_use(self, reply_type: type[BaseModel]) -> Iterator[None]:
        """Remember whether a question was answered, as far as a part of a reply is of use, and whether any was.

        Raises:
            ModelError: a model is required, and was of no use until now.
        """
        try:
            yield
        except (ModelFailed, ModelGone) as failed:
            self._was_of_use |= is_of_use(reply_type, failed.partial)
            way_out = failed.way_out if isinstance(failed, ModelFailed) else ""
            self.fault = "" if self._was_of_use else "; ".join(filter(None, (str(failed), way_out)))
            if self.fault and self._required:
                start = "start the model, or leave --require-model out: then the machine searches without one"
                hint = way_out or start
                raise ModelError(f"the model is of no use: {failed}", hint=hint) from failed
            raise
        self.fault, self._was_of_use = "", True

    def _refused(self, problems: list[str]) -> None:
        self._emit(events.ReplyRefused(call=self._budget.model_calls, problems=problems))

    async def _call(self, asked: Asked, given: Sequence[Reply]) -> Reply:
        call = asked.number
        content, result = self._calls.recorded(asked.request)
        if result is None:
            if is_in_vain(given):
                raise InVain
            result = await self._recall.once("ask", content, lambda: self._skippable(asked))
        elif was_sent(result):
            self._calls.tell_sent(asked, content)
        self._settle(call, result)
        if "stopped" in result:
            if "pauses" in result and not self._was_of_use:
                self.fault = self.fault or _UNANSWERED
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
        self._calls.tell_lacking(call, reply, content["max_tokens"])
        return reply

    def _failure(self, reason: str, partial: str) -> ModelFailed | ModelGone:
        self._unreachable += 1
        if self._unreachable < GONE:
            return ModelFailed(reason, partial)
        return ModelGone(f"the model is gone: {reason}", partial)

    def _settle(self, call: int, result: dict[str, Any]) -> None:
        """Take over what became of the tries before the last one, and of the model."""
        for failed in result.get("before", []):
            self._budget.book_cost(failed["cost"])
        if not self._recall.is_live:
            self._calls.tell_tries(call, result)
            self._answered_by(result.get("model", self._name))
        self.is_over = self.is_over or "without" in result

    def _answered_by(self, model: str) -> None:
        if model != self._name:
            self._name = self._switched = model
            self._emit(events.ModelChanged(model=model))

    async def _skippable(self, asked: Asked) -> dict[str, Any]:
        self._calls.pauses = []
        (result,) = await self._controls.run([self._live(asked)], ends_with_stop=True)
        if isinstance(result, StepSkipped):
            return {"skipped": str(result), **self._calls.paused}
        if isinstance(result, BudgetSpent):
            self._emit(events.CallFailed(call=asked.number, reason=str(result)))
            return {"stopped": str(result), **self._calls.paused}
        return result

    async def _live(self, asked: Asked) -> dict[str, Any]:
        """What became of a question, once the user wants no further try of it."""
        await self._present()
        before: list[dict[str, Any]] = []
        first = self._name
        while True:
            result = await self._try(asked, before)
            remedy = await self._remedy(asked.request.purpose, result)
            is_lost = remedy is None and not before and self._is_lost(result, asked.wanted)
            if not is_lost and (remedy is None or remedy.action in ("skip", "without")):
                break
            if is_lost:
                self._emit(events.CallFailed(call=asked.number, reason=result["failed"]))
            before.append(in_short(result))
        if remedy is not None and remedy.action == "without":
            before.append(in_short(result))
            result = {"stopped": _WITHOUT, "without": True}
        model = {"model": self._name} if self._name != first else {}
        return {**result, **({"before": before} if before else {}), **model}

    def _is_lost(self, result: dict[str, Any], wanted: type[BaseModel]) -> bool:
        """Whether a reply broke off of which no part is of use, and nobody is there to say what is to be done."""
        lost = "failed" in result and self._calls.broke_off and self.helper is None
        return lost and not is_of_use(wanted, result.get("partial", ""))

    async def _remedy(self, purpose: str, result: dict[str, Any]) -> Remedy | None:
        """What the user wants done about a call that came to nothing; None where nothing is to be done."""
        if "failed" not in result or self.helper is None or self._backend is None:
            return None
        trouble = ModelTrouble(purpose=purpose, model=self._backend.name, reason=result["failed"])
        while True:
            self._emit(events.HelpAsked(trouble=trouble))
            remedy = await self.helper.help(trouble)
            self._emit(events.HelpGiven(remedy=remedy))
            fault = await self._switch(remedy.model) if remedy.action == "switch" else ""
            if not fault:
                return remedy
            trouble = trouble.model_copy(update={"reason": fault})

    async def _switch(self, name: str) -> str:
        """Answer a failure with another model; why that cannot be, or nothing."""
        fault = await self._bring(name)
        if not fault:
            self._switched = self._name
            self._emit(events.ModelChanged(model=self._name))
        return fault

    async def _try(self, asked: Asked, before: Sequence[dict[str, Any]]) -> dict[str, Any]:
        if self._backend is None:
            return {"stopped": "there is no model"}
        if self.is_over:
            return {"stopped": _WITHOUT}
        try:
            self._budget.check_calls()
            self._budget.check_time(self._recall.elapsed)
            self._budget.check_cost(with_tries(worst_cost(self._backend.name, asked.request), before))
        except BudgetSpent as spent:
            return {"stopped": str(spent)}
        return await self._calls.made(self._backend, asked)


def _calls(count: int) -> str:
    return "1 call" if count == 1 else f"{count} calls"
