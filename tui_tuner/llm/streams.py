"""What all streams share: time limits, thoughts told from answers, the whole reply, the retry policy around a call."""

from __future__ import annotations

import asyncio
import json
import logging
import random
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

from tui_tuner.format import duration
from tui_tuner.llm import Backend, Chunk, Reply, Request, Stop, Usage
from tui_tuner.llm.errors import BrokenOff, ModelTimedOut, RateLimited, Service, TookTooLong, TransportError, unanswered
from tui_tuner.llm.prices import estimated_usage
from tui_tuner.log import fields

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class BackoffPolicy:
    """How often and how fast.

    Attributes:
        tries: attempts at most, the first included.
        patient_tries: the same where the provider has too much to do or is just starting, which passes, and where one
            that has answered before cannot be reached: an address that was right stays so, and networks come back.
        base_s: first pause in seconds; each further one is twice as long, all with jitter.
        longest_s: the longest pause of our own choice, in seconds.
        limit_s: wall-clock limit of a call, pauses included, in seconds.
        told_s: shorter pauses are not worth a word, in seconds.
    """

    tries: int = 3
    patient_tries: int = 9
    base_s: float = 0.5
    longest_s: float = 30.0
    limit_s: float = 900.0
    told_s: float = 2.0

    def pause(self, attempt: int, error: TransportError) -> float:
        """Return the seconds to wait after this attempt (from 1) failed."""
        jitter = random.uniform(0.5, 1.5)  # noqa: S311 (spreads load, guards nothing)
        own = min(self.longest_s, self.base_s * 2.0 ** (attempt - 1)) * jitter
        asked = error.retry_after if isinstance(error, RateLimited) else None
        return own if asked is None else max(own, asked)


_AGAIN = "the model is asked again in"


def fault_of(notice: str) -> str:
    """Why a model is asked again, from what the user was told of it."""
    return notice.partition(": ")[2] if notice.startswith(_AGAIN) else notice


class RetryingBackend:
    """A back end that tries again; a reply of which words were already shown is never repeated."""

    def __init__(self, backend: Backend, policy: BackoffPolicy) -> None:
        self._backend = backend
        self._policy = policy
        self._has_answered = False
        self.name = backend.name
        self.context_tokens = backend.context_tokens

    async def stream(self, request: Request) -> AsyncGenerator[Chunk]:
        """Send the request, again where that can help; see `Backend.stream`."""
        deadline = asyncio.get_running_loop().time() + self._policy.limit_s
        attempt, begun = 1, False
        while True:
            try:
                async with closing(self._until(deadline, request)) as chunks:
                    async for chunk in chunks:
                        begun = self._has_answered = True
                        yield chunk
                return
            except TransportError as error:
                pause = self._policy.pause(attempt, error)
                if begun or not self._may_try_again(attempt, error, pause, deadline):
                    raise
                if pause >= self._policy.told_s:
                    yield Chunk(notice=f"{_AGAIN} {duration(pause)}: {error}")
            await asyncio.sleep(pause)
            attempt += 1

    async def aclose(self) -> None:
        """Close connections."""
        await self._backend.aclose()

    async def _until(self, deadline: float, request: Request) -> AsyncGenerator[Chunk]:
        async with closing(self._backend.stream(request)) as chunks:
            while True:
                try:
                    async with asyncio.timeout_at(deadline):
                        chunk = await anext(chunks, None)
                except TimeoutError:
                    reason = f"no whole reply within {self._policy.limit_s:g} s; --reply-time allows more"
                    said = getattr(self._backend, "complaint", "")  # programs have one
                    raise TookTooLong(reason, Service(self.name, ""), body=said) from None
                # The true size of the context is known only after a call.
                self.context_tokens = self._backend.context_tokens
                if chunk is None:
                    return
                yield chunk

    def _may_try_again(self, attempt: int, error: TransportError, pause: float, deadline: float) -> bool:
        """Whether there shall be another attempt after a pause."""
        passes = error.passes or (self._has_answered and error.is_of_network)
        tries = self._policy.patient_tries if passes else self._policy.tries
        if not error.retryable or attempt >= tries or asyncio.get_running_loop().time() + pause >= deadline:
            return False
        told = fields(model=self.name, attempt=attempt, of=tries, pause_s=round(pause, 1), error=str(error))
        _LOG.warning("a call of the model is tried again", extra=told)
        return True


# The spellings that chat clients and inference servers know: DeepSeek's, Qwen's and most fine-tunes', then those of
# ByteDance's Seed, Mistral's Magistral, OpenThinker and Kimi-VL.
_NAMES = "think|thinking|thought|reason|reasoning|seed:think"
_OPEN = re.compile(rf"<(?:{_NAMES})>|\[THINK\]|<\|begin_of_thought\|>|◁think▷", re.IGNORECASE)
_CLOSE = re.compile(rf"</(?:{_NAMES})>|\[/THINK\]|<\|end_of_thought\|>|◁/think▷", re.IGNORECASE)
_WORD = re.compile(r"\S")
_BLOCK = re.compile(r"```.*?\n[ \t]*```[ \t]*(?:\n|\Z)", re.DOTALL)
_DECODER = json.JSONDecoder()


def split_thinking(text: str) -> tuple[str, str]:
    """Split a reply into answer and thoughts, where a model writes its thoughts between tags.

    What follows the last thought is the answer; where nothing follows, what stands before it is.
    A template may have opened the first thought itself: a closing tag alone makes a thought of
    all before it. A thought that never closes takes the rest. Tags inside JSON or a fenced block
    with which the answer begins belong to it. In doubt it is a thought, for a draft must not be
    taken for the answer.
    """
    before: list[str] = []
    answer: list[str] = []
    thoughts: list[str] = []
    at, found = 0, False
    while True:
        at = _begin(text, at)
        end = _end(text, at)
        if end is not None:
            answer.append(text[at:end])
            at = end
            continue
        is_broken = not answer and text.startswith(("{", "```"), at)
        close = None if is_broken else _CLOSE.search(text, at)
        if close is None:
            break
        if _OPEN.search(text, at, close.start()) is None:
            thoughts += [*before, *answer]
            before = []
        else:
            before += answer
        thoughts.append(_OPEN.sub("", text[at : close.start()], count=1))
        answer, at, found = [], close.end(), True
    rest, opened, thought = (text[at:], "", "") if is_broken else _partition(text[at:])
    if not found and not opened:
        return text, ""
    behind = "".join([*answer, rest])
    if behind.strip():
        return behind, "".join([*before, *thoughts, thought])
    return "".join(before), "".join([*thoughts, thought])


def _begin(text: str, at: int) -> int:
    """Return where the next word begins."""
    word = _WORD.search(text, at)
    return len(text) if word is None else word.start()


def _end(text: str, at: int) -> int | None:
    """Return where the JSON object or fenced block ends that begins there; None if there is no whole one."""
    if text.startswith("{", at):
        try:
            return _DECODER.raw_decode(text, at)[1]
        except (ValueError, RecursionError):
            return None
    block = _BLOCK.match(text, at)
    return None if block is None else block.end()


def _partition(text: str) -> tuple[str, str, str]:
    """Split at the first opening tag."""
    tag = _OPEN.search(text)
    return (text, "", "") if tag is None else (text[: tag.start()], tag[0], text[tag.end() :])


T = TypeVar("T")


@dataclass(frozen=True)
class Pace:
    """Time limits of a stream, in seconds: until its first words, and between words."""

    first_s: float
    between_s: float


@asynccontextmanager
async def closing(items: AsyncIterator[T]) -> AsyncGenerator[AsyncIterator[T]]:
    """Close the stream on leaving, so that an abandoned one does not keep its connection."""
    try:
        yield items
    finally:
        if isinstance(items, AsyncGenerator):
            await items.aclose()


async def guarded(
    chunks: AsyncIterator[Chunk], service: Service, pace: Pace, translate: Callable[[Exception], TransportError | None]
) -> AsyncGenerator[Chunk]:
    """Yield the chunks of an adapter under the promises of `Backend.stream`.

    Args:
        translate: returns our error for one of the client's, None for one it does not know.

    Raises:
        TransportError: as translated; ModelTimedOut by `pace`; BrokenOff without a stop reason.
    """
    begun = stopped = False
    try:
        async with closing(paced(chunks, pace)) as timed:
            async for chunk in timed:
                begun = True
                stopped = stopped or chunk.stop is not None
                yield chunk
    except TimeoutError:
        silent = duration(pace.between_s if begun else pace.first_s)
        raise ModelTimedOut(f"the model said nothing {'more ' if begun else ''}for {silent}", service) from None
    except TransportError:
        raise
    except Exception as error:
        known = translate(error)
        if known is None:
            raise
        # The client's own error may hold the request with its key: it must not be chained.
        raise (known if begun else unanswered(known)) from None
    if not stopped:
        raise BrokenOff("the reply ended without a stop reason", service)


async def paced(chunks: AsyncIterator[Chunk], pace: Pace) -> AsyncGenerator[Chunk]:
    """Yield the chunks; TimeoutError when one is late."""
    limit = pace.first_s
    async with closing(chunks):
        while True:
            async with asyncio.timeout(limit):
                chunk = await anext(chunks, None)
            if chunk is None:
                return
            yield chunk
            limit = pace.between_s


async def complete(backend: Backend, request: Request, on_chunk: Callable[[Chunk], None] | None = None) -> Reply:
    """Send the request and wait for the whole reply.

    Args:
        on_chunk: called with each piece as it arrives.

    Raises:
        TransportError: no reply, or one that broke off; its `usage` books what had arrived.
    """
    text: list[str] = []
    thinking: list[str] = []
    stop, usage, notice = Stop.COMPLETE, Usage(), ""
    try:
        async with closing(backend.stream(request)) as chunks:
            async for chunk in chunks:
                text.append(chunk.text)
                thinking.append(chunk.thinking)
                stop, usage = chunk.stop or stop, chunk.usage or usage
                notice = chunk.notice if chunk.stop else notice
                if on_chunk is not None:
                    on_chunk(chunk)
    except TransportError as error:
        said = "".join(thinking + text)
        if said and error.usage is None:
            error.usage = estimated_usage(backend.name, request, said)
        raise
    answer, aside = split_thinking(_whole(text))
    return Reply(answer, _whole(thinking) + aside, stop, usage, notice)


def _whole(pieces: list[str]) -> str:
    """The pieces as one text; half of a character pair, which no file can hold, becomes a question mark."""
    return "".join(pieces).encode("utf-8", "replace").decode("utf-8")
