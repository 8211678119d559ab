"""The memory as a session uses it: asked at the beginning, told at the end, and never in the way."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from pydantic import ValidationError

from tui_tuner.errors import UserError
from tui_tuner.evaluate.results import DeviceInfo
from tui_tuner.memory.database import Database
from tui_tuner.memory.entry import MemoryEntry
from tui_tuner.memory.features import features_of
from tui_tuner.memory.recollection import RecallQuery, Recollection, lines_of, ranked, seeds_of
from tui_tuner.memory.replies import KeptReplies
from tui_tuner.memory.sessions import RememberedSessions, readable
from tui_tuner.memory.similarity import times_of
from tui_tuner.problem.candidate import Candidate, baseline
from tui_tuner.problem.model import Configuration, Problem


@dataclass(frozen=True)
class Memory:
    """What a session may use of the memory's file.

    Attributes:
        sessions: whether sessions are remembered, and offered.
        replies: whether configurations in cached replies are offered.
    """

    database: Database
    sessions: bool = True
    replies: bool = False

    async def recall(self, problem: Problem, device: DeviceInfo, candidate: Candidate | None = None) -> Recollection:
        """What is known of kernels like this one; a file that cannot be used is a warning in it.

        Args:
            candidate: the kernel that configurations are wanted for; None for the one as given.
        """
        space = (candidate or baseline(problem)).space(sizes=problem.sizes, max_threads=device.max_threads_per_block)
        try:
            return await asyncio.to_thread(self._recall, RecallQuery(features_of(problem), device, space))
        except (UserError, ValidationError) as error:
            return Recollection(warning=f"nothing is recalled: {error}")

    async def remember(self, run: str, entry: MemoryEntry) -> str:
        """Keep what a session found; returns why that was not possible, or nothing.

        Args:
            run: the name of the run; what it finds later replaces this.
        """
        if not self.sessions:
            return ""
        try:
            await asyncio.to_thread(RememberedSessions(self.database).add, run, entry)
        except UserError as error:
            return f"this session is not remembered: {error}"
        return ""

    def _recall(self, query: RecallQuery) -> Recollection:
        found = RememberedSessions(self.database).all(times_of(query.device)) if self.sessions else []
        entries = ranked(readable(found), query)
        proposed: list[Configuration] = []
        if self.replies:
            proposed = KeptReplies(self.database).proposed_before(query.space.tunables, query.space.contains)
        broken = sum(remembered.entry is None for remembered in found)
        return Recollection(
            lines=lines_of(entries, query),
            seeds=seeds_of(entries, proposed, query.space),
            warning=f"{broken} of the sessions remembered cannot be read" if broken else "",
        )
