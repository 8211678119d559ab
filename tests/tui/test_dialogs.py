"""Every dialog that there is: Esc leaves it, wherever the focus is, whatever was typed, and the last line says so."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList

import tui_tuner
from tests.tui import scripted
from tests.tui.conftest import Started, settled
from tests.tui.looking import notices, screen_text
from tests.tui.scripted import ScriptedRun
from tui_tuner.strategies.steps import ModelTrouble
from tui_tuner.tui import dialogs
from tui_tuner.tui.dialogs import FORGETS, Dialog, TypingDialog, control_dialog, sources
from tui_tuner.tui.frame import Palette
from tui_tuner.tui.moving import JumpScreen, LineList, Reading
from tui_tuner.tui.plan_lines import StepWords
from tui_tuner.tui.start.how import ModelNameDialog
from tui_tuner.tui.start.problem_form import ProblemForm
from tui_tuner.tui.view_model import ViewModel

TEXT = Content("words\n" * 60)
FAILED = sources.FailedBuild("int x", 1, "expected ';'")
ROW = scripted.TILES
OPENED: dict[type[ModalScreen[Any]], Callable[[], ModalScreen[Any]]] = {
    dialogs.MessageDialog: lambda: dialogs.MessageDialog(Content("title"), TEXT),
    dialogs.ResultDialog: lambda: dialogs.ResultDialog(Content("title"), TEXT, yields=False),
    dialogs.QuitDialog: lambda: dialogs.QuitDialog("tuner-tui resume"),
    dialogs.ConfirmDialog: lambda: dialogs.ConfirmDialog("Delete it?", "this"),
    dialogs.StepDialog: lambda: dialogs.StepDialog(Content("step"), StepWords("a", "b")),
    dialogs.ModelDialog: lambda: dialogs.ModelDialog(
        ModelTrouble(purpose="ask", model="m", reason="is away", transient=True)
    ),
    dialogs.ThawDialog: lambda: dialogs.ThawDialog({"tile": 4, "block": 8}),
    control_dialog.ControlDialog: lambda: control_dialog.ControlDialog(ViewModel(), plans=True),
    sources.WhichDialog: lambda: sources.WhichDialog(FAILED),
    sources.EditorDialog: lambda: sources.EditorDialog("int x;", "title", "cuda", FAILED),
    sources.RowDialog: lambda: sources.RowDialog(Content("row"), TEXT, ROW, ROW, "cuda", proposes=True),
    ModelNameDialog: lambda: ModelNameDialog(lambda _: ""),
    ProblemForm: lambda: ProblemForm(Path("scale.toml"), "[kernel]\n", ("tried",)),
    JumpScreen: lambda: JumpScreen([]),
    Palette: Palette,
}
"""How each is opened; one that is missing here fails."""


def all_dialogs() -> list[type[ModalScreen[Any]]]:
    """Every one of the program's, wherever it stands."""
    for module in pkgutil.walk_packages(tui_tuner.__path__, "tui_tuner."):
        if "tui" in module.name.split(".") or "screen" in module.name:
            importlib.import_module(module.name)

    def below(kind: type[Any]) -> Iterator[type[Any]]:
        for each in kind.__subclasses__():
            yield from (each, *below(each))

    own = {each for each in below(ModalScreen) if each.__module__.startswith("tui_tuner.")}
    return sorted(own - {Dialog, TypingDialog}, key=lambda each: each.__name__)


def test_every_dialog_is_known_here() -> None:
    assert {*all_dialogs()} == {*OPENED}


@pytest.mark.slow
async def test_esc_leaves_a_dialog_wherever_the_focus_is_and_whatever_was_typed(started: Started) -> None:
    async with started(ScriptedRun(scripted.running(), stays=True)) as pilot:
        app = pilot.app
        for opened, typed in product(OPENED.values(), ([], ["x", "y"])):
            at, places = 0, 1
            while at < places:
                dialog = opened()
                await app.push_screen(dialog)
                await settled(pilot)
                places = max(1, len(dialog.focus_chain))
                for widget in dialog.focus_chain[at : at + 1]:
                    widget.focus()
                await pilot.press(*typed)
                if app.screen is dialog:  # else a key has answered
                    await pilot.press("escape", *(["escape"] if typed else []))
                assert app.screen is not dialog, (dialog, app.focused, typed)
                at += 1


@pytest.mark.slow
async def test_what_was_typed_is_forgotten_by_a_second_esc_right_after_the_first(started: Started) -> None:
    typing = [opened for kind, opened in OPENED.items() if issubclass(kind, TypingDialog)]
    async with started(ScriptedRun(scripted.running(), stays=True)) as pilot:
        app = pilot.app
        for opened, place in product(typing, range(5)):
            dialog = opened()
            await app.push_screen(dialog)
            await settled(pilot)
            for field in dialog.query("Input, TextArea").nodes[place : place + 1]:
                field.focus()
                await pilot.press("x", "escape")
                assert app.screen is dialog
                assert notices(app) == [FORGETS], dialog
                await pilot.press("y")
                assert notices(app) == []
                await pilot.press("escape")
                assert app.screen is dialog
            await pilot.press("escape")
            assert app.screen is not dialog
            assert notices(app) == [], dialog


@pytest.mark.slow
async def test_every_list_and_text_of_a_dialog_is_moved_through_with_the_same_keys(started: Started) -> None:
    async with started(ScriptedRun(scripted.running(), stays=True), size=(80, 24)) as pilot:
        for open_dialog in OPENED.values():
            await pilot.app.push_screen(open_dialog())
            await settled(pilot)
            for widget in pilot.app.screen.focus_chain:
                assert not isinstance(widget, OptionList | VerticalScroll) or isinstance(widget, LineList | Reading)
                widget.focus()
                await settled(pilot)
                if isinstance(widget, LineList):
                    last, places = widget.option_count - 1, []
                    for key in ("k", "j", "G", "j", "k", "g", "down", "up", "up"):
                        await pilot.press(key)
                        places.append(widget.highlighted)
                    assert places == [0, 1, last, last, last - 1, 0, 1, 0, 0]
                elif isinstance(widget, Reading) and (bottom := widget.max_scroll_y):
                    around = pilot.app.screen.query_one(".dialog").content_region
                    assert around.contains_region(widget.region), "its last line can be read"
                    heights = []
                    for key in ("j", "k", "G", "g", "ctrl+d", "ctrl+u"):
                        await pilot.press(key)
                        await settled(pilot)
                        heights.append(widget.scroll_offset.y)
                    assert heights[:4] == [1, 0, bottom, 0]
                    assert heights[4] > 1
                    assert heights[5] == 0
            await pilot.app.pop_screen()


@pytest.mark.parametrize("size", [(80, 24), (200, 50)])
async def test_the_keys_of_a_dialog_are_told_once_in_the_last_line(started: Started, size: tuple[int, int]) -> None:
    async with started(ScriptedRun(scripted.running(), stays=True), size=size) as pilot:
        for opened in (opened for kind, opened in OPENED.items() if issubclass(kind, Dialog)):
            dialog = opened()
            await pilot.app.push_screen(dialog)
            await settled(pilot)
            *above, last = screen_text(pilot.app).splitlines()
            assert "esc " in last, dialog
            assert not [line for line in above if "esc " in line or "enter " in line], dialog
            await pilot.app.pop_screen()
