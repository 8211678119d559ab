"""Themes from files, keymaps from users, and where the program's own files lie."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rich.color import Color as RichColor
from rich.color import ColorSystem
from rich.segment import Segment
from textual.app import App
from textual.color import Color
from textual.selection import SELECT_ALL
from textual.theme import BUILTIN_THEMES
from textual.widgets import OptionList

from tests.slow import slow_but_for
from tests.tui import scripted
from tests.tui.conftest import Started, settled
from tests.tui.looking import contrast, drawn, faint, screen_text
from tests.tui.scripted import ScriptedRun
from tests.tui.test_model_trouble import Troubled
from tui_tuner.errors import SettingsError
from tui_tuner.resources import samples_directory, themes_directory
from tui_tuner.tui.approval import QuestionLine
from tui_tuner.tui.dialogs.sources import RowDialog, editor_command
from tui_tuner.tui.keys import APP_BINDINGS, SCREEN_BINDINGS, checked_keymap
from tui_tuner.tui.panes import Pane
from tui_tuner.tui.text.source_views import DiffView, SourceArea
from tui_tuner.tui.themes import DEFAULT_THEME, OF_THE_TERMINAL, chosen_theme, load_theme, load_themes

SHIPPED = ("tuner-dark", "tuner-light", "tuner-contrast")
OF_COLOURS = [name for name, theme in BUILTIN_THEMES.items() if not theme.ansi]
in_every_theme = pytest.mark.parametrize("theme", slow_but_for(SHIPPED, [*SHIPPED, *OF_COLOURS]))


def test_the_shipped_themes_load_and_include_dark_light_and_contrast() -> None:
    catalogue = load_themes([themes_directory()])
    assert catalogue.faults == []
    assert {"tuner-dark", "tuner-light", "tuner-contrast"} <= set(catalogue.themes)
    assert not catalogue.themes["tuner-light"].dark


@pytest.mark.parametrize("name", SHIPPED)
def test_text_of_shipped_themes_stands_out_from_its_background(name: str) -> None:
    theme = load_themes([themes_directory()]).themes[name]
    assert theme.surface is not None
    surface = Color.parse(theme.surface)
    for colour in (theme.foreground, theme.success, theme.warning, theme.error, theme.accent):
        assert colour is not None
        assert surface.get_contrast_text(1.0) is not None
        assert contrast(surface, Color.parse(colour)) >= 4.5


@pytest.mark.parametrize("theme_name", SHIPPED)
@pytest.mark.parametrize("name", ["background", "surface", "panel"])
def test_grounds_are_grey_in_a_terminal_of_256_colours_too(theme_name: str, name: str) -> None:
    theme = load_themes([themes_directory()]).themes[theme_name]
    shown = RichColor.parse(getattr(theme, name)).downgrade(ColorSystem.EIGHT_BIT).get_truecolor()
    assert shown.red == shown.green == shown.blue


@pytest.mark.parametrize("name", SHIPPED)
def test_lines_of_a_diff_lie_on_green_and_red_in_a_terminal_of_256_colours_too(name: str) -> None:
    theme = load_themes([themes_directory()]).themes[name]
    variables = theme.to_color_system().generate() | theme.variables
    added, removed = (
        RichColor.parse(variables[ground]).downgrade(ColorSystem.EIGHT_BIT).get_truecolor()
        for ground in ("success-muted", "error-muted")
    )
    assert added.green > max(added.red, added.blue)
    assert removed.red > max(removed.green, removed.blue)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ('primary = "#12345"', ["'primary' is '#12345'", "colour"]),
        ('primary = "#123456"\nprimry = "red"', ["unknown key 'primry'", "primary"]),
        ('primary = "#123456"\ndark = "yes"', ["'dark' is 'yes'", "true or false"]),
        ('primary = "#123456"\ntext_alpha = 3', ["'text_alpha' is 3"]),
        (
            'primary = "#123456"\n[variables]\nfooter-key-foregrund = "red"',
            ["unknown variable", "footer-key-foreground"],
        ),
        ('primary = "#123456"\n[variables]\nborder = "; color: red"', ["'border' is '; color: red'"]),
        ('primary = "#123456"\n[variables]\nlink-style = "loud"', ["'link-style' is 'loud'", "text style"]),
        ('name = "x"', ["'primary' is missing"]),
        ("primary = ", ["cannot be read"]),
    ],
)
def test_a_faulty_theme_names_file_key_and_value(tmp_path: Path, text: str, parts: list[str]) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(text)
    with pytest.raises(SettingsError) as caught:
        load_theme(file)
    for part in [str(file), *parts]:
        assert part in str(caught.value)


def test_a_theme_without_name_is_called_like_its_file(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('primary = "#123456"\n[variables]\nborder = "#ffffff 50%"\n')
    assert list(load_themes([tmp_path]).themes) == ["mine"]


async def test_faulty_themes_and_an_unknown_wish_end_in_one_toast_and_the_default(
    started: Started, tmp_path: Path
) -> None:
    folder = tmp_path / "tuner-tui" / "themes"
    folder.mkdir(parents=True)
    (folder / "one.toml").write_text('primary = "nope"')
    (folder / "two.toml").write_text('primary = "#123456"\nextra = 1')
    async with started(ScriptedRun(scripted.opening(), stays=True), theme="tuner-drak") as pilot:
        assert pilot.app.theme == DEFAULT_THEME
        notes = [note.message for note in pilot.app._notifications]
        assert len(notes) == 1
        for part in ("one.toml", "two.toml", "tuner-dark"):
            assert part in notes[0]


@pytest.mark.slow
async def test_a_theme_of_the_user_can_be_chosen_and_changed_while_running(started: Started, tmp_path: Path) -> None:
    folder = tmp_path / "tuner-tui" / "themes"
    folder.mkdir(parents=True)
    (folder / "mine.toml").write_text('primary = "#00ff00"')
    async with started(ScriptedRun(scripted.awaiting(), stays=True), theme="mine") as pilot:
        assert pilot.app.theme == "mine"
        for name in ("ansi-dark", "tuner-light"):
            pilot.app.theme = name
            await pilot.pause()
        assert pilot.app.screen.query_one("#view-source").theme == "kernel-tuner-light"


def test_the_environment_chooses_the_first_known_theme_of_its_list() -> None:
    assert chosen_theme(None, {"TEXTUAL_THEME": "nope, nord"}, ["nord", DEFAULT_THEME]) == ("nord", None)
    assert chosen_theme(None, {}, [DEFAULT_THEME]) == (DEFAULT_THEME, None)


def test_where_there_are_sixteen_colours_they_are_the_terminals_own_unless_a_theme_is_named() -> None:
    few = {"few_colours": True}
    assert chosen_theme(None, {}, [DEFAULT_THEME], **few) == (OF_THE_TERMINAL, None)
    assert chosen_theme(None, {"TEXTUAL_THEME": "nord"}, ["nord"], **few) == ("nord", None)
    assert chosen_theme(DEFAULT_THEME, {}, [DEFAULT_THEME], **few) == (DEFAULT_THEME, None)


@pytest.mark.slow
@pytest.mark.parametrize("theme", [None, DEFAULT_THEME])
async def test_of_sixteen_colours_none_is_behind_both_what_is_added_and_what_is_removed(
    started: Started, monkeypatch: pytest.MonkeyPatch, theme: str | None
) -> None:
    """The nearest to the greens and reds of a theme are one grey."""
    monkeypatch.delenv("COLORTERM", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    async with started(ScriptedRun(scripted.awaiting(), stays=True), theme=theme) as pilot:
        assert pilot.app.theme == (theme or OF_THE_TERMINAL)
        await pilot.press("d")
        await settled(pilot)
        spans = pilot.app.screen.query_one(DiffView)._picture.content.spans
        assert spans
        assert not [span.style for span in spans if "on $" in str(span.style)]


@pytest.mark.parametrize(
    ("keymap", "part"),
    [
        ({"aprove": "y"}, "did you mean 'approve'"),
        ({"approve": "ctrl+hello"}, "is no key"),
        ({"approve": ""}, "unusable keys"),
        ({"approve": "s"}, "'s' would be"),
        ({"approve": "y", "skip": "y"}, "'y' would be"),
        ({"sort": "j"}, "moves in lists and texts"),
    ],
)
def test_a_keymap_that_would_be_misunderstood_is_refused(keymap: dict[str, str], part: str) -> None:
    with pytest.raises(SettingsError, match=part):
        checked_keymap(keymap)


def test_two_bindings_may_swap_their_keys() -> None:
    assert checked_keymap({"approve": "s,f4", "skip": "a,f2"}) == {"approve": "s,f4", "skip": "a,f2"}


def test_every_binding_has_a_name_a_sentence_and_a_key_that_works_in_an_input() -> None:
    for binding in [*APP_BINDINGS, *SCREEN_BINDINGS]:
        assert binding.id
        assert binding.tooltip.endswith(".")
    keys: dict[str, list[str]] = {}
    for binding in [*APP_BINDINGS, *SCREEN_BINDINGS]:
        keys.setdefault(binding.action, []).extend(binding.key.split(","))
    for action, those in keys.items():
        assert any(len(key) > 1 and key not in ("slash", "question_mark", "plus") for key in those), action


def test_the_editor_comes_from_visual_then_editor_and_may_have_arguments() -> None:
    assert editor_command({"EDITOR": "vi", "VISUAL": "code --wait"}) == ["code", "--wait"]
    assert editor_command({"EDITOR": "vi"}) == ["vi"]
    assert editor_command({"EDITOR": "broken 'quote"}) is None
    assert editor_command({}) is None


def test_themes_and_samples_are_found_in_a_checkout() -> None:
    assert (themes_directory() / "tuner-dark.toml").is_file()
    assert samples_directory().name == "sample_kernels"


def test_a_key_that_came_later_yields_to_a_keymap_of_before() -> None:
    assert checked_keymap({"approve": "y,f2"}) == {"approve": "y,f2", "copy_focused": "ctrl+y"}
    assert checked_keymap({"approve": "u"}) == {"approve": "u"}


@in_every_theme
async def test_all_words_can_be_read_in_every_theme_and_the_keys_of_a_dialog_too(started: Started, theme: str) -> None:
    async with started(ScriptedRun(scripted.running(), stays=True), theme=theme) as pilot:
        assert faint(pilot.app) == []
        await pilot.press("3", "enter")
        await settled(pilot)
        assert isinstance(pilot.app.screen, RowDialog)
        assert faint(pilot.app, from_line=-1) == []
        await pilot.press("escape", "2", "c")
        await settled(pilot)
        assert "ask, or /hint" in screen_text(pilot.app)
        assert faint(pilot.app) == []


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["tuner-light", "ansi-dark", "ansi-light"])
async def test_what_awaits_the_user_can_be_read_in_the_terminals_own_colours_too(started: Started, theme: str) -> None:
    asking = {
        "awaits you": ScriptedRun(scripted.awaiting(), stays=True),
        "the model failed": Troubled(scripted.running()),
    }
    for words, run in asking.items():
        async with started(run, theme=theme) as pilot:
            assert words in screen_text(pilot.app)
            assert faint(pilot.app) == []


@pytest.mark.parametrize("theme", slow_but_for(("nord", "ansi-dark"), BUILTIN_THEMES))
async def test_a_diff_keys_and_what_they_do_can_be_read_whatever_colour_a_theme_has_below_them(
    started: Started, theme: str
) -> None:
    async with started(ScriptedRun(scripted.awaiting(), stays=True), theme=theme) as pilot:
        assert "a approve" in screen_text(pilot.app).splitlines()[-1]
        assert "float4 a" in screen_text(pilot.app)
        assert faint(pilot.app) == []


@in_every_theme
async def test_what_is_selected_with_the_mouse_can_be_read_in_every_theme(started: Started, theme: str) -> None:
    async with started(ScriptedRun(scripted.awaiting(), stays=True), theme=theme) as pilot:
        await pilot.press("v")
        screen = pilot.app.screen
        await settled(pilot)
        screen.selections = {widget: SELECT_ALL for widget in screen.query("*") if widget.allow_select}
        await settled(pilot)
        chosen = Color.parse(pilot.app.theme_variables["screen-selection-background"]).rich_color
        of_table = next(line for line in drawn(pilot.app) if "vs best" not in line.text and "·" in line.text)
        assert any(segment.style is not None and segment.style.bgcolor == chosen for segment in of_table)
        assert faint(pilot.app) == []
        screen.clear_selection()
        screen.query_one(SourceArea).select_all()
        await pilot.press("d", "d")
        await settled(pilot)
        assert "[source]" in screen_text(pilot.app)
        assert faint(pilot.app) == []


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["ansi-dark", "ansi-light"])
async def test_a_letter_to_jump_to_is_written_in_the_terminals_ground_on_colour(started: Started, theme: str) -> None:
    async with started(ScriptedRun(scripted.running(), stays=True), theme=theme) as pilot:
        await pilot.press("semicolon")
        await settled(pilot)
        letter = next(style for text, style, _ in drawn(pilot.app)[1] if style is not None and text == "a")
        assert letter.reverse
        assert letter.bgcolor is not None
        assert letter.bgcolor.is_default
        assert letter.color is not None
        assert not letter.color.is_default


@pytest.mark.slow
async def test_a_key_that_was_changed_is_called_so_wherever_it_is_named(started: Started) -> None:
    keymap = {"approve": "ctrl+x,f2", "sort": "S", "filter": "ctrl+f", "compare": "u", "chart": "X", "quit": "Q"}
    run = ScriptedRun(scripted.awaiting(), stays=True)
    async with started(run, size=(160, 90), keymap=keymap) as pilot:
        await pilot.press("3", "j", "j", "u", "2", "1")
        await settled(pilot)
        lines = screen_text(pilot.app).split("\n")
        assert lines[-1].split()[:4] == ["^x", "approve", "e", "edit"], "in its place"
        assert "S sort" in lines[-1]
        await pilot.press("S", "v", "3")
        await settled(pilot)
        text = screen_text(pilot.app)
        assert "[fastest]" in text
        assert "u on another row times both" in text
        await pilot.press("question_mark")
        await settled(pilot)
        text = " ".join(screen_text(pilot.app).replace("│", " ").split())
        for words in (
            "S goes on to the next order, O turns",
            "^f filters by",
            "u pins a row",
            "X goes on",
            "^x f2 Let",
        ):
            assert words in text
        question = pilot.app.screen.query_one(QuestionLine)
        question.show(None)
        question.ask(None)
        question.keep_device(True)
        assert question.render().plain.endswith("to compare rows with u; Q gives it back")


def _corners(app: App[Any]) -> dict[int, Segment]:
    """What is drawn at the upper left of each pane that is shown."""
    lines, panes = drawn(app), [pane for pane in app.screen.query(Pane) if pane.display]
    return {pane.number: next(iter(lines[pane.region.y].crop(pane.region.x, pane.region.x + 1))) for pane in panes}


@in_every_theme
async def test_borders_are_seen_in_every_theme_and_that_of_the_active_pane_more_than_others(
    started: Started, theme: str
) -> None:
    async with started(ScriptedRun(scripted.running(), stays=True), theme=theme) as pilot:
        await pilot.press("3")
        await settled(pilot)
        variables = pilot.app.get_css_variables()
        grounds = [Color.parse(variables[name]) for name in ("background", "surface")]
        for number, corner in _corners(pilot.app).items():
            assert corner.style is not None
            assert corner.style.color is not None
            seen = min(contrast(Color.from_rich_color(corner.style.color), ground) for ground in grounds)
            assert seen >= (4.45 if number == 3 else 2.95)  # the terminal's colours are whole numbers


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["ansi-dark", "ansi-light", "no colour"])
async def test_without_colours_of_its_own_the_active_pane_has_a_border_of_another_shape(
    started: Started, theme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if theme == "no colour":
        monkeypatch.setenv("NO_COLOR", "1")
    run = ScriptedRun(scripted.running(), stays=True)
    async with started(run, theme=None if theme == "no colour" else theme) as pilot:
        await pilot.press("2")
        await settled(pilot)
        assert {number: corner.text for number, corner in _corners(pilot.app).items()} == {
            1: "╭",
            2: "┏",
            3: "╭",
            4: "╭",
        }


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["ansi-dark", "ansi-light"])
async def test_what_is_selected_in_a_list_is_turned_round_in_the_terminals_own_colours(
    started: Started, theme: str
) -> None:
    async with started(ScriptedRun(scripted.running(), stays=True), theme=theme) as pilot:
        await pilot.press("2", "home", "down")
        await settled(pilot)
        (step,) = _reversed(pilot.app)
        assert "2 Vectorised loads" in step
        await pilot.press("m", "down")
        await settled(pilot)
        (choice,) = _reversed(pilot.app)
        assert "skip" in choice.lower()


def _reversed(app: App[Any]) -> list[str]:
    """Lines of lists that are turned round, as what is selected there is."""
    lists = [each.region for each in app.screen.query(OptionList)]
    strips = [line.crop(area.x, area.right) for area in lists for line in drawn(app)[area.y : area.bottom]]
    turned = ["".join(part.text for part in strip if part.style is not None and part.style.reverse) for strip in strips]
    return [line for line in turned if line.strip()]
