"""What all builds of a toolchain share is made once, and missed by nobody who cannot have it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tui_tuner.evaluate.build import builder as build
from tui_tuner.evaluate.build.builder import Builder, have_shared_part
from tui_tuner.evaluate.build.compilers import SharedPart
from tui_tuner.evaluate.build.compilers.emulator import EmulatorCompiler
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.model import Launch

KERNEL = Candidate(
    source="__global__ void twice(float *y) { y[threadIdx.x] = 2 * y[threadIdx.x]; }\n", kernel="twice", launch=Launch()
)
needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")


def a_part(directory: Path, *commands: tuple[str, ...]) -> SharedPart:
    return SharedPart(directory / "parts" / "one", {"given": "words\n"}, commands)


COPY = ("/bin/cp", "given", "made")


async def test_it_is_made_once_and_kept_whole(policy, tmp_path, monkeypatch):
    run: list[tuple[str, ...]] = []

    async def noted(command, **options):
        run.append(command)
        return await run_confined(command, **options)

    run_confined = build.run_confined
    monkeypatch.setattr(build, "run_confined", noted)
    part = a_part(tmp_path, COPY)

    assert [await have_shared_part(part, (), policy) for _ in range(2)] == [True, True]
    assert run == [COPY]
    assert {file.name: file.read_text() for file in part.directory.iterdir()} == {"given": "words\n", "made": "words\n"}
    assert [*part.directory.parent.iterdir()] == [part.directory]


async def test_what_cannot_be_made_is_not_there_and_leaves_nothing(policy, tmp_path):
    part = a_part(tmp_path, COPY, ("/bin/sh", "-c", "exit 1"))

    assert not await have_shared_part(part, (), policy)
    assert [*part.directory.parent.iterdir()] == []


async def test_without_a_place_for_it_there_is_none(policy, tmp_path):
    (tmp_path / "parts").write_text("a file")

    assert not await have_shared_part(a_part(tmp_path, COPY), (), policy)


async def test_without_room_for_it_there_is_none_and_nothing_is_left(policy, tmp_path):
    part = SharedPart(tmp_path / "parts" / "one", {"/dev/full": "words\n"}, (COPY,))

    assert not await have_shared_part(part, (), policy)
    assert [*part.directory.parent.iterdir()] == []


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize("cache", ["of the tests", "that cannot be made"])
async def test_a_kernel_is_built_with_the_same_key_whether_there_is_one_or_not(policy, tmp_path, monkeypatch, cache):
    compiler = EmulatorCompiler.find()
    recipe = compiler.recipe(KERNEL, {}, ())
    if cache == "that cannot be made":
        monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null/no")
    build = await Builder(compiler, cache=tmp_path / "builds", policy=policy).build(KERNEL, {})

    assert build.failure is None
    assert build.key == Builder(compiler, cache=tmp_path / "other", policy=policy)._key(KERNEL, recipe)
    assert recipe.shared is not None
    assert recipe.shared.directory.is_dir() or cache != "of the tests"


@needs_compiler
def test_options_that_may_change_the_runtime_build_everything_anew():
    recipe = EmulatorCompiler.find().recipe(KERNEL, {}, ("-O1",))
    assert recipe.shared is None
    assert "-O1" in recipe.command
