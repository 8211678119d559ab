"""A Tensile session's view model, rows, words and headless lines: all without a screen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from textual.content import Content

from tests.tensile.screen import script as tensile_script
from tests.tui import scripted
from tests.tui.test_pure import view_model_of
from tui_tuner.format import duration
from tui_tuner.session import events
from tui_tuner.strategies.steps import Decision, Proposal
from tui_tuner.tensile import TENSILE
from tui_tuner.tensile.events import ConfigurationText, WinnersChanged
from tui_tuner.tensile.outcome import (
    FINALS,
    RoundOutcome,
    RunFailure,
    RunFailureKind,
    gflops_words,
    outcome_words,
    values_words,
)
from tui_tuner.tensile.screen import TensileView, permutations_change, size_dialog
from tui_tuner.tensile.screen_table import (
    BY_GAIN,
    IN_FILE,
    SIZE_COLUMNS,
    SizeContext,
    SizeRow,
    TensileViewModel,
    runs_line,
    size_rows,
    telling_first,
    visible_sizes,
)
from tui_tuner.tui.kernel_view import KernelView
from tui_tuner.tui.panes.charts import best_chart
from tui_tuner.tui.plan_lines import step_detail
from tui_tuner.tui.status import header_line, status_parts
from tui_tuner.tui.text import fitting
from tui_tuner.tui.text.diff import diff_picture


def model_of(entries: Sequence[object]) -> TensileViewModel:
    """What the screen knows after some events."""
    model = TensileViewModel()
    for entry in entries:
        model.apply(entry)  # type: ignore[arg-type]
    return model


def view_of(entries: Sequence[object]) -> TensileView:
    """The same as the screen asks for it."""
    view = TensileView()
    for entry in entries:
        view.apply(entry)  # type: ignore[arg-type]
    return view


def test_the_picture_counts_runs_time_and_the_permutations_that_the_budget_counts() -> None:
    tensile = model_of([*tensile_script.finished()])
    assert len(tensile.ended) == 3
    assert tensile.permutations == 8 + 24 + 48
    assert tensile.seconds == pytest.approx(47.3 + 84.1 + 600)
    assert list(tensile.means) == [0, 1]


def test_the_configuration_in_force_is_that_of_the_last_run_with_results() -> None:
    given, whole = model_of([*tensile_script.opening()]), model_of([*tensile_script.finished()])
    assert given.best is None
    assert whole.best == tensile_script.SPLIT


def test_a_configuration_that_the_user_edited_is_known_when_it_is_measured() -> None:
    proposal = Proposal(step=tensile_script.STEPS[1], candidate=tensile_script.SPLIT)
    decision = Decision(action="edit", source="edited: yes\n")
    taken: ConfigurationText = decision.applied_to(tensile_script.SPLIT)
    model = model_of(
        [
            *tensile_script.opening(),
            events.ApprovalAsked(proposal=proposal),
            events.ApprovalGiven(step=2, decision=decision),
            *tensile_script.ran(1, taken, tensile_script.SECOND, 24, 1.0),
        ]
    )
    assert model.best == taken


def test_there_is_no_gain_before_a_second_run_gave_results() -> None:
    assert model_of([*tensile_script.measuring()]).gain is None
    assert model_of([*tensile_script.two_runs()]).gain == pytest.approx(1.086, abs=0.001)


def test_a_kernel_session_has_no_tensile_part() -> None:
    view_model = view_model_of([*scripted.running()])
    assert scripted.ScriptedRun([]).subject is not TENSILE
    assert model_of([*scripted.running()]).runs == {}
    assert KernelView().best(view_model) == scripted.TILES


def cells_of(row: SizeRow, context: SizeContext) -> dict[str, str]:
    return {column.name: column.cell(row, context) for column in SIZE_COLUMNS}


def test_a_row_says_size_speed_gain_time_round_and_the_winners_values_those_that_differ_first() -> None:
    rows = size_rows(model_of([*tensile_script.two_runs()]))
    cells = cells_of(rows[0], SizeContext.of(rows, latest=1))
    assert [cells[name] for name in ("problem size", "GFLOP/s", "gain", "µs", "round")] == [
        "256x128x1x4096", "9,310", "1.23x", "28.8", "1",
    ]  # fmt: skip
    assert cells["winner"] == "GlobalSplitU 8 MatrixInstruction [32,32,8,1,1,2,2,2,2] DepthU 64 PrefetchGlobalRead 2"


def test_of_what_tells_winners_apart_short_values_stand_first() -> None:
    rows = size_rows(model_of([*tensile_script.two_runs()]))
    small = {"MatrixInstruction": tensile_script.SMALL, "GlobalSplitU": 1}
    winner = rows[2].winner
    assert winner is not None
    apart = [*rows[:2], replace(rows[2], winner=winner.model_copy(update={"values": {**winner.values, **small}}))]
    assert telling_first(apart) == ["GlobalSplitU", "MatrixInstruction", "DepthU", "PrefetchGlobalRead"]


def test_a_size_without_a_valid_solution_has_a_row_that_says_so() -> None:
    nothing = tensile_script.FIRST.sizes[0].model_copy(update={"ranked": [], "slowest": [], "measured": 0, "failed": 8})
    outcome = tensile_script.FIRST.model_copy(update={"sizes": [nothing, *tensile_script.FIRST.sizes[1:]]})
    model = model_of(
        [
            *tensile_script.opening(),
            *tensile_script.ran(0, tensile_script.GIVEN, outcome, 8, 1.0),
            WinnersChanged(round=0, winners=tensile_script.winners(outcome)),
        ]
    )
    rows = size_rows(model)
    assert [row.winner is None for row in rows] == [True, False, False]
    assert cells_of(rows[0], SizeContext())["winner"] == "no valid solution"
    assert "8 failed validation" in size_dialog(rows[0], model)[1].plain
    assert visible_sizes(rows, BY_GAIN, [])[-1] == rows[0]


def test_sizes_stand_as_in_the_file_or_with_the_largest_gain_first() -> None:
    rows = size_rows(model_of([*tensile_script.two_runs()]))
    other_way = rows[::-1]
    assert [row.place for row in visible_sizes(rows, IN_FILE, [])] == [0, 1, 2]
    assert [row.place for row in visible_sizes(other_way, BY_GAIN, [])] == [0, 1, 2]


@pytest.mark.parametrize(
    ("words", "places"), [("256x128", [0]), ("globalsplitu=8", [0]), ("round=1", [0, 1]), ("depthu=32", [])]
)
def test_the_filter_looks_at_sizes_rounds_and_values(words: str, places: list[int]) -> None:
    rows = size_rows(model_of([*tensile_script.two_runs()]))
    assert [row.place for row in visible_sizes(rows, IN_FILE, words.split())] == places


def test_the_line_below_the_table_tells_the_work_and_the_time_or_what_tensile_prints() -> None:
    lines = {
        "": tensile_script.opening(),
        "round 1: 24 permutations x 3 sizes, 47 s before it · 41% [8/20]": tensile_script.measuring(),
        "round 1: 24 permutations x 3 sizes in 84 s, 131 s in all": tensile_script.two_runs(),
        "round 2: time-out after 10 min, 12 min in all": tensile_script.finished(),
    }
    assert [runs_line(model_of([*entries])) for entries in lines.values()] == list(lines)


def test_a_size_in_full_has_the_winner_the_ranking_the_slowest_and_what_was_rejected() -> None:
    model = model_of([*tensile_script.two_runs()])
    title, text = size_dialog(size_rows(model)[0], model)
    assert title.plain == "256x128x1x4096"
    for part in (
        "1.23x the 7,560 of the first run",
        "            GlobalSplitU       = 8",
        "round 1: 22 solutions timed, 2 failed validation",
        "   2     8,938  MatrixInstruction [32,32,8,1,1,2,2,2,2] DepthU 32 GlobalSplitU 8",
        "the slowest\n  22     5,942  ",
        "   4  GlobalSplitU needs a workspace",
    ):
        assert part in text.plain
    assert text.plain.count("PrefetchGlobalRead") == 1


def test_groups_are_told_apart_where_there_are_several() -> None:
    second = tensile_script.measured(1, tensile_script.SIZES[0], 100.0, [None])
    outcome = tensile_script.FIRST.model_copy(update={"sizes": [*tensile_script.FIRST.sizes, second]})
    model = model_of([*tensile_script.opening(), *tensile_script.ran(0, tensile_script.GIVEN, outcome, 8, 1.0)])
    rows = size_rows(model)
    assert [row.key for row in rows][::3] == ["0:256x128x1x4096", "1:256x128x1x4096"]
    assert size_dialog(rows[3], model)[0].plain == "256x128x1x4096 · size group 1"


@pytest.mark.parametrize("width", [30, 50, 80, 120])
def test_header_and_status_tell_gain_runs_and_permutations_and_fit(width: int) -> None:
    entries = [*tensile_script.two_runs()]
    model, view = view_model_of(entries), view_of(entries)
    line = header_line(model, view, width)
    assert line.cell_length <= width
    assert line.plain.endswith("1.09x")
    status = fitting(status_parts(model, view, 146.0, None), Content(" · "), width)
    assert status.cell_length <= width
    assert "eval" not in status.plain
    assert "2 runs" in status.plain
    assert "32 permutations" in status.plain
    assert ("call" in status.plain) == (width >= 50)


def test_at_the_end_the_header_has_the_gain_of_the_result() -> None:
    *before, end = tensile_script.finished()
    assert isinstance(end, events.SessionFinished)
    entries = [*before, end.model_copy(update={"speedup": (1.84, 1.83, 1.85)})]
    model, view = view_model_of(entries), view_of(entries)
    assert "1.84x │" in header_line(model, view, 120).plain
    assert view.result(entries[-1], model).plain.splitlines()[0].split()[1] == "1.84x"


def test_the_result_speaks_of_gflops_and_of_best_yaml() -> None:
    entries = [*tensile_script.finished()]
    finished = entries[-1]
    assert isinstance(finished, events.SessionFinished)
    text = view_of(entries).result(finished, view_model_of(entries)).plain
    assert "1.09x [1.04,1.14] in GFLOP/s over the configuration as given, geometric mean of 3 sizes" in text
    assert "best.yaml in runs/hgemm_tn-20261120-1432" in text
    assert "80 permutations in 3 runs, 12 min" in text
    assert "kernel" not in text


def test_the_lines_of_a_detail_stay_lines() -> None:
    step = tensile_script.STEPS[2]
    assert step_detail(step, f"why\n{step.detail}\nhope", lines=True).plain == f"{step.detail}\n\nwhy\n\nhope"
    assert step_detail(step, "").plain == step.detail


def test_several_edits_change_the_permutations_from_the_first_count_to_the_last() -> None:
    assert permutations_change(tensile_script.STEPS[2].detail) == "24 -> 48 permutations"
    assert permutations_change("Each block reads its tiles once.") == ""


def test_runs_of_the_finalists_are_counted_but_neither_in_force_nor_what_a_size_was_measured_with() -> None:
    again = tensile_script.FIRST.model_copy(update={"seconds": 9.0})
    entries = [*tensile_script.two_runs(), *tensile_script.ran(FINALS, tensile_script.DEEP, again, 2, 200.0)]
    model = model_of(entries)
    assert model.best == tensile_script.SPLIT
    assert [row.measured_in for row in size_rows(model)] == [1, 1, 1]
    assert runs_line(model) == "final run 1: 2 permutations x 3 sizes in 9.0 s, 140 s in all"
    assert model.permutations == 8 + 24 + 2


def test_a_diff_of_configurations_is_highlighted() -> None:
    content = diff_picture(tensile_script.YAML, tensile_script.WIDER, "yaml").content
    assert "+ " in content.plain
    assert any("text-" in str(span.style) for span in content.spans)


def test_speeds_times_and_values_in_words() -> None:
    assert [gflops_words(value) for value in (119400.0, 812.34, 8.127)] == ["119,400", "812.3", "8.13"]
    assert [duration(value) for value in (0.41, 84.1, 731.0, 11100.0)] == ["0.4 s", "84 s", "12 min", "3 h 5 min"]
    assert values_words({"DepthU": 64, "SourceSwap": True, "MatrixInstruction": [16, 16]}) == (
        "DepthU 64 SourceSwap True MatrixInstruction [16,16]"
    )


def test_an_outcome_in_words_names_the_failure_or_the_work_and_what_was_lost() -> None:
    crash = RoundOutcome(seconds=3.2, failure=RunFailure(kind=RunFailureKind.CRASH, message="signal 11"))
    assert outcome_words(crash) == "crash after 3.2 s: signal 11"
    assert outcome_words(tensile_script.SECOND) == (
        "24 permutations x 3 sizes measured in 84 s, 4 rejected, 2 failed validation"
    )


def test_the_curve_of_speeds_has_a_title_and_a_unit_of_its_own() -> None:
    curve = best_chart([7560.0, 9310.0], "GFLOP/s", 60, 1, title="mean of best", words=gflops_words)
    assert curve.plain.startswith("mean of best 7,560 → 9,310 GFLOP/s ")


def test_the_column_of_groups_is_there_where_there_are_several() -> None:
    row = SizeRow(0, 1, (256, 128, 1, 4096))
    assert cells_of(row, SizeContext.of([row, SizeRow(1, 0, (256, 128, 1, 4096))], latest=0))["group"] == "1"
    assert cells_of(row, SizeContext.of([row], latest=0))["group"] == ""
    assert SIZE_COLUMNS[0].optional
