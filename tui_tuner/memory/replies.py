"""The replies of models that are kept, and the configurations that they proposed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import TypeAdapter, ValidationError

from tui_tuner.llm.base import Reply, Request
from tui_tuner.llm.finding import json_text
from tui_tuner.llm.thinking import split_thinking
from tui_tuner.memory.database import Database
from tui_tuner.problem.model import Configuration, Value

PROPOSING = ("first_configurations", "more_configurations")
"""Purposes of the prompts that ask for configurations."""
MOST_PROPOSED = 5
_NO_TUNABLE = "reason"
_LOOKED_THROUGH = 50  # replies
_REPLY = TypeAdapter(Reply)


class KeptReplies:
    """Implements `tui_tuner.llm.reply_cache.ReplyStore` in the memory's file."""

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
    for proposed in [] if reply is None else _proposed(reply):
        if isinstance(proposed, dict):
            chosen = {name: _value(proposed.get(name), values) for name, values in tunables.items()}
            if None not in chosen.values():
                yield {name: value for name, value in chosen.items() if value is not None}


def _proposed(reply: Reply) -> list[Any]:
    try:
        content = json.loads(json_text(split_thinking(reply.text)[0]))
    except (ValueError, RecursionError):
        return []
    proposed = content.get("configurations") if isinstance(content, dict) else None
    return proposed if isinstance(proposed, list) else []


def _value(given: object, values: Sequence[Value]) -> Value | None:
    """The value of the space that is meant, also where a number stands there as text; None if there is none."""

    def is_meant(value: Value) -> bool:
        if isinstance(given, bool) or isinstance(value, bool):
            return given is value or given == str(value).lower()
        return given == value or given == str(value)

    return next(filter(is_meant, values), None)
