"""What is said to hold a launch back, on figures as an H200 gives them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.evaluate.test_roofline import GPU
from tui_tuner.evaluate.profiling.bottleneck import Bottleneck, diagnosis
from tui_tuner.evaluate.results import DeviceInfo, Evaluation, Resources, Timing
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.model import Argument, Kernel, Launch, Problem, Work
from tui_tuner.prompts import measurement_facts

H200 = GPU.model_copy(
    update={
        "multiprocessors": 132,
        "max_threads_per_multiprocessor": 2048,
        "shared_bytes_optin": 232448,
        "shared_bytes_per_multiprocessor": 233472,
        "registers_per_multiprocessor": 65536,
    }
)
N = 4096


def problem(flops: str, nbytes: str) -> Problem:
    return Problem(
        kernel=Kernel(source=Path("k.cu"), name="k"),
        sizes={"n": N},
        launch=Launch(),
        arguments=[Argument(name="x", dtype="float32", shape=["n", "n"], output=True)],
        work=Work.model_validate({"flops": flops, "bytes": nbytes}),
        source_text="__global__ void k(float *x)",
    )


SMALL = problem("n", "8 * n")
PRODUCT, COPY = problem("2 * n**3", "12 * n * n"), problem("n * n", "8 * n * n")
SILENT = COPY.model_copy(update={"work": None})


def kernel(block: int, work: str) -> Candidate:
    launch = Launch.model_validate({"problem_size": [work], "block_size": [block]})
    return Candidate(source="", kernel="k", launch=launch)


def measured(ms: float, registers: int = 32, spilled: int = 0, shared: int = 0) -> Evaluation:
    resources = Resources(registers=registers, spill_bytes=spilled, shared_bytes=shared)
    timing = Timing(median=ms, low=ms, high=ms, samples=9)
    return Evaluation(candidate="c", configuration={}, timing=timing, resources=resources)


@pytest.mark.parametrize(
    ("asked", "block", "work", "evaluation", "bottleneck", "said"),
    [
        (PRODUCT, 256, "n * n", measured(26.4), "latency", "the declared operations need 9% of the time"),
        (PRODUCT, 256, "n * n // 64", measured(2.7, 128, shared=32768), "compute", "need 85% of the time"),
        (PRODUCT, 256, "n * n // 64", measured(9.0, 255, 96), "spills", "a thread keeps 96 bytes"),
        (COPY, 256, "n * n", measured(0.036), "memory", "need 91% of the time"),
        (COPY, 256, "n * n", measured(0.36), "latency", "the declared bytes need 9% of the time"),
        (PRODUCT, 256, "n * n // 64", measured(1.3), "latency", "does what is declared faster than .* allows"),
        (PRODUCT, 256, "n * n // 64", measured(1.3, spilled=96), "spills", "a thread keeps 96 bytes"),
        (COPY, 256, "n", measured(0.36), "grid", "16 blocks for 132 multiprocessors"),
        (COPY, 1024, "140 * 2048", measured(0.36), "tail", "280 blocks run in 2 rounds of 264: .* 47% of the device"),
        (COPY, 64, "n * n", measured(0.36, 255, shared=100_000), "occupancy", "4 of 64 on a multiprocessor, .* memory"),
        (COPY, 256, "n * n", measured(0.036, spilled=64), "memory", "need 91% of the time"),
        (COPY, 256, "n * n", measured(0.36, spilled=8), "latency", "the declared bytes need 9% of the time"),
        (SMALL, 256, "n * n", measured(0.004), "launch", "A launch of 4.0 us"),
        (SILENT, 256, "n * n", measured(0.36), "unknown", "its arrays alone, .* need 5% of the time"),
        (SILENT, 256, "n * n", measured(0.018), "memory", "its arrays alone, .* need 91% of the time at .* writing"),
        (SILENT, 256, "n * n", measured(0.018, spilled=96), "memory", "need 91%"),
        (SILENT, 256, "n * n", measured(0.012), "unknown", "it needs a part of them"),
        (SILENT, 256, "n", measured(0.018), "memory", "need 91%"),
        (SILENT, 256, "n", measured(0.36), "grid", "16 blocks for 132 multiprocessors"),
    ],
)
def test_the_bottleneck_is_named_with_its_figures(
    asked: Problem, block: int, work: str, evaluation: Evaluation, bottleneck: Bottleneck, said: str
) -> None:
    found = diagnosis(asked, H200, kernel(block, work), evaluation)
    assert found is not None
    assert (found.bottleneck, bool(re.search(said, found.cause))) == (bottleneck, True), found.cause


def test_the_facts_say_how_the_device_is_filled_and_what_is_achieved() -> None:
    found = diagnosis(PRODUCT, H200, kernel(256, "n * n"), measured(26.4))
    assert found is not None
    assert found.facts == (
        "launch: 65536 blocks of 256 threads; a multiprocessor holds 8 of them, 64 of 64 warps, limited by warps and "
        "registers; the grid fills the device 62.1 times",
        "achieved, of what is declared: 7.626 GB/s, 0% of the measured bandwidth of writing; 5.206 TFLOP/s in float32, "
        "9% of the measured peak of float32",
    )


@pytest.mark.parametrize(
    ("device", "asked", "evaluation"),
    [
        (GPU.model_copy(update={"peaks": {}}), PRODUCT, measured(26.4)),
        (H200, PRODUCT, measured(26.4).model_copy(update={"timing": None})),
    ],
)
def test_nothing_is_said_where_it_is_not_known(device: DeviceInfo, asked: Problem, evaluation: Evaluation) -> None:
    assert diagnosis(asked, device, kernel(256, "n * n"), evaluation) is None


def test_without_declared_work_what_is_achieved_is_told_of_all_arrays() -> None:
    found = diagnosis(SILENT, H200, kernel(256, "n * n"), measured(0.018))
    assert found is not None
    achieved = "achieved, if each array is read or written once: 3728 GB/s, 91% of the measured bandwidth of writing"
    assert found.facts[-1] == achieved
    unknown = diagnosis(SILENT, H200.model_copy(update={"memory_gbs": None}), kernel(256, "n * n"), measured(0.36))
    assert unknown is not None
    assert unknown.cause == "Not known: without declared work no ceiling can be held against it."
    assert not any(fact.startswith("achieved") for fact in unknown.facts)


def test_a_device_that_does_not_tell_its_multiprocessors_still_has_a_bottleneck() -> None:
    found = diagnosis(PRODUCT, GPU, kernel(256, "n * n"), measured(26.4))
    assert found is not None
    assert found.bottleneck == "latency"


def test_the_prompt_names_the_bottleneck_of_the_kernel_that_it_shows() -> None:
    given, shown = measured(30.0), measured(26.4)
    held_by = diagnosis(PRODUCT, H200, kernel(256, "n * n"), shown)
    told = measurement_facts(PRODUCT, H200, given, given, [given, shown], held_by).splitlines()
    assert told[-1].startswith("  bottleneck: Neither ceiling: the declared operations need 9% of the time.")
    assert told[-4].startswith("what holds the kernel above back, with ")
