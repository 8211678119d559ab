"""A text that a session proposes, shows and lets the user edit: a kernel, or what another subject tunes."""

from __future__ import annotations

from typing import Protocol, Self, runtime_checkable

from pydantic import InstanceOf


@runtime_checkable
class Source(Protocol):
    """What steps, events and the screen know of such a text."""

    @property
    def id(self) -> str:
        """Names this text, its title aside."""
        ...

    @property
    def source(self) -> str:
        """The whole text."""
        ...

    @property
    def title(self) -> str:
        """A few words for people."""
        ...

    def edited(self, source: str) -> Self:
        """The same with the text as the user left it."""
        ...


AnySource = InstanceOf[Source]
"""A source as a field of an event or a proposal; written with all the fields that it has."""
