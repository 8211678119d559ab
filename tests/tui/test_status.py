"""The two lines that are always there, and the best that is the same wherever it stands."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.content import Content

from tests.tui import scripted
from tests.tui.conftest import Started, settled
from tests.tui.looking import screen_text, view_model_of
from tests.tui.scripted import ScriptedRun
from tui_tuner.evaluate.profiling import NO_PROFILE
from tui_tuner.evaluate.results import Comparison
from tui_tuner.session import events
from tui_tuner.session.live import WatchedRun
from tui_tuner.strategies.steps import StepState
from tui_tuner.tui.kernel_view import KernelView
from tui_tuner.tui.panes.charts import best_chart
from tui_tuner.tui.status import clock_words, header_line, status_parts
from tui_tuner.tui.text import differing, fitting


@pytest.mark.parametrize("seen_as", [(), ("attached",), ("replay", "event 12/345, paused")])
@pytest.mark.parametrize("width", [30, 60, 80, 120, 200])
def test_the_header_never_overflows_and_keeps_kernel_speedup_and_cpu_label(
    width: int, seen_as: tuple[str, ...]
) -> None:
    entries = [*scripted.opening(scripted.EMULATOR), *scripted.running()[2:]]
    line = header_line(view_model_of(entries), KernelView(), width, seen_as)
    assert line.cell_length <= width
    assert all(words in line.plain for words in seen_as[:1])
    assert all(words in line.plain for words in seen_as) or width < 80
    if width >= 60:
        assert "matmul.cu" in line.plain
        assert "CPU ms (emulator)" in line.plain
        assert "1.62x" in line.plain


def test_a_question_to_the_model_is_under_way_until_it_is_answered_or_fails() -> None:
    asked = [events.QuestionAsked(number=number, text="why?", elapsed=100.0 + number) for number in (1, 2)]
    model = view_model_of([*scripted.opening(), *asked])

    def line() -> str:
        return fitting(status_parts(model, KernelView(), 108.0, None), Content(" · "), 200).plain

    assert line().startswith("… model: your question 00:07, no word yet · … model: your question 00:06, no word yet")
    model.apply(events.AnswerText(number=2, text="since " * 10, thinking="hm, " * 5))
    assert "your question 00:06, 20 tokens" in line()
    model.apply(events.AnswerReceived(number=2, text="since", tokens=20))
    assert line().count("your question") == 1
    model.apply(events.AnswerFailed(number=1, reason="no connection"))
    assert "your question" not in line()


def test_a_long_name_is_cut_in_the_header_and_takes_nothing_else_away() -> None:
    device = scripted.H200.model_copy(update={"name": "NVIDIA H200, " + "recorded before " * 20})
    line = header_line(view_model_of(scripted.opening(device)), KernelView(), 120)
    assert line.cell_length == 120
    assert "… │ anthropic:claude-sonnet │ autonomous" in line.plain


@pytest.mark.slow
async def test_the_header_says_that_one_is_attached_and_to_which_run(started: Started) -> None:
    async with started(ScriptedRun(scripted.running(), stays=True, seen_as=WatchedRun.seen_as)) as pilot:
        header = screen_text(pilot.app).splitlines()[0]
    assert header.startswith(" matmul.cu │ attached │ matmul-20261120-1432 │ ")


def test_the_best_is_the_incumbents_or_marked_as_unconfirmed() -> None:
    faster = scripted.evaluation(40, scripted.measured(scripted.TILES, 40, 0.08))
    comparison = Comparison(ratio=0.99, low=0.98, high=1.0, pairs=10)
    refuted = events.Compared(candidate=scripted.TILES.id, configuration={}, comparison=comparison)
    contents = KernelView().contents()
    model = view_model_of(scripted.running())
    incumbent = next(row for row in model.rows.values() if row.incumbent)
    assert model.confirmed
    assert model.best_times[-1] == incumbent.time
    for event in faster:
        model.apply(event)
    assert (model.confirmed, model.best_times[-1]) == (False, 0.08)
    assert "unconfirmed" in contents.chart(model, "best so far", 60, 3).plain
    model.apply(refuted)
    assert (model.confirmed, model.best_times[-1]) == (True, incumbent.time)
    assert "unconfirmed" not in contents.chart(model, "best so far", 60, 1).plain


@pytest.mark.slow
async def test_before_the_first_step_what_was_told_last_stands_over_the_status(started: Started) -> None:
    proposed, ended = (asyncio.Event() for _ in range(2))
    script = [*scripted.opening(), proposed, scripted.step(1, StepState.RUNNING), ended,
              scripted.step(1, StepState.ACCEPTED), events.Note(text="a note")]  # fmt: skip
    async with started(ScriptedRun(script, stays=True), size=(80, 24)) as pilot:
        lines = []
        for gate in (proposed, ended, None):
            lines.append(screen_text(pilot.app).splitlines()[-3].strip())
            if gate is not None:
                gate.set()
            await settled(pilot)
    assert lines == ["baseline measured, 0.1651 ms as given", "› step 1: Tile through shared memory", ""]  # noqa: RUF001
    async with started(ScriptedRun(scripted.finished()), size=(80, 24)) as pilot:  # all of it within a tick
        await pilot.press("escape")
        assert screen_text(pilot.app).splitlines()[-3].strip() == ""


def test_what_was_timed_as_faster_stays_the_best_until_its_step_says_otherwise() -> None:
    model = view_model_of(scripted.running())
    incumbent = next(row for row in model.rows.values() if row.incumbent)
    comparison = Comparison(ratio=1.3, low=1.2, high=1.4, pairs=10)
    awaiting = scripted.step(2, StepState.AWAITING)
    faster = events.Compared(candidate=scripted.TILES.id, configuration={}, comparison=comparison)
    for event in (*scripted.evaluation(40, scripted.measured(scripted.TILES, 40, 0.08)), faster, awaiting):
        model.apply(event)
    assert (model.confirmed, model.best_times[-1]) == (False, 0.08)
    model.apply(scripted.step(2, StepState.REJECTED))
    assert (model.confirmed, model.best_times[-1]) == (True, incumbent.time)


def test_one_factor_is_shown_everywhere_at_the_end() -> None:
    *before, end = scripted.finished()
    assert isinstance(end, events.SessionFinished)
    model = view_model_of([*before, end.model_copy(update={"speedup": (1.79, 1.77, 1.81)})])
    view = KernelView()
    assert view.gain(model) == 1.79
    assert "1.79x" in view.best_words(model)
    assert header_line(model, view, 80).plain.rstrip().endswith("1.79x │ finished")


def status_of(entries: list[object], width: int, elapsed: float = 322.0) -> str:
    parts = status_parts(view_model_of(entries), KernelView(), elapsed, 1.0)
    return fitting(parts, Content(" · "), width).plain


def test_the_status_line_says_what_is_done_and_what_is_spent_of_what_may_be() -> None:
    tuning = [*scripted.awaiting()[:-1], events.SearchBegun(candidate="c", evaluations=27),
              *scripted.evaluation(33, scripted.measured(scripted.TILES, 33, 0.1))]  # fmt: skip
    done = "step 2/4 · searching 1/27 · eval 32/80 ▓▓░░░"
    best = "best 0.1000 ms, unconfirmed"
    assert status_of(tuning, 120) == f"{done} · {best} · call 2/100 · $0.02 of 2.00"
    assert status_of(tuning, 80) == f"{done} · {best}"
    assert clock_words(view_model_of(tuning), 372) == "06:12 of 20m"
    assert status_of(tuning, 50) == done
    assert status_of(tuning, 10) == "step 2/4"


def test_no_price_is_told_before_one_is_known_unless_there_is_a_limit() -> None:
    begun = scripted.opening()
    assert isinstance(begun[0], events.SessionStarted)
    assert status_of(begun, 120).endswith("call 0/100 · $0.00 of 2.00")
    assert status_of([begun[0].model_copy(update={"max_cost": None}), *begun[1:]], 120).endswith("call 0/100")


def test_the_status_line_says_what_the_machine_does_and_that_it_does_nothing_more() -> None:
    of = {"candidate": scripted.TILES.id, "configuration": {"block_size_x": 32}}
    begun, done = scripted.evaluation(33, scripted.measured(scripted.TILES, 33, 0.1))
    comparison = Comparison(ratio=1.3, low=1.2, high=1.4, pairs=10)
    search = events.SearchBegun(candidate="c", evaluations=27)
    settled_step, new_step = scripted.step(2, StepState.ACCEPTED), scripted.step(3, StepState.PROPOSED)
    for work, under_way, ends in (
        ("evaluating", [begun], [done]),
        ("evaluating", [begun], [events.EvaluationLeft(number=33)]),
        ("searching 1/27", [search, begun, done], [settled_step]),
        ("searching 0/27", [search, new_step], []),
        ("comparing", [search, begun, done, events.ComparisonBegun(**of)],
         [events.Compared(**of, comparison=comparison)]),
        ("comparing", [events.ComparisonBegun(**of)], [settled_step]),
        ("profiling", [events.ProfileBegun(**of)], [events.Profiled(**of, profile=NO_PROFILE)]),
    ):  # fmt: skip
        before = [*scripted.opening(), scripted.step(2, StepState.RUNNING), *under_way]
        assert f" · {work} · eval" in status_of(before, 120)
        assert not ends or work not in status_of([*before, *ends], 120)
        assert work not in status_of([*before, scripted.finished()[-1]], 120)


def test_the_status_line_tells_how_long_the_model_takes_until_it_answers_or_fails() -> None:
    thinks = events.ModelText(call=2, thinking="x" * 12_000, elapsed=330.0)
    asked = [*scripted.running(), thinks]
    assert status_of(asked, 120, 367.0).startswith("⠹ model: one_prompt 00:47, 3.1k tokens · ")
    assert status_of(asked, 42, 367.0) == "⠹ model: one_prompt 00:47, 3.1k tokens"
    for end in (events.CallFailed(call=2, reason="gone"), events.ReplyReceived(call=2, text="")):
        assert "model:" not in status_of([*asked, end], 120)


def test_a_finished_session_names_its_effort_and_nothing_under_way() -> None:
    assert status_of(scripted.finished(), 120) == "34 evals · call 2/100 · $0.02 of 2.00"


@given(st.text("ab ", max_size=9), st.text("ab ", max_size=9))
def test_cells_that_differ_are_found(before: str, now: str) -> None:
    cells = differing(before, now)
    if cells is None:
        assert before.rstrip() == now.rstrip()
        return
    start, end = cells
    width = max(len(before), len(now))
    old, new = before.ljust(width), now.ljust(width)
    assert old[:start] + new[start:end] + old[end:] == new
    assert old[start] != new[start]
    assert old[end - 1] != new[end - 1]


def test_the_curve_names_its_first_and_its_best_time() -> None:
    assert best_chart([0.2, 0.1], "ms", 60, 1).plain.startswith("best so far 0.2000 → 0.1000 ms ")
    assert best_chart([0.2, 0.1], "ms", 60, 1, note="in 8 s").plain.startswith("best so far, in 8 s 0.2000 → ")
    narrow = best_chart([3.875, 0.5536], "ms (recorded)", 58, 1, note="unconfirmed").plain
    assert narrow.startswith("unconfirmed 3.875 → 0.5536 ms (recorded) ")
    assert len(narrow) == 58
    labels = [line[:26].rstrip() for line in best_chart([0.2, 0.1], "ms", 60, 3, note="in 8 s").plain.split("\n")]
    assert labels == ["best so far  first 0.2000", "in 8 s", "ms            best 0.1000"]
    rising = [line[:25].rstrip() for line in best_chart([1.0, 2.0], "GFLOP/s", 60, 3).plain.split("\n")]
    assert rising == ["best so far   best 2.000", "", "GFLOP/s      first 1.000"]


def test_the_curve_of_the_best_never_rises_again() -> None:
    view_model = view_model_of(scripted.running())
    before = view_model.best_times[-1]
    fast = [scripted.evaluation(number, scripted.measured(scripted.TILES, number, before / 2)) for number in (90, 91)]
    for event in [event for pair in fast for event in pair]:
        view_model.apply(event)  # type: ignore[arg-type]
    assert not view_model.confirmed
    assert view_model.incumbent is not None
    view_model.apply(view_model.incumbent)
    assert view_model.confirmed
    assert view_model.best_times == sorted(view_model.best_times, reverse=True)


@pytest.mark.slow
async def test_the_clock_of_a_run_that_is_watched_is_that_of_the_run_from_the_first_moment(started: Started) -> None:
    now, run = [100.0], ScriptedRun([*scripted.awaiting()], stays=True)
    run.behind_s = 240.0  # what was heard last, at 05:30 of the run, had happened so long before
    async with started(run, clock=lambda: now[0]) as pilot:
        for passed, shown in ((0, "09:30 of 20m"), (1, "09:31 of 20m"), (59, "10:30 of 20m")):
            now[0] += passed
            await settled(pilot)
            assert shown in screen_text(pilot.app)


@pytest.mark.slow
@pytest.mark.parametrize(("width", "has_room"), [(80, False), (120, True)])
async def test_keys_that_look_closer_are_told_where_there_is_room_beside_all_others(
    started: Started, width: int, has_room: bool
) -> None:
    async with started(ScriptedRun(scripted.running(), stays=True), size=(width, 36)) as pilot:
        await pilot.press("3")
        await settled(pilot)
        keys = screen_text(pilot.app).splitlines()[-1]
        assert "p pause" in keys
        assert ("⏎ open row" in keys, "h chart" in keys) == (has_room, has_room)
