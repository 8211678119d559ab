"""The lists of the start screen: kernels and runs, a line each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, TypeVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widget import Widget
from textual.widgets import OptionList

from tui_tuner.problem.languages import LANGUAGES
from tui_tuner.tui.start.start_world import RunCard
from tui_tuner.tui.text.plain import one_line, plain

_W = TypeVar("_W", bound=Widget)


class ChoiceList(OptionList):
    """A list of which Enter takes what is selected."""

    OWN: ClassVar[list[Binding]] = [
        Binding("enter", "select", "run the command", tooltip="Run the command above the keys."),
        Binding("tab,shift+tab", "app.focus_next", "next field", show=False,
                tooltip="Go on to the next list or field, or back; Enter opens a picker, Esc leaves a field."),
    ]  # fmt: skip
    BINDINGS: ClassVar[list[BindingType]] = [*OWN[:1]]

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Of an empty list nothing can be taken."""
        return action != "select" or self.option_count > 0


def titled(widget: _W, title: str) -> _W:
    """A widget with a title in its frame."""
    widget.border_title = title
    return widget


def kernels_title(kernels: Sequence[object]) -> str:
    """Of the list of kernels; where there are none, how their files end."""
    return "Kernels" if kernels else f"Kernels: no {' '.join(LANGUAGES)}"


def runs_title(runs: Sequence[object], kernels: Sequence[object]) -> str:
    """Of the list of runs; where there are none, how one begins."""
    none = "Runs: none yet; Enter on a kernel begins one" if kernels else "Runs: none yet"
    return "Runs" if runs else none


def select(options: OptionList, index: int) -> None:
    """Go to a line."""
    options.focus()
    options.highlighted = index


def kernel_line(file: Path, has_problem: bool) -> Content:
    """A kernel, and whether it has a problem file."""
    mark = Content("") if has_problem else Content.styled("  no problem file yet", "dim")
    return one_line(str(file), "bold") + mark


def run_line(card: RunCard, *, marked: bool) -> Content:
    """A run: kernel, gain, state, beginning, strategy, name."""
    gain = "" if card.speedup is None else f"{card.speedup:.2f}x"
    mark = "=" if marked else " "
    began = card.created[:16].replace("T", " ")
    words = f"{mark} {card.kernel:<22.22} {gain:>7}  {card.state:<10} {began:<16}  {card.strategy:<12.12} "
    return plain(words) + one_line(card.path.name)
