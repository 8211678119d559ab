"""What a session says to the model and to its user: a recorded reply, and the words that both have for the strategy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import Any

from pydantic import TypeAdapter

from tui_tuner.errors import ModelError
from tui_tuner.journal import Recall
from tui_tuner.llm import Backend, Chunk, Message, Reply, Request
from tui_tuner.llm.errors import TransportError
from tui_tuner.llm.prices import estimate_messages, worst_cost
from tui_tuner.llm.streams import complete
from tui_tuner.llm.structured import NoUsableReply, ask
from tui_tuner.prompts import render
from tui_tuner.session import events
from tui_tuner.session.budget import Budget
from tui_tuner.session.plan import Emit, Inbox, Instruction, Plan, Say, Thaw
from tui_tuner.strategies.base import ATTEMPTS, BudgetSpent, Listener, ModelFailed, ModelGone, ReplyType
from tui_tuner.strategies.steps import Decision, Proposal, Step
from tui_tuner.subjects import Source

_REPLY = TypeAdapter(Reply)
GONE = 2
"""So many calls in a row that cannot be made mean that the model is gone."""
_LEAST_FOR_A_PROMPT = 1024
"""Tokens that a prompt may have in any case, however small the context is."""


class Conversation:
    """Asks the model; every call is an effect of its own.

    Args:
        backend: None where there is no model, and in a replay.
        max_tokens: limit of each reply.
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
        max_tokens: int,
        *,
        required: bool = False,
    ) -> None:
        self.fault = ""
        self._required = required
        self._was_of_use = False
        self._backend = backend
        self._max_tokens = max_tokens
        self._recall = recall
        self._budget = budget
        self._emit = emit
        self._unreachable = 0
        self._complete: Callable[[Sequence[Message]], tuple[Message, ...]] = tuple

    def on_prompt(self, complete: Callable[[Sequence[Message]], tuple[Message, ...]]) -> None:
        """Let the messages of every call be completed, also where a refused reply is put back."""
        self._complete = complete

    async def prompt_tokens(self) -> int | None:
        """How many tokens a prompt may have beside its reply; None if unknown."""

        async def live() -> dict[str, Any]:
            context = None if self._backend is None else self._backend.context_tokens
            return {"prompt_tokens": None if context is None else max(_LEAST_FOR_A_PROMPT, context - self._max_tokens)}

        result = await self._recall.once("context", {}, live)
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
            result = await self._recall.once("ask", content, lambda: self._live(call, request, listener))
        elif "stopped" not in result:
            self._tell_sent(call, request)
        if "stopped" in result:
            raise BudgetSpent(result["stopped"])
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

    async def _live(self, call: int, request: Request, listener: Listener | None) -> dict[str, Any]:
        if self._backend is None:
            return {"stopped": "there is no model"}
        try:
            self._budget.check_calls()
            self._budget.check_time(self._recall.elapsed)
            self._budget.check_cost(worst_cost(self._backend.name, request))
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
            reply = await complete(self._backend, request, on_chunk)
        except TransportError as error:
            partial = {"partial": "".join(heard)} if heard else {}
            return {"failed": str(error), "cost": 0.0 if error.usage is None else error.usage.cost, **partial}
        except ModelError as error:
            return {"failed": str(error), "cost": 0.0}
        return asdict(reply)


def _calls(count: int) -> str:
    return "1 call" if count == 1 else f"{count} calls"


class Talk:
    """The effects that have to do with people and the model, the same in every kind of session.

    Attributes:
        model: the conversation with it.
        plan: the steps.
    """

    def __init__(self, conversation: Conversation, plan: Plan, inbox: Inbox, emit: Emit) -> None:
        self.model = conversation
        self.plan = plan
        self._inbox = inbox
        self._emit = emit
        self._words: list[str] = []
        conversation.on_prompt(self._with_words)

    def _open(self) -> None:
        """Begin to take what the user says."""
        self._inbox.open(self._obey)

    def add_step(self, title: str, detail: str = "", after: Step | None = None) -> Step:
        """A new line of the plan."""
        step = self.plan.add(title, detail, after=after)
        self._inbox.operation_done()
        return step

    def update_step(self, step: Step) -> Step:
        """Show a step as it is now."""
        self.plan.put(step)
        self._inbox.operation_done()
        return step

    def proposed_steps(self) -> list[Step]:
        """The steps that are still to come."""
        steps = self.plan.proposed()
        self._inbox.operation_done()
        return steps

    def note(self, text: str, *, warning: bool = False) -> None:
        """A line of the story for people."""
        self._emit(events.Note(level="warning" if warning else "info", text=text))

    async def ask(
        self,
        purpose: str,
        messages: Sequence[Message],
        reply_type: type[ReplyType],
        check: Callable[[ReplyType], list[str]],
        attempts: int = ATTEMPTS,
        listener: Listener | None = None,
    ) -> ReplyType:
        """A validated reply of the model; the prompt carries what the user said."""
        self._check_asking()
        return await self.model.ask(purpose, messages, reply_type, check, attempts, listener)

    def _check_asking(self) -> None:
        """Whether there is anything left to ask for.

        Raises:
            BudgetSpent: a reply would be of no use any more.
        """

    async def approve(self, step: Step, candidate: Source | None = None, rationale: str = "") -> Decision:
        """Put a step to the user."""
        proposal: Proposal = self.plan.propose(step, candidate, rationale)
        self._inbox.operation_done()
        return await self.plan.decide(proposal)

    def _with_words(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        """A prompt with all that the user said so far behind its last message."""
        words = list(self._words)
        self._inbox.operation_done()
        if not words:
            return tuple(messages)
        *before, last = messages
        said = render("programmer", words="\n\n".join(words))
        return (*before, Message(last.role, f"{last.content}\n\n{said}"))

    def _obey(self, instruction: Instruction) -> None:
        match instruction:
            case Say():
                self._words.append(instruction.text)
                self._emit(events.UserSaid(text=instruction.text))
            case Thaw():
                self._emit(events.Note(text=f"there is no tunable {instruction.name} to thaw here"))
            case _:
                self.plan.obey(instruction)
