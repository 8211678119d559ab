from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tui_tuner.evaluate.verify import LISTED, pattern


def mask(shape: tuple[int, ...], *places: object) -> np.ndarray:
    wrong = np.zeros(shape, bool)
    for place in places:
        wrong[place] = True
    return wrong


IMAGE = (100, 70)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (mask(IMAGE), ""),
        (mask(IMAGE, ...), "all elements"),
        (mask(IMAGE, (3, 17), (50, 2)), "exactly [3,17] and [50,2]"),
        (mask(IMAGE, -1), "exactly the last row"),
        (mask(IMAGE, np.s_[:, -1]), "exactly the last column"),
        (mask(IMAGE, np.s_[:, 31::32]), "exactly every 32nd column from 31 to 63"),
        (mask((100, 320), np.s_[:, 31::32]), "exactly every 32nd column from 31 to 319"),
        (
            mask((9, 128), *(np.s_[:, a : a + 16] for a in (16, 48, 80))),
            "exactly columns 16 to 31 of every 32, from 16 to 95",
        ),
        (mask(IMAGE, np.s_[96:]), "exactly the last 4 rows (behind whole tiles of 32)"),
        (mask(IMAGE, np.s_[:, 64:]), "exactly the last 6 columns (behind whole tiles of 64)"),
        (mask(IMAGE, np.s_[97:, 64:]), "exactly the last 6 columns (behind whole tiles of 64) in the last 3 rows"),
        (mask(IMAGE, np.s_[96:], np.s_[:, 64:]), "all but columns 0 to 63 (a whole tile of 64) in rows 0 to 95"),
        (mask(IMAGE, np.s_[32:64, 17:33]), "exactly columns 17 to 32 in rows 32 to 63 (a whole tile of 32)"),
        (mask(IMAGE, 0, -1, np.s_[:, 0], np.s_[:, -1]), "all but columns 1 to 68 in rows 1 to 98"),
        (mask((7000,), np.s_[6990:]), "exactly the last 10 elements"),
        (mask((7000,), np.s_[5::7]), "exactly every 7th element from 5 to 6998"),
        (mask((3, 8, 5), np.s_[1, 2:5]), "exactly rows 2 to 4 in plane 1"),
        (mask((3, 8, 5, 6), np.s_[:, 2:5]), "exactly axis-1 slices 2 to 4"),
        (mask((3, 8, 5), np.s_[:, 7]), "exactly the last row"),
    ],
)
def test_a_pattern_is_named(wrong, words):
    assert pattern(wrong) == words


def test_a_contiguous_tail_over_several_rows_is_a_stretch_in_memory():
    wrong = mask(IMAGE)
    wrong.reshape(-1)[6897:] = True
    assert pattern(wrong) == "exactly the last 103 elements in memory"


def test_a_region_that_holds_right_elements_as_well_is_said_to():
    wrong = mask(IMAGE, np.s_[-1])
    wrong[-1, 5:9] = False
    assert pattern(wrong) == "only in the last row, 66 of its 70"


def test_what_has_no_pattern_is_said_to_have_none():
    wrong = np.random.default_rng(1).random(IMAGE) < 0.3
    assert pattern(wrong) == "spread over the whole array"


# What the words say, read back: a region is right if it is found in the words alone.

NAMES = {1: ("element",), 2: ("row", "column"), 3: ("plane", "row", "column")}


def said_of_axis(words: str, name: str, extent: int) -> np.ndarray:
    """The indices that the words leave of an axis: all where they say nothing of it."""
    index = np.arange(extent)
    if found := re.search(rf"every (\d+)(?:st|nd|rd|th) {name}s? from (\d+) to (\d+)", words):
        period, first, last = map(int, found.groups())
        return (index % period == first % period) & (first <= index) & (index <= last)
    if found := re.search(rf"{name}s (\d+) to (\d+) of every (\d+), from (\d+) to (\d+)", words):
        low, high, period, first, last = map(int, found.groups())
        return (low <= index % period) & (index % period <= high) & (first <= index) & (index <= last)
    if found := re.search(rf"the last (?:(\d+) )?{name}", words):
        return index >= extent - int(found[1] or 1)
    if found := re.search(rf"{name}s (\d+) to (\d+)", words):
        return (int(found[1]) <= index) & (index <= int(found[2]))
    if found := re.search(rf"{name} (\d+)", words):
        return index == int(found[1])
    return np.ones(extent, bool)


def said(words: str, shape: tuple[int, ...]) -> np.ndarray:
    """The region that the words name."""
    if words.startswith("exactly ["):
        return mask(shape, *(tuple(map(int, place.split(","))) for place in re.findall(r"\[([\d,]+)\]", words)))
    if words in ("all elements", "spread over the whole array"):
        return np.ones(shape, bool)
    if "in memory" in words:
        return said_of_axis(words, "element", int(np.prod(shape))).reshape(shape)
    region = np.ones(shape, bool)
    for axis, name in enumerate(NAMES[len(shape)]):
        along = [1] * len(shape)
        along[axis] = shape[axis]
        region &= said_of_axis(words, name, shape[axis]).reshape(along)
    return ~region if words.startswith("all but") else region


@st.composite
def masks(draw: st.DrawFn) -> np.ndarray:
    """A few parts of an array, some of them with holes, and perhaps a stretch in memory."""
    shape = tuple(draw(st.lists(st.integers(1, 90), min_size=1, max_size=3).filter(lambda s: np.prod(s) <= 40_000)))
    wrong, cut = np.zeros(shape, bool), st.integers(0, 90)
    for _ in range(draw(st.integers(0, 2))):
        wrong[tuple(slice(draw(cut), draw(cut), draw(st.integers(1, 33))) for _ in shape)] = True
    if draw(st.booleans()):
        wrong.reshape(-1)[draw(cut) : draw(st.none() | cut)] = True
    if draw(st.booleans()):
        wrong &= np.random.default_rng(draw(st.integers(0, 9))).random(shape) < 0.7
    return ~wrong if draw(st.booleans()) else wrong


@pytest.mark.slow
@settings(max_examples=250, deadline=None, derandomize=True)
@given(masks())
def test_what_the_words_say_is_true_of_the_mask(wrong):
    words = pattern(wrong)
    if not wrong.any():
        assert words == ""
        return
    region = said(words, wrong.shape)
    assert not (wrong & ~region).any(), "it names all that is wrong"
    if words.startswith(("exactly", "all")):
        assert (region == wrong).all(), words
    elif found := re.search(r", (\d+) of its (\d+)$", words):
        assert (int(found[1]), int(found[2])) == (wrong.sum(), region.sum())
        assert wrong.sum() > LISTED
    for tile in re.findall(r"tiles? of (\d+)\)", words):
        assert_aligned(words, int(tile), wrong)


def assert_aligned(words: str, tile: int, wrong: np.ndarray) -> None:
    """A tile that is named begins where the wrong elements do, along one of the axes or in memory."""
    axes = [wrong.any(axis=tuple(b for b in range(wrong.ndim) if b != a)) for a in range(wrong.ndim)]
    places = [np.flatnonzero(hit) for hit in (*axes, *(~hit for hit in axes), wrong.reshape(-1)) if hit.any()]
    assert any(place[0] % tile == 0 for place in places), words
