"""A column of a table is one object: what it draws, how rows are sorted by it, how it is explained."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.app import App, ComposeResult

from tests.tui import scripted
from tests.tui.conftest import Started, settled
from tests.tui.looking import screen_text, table_text
from tests.tui.scripted import Entry, ScriptedRun
from tui_tuner.evaluate.results import Resources
from tui_tuner.session import events
from tui_tuner.tui import kernel_view
from tui_tuner.tui.kernel_view import KernelView
from tui_tuner.tui.panes import benchmarks_pane
from tui_tuner.tui.panes.benchmarks_pane import BenchmarksPane
from tui_tuner.tui.tables import Column, OrderedRows, RowOrder, columns_help, evaluation_table, placed
from tui_tuner.tui.tables.evaluation_table import EVALUATION_COLUMNS, EvaluationColumn, EvaluationContext, Tunables
from tui_tuner.tui.tables.table import ColumnTable


def many_evaluations(number: int, arrived: asyncio.Event) -> Iterator[Entry]:
    """So many evaluations, the earlier the faster; the last one is the incumbent. Tells when all have arrived."""
    yield from scripted.opening()
    for each in range(1, number + 1):
        yield from scripted.evaluation(each, scripted.measured(scripted.TILES, each, 0.5 + each / 10_000))
    yield scripted.incumbent(number, scripted.TILES, 0.65, (1.62, 1.60, 1.64))
    arrived.set()


def words_of(rows: list[str]) -> list[list[str]]:
    """What the rows say, wherever its columns and they stand."""
    return sorted(sorted(row.split()) for row in rows)


@pytest.mark.slow
async def test_1500_evaluations_are_sorted_in_every_order(started: Started) -> None:
    arrived = asyncio.Event()
    async with started(ScriptedRun(many_evaluations(1500, arrived), stays=True)) as pilot:
        await arrived.wait()
        await settled(pilot)
        newest_first = table_text(pilot.app)
        assert [row.split()[0] for row in newest_first[:3]] == ["★1500", "1499", "1498"]
        await pilot.press("o")
        await settled(pilot)
        fastest_first = table_text(pilot.app)
        assert [row.split()[0] for row in fastest_first[:3]] == ["1", "2", "3"]
        assert words_of(fastest_first) == words_of(newest_first)
        sorted_by = {
            "widest": "95% CI",
            "roofline": "roofline",
            "registers": "regs",
            "spill": "spill",
            "state": "state",
        }
        for order, heading in {**sorted_by, "block_size_x": "bsx"}.items():
            await pilot.press("o")
            await settled(pilot)
            text = screen_text(pilot.app)
            assert f"[{order}]" in text
            assert f"{heading}▾" in text, "what the rows are sorted by is in view, and says so"
            assert words_of(table_text(pilot.app)) == words_of(newest_first)
            assert "bsx" in text
        sizes = [scripted.configuration(number)["block_size_x"] for number in range(1, 1501)]
        assert table_text(pilot.app)[0].split()[1] == str(min(sizes))
        await pilot.press("O")
        await settled(pilot)
        assert table_text(pilot.app)[0].split()[1] == str(max(sizes))
        await pilot.press("o")
        await settled(pilot)
        assert "bsy▾ bsx" in screen_text(pilot.app), "of the tunables it is the first"


@pytest.mark.slow
async def test_no_order_is_offered_of_a_column_that_says_nothing(started: Started) -> None:
    timed = scripted.measured(scripted.TILES, 1, 0.5).model_copy(update={"share": None, "resources": Resources()})
    entries = [*scripted.opening(scripted.EMULATOR), *scripted.evaluation(1, timed)]
    async with started(ScriptedRun(entries, stays=True)) as pilot:
        offered = []
        for _ in range(6):
            await pilot.press("o")
            await settled(pilot)
            offered.append(str(pilot.app.screen.query_one(BenchmarksPane).title_extra()).strip(" []"))
    assert offered == ["fastest", "widest", "state", "block_size_x", "block_size_y", "unroll"]


async def test_the_selected_row_can_be_read(started: Started) -> None:
    arrived = asyncio.Event()
    async with started(ScriptedRun(many_evaluations(3, arrived), stays=True)) as pilot:
        await arrived.wait()
        await settled(pilot)
        table = pilot.app.screen.query_one(ColumnTable)
        head, selected, other = (table.render_line(y)._segments[0].style for y in range(3))
        assert selected.bgcolor not in (selected.color, other.bgcolor), "it differs from the others, and from its text"
        grounds = [style.bgcolor.triplet for style in (selected, other)]
        assert all(abs(one - two) < 60 for one, two in zip(*grounds, strict=True)), "a hint of the text's colour"
        assert head.underline


def given_up(going: asyncio.Event) -> ScriptedRun:
    """Evaluation 40 is begun; then it is given up."""
    begun = scripted.evaluation(40, scripted.measured(scripted.TILES, 40, 0.2))[:1]
    return ScriptedRun([*scripted.running(), *begun, going, events.EvaluationLeft(number=40)], stays=True)


async def test_an_evaluation_that_was_given_up_is_no_row_any_more(started: Started) -> None:
    going = asyncio.Event()
    async with started(given_up(going)) as pilot:
        await settled(pilot)
        assert table_text(pilot.app)[0].startswith("40 ")
        going.set()
        await settled(pilot)
        assert not table_text(pilot.app)[0].startswith("40 ")


@pytest.mark.slow
@pytest.mark.parametrize("size", [(80, 24), (160, 60)])
async def test_a_row_goes_below_a_dialog_while_the_terminal_gets_another_size(
    started: Started, size: tuple[int, int]
) -> None:
    going = asyncio.Event()
    async with started(given_up(going)) as pilot:
        await pilot.press("3", "m")
        await settled(pilot)
        going.set()
        await settled(pilot)
        await pilot.resize_terminal(*size)
        await settled(pilot)
        await pilot.press("escape")
        await settled(pilot)
        assert table_text(pilot.app)[0].startswith("32 ")


@pytest.mark.slow
async def test_a_row_that_goes_while_it_is_opened_says_so(started: Started) -> None:
    going = asyncio.Event()
    async with started(given_up(going)) as pilot:
        await pilot.press("3")
        await settled(pilot)
        going.set()
        await pilot.pause()
        pilot.app.session_screen.catch_up()
        assert table_text(pilot.app)[0].startswith("40 "), "not drawn yet"
        await pilot.press("enter")
        await settled(pilot)
        assert "given up before it was measured" in screen_text(pilot.app)


SHARED_MEMORY = EvaluationColumn(
    name="shared",
    heading="smem",
    cell=lambda row, _context: "" if row.evaluation is None else str(row.evaluation.resources.shared_bytes),
    explanation="bytes of shared memory a block",
    order=RowOrder("least shared", lambda row: (-(row.number % 7), row.number)),
)


@pytest.mark.slow
async def test_a_column_that_is_defined_in_one_place_is_drawn_sorted_and_explained(
    started: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluation_table, "EVALUATION_COLUMNS", (*EVALUATION_COLUMNS, SHARED_MEMORY))
    arrived = asyncio.Event()
    async with started(ScriptedRun(many_evaluations(20, arrived), stays=True), size=(240, 50)) as pilot:
        await arrived.wait()
        await settled(pilot)
        assert all(row.endswith(" 8192") for row in table_text(pilot.app))
        assert " smem" in screen_text(pilot.app)
        await pilot.press(*"ooooooo")
        await settled(pilot)
        assert "[least shared]" in screen_text(pilot.app)
        assert [row.split()[0] for row in table_text(pilot.app)[:4]] == ["6", "13", "★20", "5"]
    assert "- *smem*: bytes of shared memory a block" in columns_help(evaluation_table.EVALUATION_COLUMNS)


def test_the_help_of_the_benchmarks_explains_every_column() -> None:
    assert columns_help(EVALUATION_COLUMNS) in (BenchmarksPane(KernelView(), "=").HELP or "")
    assert all(column.explanation for column in EVALUATION_COLUMNS)


WORDS = Column[str, str]("words", heading="words", cell=lambda row, context: row + context, explanation="some words")


@pytest.mark.parametrize(
    ("column", "text", "shown"),
    [
        (replace(WORDS, least=8), "abc", "     abc"),
        (replace(WORDS, most=8), "abcdefghij", " abcdef…"),
        (replace(WORDS, side="left"), "abc", " abc  "),
        (replace(WORDS, side="left", most=8, gap=2), "abcdefghij", "  abcde…"),
        (replace(WORDS, least=8), "行列", "    行列"),
        (replace(WORDS, most=8), "行列計算", " 行列計…"),
        (replace(WORDS, side="left", most=8), "行a列計算", " 行a列 …"),
    ],
)
def test_a_text_stands_at_its_side_and_is_cut_where_the_column_ends(
    column: Column[str, str], text: str, shown: str
) -> None:
    assert column.laid_out(text, column.width(max(len(column.heading_in("")), cell_len(text)))) == shown


class TableApp(App[None]):
    """One table of words."""

    def __init__(self, *columns: Column[str, str]) -> None:
        super().__init__()
        self.table = ColumnTable(columns, key=lambda row: row, style=lambda row, context: "", table_id="words")

    def compose(self) -> ComposeResult:
        yield self.table

    def lines(self) -> list[str]:
        return [" ".join(self.table.texts_at(row)) for row in range(self.table.row_count)]


async def test_rows_stand_as_they_are_given_and_the_selected_one_stays_selected() -> None:
    app = TableApp(WORDS)
    async with app.run_test():
        app.table.draw(["a", "b", "c"], "!")
        app.table.move_cursor(1)
        app.table.draw(["d", "c", "b", "a"], "!")
        assert app.lines() == ["d!", "c!", "b!", "a!"]
        assert app.table.selected_key == "b"
        app.table.draw(["a", "d"], "?")
        assert app.lines() == ["a?", "d?"]
        assert app.table.selected_key == "a"


@pytest.mark.parametrize(
    ("cursor", "scrolled", "top", "selected"),
    [(0, 0, "new 0", "new 0"), (10, 0, "0", "10"), (0, 30, "30", "new 0"), (40, 30, "30", "40"), (40, 60, "60", "40")],
)
async def test_rows_that_come_above_move_nothing_that_is_in_view_but_at_the_top(
    cursor: int, scrolled: int, top: str, selected: str
) -> None:
    app, rows = TableApp(WORDS), [str(number) for number in range(200)]
    async with app.run_test(size=(80, 24)) as pilot:
        app.table.draw(rows, "")
        app.table.move_cursor(cursor)
        app.table.scroll_to(y=scrolled or None, animate=False, force=True, immediate=True)
        for new in range(5):
            await pilot.pause()
            rows.insert(0, f"new {4 - new}")  # the table's own rows: they change before it draws them
            app.table.draw(rows, "")
        await pilot.pause()
        assert screen_text(app).split("\n")[1].strip() == top
        assert app.table.selected_key == selected


async def test_only_the_rows_that_differ_are_made_into_text_and_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    drawn: list[int] = []

    def cell(row: str, context: str) -> str:
        said.append(row)
        return row + context

    app = TableApp(replace(WORDS, cell=cell))
    async with app.run_test() as pilot:
        app.table.draw(["a", "b", "c"], "!")
        await pilot.pause()
        said.clear()
        monkeypatch.setattr(ColumnTable, "refresh", lambda _table, *regions, **_: drawn.extend(r.y for r in regions))
        app.table.draw(["a", "c", "b"], "!")
        assert (said, drawn) == ([], [2, 3])
        app.table.draw(["a", "c", "d"], "!")
        assert (said, drawn) == (["d"], [2, 3, 3])


async def test_of_a_hundred_thousand_rows_only_those_in_view_are_made_into_text() -> None:
    said: set[str] = set()

    def cell(row: str, _context: str) -> str:
        said.add(row)
        return row

    app = TableApp(replace(WORDS, cell=cell))
    async with app.run_test(size=(80, 24)) as pilot:
        app.table.focus()
        app.table.draw([str(number) for number in range(100_000)], "!")
        await pilot.pause()
        assert len(said) < 300
        await pilot.press("G")
        await pilot.pause()
        assert len(said) < 400
        assert app.table.selected_key == "99999"
        assert "99999" in screen_text(app)  # type: ignore[arg-type]
        await pilot.press("k", "pageup", "g", "j", "ctrl+d")
        await pilot.pause()
        assert app.table.selected_key == "23"
        await pilot.click(app.table, offset=(3, 5))
        assert app.table.selected_key in {str(number) for number in range(2, 23)}


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(-5, 5), st.booleans())))
def test_rows_that_come_change_and_go_stand_as_if_they_were_sorted_anew(
    changes: list[tuple[int, int, bool]],
) -> None:
    rows: dict[int, int] = {}
    order = RowOrder[int]("smallest", lambda row: (float(row),))
    ordered = OrderedRows(order, rows)
    there: set[int] = set()
    for number, value, goes in changes:
        rows[number] = value
        if goes:
            ordered.drop(number)
            there.discard(number)
        else:
            ordered.put(number)
            there.add(number)
    assert list(ordered) == sorted(rows[number] for number in there)
    assert ordered[:2] == list(ordered)[:2]


async def test_a_column_without_a_word_is_left_out_and_a_wide_one_stands_behind_what_has_to_be_in_sight() -> None:
    optional = replace(WORDS, name="optional", optional=True, cell=lambda row, context: context)
    wide = replace(WORDS, name="wide", least=90)
    in_sight = replace(WORDS, name="in sight", in_sight=True)
    app = TableApp(optional, wide, WORDS, in_sight)
    async with app.run_test():
        app.table.draw(["a"], "")
        assert [each.column.name for each in app.table.placed] == ["words", "in sight", "wide"]
        app.table.draw(["a"], "!")
        assert [each.column.name for each in app.table.placed] == ["optional", "words", "in sight", "wide"]


@pytest.mark.parametrize("room", range(62, 90))
def test_no_value_of_a_tunable_is_cut(room: int) -> None:
    context = EvaluationContext(Tunables(("tile", "unroll", "block", "warps", "stages"), (3, 4, 5, 3, 2)))
    longest = {"configuration": len(context.tunables.header), "time": 6, "change": 6}
    column = next(each for each in placed(EVALUATION_COLUMNS, longest, context, room) if each.heading.startswith("til"))
    values = {"tile": 128, "unroll": 1024, "block": 10240, "warps": 512, "stages": 12}
    shown = column.column.laid_out(context.tunables.line(values), column.width).split()
    whole = ["128", "1024", "10240", "512", "12"]
    assert shown == whole or (shown[-1] == "…" and shown[:-1] == whole[: len(shown) - 1])


@pytest.mark.parametrize("room", range(48, 62))
def test_two_tunables_stand_beside_the_times_also_where_a_bar_takes_of_the_room(room: int) -> None:
    context = EvaluationContext(Tunables(("bsx", "bsy"), (3, 3)))
    longest = {"configuration": len(context.tunables.header), "time": 5, "change": 7, "state": 20}
    shown = placed(EVALUATION_COLUMNS, longest, context, room)
    assert [each.column.name for each in shown[:5]] == ["number", "configuration", "time", "change", "state"]
    assert shown[1].width >= shown[1].needs
    assert sum(each.cells for each in shown[:5]) == room


def test_tunables_have_the_room_that_states_leave_and_some_of_that_of_long_ones() -> None:
    context = EvaluationContext(Tunables(("bsx", "bsy", "tsx", "tsy", "pad"), (3, 3, 3, 3, 3)))
    longest = {"configuration": len(context.tunables.header), "time": 6, "change": 7, "95% CI": 13}
    for state, names in ((len("running"), "bsx bsy tsx tsy pad"), (60, "bsx bsy tsx …")):
        shown = placed(EVALUATION_COLUMNS, {**longest, "state": state}, context, 58)
        assert shown[1].laid_out(shown[1].heading).split() == names.split()
        assert shown[4].column.name == "state"


@pytest.mark.slow
async def test_what_short_names_stand_for_is_below_the_table_where_its_border_is_too_short(started: Started) -> None:
    run, places = ScriptedRun(scripted.running(), stays=True), set()
    async with started(run, size=(80, 24)) as pilot:
        await pilot.press("3")
        for width in (80, 52, 51, 50, 49, 48, 40, 80):
            await pilot.resize_terminal(width, 24)
            await settled(pilot)
            *_, above, below, border, _question, _status, _keys = screen_text(pilot.app).split("\n")
            assert "unr unroll" in " ".join(line.strip(" │╰─╯") for line in (above, below, border)), width
            assert border.endswith("─╯")
            places.add("unroll" in border)
    assert places == {True, False}


async def test_many_rows_are_filtered_once_the_typing_pauses(started: Started, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmarks_pane, "_MANY", 10)
    monkeypatch.setattr(benchmarks_pane, "_TYPING_S", 0.0)
    monkeypatch.setattr(kernel_view, "_SLICE", 7)
    looked = []
    monkeypatch.setattr(
        kernel_view.RowFilter, "takes", lambda self, row, title: looked.append(row.number) or row.number % 5 == 0
    )
    arrived = asyncio.Event()
    async with started(ScriptedRun(many_evaluations(30, arrived), stays=True)) as pilot:
        await arrived.wait()
        await settled(pilot)
        looked.clear()
        await pilot.press("3", "slash", "x")
        await pilot.app.workers.wait_for_complete()
        await settled(pilot)
        assert [row.split()[0] for row in table_text(pilot.app)] == ["★30", "25", "20", "15", "10", "5"]
        assert len(looked) == 30, "each row is looked at once, in slices"


WORDY = [
    Column[str, str](name="name", heading="name", cell=lambda row, _: row, explanation="", side="left", in_sight=True),
    Column[str, str](name="text", heading="text", cell=lambda row, _: row * 9 + "!", explanation="", most=30,
                     side="left", in_sight=True, stretches=True),
    Column[str, str](name="more", heading="more", cell=lambda row, _: row * 3, explanation="", side="left"),
]  # fmt: skip


@pytest.mark.parametrize(("columns", "width"), [(WORDY[:2], 30), (WORDY[:2], 60), (WORDY, 30), (WORDY, 90)])
async def test_what_is_cut_in_sight_can_be_reached_by_going_right(columns: list[Column[str, str]], width: int) -> None:
    app = TableApp(*columns)
    async with app.run_test(size=(width, 6)) as pilot:
        app.table.draw(["0123456789"], "")
        app.table.focus()
        await pilot.pause()
        heads, seen = [], []
        for _ in range(12):
            head, line, *_ = screen_text(app).splitlines()
            heads.append(head)
            seen.append(line)
            await pilot.press("right")
            await pilot.pause()
        assert heads[0].endswith("…"), "there is more to the right"
        assert not heads[-1].endswith("…")
        assert any("0123456789!" in line for line in seen), "the end of the text"
        assert any("…" in line for line in seen)
        for _ in range(12):
            await pilot.press("left")
        await pilot.pause()
        assert screen_text(app).splitlines()[0] == heads[0]


@pytest.mark.parametrize("text", ["one two three", "行列 計算 高速", "ab行列"])
async def test_a_text_that_goes_on_beyond_the_edge_says_so_wherever_it_is_cut(text: str) -> None:
    behind = Column[str, str](name="behind", heading="behind", cell=lambda *_: "x", explanation="")
    for width in range(8, cell_len(text) + 8):
        app = TableApp(WORDY[0], replace(behind, side="left", name="2nd"))
        async with app.run_test(size=(width, 6)):
            app.table.draw([text], "")
            line = screen_text(app).splitlines()[1]
            assert line.rstrip().endswith("…") == (width < cell_len(text) + 1), (width, line)


async def test_numbers_stand_under_their_headings_behind_a_text_of_signs_that_are_two_cells_wide() -> None:
    number = Column[str, str](name="number", heading="number", cell=lambda row, _: str(len(row)), explanation="")
    app = TableApp(replace(WORDY[0], most=12), number)
    async with app.run_test(size=(40, 6)):
        app.table.draw(["大きいタイルを共有メモリに置く", "大きい", "abc"], "")
        head, *lines = screen_text(app).splitlines()[:4]
        ends = [cell_len(line[: re.search(r"\d+", line).end()]) for line in lines]  # type: ignore[union-attr]
        assert ends == [head.index("number") + len("number")] * 3


@pytest.mark.slow
async def test_the_help_says_why_the_numbers_of_rows_go_further_than_what_is_counted(started: Started) -> None:
    given = events.BaselineMeasured(given=scripted.measured(scripted.BASELINE, 1, 0.2), elapsed=9.0)
    one = scripted.evaluation(2, scripted.measured(scripted.TILES, 2, 0.1))
    async with started(ScriptedRun([*scripted.opening(), given, *one], stays=True), size=(120, 90)) as pilot:
        assert "eval 1/80" in screen_text(pilot.app)
        assert [row.split()[0].strip("★") for row in table_text(pilot.app)] == ["2", "1"]
        await pilot.press("3", "question_mark")
        await settled(pilot)
        assert "1 is the kernel as given and is not counted" in " ".join(screen_text(pilot.app).split())


@pytest.mark.slow
async def test_a_chart_gives_way_to_rows_where_many_tunables_are_explained_below_the_table(started: Started) -> None:
    values = {f"width_of_the_tile_{letter}_in_elements": 16 for letter in "abcdefghijkl"}
    rows = [scripted.measured(scripted.TILES, number, 0.5).model_copy(update={"configuration": values | {"n": number}})
            for number in range(1, 21)]  # fmt: skip
    entries = [
        *scripted.opening(),
        *(event for number, row in enumerate(rows, 1) for event in scripted.evaluation(number, row)),
    ]
    for size, charted, least, explained in (((120, 40), " → ", 8, "_c_in"), ((120, 36), "  first 0.", 10, "_a_in")):
        async with started(ScriptedRun(entries, stays=True), size=size) as pilot:
            assert len(pilot.app.screen.query_one(ColumnTable).lines_in_view) >= least
            lines = screen_text(pilot.app).splitlines()
            assert any("best so far" in line and charted in line for line in lines)
            assert any(explained in line for line in lines)
            assert any(", … ─╯" in line for line in lines) is (size[1] == 36), "a low pane explains the first ones"
