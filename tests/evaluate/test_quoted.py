"""Failures that name lines of a kernel: their text stands below, so that nobody has to count."""

from __future__ import annotations

import pytest

from tui_tuner.evaluate.quoted import quoted
from tui_tuner.evaluate.results import Failure, FailureKind

KERNEL = """__global__ void total(float *out, const float *in) {
    __shared__ float part[32];
    float sum = in[threadIdx.x];
    part[threadIdx.x / 32] = sum;

    out[threadIdx.x] = part[0];
}
"""
SHUFFLED = KERNEL.replace("in[threadIdx.x];", "__shfl_xor_sync(0xffffffff, in[threadIdx.x], 1);")


def race(message: str, detail: str = "") -> Failure:
    return Failure(kind=FailureKind.RACE, message=message, detail=detail)


def test_lines_that_are_named_are_shown_once_and_in_the_order_of_their_names() -> None:
    found = quoted(race("racecheck: a write in line 4 and a read in line 6, line 4 again"), KERNEL)
    assert found.detail == "line 4: part[threadIdx.x / 32] = sum;\nline 6: out[threadIdx.x] = part[0];"
    assert quoted(race("both change it, in lines 4 and 6: both"), KERNEL).detail == found.detail


def test_what_is_known_besides_stays_in_front_and_its_lines_are_shown_too() -> None:
    found = quoted(race("left its array", detail="invalid read in line 3"), KERNEL)
    assert found.detail == "invalid read in line 3\nline 3: float sum = in[threadIdx.x];"


def test_lines_without_text_or_beyond_the_end_are_not_shown_and_long_ones_are_cut() -> None:
    assert quoted(race("a write in line 5 and a read in line 99"), KERNEL) == race(
        "a write in line 5 and a read in line 99"
    )
    long = f"int x = {'1 + ' * 100}1;"
    assert quoted(race("a write in line 1"), long).detail == f"line 1: {long[:120]}..."


def test_what_a_compiler_says_is_left_as_it_is() -> None:
    failure = Failure(kind=FailureKind.COMPILE, message="error in line 4", detail="kernel.cu:4: error")
    assert quoted(failure, KERNEL) == failure


def test_of_a_race_where_lanes_shuffle_it_is_said_what_orders_memory() -> None:
    assert "A shuffle or a vote is no memory barrier" in quoted(race("a race in line 4"), SHUFFLED).detail
    assert "shuffle" not in quoted(race("a race in line 4"), KERNEL + "// __shfl_xor_sync(x)").detail
    fault = Failure(kind=FailureKind.ILLEGAL_ACCESS, message="a read in line 4")
    assert "shuffle" not in quoted(fault, SHUFFLED).detail


@pytest.mark.parametrize("arrival", ["mbarrier.arrive.shared::cta.b64 _, [%0];", "bar.arrive 1, 64;", "b.arrive()"])
def test_of_a_race_where_threads_arrive_on_a_barrier_it_is_said_which_of_them_have_to(arrival: str) -> None:
    arriving = KERNEL.replace("out[", f"""asm("{arrival}"); out[""")
    found = race("racecheck: a race in line 4")
    assert "let each thread arrive on an mbarrier that stored" in quoted(found, arriving).detail
    assert "arrive" not in quoted(found, KERNEL).detail
    assert "arrive" not in quoted(race("synccheck: a race in line 4"), arriving).detail
    assert "arrive" not in quoted(Failure(kind=FailureKind.TIMEOUT, message="racecheck: line 4"), arriving).detail


def test_where_warps_meet_at_a_barrier_from_different_branches_it_is_said_which_one_to_write() -> None:
    said = "synccheck: barrier error detected. Divergent thread(s) in block. in line 4"
    of = {text: KERNEL.replace("out[", f"""asm("{text} 1, 384;"); out[""") for text in ("bar.sync", "barrier.sync")}
    assert "`barrier.sync 1, 384;`" in quoted(race(said), of["bar.sync"]).detail
    assert "aligned" not in quoted(race(said), of["barrier.sync"]).detail
    assert "aligned" not in quoted(race("racecheck: a race in line 4"), of["bar.sync"]).detail
