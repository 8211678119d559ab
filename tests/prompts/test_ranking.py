from __future__ import annotations

from tui_tuner.evaluate.occupancy import Occupancy, Waves
from tui_tuner.evaluate.results import Evaluation, Failure, FailureKind, Resources, Timing
from tui_tuner.prompts.ranking import (
    MeasuredConfiguration,
    failures,
    noise,
    ranking,
    shared_facts,
    untried_facts,
    value_facts,
)

NAMES = ["a", "text"]


def timed(a: int, milliseconds: float, text: str = "x,y", **facts: object) -> MeasuredConfiguration:
    timing = Timing(median=milliseconds, low=milliseconds * 0.99, high=milliseconds * 1.01, samples=10)
    configuration = {"a": a, "text": text}
    return MeasuredConfiguration(
        Evaluation(candidate="c", configuration=configuration, timing=timing, **facts), round=a
    )


def failed(a: int, message: str, kind: FailureKind = FailureKind.LAUNCH) -> MeasuredConfiguration:
    failure = Failure(kind=kind, message=message)
    return MeasuredConfiguration(
        Evaluation(candidate="c", configuration={"a": a, "text": "x"}, failure=failure), round=1
    )


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
    held = MeasuredConfiguration(
        plain.evaluation, 1, Occupancy(2, 16, 64, ("registers", "warps")), Waves(300, 264, 2, 0.1)
    )
    lines = ranking([held, timed(2, 4.0)], ["a"], 10).splitlines()
    assert lines[0] == "rank,ms,round,a,registers,spilled_bytes,shared_bytes,occupancy,waves,of_roofline"
    assert lines[1] == "1,2,1,1,40,0,1024,25% by registers+warps,1.14,50%"
    assert lines[2] == "2,4,2,2,,,,,,"


def test_nothing_right_yet_is_said():
    assert ranking([failed(1, "no")], NAMES, 10) == "nothing that was measured is right yet"
    assert noise([failed(1, "no")]) == "unknown"


def test_failures_are_told_once_a_reason_with_what_they_share():
    many = [failed(a, "too many registers") for a in range(5)]
    lines = failures([*many, failed(7, "", FailureKind.TIMEOUT), timed(1, 1.0)], NAMES).splitlines()
    assert lines == [
        "launch failure: too many registers (5): all have text=x; as in a=0 text=x; a=1 text=x; a=2 text=x",
        "time-out (1): a=7 text=x",
    ]
    assert failures([timed(1, 1.0)], NAMES) == ""


def test_the_noise_is_half_an_interval():
    assert noise([timed(1, 1.0), timed(2, 5.0)]) == "half the 95 % interval of a time is 1.00% of it in the middle"


def grid(*times: tuple[int, int, float]) -> list[Evaluation]:
    def timing(ms: float) -> Timing:
        return Timing(median=ms, low=ms, high=ms, samples=1)

    return [Evaluation(candidate="c", configuration={"a": a, "b": b}, timing=timing(ms)) for a, b, ms in times]


SPACE = {"a": (1, 2, 4), "b": (0, 1)}


def test_each_value_has_its_best_time_and_count():
    known = grid((1, 0, 3.0), (1, 1, 2.0), (2, 0, 5.0))
    assert value_facts(known, SPACE).splitlines() == [
        "a: 1: 2 (2), 2: 5 (1); never right or never tried: 4",
        "b: 0: 3 (2), 1: 2 (1)",
    ]


def test_what_the_best_share_needs_enough_of_them():
    assert shared_facts(grid((1, 0, 1.0)), SPACE) == "too few are measured"
    many = grid(*((1, 0, float(i)) for i in range(1, 9)), (2, 1, 99.0))
    assert shared_facts(many, SPACE) == "a=1, b=0"
    assert shared_facts(grid(*((1 + i % 2, i % 2, 1.0) for i in range(8))), SPACE) == "none"


def test_good_values_that_never_met_are_named_and_bad_ones_are_not():
    known = grid((1, 0, 1.0), (2, 1, 1.2), (4, 1, 9.0))
    assert untried_facts(known, SPACE) == "a=1 with b=1; a=2 with b=0"
    assert untried_facts([], SPACE) == "none among the tunables that matter most"
