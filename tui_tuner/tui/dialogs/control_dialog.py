"""What the user may want of a session that runs, as a list; the result is the instruction for it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, OptionList, Static

from tui_tuner.errors import UserError
from tui_tuner.format import LIMITS, brief_duration
from tui_tuner.session.controls import AskAbout, GoOn, Pause, RaiseBudget, SkipStep, Stop, UseModel, UseStrategy
from tui_tuner.session.plan import Instruction
from tui_tuner.strategies import PLACES
from tui_tuner.strategies.steps import ApprovalLevel
from tui_tuner.tui.dialogs import Dialog
from tui_tuner.tui.moving import Menu
from tui_tuner.tui.text import one_line, plain
from tui_tuner.tui.view_model import ViewModel


@dataclass(frozen=True)
class Choice:
    """Something to choose.

    Attributes:
        words: what it is, and what comes of it.
        made: the instruction, from what the user types where `asked` says what that is; raises ValueError or UserError
            where it would come to nothing.
        asked: what to type; empty where nothing is.
    """

    words: str
    made: Callable[[str], Instruction]
    asked: str = ""


def choices(view_model: ViewModel, *, plans: bool, asks: bool = True) -> list[Choice]:
    """All that can be chosen now.

    Args:
        plans: see `tui_tuner.tui.subject.SubjectView`.
        asks: whether the user is asked about anything; else they approved all that comes.
    """
    paused = view_model.paused
    levels = [level for level in ApprovalLevel if level is not view_model.level or not asks]
    levels = [level for level in levels if plans or level is not ApprovalLevel.ACCEPT]
    in_force = {} if view_model.started is None else view_model.started.model_dump(include=set(LIMITS))
    limits = "  ".join(f"{name} {example}" for name, (_, example) in _LIMITS.items())
    other = Choice("another strategy once this step is done", _other_strategy, ", ".join(PLACES))
    return [
        Choice("go on", lambda _: GoOn()) if paused else Choice("pause: begin nothing new", lambda _: Pause()),
        Choice("skip the running step: what it has measured counts", lambda _: SkipStep()),
        Choice("stop after what is being measured, and conclude", lambda _: Stop()),
        Choice("raise the budget", lambda text: raised_budget(text, in_force), asked=f"one or more of: {limits}"),
        Choice("another model for the calls that follow", _other_model, asked="as in --llm"),
        *([other] if plans else []),
        *(Choice(_ABOUT[level], lambda _, level=level: AskAbout(level=level)) for level in levels),  # type: ignore[misc]
    ]


_ABOUT = {
    ApprovalLevel.NOTHING: "ask me about nothing",
    ApprovalLevel.PLAN: "ask me about plans only",
    ApprovalLevel.STEP: "ask me about plans and steps",
    ApprovalLevel.KERNEL: "ask me about plans, steps and kernels",
    ApprovalLevel.ACCEPT: "ask me about all that, and before a kernel becomes the best",
}


_LIMITS = {
    "evals": ("max_evaluations", "200"),
    "calls": ("max_calls", "150"),
    "time": ("max_seconds", "30m"),
    "cost": ("max_cost", "5"),
}
"""Limits as they are typed: the option that each is, and an example of it."""


def raised_budget(text: str, in_force: Mapping[str, float | None]) -> RaiseBudget:
    """The instruction for words such as `evals 200 time 30m`.

    Args:
        in_force: the limits as they are, by the names of the options; None where there is none.

    Raises:
        ValueError: they name no limit, one without a number, or one that would not be raised; in words for people.
    """
    words = text.replace("=", " ").split()
    pairs = dict(zip(words[::2], words[1::2], strict=False))
    if not pairs or len(words) % 2 or not pairs.keys() <= _LIMITS.keys():
        raise ValueError(f"write a limit and a number: {', '.join(_LIMITS)}")
    wanted = {_LIMITS[name][0]: _raised(name, value, in_force) for name, value in pairs.items()}
    return RaiseBudget.model_validate(wanted)


def _raised(name: str, text: str, in_force: Mapping[str, float | None]) -> float:
    option, example = _LIMITS[name]
    try:
        value = LIMITS[option](text)
    except ValueError:
        value = 0
    if not 0 < value < math.inf:
        raise ValueError(f"{name}: '{text}' is no limit; as in: {name} {example}")
    now = in_force.get(option, 0)
    if now is None:
        raise ValueError(f"{name}: there is no limit that could be raised")
    if value <= now:
        shown = brief_duration(now) if name == "time" else now
        raise ValueError(f"{name}: {shown} is in force, and a limit can only be raised")
    return value


def _other_model(name: str) -> UseModel:
    from tui_tuner.llm.choose import parse_spec

    parse_spec(name)
    return UseModel(name=name)


def _other_strategy(name: str) -> UseStrategy:
    from tui_tuner.strategies.choose import check_name

    check_name(name)
    return UseStrategy(name=name)


class _Words(Input):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "submit", "Take", tooltip="Have it done.")]


class ControlDialog(Dialog[Instruction | None]):
    """A list over the screen; the result is what was chosen, or None if the user gave up."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "give_up", "Leave", tooltip="Leave the session as it is."),
    ]

    def __init__(self, view_model: ViewModel, *, plans: bool, asks: bool = True) -> None:
        super().__init__()
        self._choices = choices(view_model, plans=plans, asks=asks)
        level = view_model.level if asks else ApprovalLevel.NOTHING
        self._heading = f"The session, which now {_ABOUT[level].replace('ask me', 'asks you', 1)}"
        self._asks: Choice | None = None

    def compose(self) -> ComposeResult:
        """Heading, list, what is typed, and what is wrong with it."""
        with Vertical(classes="dialog"):
            yield Static(self._heading, markup=False, classes="dialog-title")
            yield Menu(*(one_line(each.words) for each in self._choices))
            yield _Words(id="control-words", compact=True)
            yield Static(id="control-fault", markup=False)

    def on_mount(self) -> None:
        """Nothing is to be typed yet."""
        self.query_one(Input).display = self.query_one("#control-fault").display = False

    @on(OptionList.OptionSelected)
    def _choose(self, message: OptionList.OptionSelected) -> None:
        choice = self._choices[message.option_index]
        if not choice.asked:
            self.dismiss(choice.made(""))
            return
        self._asks = choice
        self.query_one("#control-fault").display = False
        entry = self.query_one(Input)
        entry.value, entry.placeholder, entry.display = "", choice.asked, True
        entry.focus()

    @on(Input.Submitted)
    def _take(self, message: Input.Submitted) -> None:
        if self._asks is None or not message.value.strip():
            return
        try:
            self.dismiss(self._asks.made(message.value.strip()))
        except (ValueError, UserError) as error:
            fault = self.query_one("#control-fault", Static)
            fault.update(Content("\n").join(plain(line.strip(), "$text-error") for line in str(error).splitlines()))
            fault.display = True
