"""The screen of a bare start: what it lists, the command that it ends with, the form of a problem file."""

from __future__ import annotations

import asyncio
import shlex
from dataclasses import replace
from pathlib import Path

import pytest
from textual.color import Color
from textual.pilot import Pilot
from textual.widgets import Input, OptionList, Select, Static, TextArea

from tests.tui.at_start import look, look_at, shown, start_app
from tests.tui.conftest import settled
from tests.tui.looking import contrast, drawn, faint, screen_text
from tests.waiting import reached
from tui_tuner.app import overview
from tui_tuner.cli import CommandLine
from tui_tuner.errors import JournalError, NothingBegun, SettingsError
from tui_tuner.journal.reading import RUNS
from tui_tuner.session.run_directory import open_run
from tui_tuner.settings import load_settings
from tui_tuner.subjects import subjects
from tui_tuner.tui.dialogs import ConfirmDialog, MessageDialog
from tui_tuner.tui.keys import checked_keymap
from tui_tuner.tui.start import PICKS, FailedChoice, Found, RunCard, StartWorld
from tui_tuner.tui.start.how import BUDGETS, How
from tui_tuner.tui.start.lists import RunList
from tui_tuner.tui.start.problem_form import ProblemForm
from tui_tuner.tui.start.start_app import StartApp
from tui_tuner.tui.text import Paragraphs


def command(pilot: Pilot[list[str]]) -> str:
    return str(pilot.app.query_one("#command", Static).render())


def toasts(pilot: Pilot[list[str]]) -> str:
    return "\n".join(note.message for note in pilot.app._notifications)


def listed(pilot: Pilot[list[str]], name: str) -> list[str]:
    return [str(option.prompt) for option in pilot.app.query_one(f"#{name}", OptionList).options]


@pytest.mark.slow
@pytest.mark.usefixtures("_here")
async def test_enter_on_a_kernel_tunes_it_as_chosen() -> None:
    async with shown() as pilot:
        assert [line.split()[0] for line in listed(pilot, "kernels")] == ["scale.cu", "other.cu"]
        assert command(pilot) == "$ tuner-tui scale.cu"
        pilot.app.query_one("#device", Select).value = "emulator"
        pilot.app.query_one("#max_time", Input).value = "20m"
        await pilot.pause()
        assert command(pilot) == "$ tuner-tui scale.cu --device emulator --max-time 20m"
        await pilot.press("enter")
    assert pilot.app.return_value == ["scale.cu", "--device", "emulator", "--max-time", "20m"]


@pytest.mark.slow
@pytest.mark.usefixtures("_here")
@pytest.mark.parametrize(
    ("name", "wrong", "said"),
    [
        ("max_evaluations", ("many", "0"), "is no number of evaluations; as in 200"),
        ("max_time", ("soon", "0"), "is no time; as in 90s, 20m or 2h"),
        ("max_cost", ("i", "nan"), "is no cost in $; as in 2.5"),
    ],
)
async def test_a_limit_that_is_none_is_told_and_no_choice_is_lost(name: str, wrong: tuple[str, ...], said: str) -> None:
    async with shown() as pilot:
        field = pilot.app.query_one(f"#{name}", Input)
        pilot.app.query_one("#device", Select).value = "emulator"
        for text in wrong:
            pilot.app.clear_notifications()
            field.value = text
            field.focus()
            await pilot.press("enter")
            assert pilot.app.focused is field
            assert toasts(pilot) == f"'{text}' {said}"
            assert "esc to the kernels" in screen_text(pilot.app).splitlines()[-1]
            await pilot.press("escape", "enter")
            await pilot.pause()
            assert pilot.app.focused is field
            assert pilot.app.is_running
        field.value = "20"
        await pilot.press("enter", "enter")
    assert pilot.app.return_value == ["scale.cu", "--device", "emulator", BUDGETS[name], "20"]


@pytest.mark.slow
@pytest.mark.usefixtures("_here")
async def test_limits_that_are_not_taken_or_not_needed_are_not_checked() -> None:
    Path("gemm.yaml").write_text("BenchmarkProblems: []\n")
    async with shown() as pilot:
        pilot.app.query_one("#max_evaluations", Input).value = "many"
        await pilot.press("G", "enter")
    assert pilot.app.return_value == ["tensile", "gemm.yaml"]
    async with shown() as pilot:
        pilot.app.query_one("#max_evaluations", Input).value = "many"
        pilot.app.query_one("#runs").focus()
        await pilot.press("enter")
    assert pilot.app.return_value is not None


@pytest.mark.slow
@pytest.mark.usefixtures("_here")
async def test_enter_on_a_tensile_configuration_begins_its_session_with_the_choices_that_mean_something_there() -> None:
    Path("gemm.yaml").write_text("BenchmarkProblems: []\n")
    async with shown() as pilot:
        assert listed(pilot, "kernels")[-1] == "gemm.yaml  Tensile configuration"
        assert "2 kernels, 1 Tensile configuration in" in screen_text(pilot.app)
        pilot.app.query_one("#device", Select).value = "emulator"
        pilot.app.query_one("#max_time", Input).value = "20m"
        await pilot.press("down")
        assert "i problem file" in screen_text(pilot.app)
        await pilot.press("down")
        await pilot.pause()
        assert command(pilot) == "$ tuner-tui tensile gemm.yaml --max-time 20m"
        fields = [field.id for field in pilot.app.query_one(How).inputs() if field.disabled]
        assert fields == ["device", "strategy", "max_evaluations"]
        assert "i problem file" not in screen_text(pilot.app)
        await pilot.press("enter")
    assert pilot.app.return_value == ["tensile", "gemm.yaml", "--max-time", "20m"]


@pytest.mark.slow
@pytest.mark.usefixtures("_here")
@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
async def test_what_a_session_lacks_here_is_told_of_what_is_selected_before_it_is_begun(size: tuple[int, int]) -> None:
    Path("gemm.yaml").write_text("BenchmarkProblems: []\n")

    async def discover() -> Found:
        return Found({}, missing={"tensile": "there is no Tensile on PATH"})

    async def world() -> StartWorld:
        return replace(await look(), discover=discover)

    app = StartApp(overview.files_in(Path()), world)
    async with app.run_test(size=size) as pilot:
        await app.workers.wait_for_complete()
        assert "no Tensile" not in screen_text(app)
        await pilot.press("down", "down")
        await pilot.pause()
        assert "there is no Tensile on PATH" in screen_text(app)
        await pilot.press("up")
        await pilot.pause()
        assert "no Tensile" not in screen_text(app)


def test_what_a_subject_ignores_of_the_choices_is_what_its_command_does_not_take() -> None:
    flags = {**PICKS, **BUDGETS}
    for subject in subjects().values():
        takes = CommandLine().parser(subject.commands[0].name)._option_string_actions
        assert {name for name, flag in flags.items() if flag not in takes} == {*subject.ignores}


@pytest.mark.slow
@pytest.mark.usefixtures("_here")
async def test_kernels_can_be_chosen_before_the_settings_are_read() -> None:
    read = asyncio.Event()

    async def slow_look() -> StartWorld:
        await read.wait()
        return await look()

    app = StartApp(overview.files_in(Path()), slow_look)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("down", "semicolon", "d")
        assert len(app.screen_stack) == 1
        assert [line.split()[0] for line in listed(pilot, "kernels")] == ["scale.cu", "other.cu"]
        assert command(pilot) == "$ tuner-tui other.cu"
        assert not app.query(Select)
        read.set()
        await app.workers.wait_for_complete()
        assert await reached(lambda: app.focused is app.query_one("#runs")), "a letter of jump mode, pressed too early"
        assert app.query_one("#device", Select).value == "auto"
        assert len(listed(pilot, "runs")) == 2
        await pilot.press("shift+tab", "escape")
        assert command(pilot) == "$ tuner-tui other.cu"
        await pilot.press("enter")
    assert app.return_value == ["other.cu"]


@pytest.mark.usefixtures("_here")
async def test_settings_that_cannot_be_used_end_the_screen_and_are_told() -> None:
    Path("mine.toml").write_text("[session]\nseed = 'x'\n")
    app = start_app()
    async with app.run_test(size=(80, 24)):
        await app.workers.wait_for_complete()
    assert isinstance(app.refusal, SettingsError)
    assert "mine.toml:2" in str(app.refusal)
    assert app.failure is None


@pytest.mark.slow
@pytest.mark.usefixtures("_here")
async def test_the_keys_of_runs_do_nothing_to_kernels() -> None:
    async with shown() as pilot:
        for key in ("r", "p", "a", "equals_sign", "x"):
            await pilot.press(key)
            assert pilot.app.is_running, key
            assert len(pilot.app.screen_stack) == 1, key


@pytest.mark.usefixtures("_here")
@pytest.mark.parametrize(("key", "words"), [("r", "resume"), ("p", "replay"), ("enter", None)])
async def test_a_run_is_resumed_or_replayed(key: str, words: str | None) -> None:
    async with shown() as pilot:
        runs = {Path(line.split()[-1]).name: line for line in listed(pilot, "runs")}
        assert "finished" in runs["one"]
        assert "1.50x" in runs["one"]
        assert "resumable" in runs["two"]
        pilot.app.query_one("#runs").focus()
        pilot.app.query_one("#runs", OptionList).highlighted = list(runs).index("two")
        await pilot.pause()
        assert command(pilot) == "$ tuner-tui resume tuner-runs/two"
        await pilot.press(key)
    assert pilot.app.return_value == [words or "resume", "tuner-runs/two"]


COMMANDS = {"a": "attach", "r": "resume", "p": "replay"}
OFFERED = [("running", "a"), ("resumable", "rp"), ("stopped", "rp"), ("finished", "p"), ("recorded", "pr")]


@pytest.mark.parametrize(("state", "keys", "key"), [(state, keys, key) for state, keys in OFFERED for key in keys])
async def test_a_run_offers_what_makes_sense_for_it(state: str, keys: str, key: str) -> None:
    runs = [RunCard(Path("tuner-runs/one"), "scale.cu", state)]
    app = StartApp([], look_at(runs))
    async with app.run_test(size=(80, 24)) as pilot:
        await app.workers.wait_for_complete()
        for other in COMMANDS.keys() - {*keys}:
            await pilot.press(other)
            await pilot.pause()
            assert app.is_running, other
        await pilot.press(key)
        await pilot.pause()
        assert not app.is_running
        await pilot.press("q")
    assert app.return_value == [COMMANDS[key], "tuner-runs/one"]


@pytest.mark.slow
@pytest.mark.usefixtures("_here")
@pytest.mark.parametrize("name", ["kernels", "runs"])
async def test_the_lists_are_moved_through_with_the_keys_of_every_list(name: str) -> None:
    async with shown() as pilot:
        options = pilot.app.query_one(f"#{name}", OptionList)
        options.focus()
        places = []
        for key in ("k", "j", "j", "g", "G", "ctrl+u"):
            await pilot.press(key)
            places.append(options.highlighted)
        assert places == [0, 1, 1, 0, 1, 0]
    with pytest.raises(SettingsError, match="moves in lists"):
        start_app({"start_resume": "j"})


@pytest.mark.slow
@pytest.mark.usefixtures("_here")
async def test_a_key_that_a_list_takes_can_be_clicked_in_the_last_line() -> None:
    async with shown() as pilot:
        line = screen_text(pilot.app).splitlines()[-1]
        await pilot.click(offset=(line.index("run the command"), 23))
        await pilot.pause()
    assert pilot.app.return_value == ["scale.cu"]


@pytest.mark.slow
@pytest.mark.usefixtures("_here")
async def test_two_runs_are_compared_and_one_deleted() -> None:
    async with shown() as pilot:
        pilot.app.query_one("#runs").focus()
        await pilot.press("equals_sign", "down", "equals_sign")
        assert isinstance(pilot.app.screen, MessageDialog)
        await pilot.press("escape", "x", "escape")
        assert len(listed(pilot, "runs")) == 2
        gone = str(pilot.app.query_one(RunList).card.path)  # type: ignore[union-attr]
        await pilot.press("x", "y")
        await pilot.app.workers.wait_for_complete()
        assert len(listed(pilot, "runs")) == 1
        assert not Path(gone).exists()


@pytest.mark.slow
@pytest.mark.usefixtures("_here")
async def test_whether_a_run_that_is_at_work_shall_be_deleted_is_not_asked() -> None:
    async with shown() as pilot:
        runs = pilot.app.query_one("#runs", OptionList)
        runs.focus()
        runs.highlighted = next(n for n, line in enumerate(listed(pilot, "runs")) if line.split()[-1] == "two")
        run = open_run(RUNS / "two", resume=True)
        await pilot.press("x")
        await pilot.app.workers.wait_for_complete()
        assert len(pilot.app.screen_stack) == 1
        assert "a process is at work on it" in toasts(pilot)
        run.journal.close()
        await pilot.press("x")
        await pilot.pause()
        assert isinstance(pilot.app.screen, ConfirmDialog), "it is asked once the process is gone"


@pytest.mark.slow
@pytest.mark.usefixtures("_here")
async def test_of_several_kernels_the_one_that_enter_tunes_is_drafted_and_the_frame_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    two = "__global__ void one(float *x) { x[threadIdx.x] = 1; }\n" + Path("other.cu").read_text()
    Path("other.cu").write_text(two)
    drafted, may_begin = overview._drafted, asyncio.Event()

    async def held_up(kernel: Path) -> str:
        await may_begin.wait()
        return await drafted(kernel)

    monkeypatch.setattr(overview, "_drafted", held_up)
    async with shown() as pilot:
        await pilot.press("down", "i")
        assert await reached(lambda: "drafting a problem file" in screen_text(pilot.app))
        may_begin.set()
        assert await reached(lambda: isinstance(pilot.app.screen, ProblemForm))
        await pilot.pause()
        assert 'name = "scale"' in pilot.app.screen.query_one(TextArea).text
        assert not pilot.app.query_one("#kernels").border_subtitle


@pytest.mark.slow
@pytest.mark.usefixtures("_here")
async def test_the_form_checks_as_it_is_typed_and_keeps_the_comments() -> None:
    async with shown() as pilot:
        await pilot.press("down", "i")
        assert await reached(lambda: isinstance(pilot.app.screen, ProblemForm))
        await pilot.pause()
        form = pilot.app.screen
        assert form.query_one(TextArea).text.startswith("# Tried: run on the emulator as given at ")
        area, verdict = form.query_one(TextArea), form.query_one("#verdict", Static)
        assert "it loads" in str(verdict.render())
        await pilot.press("ctrl+g")
        row = area.cursor_location[0]
        assert "# a guess" in area.text.split("\n")[row]
        await pilot.press("x", "x", "ctrl+r", "ctrl+home", "ctrl+l")
        assert "line" in str(verdict.render())
        await pilot.press("escape")
        assert pilot.app.screen is form, "changes are not forgotten by one Esc"
        area.text = area.text.replace("xx", "", 1)
        assert "next guess" in screen_text(pilot.app).splitlines()[-1]
        area.text, draft = area.text.replace("# a guess", "# I know"), area.text
        await pilot.pause()
        assert "next guess" not in screen_text(pilot.app).splitlines()[-1]
        area.text = draft
        await pilot.press("ctrl+s")
        await pilot.app.workers.wait_for_complete()
        assert "no problem file" not in "".join(listed(pilot, "kernels"))
    assert "# a guess" in Path("other.toml").read_text()
    assert not Path("mine.toml").read_text(), "the key saves the form alone"


@pytest.mark.usefixtures("_here")
async def test_choices_are_kept_as_settings_and_comments_stay() -> None:
    Path("mine.toml").write_text("# mine\n[session]\nseed = 3 # lucky\n")
    async with shown() as pilot:
        pilot.app.query_one("#device", Select).value = "emulator"
        pilot.app.query_one("#max_time", Input).value = "20m"
        await pilot.press("ctrl+s")
        pilot.app.query_one("#max_evaluations", Input).value = "many"
        await pilot.press("ctrl+s")
        assert "cannot be saved" in toasts(pilot)
    text, session = Path("mine.toml").read_text(), load_settings().session
    assert "# mine" in text
    assert "# lucky" in text
    assert (session.seed, session.device, session.max_seconds) == (3, "emulator", 1200.0)


@pytest.mark.usefixtures("_here")
def test_what_is_no_run_or_at_work_is_not_deleted() -> None:
    Path("precious").mkdir()
    with pytest.raises(JournalError, match="is no run"):
        overview.delete_run(Path("precious"))
    run = open_run(RUNS / "two", resume=True)
    with pytest.raises(JournalError, match="at work"):
        overview.delete_run(RUNS / "two")
    run.journal.close()
    overview.delete_run(RUNS / "two")
    assert not (RUNS / "two").exists()


@pytest.mark.usefixtures("_here")
def test_settings_that_would_not_load_are_not_written() -> None:
    Path("mine.toml").write_text("[session]\nseed = 3\n")
    with pytest.raises(SettingsError):
        overview.save_choices({"max_evaluations": "0"})
    assert Path("mine.toml").read_text() == "[session]\nseed = 3\n"


@pytest.mark.slow
@pytest.mark.usefixtures("_here")
@pytest.mark.parametrize("theme", ["tuner-dark", "tuner-light", "tuner-contrast", "flexoki", "solarized-light"])
async def test_the_picker_that_has_the_focus_stands_out_from_the_others(theme: str) -> None:
    async with shown((80, 30)) as pilot:
        app = pilot.app
        app.theme = theme
        app.query_one("#llm").focus()
        await settled(pilot)
        grounds = []
        for name in ("device", "llm"):
            area = app.query_one(f"#{name}").region
            style = next(iter(drawn(app)[area.y].crop(area.x, area.x + 1))).style
            assert style is not None
            assert style.bgcolor is not None
            grounds.append(Color.from_rich_color(style.bgcolor))
        assert contrast(*grounds) >= 2.5
        assert faint(app) == []


@pytest.mark.slow
@pytest.mark.usefixtures("_here")
@pytest.mark.parametrize("theme", ["ansi-dark", "ansi-light"])
async def test_what_is_selected_in_a_list_without_the_focus_is_underlined_in_the_terminals_colours(theme: str) -> None:
    async with shown((80, 30)) as pilot:
        app = pilot.app
        app.theme = theme
        app.query_one("#llm").focus()
        await settled(pilot)
        area = app.query_one("#kernels").content_region
        styles = [next(iter(drawn(app)[y].crop(area.x, area.x + 1))).style for y in (area.y, area.y + 1)]
        assert [bool(style and style.underline) for style in styles] == [True, False]


@pytest.mark.slow
@pytest.mark.usefixtures("_here")
async def test_every_key_is_in_the_help_and_in_the_palette_where_it_acts() -> None:
    async with shown((80, 30)) as pilot:
        app = pilot.app
        assert faint(app) == []
        titles = [command.title for command in app.get_system_commands(app.screen)]
        assert {"Problem file", "Copy", "Save", "Jump", "Help", "Theme"} <= {*titles}
        assert not {"Keys", "Maximize", "Delete", "Resume"} & {*titles}
        app.query_one("#runs").focus()
        await pilot.pause()
        delete = next(command for command in app.get_system_commands(app.screen) if command.title == "Delete")
        assert delete.help == "x del: Delete the run from the disk."
        await delete.callback()
        await pilot.pause()
        assert isinstance(app.screen, ConfirmDialog)
        await pilot.press("escape", "question_mark")
        await pilot.pause()
        lines = [line.split() for line in screen_text(app).splitlines()]
        assert any(line[1:4] == ["⏎", "Run", "the"] for line in lines)
        assert lines[-1] == ["esc", "close"]
        await pilot.press("G")
        assert await reached(lambda: "Go up a page." in screen_text(app))
        assert "Show all that can be done, by name." in screen_text(app)
        assert "Leave, also while you type." in screen_text(app)


@pytest.mark.slow
@pytest.mark.usefixtures("_here")
async def test_an_opened_picker_and_the_palette_say_what_their_keys_do() -> None:
    async with shown((80, 30)) as pilot:
        for keys, words in ((("tab", "enter"), "⏎ take  esc leave"), (("escape", "ctrl+p"), "esc leave")):
            await pilot.press(*keys)
            await pilot.pause()
            assert screen_text(pilot.app).splitlines()[-1].strip().startswith(words), keys
        await pilot.press("escape", "enter", "end", "enter")
        await pilot.pause()
        assert pilot.app.query_one("#device", Select).value != "auto", "the last one is taken"


@pytest.mark.slow
@pytest.mark.usefixtures("_here")
async def test_letters_go_to_kernels_runs_and_fields_and_keys_are_the_users() -> None:
    app = start_app({"start_jump": "o", "start_delete": "D"})
    async with app.run_test(size=(80, 24)) as pilot:
        await app.workers.wait_for_complete()
        for key, focused, at in (("s", "kernels", 1), ("f", "runs", 1), ("g", "device", None)):
            await pilot.press("o", key)
            assert app.focused is not None
            assert (app.focused.id, getattr(app.focused, "highlighted", None)) == (focused, at)
        await pilot.press("o", "d", "x")
        assert len(app.screen_stack) == 1, "the key is another one"
        await pilot.press("D")
        await pilot.pause()
        assert isinstance(app.screen, ConfirmDialog)
        await pilot.press("escape", "question_mark")
        await pilot.pause()
        assert "Delete the run" in "\n".join(str(line.render()) for line in app.screen.query(Paragraphs))


def test_a_key_of_the_start_screen_that_is_wanted_twice_is_refused() -> None:
    with pytest.raises(SettingsError, match="start_replay"):
        StartApp([], look_at([]), keymap={"start_resume": "p"})
    assert checked_keymap({"start_resume": "a,r", "start_attach": "t", "approve": "a"}), (
        "the two screens are never there together"
    )


@pytest.mark.slow
@pytest.mark.usefixtures("_here")
async def test_what_came_to_nothing_is_told_and_what_was_chosen_is_chosen_again() -> None:
    Path("gemm.yaml").write_text("BenchmarkProblems: []\n")
    words = ["tensile", "gemm.yaml", "--llm", "ollama:mine", "--max-time", "20m"]
    before = FailedChoice(words, SettingsError("there is no Tensile", hint="name [it]"))
    app = StartApp(overview.files_in(Path()), look, before=before)
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await app.workers.wait_for_complete()
        await pilot.pause()
        shown = screen_text(app)
        assert all(part in shown for part in ("tuner-tui tensile gemm.yaml", "there is no Tensile", "name [it]"))
        await pilot.press("escape")
        assert command(pilot) == "$ " + shlex.join(["tuner-tui", *words])
        await pilot.press("enter")
    assert app.return_value == words

    left = FailedChoice(["other.cu"], NothingBegun("the draft was left"))
    app = StartApp(overview.files_in(Path()), look, before=left)
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert toasts(pilot) == "the draft was left"
        assert len(app.screen_stack) == 1
        assert command(pilot) == "$ tuner-tui other.cu"


@pytest.mark.slow
@pytest.mark.usefixtures("_here")
async def test_what_comes_of_no_model_is_said_of_what_is_selected() -> None:
    async def discover() -> Found:
        return Found({"llm": [("auto  none", "auto"), ("none", "none")]})

    async def looked() -> StartWorld:
        return replace(await look(), discover=discover)

    Path("gemm.yaml").write_text("BenchmarkProblems: []\n")
    app = StartApp(overview.files_in(Path()), looked)
    async with app.run_test(size=(80, 24)) as pilot:
        await app.workers.wait_for_complete()
        for key, words in (("g", "auto  none: search"), ("G", "auto  none: needed"), ("g", "auto  none: search")):
            await pilot.press(key)
            await pilot.pause()
            assert words in screen_text(app)


@pytest.mark.slow
@pytest.mark.usefixtures("_here")
async def test_a_model_that_was_not_found_can_be_named() -> None:
    async with shown() as pilot:
        picker = pilot.app.query_one("#llm", Select)

        async def name(text: str) -> str:
            picker.value = ""
            await pilot.pause()
            assert (picker.value, len(pilot.app.screen_stack)) == (before, 2)
            await pilot.press(*text, "enter")
            await pilot.pause()
            return command(pilot)

        before = "auto"
        picker.expanded = True
        await pilot.pause()
        assert "another: type its name" in screen_text(pilot.app)
        picker.expanded = False
        assert "--llm" not in await name("olama")
        assert "there is no model provider 'olama'" in screen_text(pilot.app)
        assert "did you mean 'ollama'?" in screen_text(pilot.app)
        await pilot.press("escape", "escape")
        assert await name("command:my model") == "$ tuner-tui scale.cu --llm 'command:my model'"
        before = "command:my model"
        assert await name("none") == "$ tuner-tui scale.cu --llm none"
        assert len(pilot.app.screen_stack) == 1


@pytest.mark.usefixtures("_here")
async def test_the_key_that_goes_to_the_shell_acts_here_too(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[StartApp] = []

    def sleep(app: StartApp) -> None:
        slept.append(app)

    monkeypatch.setattr(StartApp, "action_suspend_process", sleep)
    app = start_app({"suspend": "ctrl+b"})
    async with app.run_test(size=(80, 24)) as pilot:
        await app.workers.wait_for_complete()
        await pilot.press("ctrl+z", "ctrl+b")
    assert slept == [app]
    with pytest.raises(SettingsError, match="suspend"):
        start_app({"suspend": "r"})
