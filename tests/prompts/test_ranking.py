from __future__ import annotations

from tui_tuner.evaluate.profiling.occupancy import Occupancy, Waves
from tui_tuner.evaluate.results import Evaluation, Failure, FailureKind, Resources, Timing
from tui_tuner.problem.space import SearchSpace
from tui_tuner.prompts.ranking import (
    RankedEvaluation,
    column_facts,
    effect_facts,
    failures,
    noise,
    promising,
    ranking,
    shared_facts,
    uncompared_facts,
    untried_facts,
)
from tui_tuner.prompts.space_facts import bounds_facts, neighbour_facts

NAMES = ["a", "text"]


def timed(a: int, milliseconds: float, text: str = "x,y", **facts: object) -> RankedEvaluation:
    timing = Timing(median=milliseconds, low=milliseconds * 0.99, high=milliseconds * 1.01, samples=10)
    configuration = {"a": a, "text": text}
    return RankedEvaluation(Evaluation(candidate="c", configuration=configuration, timing=timing, **facts), round=a)


def failed(a: int, message: str, kind: FailureKind = FailureKind.LAUNCH) -> RankedEvaluation:
    failure = Failure(kind=kind, message=message)
    return RankedEvaluation(Evaluation(candidate="c", configuration={"a": a, "text": "x"}, failure=failure), round=1)


def test_the_fastest_come_first_with_the_round_that_proposed_them():
    lines = ranking([timed(2, 4.0), failed(9, "no"), timed(1, 2.0)], NAMES, 10).splitlines()
    assert lines == ["rank,ms,round,a,text", '1,2,1,1,"x,y"', '2,4,2,2,"x,y"']


def test_what_is_left_out_is_told():
    assert ranking([timed(a, float(a)) for a in range(1, 5)], NAMES, 2).splitlines()[-1] == (
        "(2 slower ones left out, the slowest 4 times as slow as the best)"
    )


def test_a_column_stands_where_some_row_knows_something():
    resources = Resources(registers=40, spill_bytes=0, shared_bytes=1024)
    plain = timed(1, 2.0, resources=resources, share=0.5)
    held = RankedEvaluation(plain.evaluation, 1, Occupancy(2, 16, 64, ("registers", "warps")), Waves(300, 264, 2))
    lines = ranking([held, timed(2, 4.0)], ["a"], 10).splitlines()
    assert lines[0] == "rank,ms,round,a,registers,spilled_bytes,shared_bytes,occupancy,waves,of_roofline"
    assert lines[1] == "1,2,1,1,40,0,1024,25% by registers+warps,1.14,50%"
    assert lines[2] == "2,4,2,2,,,,,,"


def test_nothing_right_yet_is_said():
    assert ranking([failed(1, "no")], NAMES, 10) == "nothing that was measured is right yet"
    assert noise([failed(1, "no")]) == "unknown"


def test_failures_are_told_once_a_reason_with_what_they_have_and_nothing_right_has():
    many = [failed(a, "too many registers") for a in range(5)]
    known = [*many, failed(7, "", FailureKind.TIMEOUT), timed(1, 1.0, "y")]
    assert failures(known, NAMES).splitlines() == [
        "launch failure: too many registers (5): all have text=x, which nothing right has; "
        "as in a=0 text=x; a=1 text=x; a=2 text=x",
        "time-out (1): a=7 text=x",
    ]
    assert failures([timed(1, 1.0)], NAMES) == ""


def test_a_value_that_right_ones_have_too_is_no_reason_for_a_failure():
    many = [failed(2, "no"), failed(2, "no")]
    assert failures([*many, timed(1, 1.0, "x"), timed(2, 1.0, "y")], NAMES) == (
        "launch failure: no (2): all have a=2 text=x, which nothing right has; as in a=2 text=x; a=2 text=x"
    )
    assert failures([*many, timed(2, 1.0, "x")], NAMES) == "launch failure: no (2): a=2 text=x; a=2 text=x"


def test_the_noise_is_half_an_interval():
    assert noise([timed(1, 1.0), timed(2, 5.0)]) == "half the 95 % interval of a time is 1.00% of it in the middle"


def grid(*times: tuple[int, int, float]) -> list[Evaluation]:
    def timing(ms: float) -> Timing:
        return Timing(median=ms, low=ms, high=ms, samples=1)

    return [Evaluation(candidate="c", configuration={"a": a, "b": b}, timing=timing(ms)) for a, b, ms in times]


SPACE = {"a": (1, 2, 4), "b": (0, 1)}


def test_the_effect_of_a_value_is_that_of_configurations_which_differ_in_nothing_else():
    known = grid((1, 0, 4.0), (1, 1, 2.0), (2, 0, 1.0), (2, 1, 2.0), (4, 1, 9.0))
    assert effect_facts(known, {**SPACE, "a": (1, 2, 4, 8)}).splitlines() == [
        "a: 1 to 2: 0.5 (2: 0.25 to 1), 2 to 4: 4.5 (1); never right or never tried: 8",
        "b: 0 to 1: 1 (2: 0.5 to 2)",
    ]
    assert (
        effect_facts(grid((1, 0, 1.0), (1, 1, 2.0), (2, 0, 1.0), (2, 1, 2.1)), {"b": (0, 1)}) == "b: 0 to 1: 2.05 (2)"
    )
    assert effect_facts(known[:1], {"a": (1,)}) == "a: no two measured differ in it alone"


def test_what_the_best_share_needs_enough_of_them():
    assert shared_facts(grid((1, 0, 1.0)), SPACE) == ""
    many = grid(*((1, 0, float(i)) for i in range(1, 9)), (2, 1, 99.0))
    assert shared_facts(many, SPACE) == "a=1, b=0"
    assert shared_facts(grid(*((1 + i % 2, i % 2, 1.0) for i in range(8))), SPACE) == ""


def test_good_values_that_never_met_are_named_and_bad_or_impossible_ones_are_not():
    known = grid((1, 0, 1.0), (2, 1, 1.1), (4, 1, 1.3))
    assert untried_facts(known, SearchSpace(SPACE)) == "a=1 with b=1; a=2 with b=0"
    assert untried_facts(known, SearchSpace(SPACE, ["a != 2 or b == 1"])) == "a=1 with b=1"
    assert untried_facts(known, SearchSpace(SPACE, members=[{"a": 2, "b": 0}])) == "a=2 with b=0"
    assert untried_facts([], SearchSpace(SPACE)) == ""


def test_switches_are_looked_at_beside_the_tunables_that_matter_most():
    names = ["p", "q", "r", "on"]
    tunables = {"p": (1, 2, 3), "q": (1, 2, 3), "r": (1, 2, 3), "on": (0, 1)}
    rows = [((1, 1, 1, 0), 1.0), ((2, 1, 1, 1), 1.01), ((3, 2, 2, 0), 9.0), ((3, 3, 3, 0), 9.0)]
    timings = [Timing(median=ms, low=ms, high=ms, samples=1) for _, ms in rows]
    known = [
        Evaluation(candidate="c", configuration=dict(zip(names, values, strict=True)), timing=timing)
        for (values, _), timing in zip(rows, timings, strict=True)
    ]
    assert "p=1 with on=1" in untried_facts(known, SearchSpace(tunables))


def test_switches_that_were_compared_at_one_position_of_another_are_named():
    space = SearchSpace({"a": (0, 1), "b": (0, 1), "c": (1, 2, 4)})
    assert uncompared_facts(grid((0, 0, 2.0), (1, 0, 1.0)), space) == "a with b=1"
    assert uncompared_facts(grid((0, 0, 2.0), (1, 0, 1.0), (1, 1, 1.0)), space) == "a with b=1; b with a=0"
    assert uncompared_facts(grid((0, 0, 2.0), (1, 1, 1.0)), space) == ""
    ruled = SearchSpace({"a": (0, 1), "b": (0, 1)}, ["a == 0 or b == 0"])
    assert uncompared_facts(grid((0, 0, 2.0), (1, 0, 1.0)), ruled) == ""


def test_columns_are_explained_where_they_stand():
    plain = timed(1, 2.0)
    held = RankedEvaluation(plain.evaluation, 1, Occupancy(2, 16, 64, ("warps",)), None)
    assert column_facts([plain]) == ""
    assert column_facts([held, plain]).startswith("; occupancy is the share")
    assert "waves" not in column_facts([held, plain])


BLOCKS = SearchSpace(
    {"block_size_x": [16, 32, 64], "block_size_y": [1, 2, 4], "tile": [1, 3], "shared": [0, 1]},
    ["block_size_x * block_size_y <= 128", "shared == 1 or tile == 1", "shared == 0 or block_size_x != 32"],
)


def test_the_bounds_of_a_space_are_exact_whether_it_is_ruled_or_listed():
    told = (
        "block_size_x * block_size_y: 16 to 128",
        "tile=3 occurs only with block_size_x other than 32",
        "tile=3 occurs only with shared 1",
        "shared=0 occurs only with tile 1",
        "shared=1 occurs only with block_size_x other than 32",
    )
    assert bounds_facts(BLOCKS) == told
    assert bounds_facts(SearchSpace(BLOCKS.tunables, members=list(BLOCKS.configurations()))) == told
    assert bounds_facts(SearchSpace({"a": [2, 4, 6], "b": [1, 2, 3]}, ["a % b == 0"])) == ("a is a multiple of b",)
    tiles = SearchSpace({"tile": [8, 16, 32], "block": [2, 4, 8], "v": [1, 2, 4]}, ["tile % (block * v) == 0"])
    assert bounds_facts(tiles) == ("tile is a multiple of block * v",)
    assert bounds_facts(SearchSpace({f"t{i}": list(range(20)) for i in range(6)})) == ()


def test_what_is_close_to_the_best_is_named_with_what_the_change_did_elsewhere_the_promising_first():
    known = grid((1, 0, 2.0), (2, 0, 3.0), (1, 1, 1.0), (2, 1, 1.5))
    best = {"a": 1, "b": 2}
    new = [{"a": 2, "b": 2}, {"a": 1, "b": 1}, {"a": 1, "b": 3}]
    assert promising(best, new, known) == [{"a": 1, "b": 1}, {"a": 1, "b": 3}, {"a": 2, "b": 2}]
    assert neighbour_facts(best, new, known) == "a=2 (1.5); b=1; b=3"
    assert neighbour_facts(best, new) == "a=2; b=1; b=3"
    assert neighbour_facts(best, [{"a": 1, "b": b} for b in range(3, 23)]).endswith("b=18 and 4 more")
