"""What the screen asks the subject of a session: what is shown as source, which table, which words."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from textual.content import Content
from textual.widget import Widget

from tui_tuner.session.events import Event, SessionFinished
from tui_tuner.source import Source
from tui_tuner.strategies.steps import Step
from tui_tuner.tui.panes.benchmark_contents import BenchmarkContents
from tui_tuner.tui.picture import ViewModel


class SubjectView(ABC):
    """How one session's subject is shown; takes every event in, and keeps what the view model of all sessions has not.

    Attributes:
        noun: what the source is called in a sentence.
        pane: title of the pane that shows it.
        source_help: the help of that pane; empty for that of kernels.
        table_help: the same of the pane with the table.
        sandbox_label: stands before the line on how builds are confined.
        lined_details: whether a step's detail is made of lines that stay lines.
    """

    noun: ClassVar[str]
    pane: ClassVar[str]
    source_help: ClassVar[str] = ""
    table_help: ClassVar[str] = ""
    sandbox_label: ClassVar[str] = ""
    lined_details: ClassVar[bool] = False

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
        """What was measured, for the header, as (rank, text): of too many parts the highest rank goes first."""

    @abstractmethod
    def result(self, finished: SessionFinished, view_model: ViewModel) -> Content:
        """What came of the session, where it lies, and how to see it again."""

    def entry(self, event: Event) -> Widget | None:
        """What an event of the subject's own adds to the chat; None if nothing."""
        return None

    def question_words(self, step: Step) -> str:
        """What is told beside the title of a step that awaits the user; empty for nothing."""
        return ""
