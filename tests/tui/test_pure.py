"""Formatting, diff rows, table rows, the curve: all without a screen."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.app import App, ComposeResult

from tests.tui import scripted
from tests.tui.kernels import NAIVE, VECTORISED
from tests.tui.looking import view_model_of
from tui_tuner.evaluate.profiling.bottleneck import Diagnosis
from tui_tuner.evaluate.results import Comparison, Failure, FailureKind
from tui_tuner.problem.expressions import ExpressionError
from tui_tuner.problem.model import Value
from tui_tuner.session.events import CandidateProposed, Compared, IncumbentChanged, SessionFinished
from tui_tuner.strategies.steps import Step, StepState
from tui_tuner.tui.approval import QuestionLine
from tui_tuner.tui.frame import KeyEntry, key_line
from tui_tuner.tui.kernel_view import KernelView
from tui_tuner.tui.panes.charts import chart_rows, sampled
from tui_tuner.tui.plan_lines import step_detail, step_lines
from tui_tuner.tui.tables import OrderedRows
from tui_tuner.tui.tables.evaluation_table import (
    EVALUATION_COLUMNS,
    FASTEST,
    EvaluationContext,
    Tunables,
    TunableWidths,
    short_names,
)
from tui_tuner.tui.tables.rows import RowFilter, evaluation_text, matches, state_words
from tui_tuner.tui.text import diff, laid_out
from tui_tuner.tui.text.diff import changed_lines, diff_picture, diff_rows
from tui_tuner.tui.text.markdown import markdown_text
from tui_tuner.tui.text.source_views import LinedArea
from tui_tuner.tui.view_model import EvaluationRow, time_label


def tunables(rows: list[EvaluationRow], offered: dict[str, list[Value]]) -> Tunables:
    widths = TunableWidths(offered)
    for row in rows:
        widths.see(row.configuration)
    return widths.columns()


def test_times_of_the_emulator_are_called_cpu_times() -> None:
    assert time_label(scripted.EMULATOR) == "CPU ms (emulator)"
    assert time_label(scripted.H200) == "ms"


def test_a_best_kernel_that_a_recording_came_without_is_named_by_what_prints_it(tmp_path: Path) -> None:
    first, *others, end = scripted.finished()
    started = first.model_copy(update={"directory": str(tmp_path)})
    replayed = SessionFinished.model_validate({**end.model_dump(), "result": None})
    told = KernelView().result(replayed, view_model_of([started, *others])).plain
    assert "tuner-tui best matmul-20261120-1432 prints it" in told
    (tmp_path / "best.cu").touch()
    assert f"{tmp_path}/best.cu" in KernelView().result(replayed, view_model_of([started, *others])).plain


@pytest.mark.parametrize(("language", "how"), [("opencl", "--apply"), ("recorded", "--as configuration")])
def test_the_end_names_the_command_that_takes_over_what_was_tuned(language: str, how: str) -> None:
    first, *others, end = scripted.finished()
    assert isinstance(end, SessionFinished)
    started = first.model_copy(update={"language": language})
    told = KernelView().result(end, view_model_of([started, *others])).plain
    assert f"tuner-tui best matmul-20261120-1432 {how}" in told


LINES = st.lists(st.sampled_from(["a", "b", "c", "}", ""]), max_size=30)


@given(LINES, LINES)
def test_diff_rows_account_for_every_line_of_both_sources(old: list[str], new: list[str]) -> None:
    rows = diff_rows(old, new)
    unchanged = sum(row.lines for row in rows if row.kind in ("same", "fold"))
    added, removed = changed_lines(rows)
    assert unchanged + added == len(new)
    assert unchanged + removed == len(old)


def test_long_unchanged_parts_are_folded_with_three_lines_around_a_change() -> None:
    old = [f"line {number}" for number in range(40)]
    new = [*old[:20], "changed", *old[21:]]
    assert [(row.kind, row.lines) for row in diff_rows(old, new)] == [
        ("fold", 17), *[("same", 1)] * 3, ("removed", 1), ("added", 1), *[("same", 1)] * 3, ("fold", 16),
    ]  # fmt: skip


def test_a_diff_shows_signs_and_line_numbers_and_the_text_as_it_stands() -> None:
    text = diff_picture("a[i] = 1;\n", "a[i] = b[/x];\n", "cuda").content.plain.split("\n")
    assert [line.rstrip() for line in text] == ["+1 -1 lines", "1 - a[i] = 1;", "1 + a[i] = b[/x];"]


def test_a_diff_of_kernels_is_highlighted() -> None:
    content = diff_picture(NAIVE, VECTORISED, "cuda").content
    assert any("text-accent" in str(span.style) for span in content.spans)


@pytest.mark.parametrize(
    ("language", "code"),
    [("cuda", "__global__ void f();"), ("opencl", "kernel void f();"), ("c", "int f();"), ("python", "def f(): pass")],
)
async def test_a_text_in_each_language_of_kernels_is_highlighted(language: str, code: str) -> None:
    class Shown(App[None]):
        def compose(self) -> ComposeResult:
            yield LinedArea(code)

    app = Shown()
    async with app.run_test():
        area = app.query_one(LinedArea)
        area.colour_as(language)
        assert area.language == language
        assert area._highlights[0], "a word of the first line has a colour"


def test_a_source_is_coloured_once_however_often_its_diff_is_drawn_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []
    known = diff.coloured
    monkeypatch.setattr(diff, "coloured", lambda lines, language: looked.append(lines[0]) or known(lines, language))
    one, other = ("// only here: {}\nint a = {};\n".format(*both) for both in ((1, 2), (2, 3)))
    pictures = [diff_picture(one, other, "cuda", columns=columns) for columns in (None, 100, 60)]
    assert looked == ["// only here: 1", "// only here: 2"]
    assert len({picture.content.plain for picture in pictures}) == 2, "one under the other, and side by side"


def test_equal_sources_have_no_diff() -> None:
    assert diff_picture(NAIVE, NAIVE, "cuda").content.plain == "no difference"


def test_short_names_are_initials_and_whole_where_they_would_be_ambiguous() -> None:
    assert short_names(["block_size_x", "unroll"]) == ["bsx", "unr"]
    assert short_names(["tile_x", "thread_x", "vec"]) == ["tile_x", "thread_x", "vec"]


def test_every_tunable_has_its_place_in_the_configuration_column() -> None:
    rows = [
        EvaluationRow(1, "c", {"block_size_x": 64, "unroll": 2}),
        EvaluationRow(2, "c", {"block_size_x": 8, "use_smem": True}),
    ]
    columns = tunables(rows, {"unroll": [1, 2], "use_smem": [False, True]})
    assert columns.header == "bsx unr us"
    assert columns.line(rows[0].configuration) == " 64   2  ·"
    assert columns.line(rows[1].configuration) == "  8   ·  1"
    assert columns.legend == "bsx block_size_x, unr unroll, us use_smem"


def test_what_can_have_one_value_only_needs_no_place_while_it_has_it() -> None:
    rows = [EvaluationRow(1, "c", {"size": 8, "fixed": 4}), EvaluationRow(2, "c", {"size": 16, "fixed": 4})]
    assert tunables(rows, {"size": [8, 16], "fixed": [4]}).names == ("size",)
    assert tunables([*rows, EvaluationRow(3, "d", {"size": 8, "fixed": 2})], {"fixed": [4]}).names == ("size", "fixed")
    assert tunables(rows[:1], {"size": [8], "fixed": [4]}).names == ("size", "fixed")


def test_the_incumbent_is_marked_once_even_if_its_configuration_was_evaluated_twice() -> None:
    view_model = view_model_of(scripted.running())
    assert [row.number for row in view_model.rows.values() if row.incumbent] == [30]


def test_the_row_of_a_kernel_that_a_later_step_proposes_again_keeps_its_name() -> None:
    view_model = view_model_of(scripted.running())
    late = scripted.TILES.model_copy(update={"title": "A later idea"})
    before = dict(view_model.titles)
    view_model.apply(CandidateProposed(step=9, candidate=late, rationale=""))
    assert view_model.titles == before
    assert before[late.id] == scripted.TILES.title


def test_a_failure_says_its_kind_and_its_message_once_as_state() -> None:
    view_model = view_model_of(scripted.running())
    row = view_model.rows[17]
    context = EvaluationContext(tunables([row], {}), titles={row.candidate: "title"})
    shown = {column.name: column.cell(row, context) for column in EVALUATION_COLUMNS}
    assert (shown["time"], shown["95% CI"]) == ("✗", "")
    assert shown["state"] == "wrong result: C[3,17] is 0.5, expected 12.25, at n=1000"


def test_fastest_first_puts_failures_and_running_rows_at_the_end() -> None:
    view_model = view_model_of(scripted.running())
    rows = OrderedRows(FASTEST, view_model.rows, list(view_model.rows))
    assert rows[0].number == 30
    assert {row.number for row in rows[-4:]} == {9, 17, 23, 32}


def test_filter_words_must_all_occur() -> None:
    view_model = view_model_of(scripted.running())
    row = view_model.rows[17]
    assert matches(row, "tiles", ["wrong", "block_size_x=64"])
    assert not matches(row, "tiles", ["wrong", "block_size_x=16"])


def numbers_of(text: str) -> list[int]:
    view_model = view_model_of(scripted.running())
    wanted = RowFilter(text, ["block_size_x", "unroll"], {"unr": "unroll", "bsx": "block_size_x"})
    wanted.given_ms = 1.0
    return [row.number for row in view_model.rows.values() if wanted.takes(row, "tiles")]


def test_an_expression_filters_by_numbers_states_and_tunables() -> None:
    rows = view_model_of(scripted.running()).rows
    timed = {number: row.time for number, row in rows.items() if row.time < float("inf")}
    limit = sorted(timed.values())[len(timed) // 2]
    assert timed
    assert numbers_of(f"time < {limit} and state == ok") == [n for n, time in timed.items() if time < limit]
    assert numbers_of(f"speedup > {1 / limit}") == [n for n, time in timed.items() if 1 / time > 1 / limit]
    failed = [n for n, row in rows.items() if row.evaluation is not None and row.evaluation.failure is not None]
    assert numbers_of("state == failed") == numbers_of("status == failed") == failed
    assert set(numbers_of("reason == wrong_result")) <= set(failed)
    assert numbers_of("number in (1, 2)") == [n for n in rows if n in (1, 2)]
    unrolled = [n for n, row in rows.items() if row.configuration["unroll"] == 4]
    assert numbers_of("unroll == 4") == unrolled
    assert numbers_of("unr == 4") == numbers_of("unr=4") == unrolled


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("tme < 1", "unknown name 'tme'"),
        ("time <", "is not an expression"),
        ("__import__('os') == 1", "__import__() is not allowed"),
        ("time.real < 1", "an attribute is not allowed"),
    ],
)
def test_an_expression_that_is_none_says_why(text: str, told: str) -> None:
    with pytest.raises(ExpressionError, match=re.escape(told)):
        RowFilter(text, ["block_size_x"])


def test_how_far_a_time_is_from_the_best_is_in_percent_however_far() -> None:
    times = [scripted.measured(scripted.TILES, 1, time) for time in (0.1, 0.2335, 0.711, 1.5)]
    rows = [EvaluationRow(1, scripted.TILES.id, {}, each) for each in times]
    change = next(column for column in EVALUATION_COLUMNS if column.name == "change")
    words = [change.cell(row, EvaluationContext(best_ms=0.1)) for row in rows]
    assert words == ["+0.0%", "+133.5%", "+611.0%", "+1,400%"]


def test_an_order_that_is_turned_round_keeps_what_has_no_value_at_the_end() -> None:
    rows = list(view_model_of(scripted.running()).rows.values())
    down = [row.time for row in FASTEST.turned().sort(rows)]
    finite = [time for time in down if time < float("inf")]
    assert finite == sorted(finite, reverse=True)
    assert down[: len(finite)] == finite


def test_best_times_only_fall_and_start_with_the_first_success() -> None:
    wrong = scripted.failed(scripted.BASELINE, 1, FailureKind.CRASH, "died")
    view_model = view_model_of([*scripted.evaluation(1, wrong), *scripted.first_evaluations()])
    assert view_model.best_times == sorted(view_model.best_times, reverse=True)
    assert view_model.best_times[-1] == min(row.time for row in view_model.rows.values())


@given(st.lists(st.floats(0.01, 10), min_size=1, max_size=90), st.integers(1, 60), st.integers(1, 4))
def test_the_curve_fills_its_box_and_every_step_is_visible(values: list[float], width: int, height: int) -> None:
    rows = chart_rows(values, width, height)
    assert [len(row) for row in rows] == [width] * height
    assert " " not in rows[-1]
    assert sampled(values, width)[-1] == values[-1]


def test_what_comes_after_a_first_value_far_above_the_rest_differs_in_the_curve() -> None:
    assert chart_rows([64.0, 8.0, 2.0, 1.01, 1.0], 5, 3) == ["█    ", "█▅   ", "██▅▂▁"]


def test_a_gain_of_half_a_percent_is_a_small_step_of_the_curve() -> None:
    assert chart_rows([28.92, 28.77], 2, 3) == ["  ", "  ", "▃▁"]
    assert chart_rows([28.92, 28.92], 2, 1) == ["▁▁"]


def test_the_outcome_of_a_step_stands_at_the_right_edge() -> None:
    step = Step(id=1, title="Tiles", state=StepState.ACCEPTED, factor=(1.62, 1.6, 1.64))
    assert step_lines(step, 40).plain == "✓  1 Tiles             1.62x [1.60,1.64]"


def test_a_long_title_pushes_the_outcome_to_the_next_line_and_the_reason_follows() -> None:
    step = Step(id=2, title="Tile through shared memory", state=StepState.REJECTED, reason="a[i] is wrong",
                factor=(0.9, 0.8, 1.0))  # fmt: skip
    lines = [line.rstrip() for line in step_lines(step, 32).plain.split("\n")]
    assert lines == ["✗  2 Tile through shared memory", " " * 15 + "0.90x [0.80,1.00]", "     a[i] is wrong"]


def test_a_sentence_that_was_broken_for_another_width_goes_on_and_lines_that_were_meant_stay() -> None:
    wrapped = "Move data between memory and registers 16 bytes at a time, with a path for the elements"
    assert markdown_text(f"{wrapped}\nat the end that fill none.").plain == f"{wrapped} at the end that fill none."
    for meant in (f"{wrapped}.\nthen", f"{wrapped}\nThen", f"{wrapped}  \nthen", "tile = 16\nrows = 4", f"{wrapped}\n"):
        assert markdown_text(meant).plain.split("\n") == [line.rstrip() for line in meant.rstrip("\n").split("\n")]


def test_the_key_line_drops_keys_from_the_end_but_keeps_help_and_quit() -> None:
    entries = [KeyEntry("d", "view", "x"), KeyEntry("o", "sort", "x"), KeyEntry("?", "help", "x", 1)]
    assert key_line(entries, 80).plain == "d view  o sort  ? help"
    assert key_line(entries, 16).plain == "d view  ? help"
    answers = [KeyEntry("a", "approve", "x", 0), *entries]
    assert key_line(answers, 20).plain == "a approve  ? help"
    assert key_line(answers, 11).plain == "a approve"
    why = [*answers, KeyEntry("i", "why", "x", 2)]
    assert key_line(why, 30).plain == "a approve  ? help  i why"
    assert key_line(why, 20).plain == "a approve  ? help"


def test_the_key_line_shortens_answers_before_the_way_out_goes() -> None:
    typing = [KeyEntry("esc", "leave", "x", 1), KeyEntry("f8", "approve all", "x", 0), KeyEntry("^q", "quit", "x", 1)]
    assert key_line(typing, 34).plain == "esc leave  f8 approve all  ^q quit"
    assert key_line(typing, 30).plain == "esc leave  f8 all  ^q quit"
    assert key_line(typing, 20).plain == "esc leave  f8 all"
    assert key_line(typing, 8).plain == "f8 all"


def test_the_details_of_an_evaluation_say_whose_machine_code_it_shares() -> None:
    measured = scripted.measured(scripted.BASELINE, 1, 1.0)
    shared = measured.model_copy(update={"same_as": ("abc", {"block_size_x": 16})})

    texts = [evaluation_text(EvaluationRow(1, "def", {}, one), "title", "ms").plain for one in (measured, shared)]

    assert ["same machine code" in text for text in texts] == [False, True]
    assert "abc, block_size_x=16: the same machine code" in texts[1]


MARKDOWN = """\
## Why

The **loads** of `A[i]` are *4* bytes wide.

- one load for four elements
  goes on
  - nested
3. third

```cuda
float a = A[i];  // [b]wide[/b]
```

| tunable | values |
|---|---|
| vec | 1, 2 |

> quoted <b>html</b> [/x]
"""


def test_markdown_has_lists_tables_quotes_and_code_in_colour_and_nothing_in_it_acts() -> None:
    content = markdown_text(MARKDOWN)
    assert content.plain.split("\n") == [
        "Why", "", "The loads of A[i] are 4 bytes wide.", "", "• one load for four elements", "  goes on", "  • nested",
        "", "3. third", "", "  float a = A[i];  // [b]wide[/b]", "", "tunable  values", "vec      1, 2", "",
        "▏ quoted <b>html</b> [/x]",
    ]  # fmt: skip
    styles = {content.plain[span.start : span.end]: str(span.style) for span in content.spans}
    assert (styles["loads"], styles["A[i]"], styles["4"]) == ("bold", "$text-accent", "italic")
    assert "float" in styles


def test_a_table_of_long_cells_can_be_read_in_a_narrow_pane() -> None:
    effect = "the inner loop reads a quarter as often"
    last = f"| change | effect |\n|---|---|\n| float4 | {effect} |\n"
    assert laid_out(markdown_text(last), 30).plain.split("\n") == [
        "change  effect", "float4  the inner loop reads a", "        quarter as often",
    ]  # fmt: skip
    first = f"| effect | gain |\n|---|---|\n| {effect} and writes as often | 2x |\n| none | 1x |\n"
    assert laid_out(markdown_text(first), 50).plain.split("\n") == [
        "effect: the inner loop reads a quarter as often", "        and writes as often", "gain: 2x", "",
        "effect: none", "gain: 1x",
    ]  # fmt: skip


@given(st.text(alphabet="`*_-#>|[]<>\n ab1.", max_size=80))
def test_any_beginning_of_markdown_can_be_shown(text: str) -> None:
    markdown_text(text)


def test_code_of_an_unknown_language_is_shown_as_it_stands() -> None:
    assert markdown_text("```no-such\nx = 1\n").plain == "  x = 1"


def test_the_detail_of_a_step_is_shown_as_markdown() -> None:
    step = Step(id=1, title="t", detail="Use `float4`:\n\n- **wide** loads")
    assert step_detail(step, "").plain == "Use float4:\n\n• wide loads"


def test_all_about_a_row_says_what_holds_it_back_where_that_is_known() -> None:
    held_by = Diagnosis("memory", "Memory: the declared bytes alone need 91% of the time.", ("launch: 4 blocks",))
    rows = [
        EvaluationRow(1, "c", {}, scripted.measured(scripted.TILES, 1, 0.2), diagnosis=one) for one in (held_by, None)
    ]
    known, unknown = (evaluation_text(row, "title", "ms").plain for row in rows)
    lines = known.split("\n")
    cause = next(line for line in lines if line.startswith("held by"))
    assert cause.endswith("Memory: the declared bytes alone need 91% of the time.")
    fact = lines[lines.index(cause) + 1]
    assert fact.index("launch: 4 blocks") == cause.index("Memory"), "in line with what it belongs to"
    assert "held by" not in unknown


def test_a_word_of_cuda_keeps_its_lines_and_is_not_bold() -> None:
    text = "Add __launch_bounds__(256) and __restrict__, not __two words__"
    content = markdown_text(text)
    assert content.plain == "Add __launch_bounds__(256) and __restrict__, not two words"
    assert [content.plain[span.start : span.end] for span in content.spans] == ["two words"]


@pytest.mark.parametrize("text", ["(BM = size_y*TM, BN = size_x*TN)", "2*n**3 + k*2", "(a+b)*c*d, x[i]*y[i]*2"])
def test_a_star_between_two_words_multiplies(text: str) -> None:
    assert markdown_text(text).plain == text
    assert not markdown_text(text).spans


def test_other_stars_are_emphasis() -> None:
    content = markdown_text("*one*, (**two**)")
    assert content.plain == "one, (two)"
    assert [span.style for span in content.spans] == ["italic", "bold"]


def test_that_a_device_stays_taken_is_said_then_that_it_is_given_back() -> None:
    line, said = QuestionLine("=", "q"), []
    line.show(None, "")
    for kept in (False, True, False):
        line.keep_device(kept)
        said.append(line.render().plain)
    assert said[0] == ""
    assert "to compare rows with =" in said[1]
    assert "given back" in said[2]


def test_a_best_that_is_refuted_is_shown_as_what_is_wrong_with_it_and_the_one_before_it_is_marked() -> None:
    wrong = Failure(kind=FailureKind.WRONG_RESULT, message="C[3,17] is 0.5, expected 12.25")
    before = scripted.measured(scripted.BASELINE, 10, 0.1351 + 0.004 * (70 % 5))
    again = IncumbentChanged(
        candidate=scripted.BASELINE, evaluation=before, speedup=(1.2, 1.19, 1.21), refuted=wrong, elapsed=400.0
    )
    rows = view_model_of([*scripted.running(), again]).rows
    assert [number for number, row in rows.items() if row.incumbent] == [10]
    assert state_words(rows[30], "") == "wrong result: C[3,17] is 0.5, expected 12.25"


def test_what_failed_on_fresh_data_is_shown_as_that_and_the_rest_of_its_kernel_as_in_doubt() -> None:
    model = view_model_of([*scripted.running(), *scripted.evaluation(40, scripted.measured(scripted.TILES, 40, 0.08))])
    assert state_words(model.rows[31], "") == "verified"
    wrong = Failure(kind=FailureKind.WRONG_RESULT, message="C[3,17] is 0.5, expected 12.25")
    model.apply(
        Compared(
            candidate=scripted.TILES.id, configuration=scripted.configuration(40), comparison=Comparison.failed(wrong)
        )
    )
    later = scripted.evaluation(41, scripted.measured(scripted.TILES, 41, 0.12))
    for event in later:
        model.apply(event)
    words = {number: state_words(model.rows[number], "") for number in (1, 30, 31, 40, 41)}
    assert words == {1: "verified", 30: "incumbent", 31: "in doubt", 40: wrong.in_words, 41: "in doubt"}
    assert f"failed later: {wrong.in_words}" in evaluation_text(model.rows[31], "tiles", "ms").plain
    assert model.confirmed
