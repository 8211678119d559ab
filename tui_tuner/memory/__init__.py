"""The memory as a session uses it: asked at the beginning, told at the end, never in the way; replies that are kept."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from tui_tuner.errors import UserError
from tui_tuner.evaluate.results import DeviceInfo
from tui_tuner.format import configuration_words, factor_in_prompts, time_unit, time_words
from tui_tuner.llm import Reply, Request
from tui_tuner.llm.streams import split_thinking
from tui_tuner.llm.structured import json_text
from tui_tuner.memory.entry import (
    THRESHOLD,
    HelpfulStep,
    KernelFeatures,
    MemoryEntry,
    device_factor,
    features_of,
    one_line,
    similarity,
    times_of,
)
from tui_tuner.memory.sessions import Database, RememberedSessions, readable
from tui_tuner.problem.candidate import Candidate, baseline
from tui_tuner.problem.model import Configuration, Problem, Value
from tui_tuner.problem.space import SearchSpace


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
            lines=recall_lines(entries, query),
            seeds=seeds_of(entries, proposed, query.space),
            warning=f"{broken} of the sessions remembered cannot be read" if broken else "",
        )


PROPOSING = ("first_configurations", "more_configurations")
"""Purposes of the prompts that ask for configurations."""
MOST_PROPOSED = 5
_NO_TUNABLE = "reason"
_LOOKED_THROUGH = 50  # replies
_REPLY = TypeAdapter(Reply)


class KeptReplies:
    """Implements `tui_tuner.llm.replay.ReplyStore` in the memory's file."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, key: str) -> Reply | None:
        """The reply under a key; None also where it cannot be read.

        Raises:
            MemoryUnusable: the file cannot be read.
        """
        with self._database.reading() as connection:
            row = connection.execute("SELECT content FROM replies WHERE key = ?", (key,)).fetchone()
        return None if row is None else _read(row[0])

    def put(self, key: str, model: str, request: Request, reply: Reply) -> None:
        """Keep a reply; of the request only the names of the tunables that it asks to choose for.

        Raises:
            MemoryUnusable: the file cannot be written.
        """
        names = _tunables_in(request)
        content = _REPLY.dump_json(reply).decode()
        with self._database.writing() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO replies (key, tunables, content) VALUES (?, ?, ?)",
                (key, None if names is None else _spelt(names), content),
            )

    def count(self) -> tuple[int, int]:
        """How many replies there are, and their size in bytes.

        Raises:
            MemoryUnusable: the file cannot be read.
        """
        with self._database.reading() as connection:
            row = connection.execute("SELECT count(*), total(length(CAST(content AS BLOB))) FROM replies").fetchone()
        return int(row[0]), int(row[1])

    def forget(self) -> int:
        """Forget all replies; returns how many they were.

        Raises:
            MemoryUnusable: the file cannot be written.
        """
        if not self._database.file.exists():
            return 0
        with self._database.writing() as connection:
            return connection.execute("DELETE FROM replies").rowcount

    def proposed_before(
        self,
        tunables: Mapping[str, Sequence[Value]],
        is_valid: Callable[[Configuration], bool] = lambda _: True,
    ) -> list[Configuration]:
        """Configurations that kept replies proposed for a space with the same tunables: at most 5, the newest first.

        Args:
            tunables: the values of each; a configuration with another value is left out.
            is_valid: what else a configuration must be.

        Raises:
            MemoryUnusable: the file cannot be read.
        """
        if not tunables:
            return []
        with self._database.reading() as connection:
            rows = connection.execute(
                "SELECT content FROM replies WHERE tunables = ? ORDER BY id DESC LIMIT ?",
                (_spelt(tunables), _LOOKED_THROUGH),
            ).fetchall()
        found: dict[tuple[tuple[str, Value], ...], Configuration] = {}
        for (content,) in rows:
            for configuration in _configurations(_read(content), tunables):
                if is_valid(configuration):
                    found.setdefault(tuple(configuration.items()), configuration)
        return [*found.values()][:MOST_PROPOSED]


def _spelt(names: Mapping[str, object] | Sequence[str]) -> str:
    return json.dumps(sorted(names))


def _tunables_in(request: Request) -> list[str] | None:
    """The tunables that a request for configurations names, by the schema of its reply."""
    if request.purpose not in PROPOSING:
        return None
    node: Any = request.schema
    for key in ("properties", "configurations", "items", "properties"):
        node = node.get(key) if isinstance(node, dict) else None
    return [name for name in node if name != _NO_TUNABLE] if isinstance(node, dict) else None


def _read(content: Any) -> Reply | None:  # noqa: ANN401  # a column of SQLite holds whatever was put there
    try:
        return _REPLY.validate_json(content)
    except (ValidationError, TypeError):
        return None


def _configurations(reply: Reply | None, tunables: Mapping[str, Sequence[Value]]) -> Iterator[Configuration]:
    for proposed in [] if reply is None else proposals_in(reply.text):
        chosen = {name: _value(proposed.get(name), values) for name, values in tunables.items()}
        if None not in chosen.values():
            yield {name: value for name, value in chosen.items() if value is not None}


def proposals_in(text: str) -> list[Mapping[str, object]]:
    """The configurations of a reply in their order; none where it cannot be read."""
    try:
        content = json.loads(json_text(split_thinking(text)[0]))
    except (ValueError, RecursionError):
        return []
    listed = content.get("configurations") if isinstance(content, dict) else None
    return [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []


def _value(given: object, values: Sequence[Value]) -> Value | None:
    """The value of the space that is meant, also where a number stands there as text; None if there is none."""

    def is_meant(value: Value) -> bool:
        if isinstance(given, bool) or isinstance(value, bool):
            return given is value or given == str(value).lower()
        return given == value or given == str(value)

    return next(filter(is_meant, values), None)


MOST_LINES = 5
MOST_SEEDS = 8
_LONGEST_LINE = 500


class Recollection(BaseModel):
    """What is offered to a session; recorded in its journal.

    Attributes:
        lines: what a prompt tells, the most similar kernel first.
        seeds: valid configurations to measure early, the best known first.
        warning: why there is less than there could be.
    """

    model_config = ConfigDict(frozen=True)

    lines: list[str] = []
    seeds: list[Configuration] = []
    warning: str = ""


@dataclass(frozen=True)
class RecallQuery:
    """What is to be tuned, for which something similar is looked for.

    Attributes:
        features: what the kernel as given is recognised by.
        space: the valid configurations of the candidate that some are wanted for.
    """

    features: KernelFeatures
    device: DeviceInfo
    space: SearchSpace


def ranked(entries: Iterable[MemoryEntry], query: RecallQuery) -> list[MemoryEntry]:
    """The entries that are similar enough, the most similar first, of these the larger and then the newer gain."""

    def score(entry: MemoryEntry) -> float:
        factor = device_factor(query.device, entry.device, entry.architecture)
        return factor * similarity(query.features, entry.features)

    scored = [(score(entry), entry) for entry in entries]
    similar = [(points, entry) for points, entry in scored if points >= THRESHOLD]
    similar.sort(key=lambda pair: (pair[0], pair[1].speedup[1], pair[1].created), reverse=True)
    return [entry for _, entry in similar]


def recall_lines(entries: Sequence[MemoryEntry], query: RecallQuery) -> list[str]:
    """One line for each entry; of several with the same kernel, tunables and device only the first."""
    lines: dict[tuple[object, ...], str] = {}
    for entry in entries:
        names = frozenset(entry.best.configuration)
        line = _line(entry, same=names == query.space.tunables.keys())
        lines.setdefault((entry.features.kernel, entry.device, names), line)
    return [*lines.values()][:MOST_LINES]


def _line(entry: MemoryEntry, *, same: bool) -> str:
    best, time = configuration_words(entry.best.configuration), entry.best.ms
    line = (
        f"{entry.features.kernel} on {entry.device} ({'same' if same else 'other'} tunables): {best}: "
        f"{time_words(time, time_unit(cpu=entry.is_cpu))}, {factor_in_prompts(entry.speedup)}"
    )
    helped = ", ".join(map(_helped, entry.helped))
    return one_line(f"{line}; helped: {helped}" if helped else line, _LONGEST_LINE)


def _helped(step: HelpfulStep) -> str:
    return step.title if step.factor is None else f"{step.title} {step.factor:.3g}x"


def seeds_of(
    entries: Sequence[MemoryEntry], proposed: Iterable[Configuration], space: SearchSpace
) -> list[Configuration]:
    """Configurations for a space: the best of each entry, then the others, then what was only proposed before."""
    known = [entry.best.configuration for entry in entries]
    known += [measured.configuration for entry in entries for measured in entry.others]
    measured = _distinct(_projected(known, space))[:MOST_SEEDS]
    return _distinct([*measured, *proposed])


def _projected(configurations: Iterable[Configuration], space: SearchSpace) -> Iterator[Configuration]:
    """What the configurations say of the space's tunables, where they name all of them and it is valid."""
    for configuration in configurations:
        if space.tunables and configuration.keys() >= space.tunables.keys():
            part = {name: configuration[name] for name in space.tunables}
            if space.contains(part):
                yield part


def _distinct(configurations: Iterable[Configuration]) -> list[Configuration]:
    return list({tuple(c.items()): c for c in configurations}.values())
