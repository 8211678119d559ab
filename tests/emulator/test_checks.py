"""The kernels that check on a GPU, run by the emulator: they decide as the host does."""

from __future__ import annotations

import re
from typing import Any

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tests.emulator.bench import Bench
from tui_tuner.evaluate.devices.cuda.checks import BEGIN, SOURCE, THREADS, kernel_for, tally_of
from tui_tuner.evaluate.tolerance import Bound, Tally, tally, verdict

NOWHERE = 2**64 - 1
EXACT = Bound(0.0, 0.0)
BOUNDS = (Bound(0.0, 0.0), Bound(1e-3, 1e-2), Bound(1.0, 0.0), Bound(0.0, 0.5))
KERNELS = [*re.findall(r"^(?:TALLY|DIFFERENCES)\((\w+)", SOURCE, re.MULTILINE), "digest", "damage"]
OUTPUTS = ("float16", "float32", "float64", "bool", "int8", "uint16", "int32", "uint64")


@pytest.fixture(scope="module")
def emulator(emulator: Bench) -> Bench:
    emulator.load_all(SOURCE, KERNELS)
    return emulator


def run(emulator: Bench, kernel: str, *arguments: Any, numbers: list[int], blocks: int = 2) -> list[int]:
    loaded = emulator.load(SOURCE, kernel)
    got = emulator.run(loaded, *arguments, np.array(numbers, np.uint64), grid=(blocks, 1, 1), block=(THREADS, 1, 1))
    return [int(number) for number in got[-1]]


def on_device(emulator: Bench, got: np.ndarray, expected: np.ndarray, allowed: Bound) -> Tally:
    limits = np.float64(allowed.absolute), np.float64(allowed.relative)
    bits = [bits_of(array) for array in (got, expected)]
    kernel = kernel_for(got.dtype, expected.dtype, allowed)
    assert kernel is not None
    return tally_of(run(emulator, kernel, *bits, np.uint64(got.size), *limits, numbers=BEGIN))


def bits_of(array: np.ndarray) -> np.ndarray:
    """Half precision and truth values as the integers that a kernel reads them as."""
    return array.view(f"uint{8 * array.itemsize}") if array.dtype.kind != "f" or array.itemsize == 2 else array


def said(found: Tally, got: np.ndarray, expected: np.ndarray, allowed: Bound) -> str | None:
    mismatch = verdict(found, lambda place: got[place], expected, allowed)[1]
    return None if mismatch is None else str(mismatch)


@st.composite
def outputs(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, Bound]:
    """What a kernel computed, what was expected of it, and what is allowed: often near the limit."""
    dtype = np.dtype(draw(st.sampled_from(OUTPUTS)))
    count, allowed = draw(st.integers(1, 300)), draw(st.sampled_from(BOUNDS))
    expected = draw(arrays(dtype, count))
    if dtype.kind != "f":
        return draw(st.one_of(arrays(dtype, count), st.just(expected))), expected, EXACT
    shares = draw(arrays(np.float64, count, elements=st.sampled_from([0.0, 0.5, 1.0, 1.0 + 1e-9, -1.0, 2.0, np.nan])))
    with np.errstate(all="ignore"):
        right = expected.astype(np.float64)
        got = right + shares * (allowed.absolute + allowed.relative * np.abs(right))
        return got.astype(dtype), right if draw(st.booleans()) else expected, allowed


def one(values: list[float], dtype: str) -> np.ndarray:
    return np.array(values, dtype)


@hypothesis.settings(max_examples=60)
@hypothesis.example((one([1.2e-7], "float16"), one([6e-8], "float16"), Bound(0.0, 0.5)))
@hypothesis.example((one([3e-45], "float32"), one([1e-45], "float32"), Bound(0.0, 0.5)))
@hypothesis.given(outputs())
def test_a_verdict_on_the_device_is_that_of_the_host(
    emulator: Bench, output: tuple[np.ndarray, np.ndarray, Bound]
) -> None:
    got, expected, allowed = output
    here, there = tally(got, expected, allowed), on_device(emulator, got, expected, allowed)
    assert (there.off, there.not_a_number, there.infinite) == (here.off, here.not_a_number, here.infinite)
    assert said(there, got, expected, allowed) == said(here, got, expected, allowed)
    assert there.worst == pytest.approx(here.worst, rel=0.05, abs=1e-2)


def test_what_is_expected_in_another_type_or_may_be_off_by_whole_numbers_is_compared_on_the_host() -> None:
    assert kernel_for(np.dtype("float32"), np.dtype("float16"), Bound(1.0, 0.0)) is None
    assert kernel_for(np.dtype("int32"), np.dtype("int64"), EXACT) is None
    assert kernel_for(np.dtype("uint8"), np.dtype("uint8"), EXACT) == "differences_1"
    assert kernel_for(np.dtype("uint8"), np.dtype("uint8"), Bound(1.0, 0.0)) is None


@pytest.mark.parametrize("count", [1, 7, 8, 9, 5000])
def test_a_digest_changes_with_every_byte_and_with_the_key(emulator: Bench, count: int) -> None:
    given = np.random.default_rng(count).integers(0, 256, count, np.uint8)

    def digest(data: np.ndarray, key: int = 7) -> int:
        return run(emulator, "digest", data, np.uint64(data.size), np.uint64(key), numbers=[0])[0]

    first = digest(given)
    assert digest(given.copy()) == first
    assert digest(given, key=8) != first
    for place in {0, count // 2, count - 1}:
        changed = given.copy()
        changed[place] ^= 1
        assert digest(changed) != first
    if count > 16:
        assert digest(np.concatenate([given[8:16], given[:8], given[16:]])) != first, "the place of a word counts"


@pytest.mark.parametrize("damaged", [(), (0,), (4999,), (17, 18, 4000)])
def test_damage_is_found_from_the_first_to_the_last_place(emulator: Bench, damaged: tuple[int, ...]) -> None:
    band = np.full(2500, 0xFFF5, np.uint16).view(np.uint8).copy()
    band[list(damaged)] ^= 0x10
    numbers = run(emulator, "damage", band, np.uint64(band.size), np.uint32(0xFFF5), numbers=[NOWHERE, 0])
    assert numbers == ([min(damaged), max(damaged) + 1] if damaged else [NOWHERE, 0])
