"""The seams between the screen and what it shows: a run, the view of its subject, and the contents of the table."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Sequence
from typing import Any, ClassVar, Protocol

from textual.content import Content
from textual.widget import Widget

from tui_tuner.session import events
from tui_tuner.session.events import Event, SessionFinished
from tui_tuner.session.plan import Instruction
from tui_tuner.strategies.steps import Approver, Step
from tui_tuner.subjects import Source, Subject
from tui_tuner.tui.tables import RowOrder
from tui_tuner.tui.tables.table import ColumnTable
from tui_tuner.tui.view_model import EvaluationRow, ViewModel


class SubjectView(ABC):
    """How one session's subject is shown; takes every event in, and keeps what the view model of all sessions has not.

    Attributes:
        noun: what the source is called in a sentence.
        pane: title of the pane that shows it.
        source_help: the help of that pane; empty for that of kernels.
        table_help: the same of the pane with the table.
        sandbox_label: stands before the line on how builds are confined.
        lined_details: whether a step's detail is made of lines that stay lines.
        plans: whether there are steps to come, which the user may change, and strategies to choose from.
    """

    noun: ClassVar[str]
    pane: ClassVar[str]
    source_help: ClassVar[str] = ""
    table_help: ClassVar[str] = ""
    sandbox_label: ClassVar[str] = ""
    lined_details: ClassVar[bool] = False
    plans: ClassVar[bool] = True

    @abstractmethod
    def apply(self, event: Event) -> None:
        """Take an event in, after the view model did."""

    @abstractmethod
    def contents(self) -> BenchmarkContents:
        """The table of pane 3, for the one pane that shows it."""

    @abstractmethod
    def best(self, view_model: ViewModel) -> Source | None:
        """The best source so far; None before there is one."""

    @abstractmethod
    def best_words(self, view_model: ViewModel) -> str:
        """What the best source is, or that there is none."""

    @abstractmethod
    def file_name(self, language: str) -> str:
        """The file in which the user edits a source with an editor of their own."""

    @abstractmethod
    def gain(self, view_model: ViewModel) -> float | None:
        """The factor over what was given, as far as it is known before the end."""

    @abstractmethod
    def effort(self, view_model: ViewModel) -> list[tuple[int, str]]:
        """What was measured, for the status line, as (rank, text): of too many parts the highest rank goes first."""

    @abstractmethod
    def result(self, finished: SessionFinished, view_model: ViewModel) -> Content:
        """What came of the session, where it lies, and how to see it again."""

    def entry(self, event: Event) -> Widget | None:
        """What an event of the subject's own adds to the chat; None if nothing."""
        return None

    def question_words(self, step: Step) -> str:
        """What is told beside the title of a step that awaits the user; empty for nothing."""
        return ""


class EventSource(Protocol):
    """A live session, a resumed one, or the replay of a finished one.

    Attributes:
        title: a few words for the terminal's title.
        seen_as: what it is where leaving does not end it: "attached", or "replay" and how far that is; empty elsewhere.
    """

    title: str

    @property
    def seen_as(self) -> Sequence[str]:
        """See above."""

    @property
    def subject(self) -> Subject:
        """What it is about."""

    def events(self, approver: Approver) -> AsyncGenerator[Event, None]:
        """Run the session while it is iterated.

        Closing the iterator, or cancelling the task that iterates, interrupts the session and
        leaves it resumable.
        """

    def tell(self, instruction: Instruction) -> bool:
        """Take what the user says at any time; False if nobody can change the run, as in a replay."""


class BenchmarkContents(ABC):
    """A table with its orders, the curve over it, and what Enter tells about a row.

    Attributes:
        table: shows the rows.
        relevant: the events that change the table or its legend.
        curves: names of the charts that are curves; the pane begins with the first.
        compares: whether two rows can be timed in turns.
        filter_words: what a filter may be, in a few words.
        marked: numbers of the rows that are pinned, for the next time that they are drawn.
        explains_names: whether what is told below the table are short names with what they stand for.
    """

    relevant: ClassVar[tuple[type[events.Event], ...]]
    curves: ClassVar[tuple[str, ...]] = ("best so far",)
    compares: ClassVar[bool] = False
    filter_words: ClassVar[str] = "words"
    marked: tuple[int, ...] = ()
    explains_names: ClassVar[bool] = False
    table: ColumnTable[Any, Any]

    @property
    def orders(self) -> Sequence[RowOrder[Any]]:
        """In which the rows can stand; the table begins with the first."""
        return self.table.orders

    def fault(self, text: str) -> str:
        """What is wrong with a filter; empty where nothing is."""
        return ""

    async def sift(self, view_model: ViewModel, text: str) -> None:  # noqa: B027  # what is quick needs nothing
        """Get ready to draw the rows that a filter takes, where many of them take their time."""

    @abstractmethod
    def draw(self, view_model: ViewModel, text: str, order: RowOrder[Any]) -> str:
        """Draw the rows that a filter takes, in one of the orders; the line below the table.

        Args:
            text: the filter: words that rows must contain, or what else the subject makes of it; one that has a
                fault changes nothing.
        """

    @property
    def charts(self) -> Sequence[str]:
        """Names of all charts, the curves first."""
        return self.curves

    @abstractmethod
    def chart(self, view_model: ViewModel, name: str, width: int, height: int) -> Content:
        """One of the charts, in `height` lines."""

    def pinned(self, view_model: ViewModel, key: str) -> EvaluationRow | None:
        """The row, if it can be pinned and compared with another one."""
        return None

    @abstractmethod
    def about(self, view_model: ViewModel, key: str) -> tuple[Content, Content]:
        """Title and text of everything there is to say about a row."""

    def source(self, view_model: ViewModel, key: str) -> Source | None:
        """The source that a row is about; None where it is about none of its own."""
        return None

    @abstractmethod
    def exported(self, view_model: ViewModel) -> str:
        """All rows as CSV; empty where there are none."""


def shown_of(shown: int, there: int, words: str) -> str:
    """How many rows are shown, where that is not all of them, then the words."""
    return " · ".join(filter(None, (f"{shown} of {there} rows" if shown < there else "", words)))
