"""A candidate: source, launch and search space, as given or as a model proposed them."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from typing import Self

from pydantic import BaseModel, ConfigDict

from tui_tuner.problem.model import Configuration, Launch, Problem, Value
from tui_tuner.problem.space import SearchSpace


class Candidate(BaseModel):
    """A kernel that can be built in every configuration of its search space.

    Attributes:
        source: the whole text of the kernel's file.
        kernel: the name of the kernel function.
        launch: grid and block as expressions over sizes and tunables.
        tunables: the values of each tunable parameter; passed to the compiler as macros.
        restrictions: expressions that a configuration must satisfy, all of them.
        defaults: the configuration to start from, where it differs from the first values.
        title: a few words for people.
    """

    model_config = ConfigDict(frozen=True)

    source: str
    kernel: str
    launch: Launch
    tunables: dict[str, list[Value]] = {}
    restrictions: list[str] = []
    defaults: Configuration = {}
    title: str = ""

    @property
    def id(self) -> str:
        """Twelve hexadecimal digits that name this candidate, its title aside."""
        content = self.model_dump_json(exclude={"title"})
        return hashlib.sha256(content.encode()).hexdigest()[:12]

    def edited(self, source: str) -> Self:
        """The same kernel with the text as the user left it."""
        return self.model_copy(update={"source": source, "title": f"{self.title}, edited"})

    def space(
        self,
        *,
        sizes: Mapping[str, int],
        max_threads: int | None,
        members: Collection[Configuration] | None = None,
    ) -> SearchSpace:
        """Its valid configurations.

        Args:
            sizes: the problem's sizes; restrictions may name them.
            max_threads: threads that a block may have on the device; None for no limit.
            members: the only configurations that there are, as in a recording; None for no such limit.

        Raises:
            ExpressionError: a restriction is not allowed or names what is not known.
        """
        return SearchSpace(
            self.tunables,
            self.restrictions,
            sizes=sizes,
            max_threads=max_threads,
            launch=self.launch,
            members=members,
        )

    @property
    def default_configuration(self) -> Configuration:
        """The configuration to start from."""
        return {name: self.defaults.get(name, values[0]) for name, values in self.tunables.items()}


def baseline(problem: Problem) -> Candidate:
    """The kernel as the user gave it."""
    return Candidate(
        source=problem.source_text,
        kernel=problem.kernel.name,
        launch=problem.launch,
        tunables=problem.tunables,
        restrictions=problem.search.restrictions,
        defaults=problem.defaults,
        title="baseline",
    )
