"""A session that runs, as other terminals see it: they follow its events, answer its questions, and speak to it.

Files in `RUN/live/`, which only its user may enter; so it works wherever the run directory can be seen, on another node
of a cluster too, and either side may be killed at any time.

    events.jsonl   a line an event, and a line where a question is put or is settled; locked while the session runs
    said/          a file a word of a watcher; a question's answer has its name, so that one of them answers
"""

from __future__ import annotations

import asyncio
import fcntl
import io
import json
import os
import shutil
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from pydantic import BaseModel, ValidationError

from tui_tuner.errors import JournalError
from tui_tuner.journal.reading import header_of, journal_of
from tui_tuner.journal.runs import LIVE, LIVE_EVENTS, is_driven
from tui_tuner.problem.candidate import SOURCE_CLASS
from tui_tuner.session.events import EvaluationFinished, Event, PromptSent, SessionFinished
from tui_tuner.session.plan import INSTRUCTION, Instruction
from tui_tuner.strategies.steps import Approver, Decision, Helper, ModelTrouble, Proposal, Remedy
from tui_tuner.subjects import Subject, loaded, subject_of

AnswerT = TypeVar("AnswerT", Decision, Remedy)

_SAID = "said"
_LISTEN_S = 0.2
"""How often a session looks for what was said, and a watcher for events."""
_LONGEST = 4 << 20
"""Bytes of what a watcher says; a kernel is less."""
GONE = "the process that drove it is gone"
"""Why a session that is watched ended without a last event."""


class LiveRun:
    """The side of the session: publishes what happens, and puts questions here and elsewhere at once.

    Where its files cannot be written, nobody can watch and the session goes on.

    Args:
        run: the run's directory.
        approver: who is asked here.
        tell: takes an instruction that a watcher gives.
    """

    def __init__(self, run: Path, approver: Approver, tell: Callable[[Instruction], object]) -> None:
        self._directory = run / LIVE
        self._approver = approver
        self._tell = tell
        self._asked: dict[str, tuple[type[BaseModel], asyncio.Future[Any]]] = {}
        self._numbers = count(1)
        self._token = f"{time.time_ns():x}-{os.getpid()}"
        self._file: io.FileIO | None = None
        self._listening: asyncio.Task[None] | None = None

    def open(self) -> None:
        """Begin to be followed; what earlier processes left there is void."""
        with suppress(OSError):
            shutil.rmtree(self._directory, ignore_errors=True)
            self._directory.mkdir(mode=0o700)
            (self._directory / _SAID).mkdir(mode=0o700)
            unseen = self._directory / f".{LIVE_EVENTS}"
            self._file = unseen.open("xb", buffering=0)
            fcntl.flock(self._file, fcntl.LOCK_EX)
            unseen.rename(self._directory / LIVE_EVENTS)  # nobody finds it before it is locked
            self._listening = asyncio.create_task(self._listen(), name="watchers")

    def publish(self, event: Event) -> None:
        """Let watchers see an event."""
        self._write({"event": event.model_dump(mode="json"), "at": time.time()})

    async def decide(self, proposal: Proposal) -> Decision:
        """The first answer, from here or from a watcher; without anybody it is waited for."""
        asked = {"proposal": proposal.model_dump(mode="json")}
        return await self._first_answer(asked, self._approver.decide(proposal), Decision)

    async def help(self, trouble: ModelTrouble) -> Remedy:
        """Ask how to go on where a model fails; where nobody is asked here the call is left out."""
        if not isinstance(self._approver, Helper):
            return Remedy(action="skip")
        return await self._first_answer(
            {"trouble": trouble.model_dump(mode="json")}, self._approver.help(trouble), Remedy
        )

    async def _first_answer(
        self, asked: Mapping[str, Any], answering: Coroutine[Any, Any, AnswerT], kind: type[AnswerT]
    ) -> AnswerT:
        here = asyncio.ensure_future(answering)
        name = f"{self._token}-{next(self._numbers)}"
        try:
            await asyncio.wait({here}, timeout=0)  # an approver who needs no time asks nobody
            if here.done():
                return here.result()
            said: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
            self._asked[name] = kind, said
            self._write({"question": name, **asked})
            await asyncio.wait({here, said}, return_when=asyncio.FIRST_COMPLETED)
            answer: AnswerT = said.result() if said.done() else here.result()
            return answer
        finally:
            here.cancel()
            await asyncio.wait({here})
            if self._asked.pop(name, None) is not None:
                self._write({"settled": name})

    def close(self) -> None:
        """Say nothing more; watchers learn of it by the lock."""
        if self._listening is not None:
            self._listening.cancel()
        if self._file is not None:
            self._file.close()
            self._file = None

    def _write(self, content: Mapping[str, Any]) -> None:
        if self._file is None:
            return
        left = memoryview(json.dumps(content).encode() + b"\n")
        try:
            while left:
                left = left[self._file.write(left) :]
        except OSError:  # as of a full disk: whoever watches is told that nothing more comes
            self._file.close()
            self._file = None

    async def _listen(self) -> None:
        while True:
            await asyncio.sleep(_LISTEN_S)
            with suppress(OSError):
                for file in sorted((self._directory / _SAID).glob("*.json"), key=lambda file: file.name):
                    self._take(file)

    def _take(self, file: Path) -> None:
        """Hear one word, which is gone then; what is none is left alone."""
        with file.open("rb") as stream:
            text = stream.read(_LONGEST)
        file.unlink()
        with suppress(ValidationError):
            if file.name.startswith("tell-"):
                self._tell(INSTRUCTION.validate_json(text))
            elif (asked := self._asked.get(file.stem)) is not None and not asked[1].done():
                kind, answer = asked
                answer.set_result(kind.model_validate_json(text))


class WatchedRun:
    """The side of a watcher: a session that another process drives, followed from its first event on.

    Args:
        path: the run's directory, or its journal.

    Attributes:
        title: a few words for the terminal's title.
        behind_s: how long ago what was heard last had happened when it was heard, in seconds.

    Raises:
        JournalError: there is no run, or nobody drives it.
    """

    seen_as: ClassVar[tuple[str, ...]] = ("attached",)

    def __init__(self, path: Path) -> None:
        header = header_of(path)
        self.path = journal_of(path).parent
        self.title = f"{self.path.name} | watched"
        self._subject = subject_of(header)
        self._context = {SOURCE_CLASS: loaded(self._subject.source)}
        self._answering: dict[str, asyncio.Task[None]] = {}
        self._numbers = count(1)
        self._effort = [0, 0]
        self.behind_s = 0.0
        if not is_driven(self.path):
            hint = f"`tuner-tui resume {path}` goes on with it, `tuner-tui replay {path}` shows it again"
            raise JournalError("no process drives this run now", hint=hint, file=path)

    @property
    def subject(self) -> Subject:
        """What the session is about."""
        return self._subject

    async def events(self, approver: Approver) -> AsyncGenerator[Event, None]:
        """What happened and what happens, until the session or its process ends; leaving it changes nothing.

        Args:
            approver: is asked what the session asks; it is told by cancellation that another answered.
        """
        try:
            with (self.path / LIVE / LIVE_EVENTS).open("rb") as file:
                async for line in self._lines(file):
                    event = self._heard(line, approver)
                    if event is not None:
                        yield event
                    if isinstance(event, SessionFinished):
                        return
            evaluations, calls = self._effort
            yield SessionFinished(status="interrupted", reason=GONE, evaluations=evaluations, model_calls=calls)
        finally:
            for task in self._answering.values():
                task.cancel()

    def tell(self, instruction: Instruction) -> bool:
        """Pass on what the user says; False if nobody drives the run any more."""
        name = f"tell-{time.time_ns():020}-{os.getpid()}-{next(self._numbers)}"
        return is_driven(self.path) and self._say(name, instruction.model_dump_json())

    async def _lines(self, file: io.BufferedReader) -> AsyncGenerator[bytes, None]:
        """The whole lines of the file as they come, to the last one of a process that is gone."""
        begun = b""
        while True:
            driven = is_driven(self.path)  # looked at first: what was written before it ended is still read
            while line := file.readline():
                begun += line
                if begun.endswith(b"\n"):
                    yield begun
                    begun = b""
            if not driven:
                return
            await asyncio.sleep(_LISTEN_S / 2)

    def _heard(self, line: bytes, approver: Approver) -> Event | None:
        content = json.loads(line)
        if "question" in content:
            name, answering = content["question"], self._put(content, approver)
            if answering is not None:
                self._answering[name] = asyncio.create_task(self._answer(name, answering))
        elif "settled" in content:
            if (task := self._answering.pop(content["settled"], None)) is not None:
                task.cancel()
        else:
            event, now = Event.model_validate(content["event"], context=self._context), time.time()
            self.behind_s = max(0.0, now - content.get("at", now))  # clocks of two machines may differ a little
            self._effort[0] += isinstance(event, EvaluationFinished)
            self._effort[1] = max(self._effort[1], event.call if isinstance(event, PromptSent) else 0)
            return event
        return None

    def _put(self, question: Mapping[str, Any], approver: Approver) -> Awaitable[BaseModel] | None:
        """What awaits the approver's answer to a question; None where it is none of theirs."""
        if "proposal" in question:
            return approver.decide(Proposal.model_validate(question["proposal"], context=self._context))
        return approver.help(ModelTrouble.model_validate(question["trouble"])) if isinstance(approver, Helper) else None

    async def _answer(self, name: str, answering: Awaitable[BaseModel]) -> None:
        self._say(name, (await answering).model_dump_json())

    def _say(self, name: str, text: str) -> bool:
        """Lay a word down whole; False if another has that name already, as when another answered first."""
        said = self.path / LIVE / _SAID
        unseen = said / f".{name}-{os.getpid()}"
        try:
            unseen.write_text(text, encoding="utf-8")
            os.link(unseen, said / f"{name}.json")
        except OSError:
            return False
        finally:
            unseen.unlink(missing_ok=True)
        return True
