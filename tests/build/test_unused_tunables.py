"""Tunables that no build can notice are left out of it, and only those."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from tui_tuner.evaluate.build.builder import Builder
from tui_tuner.evaluate.build.compilers import Headers
from tui_tuner.evaluate.build.compilers.gnu import CCompiler
from tui_tuner.evaluate.build.sources import is_made_of, unused_tunables
from tui_tuner.resources import samples_directory

NAME = "block_size_x"


@pytest.fixture
def toolkit(tmp_path):
    texts = {
        "implied.h": '#include "deep/er.h"\n',
        "deep/er.h": '#  include <deepest.h>\n#include "er.h"\n',
        "deepest.h": "int in_deepest;",
        "extra.h": "int in_extra;",
    }
    for name, text in texts.items():
        path = tmp_path / "toolkit" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Headers((tmp_path / "toolkit",), ("implied.h",))


@pytest.fixture
def unused(candidate, toolkit):
    def names(source, configuration, *options, kernel="k", headers=toolkit):
        return set(unused_tunables(candidate(source, kernel), configuration, options, headers))

    return names


@pytest.mark.parametrize(
    "source",
    [
        "int i = blockDim.x; // block_size_x",
        "#include <cmath>\n#include <stdint.h>\nint b, lock, size_x;",
        "int block_size_xy, my_block_size_x;",
    ],
)
def test_a_name_that_no_word_of_the_source_is_or_gives_is_unused(unused, source):
    assert unused(source, {NAME: 32, "n": 1}) == {NAME, "n"}


@pytest.mark.parametrize(
    "source",
    [
        "int i = block_size_x;",
        "#ifdef block_size_x\n#endif",
        "int i = block_\\\nsize_x;",
        "int i = block_??/\nsize_x;",
        'asm("block_size_x");',
        "#define SIZE(axis) block_size_##axis\nint i = SIZE(x);",
        "#include <stdlib.h>\nint i = __CONCAT(block_, size_x);",
        "#define THREE(a, b, c) a%:%:b%:%:c\nint i = THREE(block, _size_, x);",
    ],
)
def test_a_name_that_the_source_uses_or_could_put_together_is_used(unused, source):
    assert NAME not in unused(source, {NAME: 32, "y": 1})
    assert "y" in unused(source, {NAME: 32, "y": 1})


@pytest.mark.parametrize(
    ("header", "name", "is_unused"),
    [
        ("", "in_deepest", False),  # which the toolkit includes unasked
        ("", "in_extra", True),
        ("#include <extra.h>", "in_extra", False),
        ("#include <mine.h>", "n", False),  # may hold anything
        ('#include "extra.h"', "n", True),
        ("#include <boost/config.hpp>", "n", False),
        ("#if 0\n#  include <mine.h>\n#endif", "n", False),
        ("#include <cassert>", "NDEBUG", False),
        ("", "_GLIBCXX_DEBUG", False),
    ],
)
def test_headers_that_are_read_have_a_say(unused, header, name, is_unused):
    assert (name in unused(f"{header}\nint i;", {name: 1})) == is_unused


@pytest.mark.parametrize(
    ("options", "is_unused"),
    [
        (("-O3",), True),
        (("-DTILE=tile_x",), False),
        (("-I/home/me/include",), False),
        (("-include", "/x.h"), False),
    ],
)
def test_options_have_a_say(unused, options, is_unused):
    assert ("tile_x" in unused("int i;", {"tile_x": 1}, *options)) == is_unused


def test_another_tunable_may_name_it_and_so_may_the_kernels_template_argument(unused):
    assert unused("int i = layout;", {"layout": "columns", "columns": 1, "rows": 1}) == {"rows"}
    assert unused("template <int n> void k();", {"tile": 1, "rows": 1}, kernel="k<tile>") == {"rows"}


def test_where_the_headers_are_not_known_every_tunable_counts(unused):
    assert unused("int i;", {"n": 1}, headers=None) == set()


def test_names_are_put_together_from_whole_words():
    assert is_made_of("abc", frozenset({"a", "bc"}))
    assert is_made_of("abc", frozenset({"abc"}))
    assert not is_made_of("abc", frozenset({"a", "c", "bcd", "abcd"}))


C = "#include <math.h>\nvoid k(float* x) { x[0] = sqrtf(UNROLL); }"


async def test_configurations_that_differ_in_nothing_that_is_used_are_built_once(policy, candidate, tmp_path):
    builder = Builder(CCompiler.find(), cache=tmp_path / "cache", policy=policy, language="c")
    configurations = [{NAME: threads, "UNROLL": unroll} for threads in (32, 64, 128) for unroll in (1, 2)]

    builds = await asyncio.gather(*(builder.build(candidate(C), one) for one in configurations))

    assert [build.failure for build in builds] == [None] * 6
    assert len({build.key for build in builds}) == 2
    assert sum(not build.cached for build in builds) == 2


async def test_a_value_that_cannot_be_a_macro_is_refused_though_nothing_uses_it(policy, candidate, tmp_path):
    builder = Builder(CCompiler.find(), cache=tmp_path / "cache", policy=policy, language="c")

    build = await builder.build(candidate(C), {NAME: "1; evil", "UNROLL": 1})

    assert build.failure is not None


@pytest.mark.slow
@pytest.mark.parametrize("sample", ["convolution2d", "histogram"])
async def test_nvcc_writes_the_same_cubin_without_them(nvcc, policy, candidate, tmp_path, monkeypatch, sample):
    source = candidate((samples_directory() / f"{sample}.cu").read_text(), sample)
    configuration = {NAME: 64, "block_size_y": 2, "items_per_thread": 4}
    without = Builder(nvcc, cache=tmp_path / "without", policy=policy)
    recipe = type(nvcc).recipe

    first = await without.build(source, configuration)
    monkeypatch.setattr(type(nvcc), "recipe", lambda *given: replace(recipe(*given), headers=None))
    second = await Builder(nvcc, cache=tmp_path / "with", policy=policy).build(source, configuration)

    assert (first.failure, second.failure) == (None, None)
    assert first.key != second.key
    assert Path(first.artifact).read_bytes() == Path(second.artifact).read_bytes()
