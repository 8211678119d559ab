"""The chat's lines to type into, for questions, words to steer by and reasons of a rejection; answers and cards."""

from __future__ import annotations

import asyncio
import json

import pytest
from textual.events import Paste
from textual.widgets import Input

from tests.tui import scripted
from tests.tui.conftest import Started, settled
from tests.tui.looking import focused_pane, notices, screen_text
from tests.tui.scripted import ScriptedRun
from tui_tuner.session import events
from tui_tuner.session.controls import Stop
from tui_tuner.session.plan import AddStep, Ask, Say, Withdraw
from tui_tuner.strategies.steps import Decision
from tui_tuner.tui.app import TunerApp
from tui_tuner.tui.panes.chat_pane import ReasonInput, SayInput

SIZES = pytest.mark.parametrize("size", [(80, 24), (120, 36)], ids=["80x24", "120x36"])
WORDS = "load 16 bytes [b]at once"


def words(app: TunerApp) -> str:
    return app.session_screen.query_one(SayInput).value


@pytest.mark.slow
async def test_what_can_be_typed_stands_whole_in_the_narrowest_pane(started: Started) -> None:
    async with started(ScriptedRun(scripted.running(), stays=True), size=(100, 30)) as pilot:
        assert "you> ask, or /hint /try /stop" in screen_text(pilot.app)


@pytest.mark.slow
@SIZES
async def test_words_are_told_with_enter_and_the_line_is_empty_again(started: Started, size: tuple[int, int]) -> None:
    run = ScriptedRun(scripted.running(), stays=True)
    async with started(run, size=size) as pilot:
        for key in ("c", "ctrl+t"):
            run.told.clear()
            await pilot.press("escape", key, *WORDS, "enter")
            await settled(pilot)
            assert run.told == [Ask(text=WORDS)], key
            assert words(pilot.app) == ""
            assert isinstance(pilot.app.focused, SayInput)
            assert "ask, or /hint /try /stop" in screen_text(pilot.app)


@pytest.mark.slow
async def test_what_is_told_appears_in_the_chat_when_the_session_has_it_and_not_before(started: Started) -> None:
    gate = asyncio.Event()
    evil = f"{WORDS}\x1b[2J[/x]"
    run = ScriptedRun([*scripted.opening(), gate, events.QuestionAsked(number=1, text=evil)], stays=True)
    async with started(run) as pilot:
        await pilot.press("c", *WORDS, "enter")
        await settled(pilot)
        assert "16 bytes" not in screen_text(pilot.app)
        gate.set()
        await settled(pilot)
        assert "you> load 16 bytes [b]at once[/x]" in screen_text(pilot.app)


LOG = "scale.cu(3): error: [b]x[/b] is undefined\n\tx[0] = 1;\n1 error\n"


@pytest.mark.slow
async def test_a_paste_of_many_lines_is_one_mark_in_the_line_and_told_whole(started: Started) -> None:
    run = ScriptedRun(scripted.running(), stays=True)
    async with started(run) as pilot:
        await pilot.press("c")
        ways = (("", "\n", Ask), ("/hint ", "\r", Say))  # the second ends lines as terminals send them
        for number, (asked, end, kind) in enumerate(ways, 1):
            run.told.clear()
            await pilot.press(*asked, *"why ")
            assert pilot.app.focused is not None
            pilot.app.focused.post_message(Paste(LOG.replace("\n", end)))
            await settled(pilot)
            assert words(pilot.app) == f"{asked}why [pasted {number}: 3 lines]"
            await pilot.press(*" then", "enter")
            await settled(pilot)
            assert [told.text for told in run.told if isinstance(told, kind)] == [f"why {LOG.rstrip()} then"]


@pytest.mark.slow
async def test_a_paste_of_one_line_is_typed_and_one_of_nothing_is_not(started: Started) -> None:
    run = ScriptedRun(scripted.running(), stays=True)
    async with started(run) as pilot:
        await pilot.press("c")
        assert pilot.app.focused is not None
        for text in ("one\n", "", "\n"):
            pilot.app.focused.post_message(Paste(text))
        await settled(pilot)
        assert words(pilot.app) == "one"


@pytest.mark.slow
async def test_nothing_is_told_by_an_empty_line(started: Started) -> None:
    run = ScriptedRun(scripted.running(), stays=True)
    async with started(run) as pilot:
        await pilot.press("c", "enter", "space", "enter")
        await settled(pilot)
        assert run.told == []


@pytest.mark.slow
async def test_esc_keeps_the_words_and_goes_back_to_the_pane(started: Started) -> None:
    run = ScriptedRun(scripted.running(), stays=True)
    async with started(run, size=(80, 24)) as pilot:
        for pane in ("1", "2", "3", "4"):
            run.told.clear()
            await pilot.press("escape", pane, "c", *"half", "escape")
            await settled(pilot)
            assert focused_pane(pilot.app) == int(pane)
            assert not isinstance(pilot.app.focused, Input)
            assert words(pilot.app) == "half"
            await pilot.press("c", *" done", "enter")
            await settled(pilot)
            assert [told.text for told in run.told if isinstance(told, Ask)] == ["half done"], pane


@pytest.mark.slow
@SIZES
async def test_words_typed_before_a_rejection_are_no_reason_and_stay(started: Started, size: tuple[int, int]) -> None:
    run = ScriptedRun(scripted.awaiting(), stays=True)
    async with started(run, size=size) as pilot:
        await pilot.press("c", *"for later", "escape", "r", "enter")
        await settled(pilot)
        assert run.decisions == [Decision(action="reject", message="")]
        assert run.told == []
        assert words(pilot.app) == "for later"


@pytest.mark.slow
async def test_enter_after_words_tells_them_also_while_a_step_awaits(started: Started) -> None:
    run = ScriptedRun(scripted.awaiting(), stays=True)
    async with started(run) as pilot:
        await pilot.press("c", *"r no", "enter")
        await settled(pilot)
        assert run.told == [Ask(text="r no")]
        assert run.decisions == []


@pytest.mark.slow
async def test_a_question_that_appears_while_words_are_typed_does_not_turn_them_into_a_reason(started: Started) -> None:
    gate = asyncio.Event()
    run = ScriptedRun([*scripted.opening(), gate, scripted.PROPOSAL], stays=True)
    async with started(run) as pilot:
        await pilot.press("c", *"try")
        gate.set()
        await settled(pilot)
        assert "step 2 awaits you" in screen_text(pilot.app)
        await pilot.press(*" B", "enter")
        await settled(pilot)
        assert run.told == [Ask(text="try B")]
        assert run.decisions == []


@pytest.mark.slow
@SIZES
async def test_the_two_lines_have_their_own_signs_and_only_one_is_visible(
    started: Started, size: tuple[int, int]
) -> None:
    run = ScriptedRun(scripted.awaiting(), stays=True)
    async with started(run, size=size) as pilot:
        await pilot.press("c", *"mine")
        await settled(pilot)
        assert "you> mine" in screen_text(pilot.app)
        assert "reject>" not in screen_text(pilot.app)
        await pilot.press("f5")
        await settled(pilot)
        assert isinstance(pilot.app.focused, ReasonInput)
        assert "reject> why; Enter rejects, Esc leaves" in screen_text(pilot.app)
        assert "you> mine" not in screen_text(pilot.app)
        await pilot.press(*"slow", "escape")
        await settled(pilot)
        await pilot.press("4")
        await settled(pilot)
        assert "you> mine" in screen_text(pilot.app)
        assert "reject>" not in screen_text(pilot.app)
        assert (run.decisions, run.told) == ([], [])


@pytest.mark.slow
async def test_the_key_for_words_turns_a_rejection_back_into_words(started: Started) -> None:
    run = ScriptedRun(scripted.awaiting(), stays=True)
    async with started(run) as pilot:
        await pilot.press("r", *"slow", "ctrl+t", *"hm", "enter")
        await settled(pilot)
        assert run.told == [Ask(text="hm")]
        assert run.decisions == []


@pytest.mark.slow
async def test_a_reason_is_forgotten_with_its_question(started: Started) -> None:
    run = ScriptedRun([*scripted.opening(), *[scripted.PROPOSAL] * 2], stays=True)
    async with started(run) as pilot:
        await pilot.press("r", *"slow", "f2")
        await settled(pilot)
        await pilot.press("r", "enter")
        await settled(pilot)
        assert run.decisions == [Decision(action="approve"), Decision(action="reject", message="")]


@pytest.mark.slow
async def test_the_line_can_be_clicked_and_left_again(started: Started) -> None:
    run = ScriptedRun(scripted.running(), stays=True)
    async with started(run) as pilot:
        await pilot.click("#say")
        await pilot.press(*"hi", "enter", "escape")
        await settled(pilot)
        assert run.told == [Ask(text="hi")]
        assert focused_pane(pilot.app) == 4
        assert not isinstance(pilot.app.focused, Input)


@pytest.mark.slow
async def test_a_replay_keeps_the_words_and_says_that_it_cannot_be_changed(started: Started) -> None:
    run = ScriptedRun(scripted.running(), stays=True, is_replay=True)
    async with started(run) as pilot:
        await pilot.press("c", *"hi", "enter")
        await settled(pilot)
        assert notices(pilot.app) == ["This is a replay: nothing can be asked or changed."]
        assert words(pilot.app) == "hi"


STEERING = {
    "/hint use float4": Say(text="use float4"),
    "/try a smaller tile": AddStep(title="a smaller tile", before=2),
    "/HINT x": Say(text="x"),
}


@pytest.mark.slow
async def test_words_to_steer_by_look_different_and_are_no_question(started: Started) -> None:
    run = ScriptedRun(scripted.running(), stays=True)
    async with started(run, size=(80, 24)) as pilot:
        await pilot.press("c")
        for typed, told in STEERING.items():
            run.told.clear()
            await pilot.press(*typed)
            await settled(pilot)
            assert f"steer> {typed}" in screen_text(pilot.app)
            await pilot.press("enter")
            await settled(pilot)
            assert run.told == [told]
            assert words(pilot.app) == ""
            assert "you> " in screen_text(pilot.app)


@pytest.mark.slow
@pytest.mark.parametrize("model", [None, "none", "ollama:small"])
async def test_what_only_a_model_would_read_says_so_where_there_is_none(started: Started, model: str | None) -> None:
    first, *others = scripted.opening()
    run = ScriptedRun([first.model_copy(update={"model": model}), *others], stays=True)
    async with started(run) as pilot:
        for words in ("hint keep the name", "try unroll by four"):
            await pilot.press("escape", "c", "/", *words, "enter")
            await settled(pilot)
        assert run.told == [Say(text="keep the name"), AddStep(title="unroll by four")]
        told = [notice for notice in notices(pilot.app) if "has no model" in notice and "m names a model" in notice]
        assert len(told) == (0 if model == "ollama:small" else 1), "once, as long as it stands there"


@pytest.mark.slow
async def test_what_steers_nothing_is_told_and_stays(started: Started) -> None:
    run = ScriptedRun(scripted.running(), stays=True)
    async with started(run) as pilot:
        await pilot.press("c")
        for typed in ("/hint", "/try  ", "/faster please", "/"):
            pilot.app.clear_notifications()
            await pilot.press("ctrl+u", *typed, "enter")
            await settled(pilot)
            assert run.told == [], typed
            assert notices(pilot.app) == ["There are /hint WORDS, /try WORDS and /stop."], typed
            assert words(pilot.app) == typed


@pytest.mark.slow
async def test_stop_is_told_to_the_session(started: Started) -> None:
    run = ScriptedRun(scripted.running(), stays=True)
    async with started(run) as pilot:
        await pilot.press("c", *"/stop", "enter")
        await settled(pilot)
        assert run.told == [Stop()]


@pytest.mark.slow
async def test_a_question_is_about_the_row_or_the_hunk_that_the_user_comes_from(started: Started) -> None:
    run = ScriptedRun(scripted.awaiting(), stays=True)
    async with started(run) as pilot:
        await pilot.press("3", "c", *"a", "enter", "escape", "1", "right_square_bracket", "c", "c", *"b", "enter")
        await settled(pilot)
        row, hunk = run.told
        assert isinstance(row, Ask)
        assert isinstance(hunk, Ask)
        assert row.about.startswith("evaluation 32\ncandidate")
        assert "configuration" in row.about
        assert "float4 a = reinterpret_cast" in hunk.about


ANSWER = "Since **loads** are wide:\n\n- one\n\n```cuda\nfloat4 a[2];\n```\n"


@pytest.mark.slow
async def test_an_answer_arrives_as_markdown_with_code_in_colour_and_what_it_cost(started: Started) -> None:
    gate = asyncio.Event()
    script = [
        *scripted.opening(),
        events.QuestionAsked(number=1, text="why?", about="+ a\n- b"),
        events.AnswerText(number=1, text=ANSWER[:20]),
        gate,
        events.AnswerReceived(number=1, text=ANSWER, tokens=960, cost=0.25),
        events.QuestionAsked(number=2, text="sure?", about="evaluation 31\ncandidate  tiles [x]\nstate  fine"),
        events.AnswerFailed(number=2, reason="no connection"),
    ]
    async with started(ScriptedRun(script, stays=True)) as pilot:
        assert "you> why?  (about 2 lines of the diff)" in screen_text(pilot.app)
        assert "model> Since loads are" in screen_text(pilot.app)
        gate.set()
        await settled(pilot)
        shown = screen_text(pilot.app)
        assert all(part in shown for part in ("• one", "float4 a[2];", "960 tokens, $0.25", "no answer: no connection"))
        assert "you> sure?  (about evaluation 31)" in shown
        assert shown.count("model>") == 1
        assert pilot.app.session_screen.view_model.cost == 0.25  # type: ignore[attr-defined]


@pytest.mark.slow
async def test_a_question_that_is_not_answered_is_withdrawn_by_a_key_that_is_there_as_long_as_it_waits(
    started: Started,
) -> None:
    gate = asyncio.Event()
    asked = events.QuestionAsked(number=1, text="why?")
    run = ScriptedRun(
        [*scripted.opening(), asked, gate, events.AnswerFailed(number=1, reason="withdrawn by hand")], stays=True
    )
    async with started(run, size=(80, 24)) as pilot:
        assert "X withdraw" in screen_text(pilot.app).splitlines()[-1]
        await pilot.press("X")
        gate.set()
        await settled(pilot)
        assert "withdraw" not in screen_text(pilot.app).splitlines()[-1]
        await pilot.press("X")
        assert run.told == [Withdraw()]


@pytest.mark.slow
async def test_a_question_that_waits_for_the_one_before_says_so_and_words_to_steer_by_do_not(started: Started) -> None:
    asked = [*scripted.opening(), events.QuestionAsked(number=1, text="why")]
    async with started(ScriptedRun(asked, stays=True)) as pilot:
        await pilot.press("c", *"/hint x", "enter")
        await settled(pilot)
        assert notices(pilot.app) == []  # type: ignore[arg-type]
        await pilot.press(*"and", "enter")
        await settled(pilot)
        assert "once it has answered the question before" in notices(pilot.app)[-1]  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("keys", "shown"),
    [
        ("c", "⏎ send  esc leave"),
        ("r", "⏎ send  esc leave"),
        ("3/", "⏎ to the rows  esc all rows"),
        ("1/", "⏎ find  esc leave"),
    ],
)
async def test_a_line_to_type_into_says_what_takes_the_words_and_what_leaves(
    started: Started, keys: str, shown: str
) -> None:
    async with started(ScriptedRun(scripted.awaiting(), stays=True)) as pilot:
        await pilot.press(*keys)
        await settled(pilot)
        assert shown in screen_text(pilot.app).splitlines()[-1]


@pytest.mark.slow
async def test_what_does_not_stand_right_below_what_it_replies_to_says_what_that_is(started: Started) -> None:
    script = [
        *scripted.opening(),
        events.QuestionAsked(number=1, text="why so slow?"),
        events.PromptSent(call=1, purpose="plan", text="Plan.", tokens=7),
        events.QuestionAsked(number=2, text="and then?"),
        events.AnswerText(number=2, text="Right below."),
        events.ModelText(call=1, text="First a tile."),
        events.AnswerText(number=1, text="Narrow loads."),
        events.QuestionAsked(number=3, text="sure?"),
        events.AnswerReceived(number=1, text="Narrow loads, I said."),
        events.AnswerReceived(number=2, text="Right below it."),
        events.Note(text="measured"),
        events.AnswerFailed(number=3, reason="no connection"),
    ]
    async with started(ScriptedRun(script, stays=True), size=(80, 40)) as pilot:
        await pilot.press("4", "f")
        await settled(pilot)
        lines = [line.strip(" │▁▂▃▄▅▆▇█") for line in screen_text(pilot.app).splitlines()]
    said = lines[lines.index("you> why so slow?") : lines.index("you> ask, or /hint /try /stop")]
    assert [line for line in said if line and "token" not in line] == [
        "you> why so slow?",
        "you> and then?",
        "model> Right below it.",
        "model> to the prompt plan",
        "First a tile.",
        "model> to the question “why so slow?”",
        "Narrow loads, I said.",
        "you> sure?",
        "· measured",
        "✗ no answer to the question “sure?”: no connection",
    ]


CARD = json.dumps({
    "summary": "Wider **loads**.", "code": scripted.VECTORS.source, "restrictions": [], "grid": [],
    "shared_memory": "0",
    "tunables": [{"name": "vec", "values": [1, 2, 4], "default": 2}, {"name": "b[/x]", "values": [8], "default": 8}],
    "block_size": ["vec", 1], "grid_div_z": "",
})  # fmt: skip


TAKEN = scripted.incumbent(33, scripted.VECTORS, 0.0899, (1.83, 1.80, 1.86))


@pytest.mark.slow
@pytest.mark.parametrize("later", [[], [TAKEN]], ids=["arriving", "taken since"])
async def test_a_reply_with_a_kernel_is_a_card_and_its_json_is_behind_a_fold(started: Started, later) -> None:
    reply = events.ReplyReceived(call=2, text=CARD, input_tokens=1, output_tokens=2, cost=0.0)
    script = [*scripted.running(), reply, *later]
    async with started(ScriptedRun(script, stays=True)) as pilot:
        await pilot.press("4")
        await settled(pilot)
        shown = screen_text(pilot.app)
        for part in ("model> Wider loads.", "kernel +5 -1 → pane 1", "vec    1 2 4", "b[/x]  8", "block size  vec 1"):
            assert part in shown
        for name in ("restrictions", "grid", "shared_memory", "**"):
            assert name not in shown.partition("model> Wider")[2].partition("raw reply")[0]
        assert '"tunables"' not in shown
        await pilot.press("enter")
        await settled(pilot)
        assert '"restrictions"' in screen_text(pilot.app)


async def test_what_came_to_nothing_or_was_changed_is_told_for_what_it_is(started: Started) -> None:
    told = [
        events.CallFailed(call=1, reason="skipped by hand"),
        events.ModelChanged(model="none"),
        events.BudgetChanged(max_evaluations=200, max_calls=150),
        events.ReplyRefused(call=2, problems=["code: Field required"]),
    ]
    async with started(ScriptedRun([*scripted.opening(), *told], stays=True), size=(120, 36)) as pilot:
        await settled(pilot)
        shown = screen_text(pilot.app)
        assert "✗ the call came to nothing: skipped by" in shown
        assert "· model from here on: none" in shown
        assert "· the budget from here on: 200" in shown
        assert "✗ reply refused:" in shown, "whether the model is asked again is not known yet"


async def test_thoughts_among_the_words_are_folded_while_they_arrive_too(started: Started) -> None:
    gate = asyncio.Event()
    prompt = events.PromptSent(call=1, purpose="apply_step", text="?", tokens=1)
    script = [prompt, events.ModelText(call=1, text="<think>loads of A, "), events.ModelText(call=1, text="of B")]
    rest = events.ModelText(call=1, text="</think>First a tile.")
    async with started(ScriptedRun([*scripted.opening(), *script, gate, rest], stays=True)) as pilot:
        await settled(pilot)
        shown = screen_text(pilot.app)
        assert "▸ thinking, 5 words" in shown
        assert "think>" not in shown
        assert "loads of A" not in shown
        gate.set()
        await settled(pilot)
        assert "model> First a tile." in screen_text(pilot.app)
        assert "▸ thinking, 5 words" in screen_text(pilot.app)
