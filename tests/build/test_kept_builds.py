"""Builds kept for later runs: taken whole or not at all, never stale, within a limit, nothing of the unconfined."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.waiting import LIMIT_S, reached
from tui_tuner.evaluate.build import kept_builds
from tui_tuner.evaluate.build.builder import Builder
from tui_tuner.evaluate.build.compilers import Recipe, gnu
from tui_tuner.evaluate.build.compilers.gnu import CCompiler
from tui_tuner.evaluate.build.kept_builds import MIB, KeptBuilds
from tui_tuner.evaluate.results import Build, Failure, FailureKind, Resources
from tui_tuner.evaluate.sandbox import run
from tui_tuner.evaluate.sandbox.run import Policy, SandboxReport
from tui_tuner.problem.headers import include_paths


@dataclass(frozen=True)
class Shell:
    """Runs the candidate's source as a script that writes `out.so`; no two runs write the same."""

    toolchain: str = "shell 1"
    made_with: tuple[Path, ...] = ()

    def recipe(self, candidate, configuration, options):
        script = f"mktemp -u > out.so\n{candidate.source}"
        read = include_paths(options)
        command = ("/bin/sh", "build.sh", *options)
        return Recipe({"build.sh": script}, command, "out.so", read, made_with=self.made_with)

    def symbol(self, candidate, log):
        return candidate.kernel

    def resources(self, log, symbol):
        return Resources(registers=len(log))


@pytest.fixture
def kept(tmp_path) -> Path:
    return tmp_path / "user" / "builds"


@pytest.fixture
def builder(policy, tmp_path, kept) -> Callable[..., Builder]:
    """A builder of a new run: nothing of an earlier one is remembered but what was kept."""
    runs = iter(range(1000))

    def make(compiler=None, *, policy=policy, **options):
        cache = tmp_path / f"run-{next(runs)}"
        return Builder(compiler or Shell(), cache=cache, policy=policy, jobs=2, kept=KeptBuilds(kept, MIB), **options)

    return make


def content(build: Build) -> str:
    assert build.artifact is not None
    return Path(build.artifact).read_text()


async def test_a_later_run_builds_nothing_and_gets_the_same(builder, candidate):
    first = await builder().build(candidate("echo abc"), {})
    second = await builder().build(candidate("echo abc"), {})

    assert content(second) == content(first)
    assert (second.resources, second.symbol, second.key) == (first.resources, first.symbol, first.key)
    assert (first.cached, second.cached) == (False, True)
    assert first.milliseconds > second.milliseconds == 0.0


async def test_a_run_is_complete_without_what_is_kept(builder, candidate, kept, policy):
    await builder().build(candidate("true"), {})
    second = await builder().build(candidate("true"), {})
    for file in kept.iterdir():
        file.unlink()

    again = await Builder(Shell(), cache=Path(second.artifact).parent, policy=policy).build(candidate("true"), {})

    assert again == second
    assert Path(again.artifact).is_file()


async def test_what_is_done_to_a_runs_artifact_is_not_done_to_what_is_kept(builder, candidate):
    first = await builder().build(candidate("true"), {})
    known = content(first)
    Path(first.artifact).write_text("something else")

    assert content(await builder().build(candidate("true"), {})) == known


@pytest.mark.parametrize("damage", ["cut", "flipped", "record", "empty"])
async def test_what_was_damaged_is_built_again_and_kept_anew(builder, candidate, kept, damage):
    first = await builder().build(candidate("true"), {})
    (file,) = kept.iterdir()
    whole = file.read_bytes()
    damaged = {
        "cut": whole[:-1],
        "flipped": whole[:-1] + bytes([whole[-1] ^ 1]),
        "record": whole.replace(b"symbol", b"simbol"),
        "empty": b"",
    }
    file.write_bytes(damaged[damage])

    second = await builder().build(candidate("true"), {})
    third = await builder().build(candidate("true"), {})

    assert (second.cached, third.cached) == (False, True)
    assert content(second) == content(third) != content(first)


async def test_two_programs_that_build_the_same_at_once_both_get_a_whole_build(builder, candidate, kept, monkeypatch):
    all_looked, take = threading.Barrier(4), KeptBuilds.take

    def look(*given):
        found = take(*given)
        all_looked.wait(LIMIT_S)  # what one keeps is there too late for the others
        return found

    with monkeypatch.context() as patched:
        patched.setattr(KeptBuilds, "take", look)
        builds = await asyncio.gather(*(builder().build(candidate("true"), {}) for _ in range(4)))
    later = await builder().build(candidate("true"), {})

    assert not any(build.cached for build in builds)
    assert later.cached
    assert content(later) in {content(build) for build in builds}
    assert len([*kept.iterdir()]) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "is_kept"),
    [
        ("echo 'build.sh(3): error: no' >&2; exit 1", True),
        ("echo 'ptxas error   : Entry function k uses too much shared data (0xc400 bytes, 0xc000 max)'; exit 1", True),
        ("echo 'build.sh:1: fatal error: error writing to out.s: No space left on device'; exit 1", False),
        ("echo 'virtual memory exhausted: Cannot allocate memory'; exit 1", False),
        ("sleep 5", False),
    ],
)
async def test_a_failure_is_kept_where_it_is_the_sources_own(builder, candidate, script, is_kept):
    first, second = [await builder(timeout_s=1.0).build(candidate(script), {}) for _ in range(2)]

    assert first.failure is not None
    assert second.failure == first.failure
    assert second.cached == is_kept


@pytest.mark.parametrize("change", ["edited", "dated back", "added", "behind a link"])
async def test_a_header_that_changed_does_not_give_what_was_built_before(builder, candidate, tmp_path, change):
    include, elsewhere = tmp_path / "include", tmp_path / "elsewhere"
    for directory in (include / "deep", elsewhere):
        directory.mkdir(parents=True)
    (include / "linked").symlink_to(elsewhere)
    (include / "back").symlink_to(include)
    header = {"behind a link": elsewhere, "added": include}.get(change, include / "deep") / "x.h"
    if change != "added":
        header.write_text("#define N 1\n")
    options = ["-I", str(include)]

    first, same = [await builder().build(candidate("true"), {}, options) for _ in range(2)]
    before = header.stat() if header.exists() else None
    header.write_text("#define N 2\n")
    if change == "dated back":
        os.utime(header, ns=(before.st_atime_ns, before.st_mtime_ns))
    changed = await builder().build(candidate("true"), {}, options)

    assert (first.cached, same.cached, changed.cached) == (False, True, False)


@pytest.mark.slow
async def test_what_was_built_while_a_header_changed_is_not_kept(builder, candidate, tmp_path, kept):
    (tmp_path / "x.h").write_text("old")
    options = ["-include", str(tmp_path / "x.h")]
    at_work = asyncio.create_task(builder().build(candidate("sleep 0.5"), {}, options))
    assert await reached(lambda: any(tmp_path.glob("run-0/work-*/out.so")), at_work)
    (tmp_path / "x.h").write_text("new")

    assert (await at_work).failure is None
    assert not kept.exists()


@pytest.mark.parametrize(
    "options", [["-Xcompiler=-I/usr/share/x"], ["--options-file", "/x"], ["-I/usr/local/a,/usr/local/b"], ["-lfast"]]
)
async def test_what_may_read_files_that_nobody_looks_at_stays_in_its_run(builder, candidate, kept, options):
    await builder().build(candidate("true"), {}, options)

    assert not kept.exists()


async def test_what_includes_from_too_many_files_stays_in_its_run(builder, candidate, tmp_path, kept, monkeypatch):
    monkeypatch.setattr(kept_builds, "MAX_FILES", 100)
    include = tmp_path / "include"
    include.mkdir()
    for number in range(101):
        (include / str(number)).touch()
    await builder().build(candidate("true"), {}, [f"-I{include}"])

    assert not kept.exists()


@pytest.mark.parametrize("what", ["its version", "a file of it", "a header of it that was replaced"])
async def test_another_toolchain_builds_anew(builder, candidate, tmp_path, what):
    toolkit = tmp_path / "toolkit"
    (toolkit / "include").mkdir(parents=True)
    (toolkit / "ptxas").write_text("1")
    (toolkit / "include" / "a.h").write_text("1")
    shell = Shell(made_with=(toolkit / "ptxas", toolkit / "include"))

    first, same = [await builder(shell).build(candidate("true"), {}) for _ in range(2)]
    if what == "its version":
        shell = replace(shell, toolchain="shell 2")
    elif what == "a file of it":
        (toolkit / "ptxas").write_text("22")
    else:
        (toolkit / "new").write_text("2")
        (toolkit / "new").replace(toolkit / "include" / "a.h")
    changed = await builder(shell).build(candidate("true"), {})

    assert (first.cached, same.cached, changed.cached) == (False, True, False)


@pytest.mark.slow
async def test_what_nvcc_built_is_kept_and_taken(nvcc, builder, candidate):
    source = "__global__ void k(float *y) { y[threadIdx.x] = 2 * y[threadIdx.x]; }\n"
    first, second = [await builder(nvcc).build(candidate(source), {}) for _ in range(2)]

    assert (first.failure, first.cached, second.cached) == (None, False, True)
    assert (second.symbol, second.resources) == (first.symbol, first.resources)
    assert Path(second.artifact).read_bytes() == Path(first.artifact).read_bytes()


def test_what_is_compiled_beside_a_c_kernel_has_a_part_in_the_key(candidate, monkeypatch, tmp_path):
    file = tmp_path / "faults.c"
    file.write_text("int one;\n")
    monkeypatch.setattr(gnu, "FAULTS", file)
    recipe = CCompiler(Path("/bin/true"), "gcc 12", ".c").recipe(candidate("void k(void) {}"), {}, [])
    before = KeptBuilds(tmp_path, MIB).key("a", recipe, [])
    file.write_text("int another;\n")

    assert KeptBuilds(tmp_path, MIB).key("a", recipe, []) != before


async def test_the_compiler_can_neither_read_nor_write_what_is_kept(builder, candidate, kept):
    await builder().build(candidate("true"), {})
    (file,) = kept.iterdir()
    script = f"cat {file} && exit 1\necho x > {kept}/mine && exit 1\necho x > {file} && exit 1\ntrue"

    assert (await builder().build(candidate(script), {})).failure is None
    assert not (kept / "mine").exists()
    assert (await builder().build(candidate("true"), {})).cached


async def test_unconfined_builds_are_neither_kept_nor_taken(builder, candidate, kept, monkeypatch):
    await builder().build(candidate("true"), {})

    async def report(_):
        return SandboxReport("unconfined", "not confined", ("everything",))

    monkeypatch.setattr(run, "prove", report)
    unconfined = Policy(allow_unconfined=True)
    again = await builder(policy=unconfined).build(candidate("true"), {})
    await builder(policy=unconfined).build(candidate("true # another"), {})

    assert not again.cached
    assert len([*kept.iterdir()]) == 1


async def test_where_nothing_can_be_kept_builds_go_on(builder, candidate, kept):
    kept.parent.mkdir()
    kept.write_text("a file")

    builds = [await builder().build(candidate("true"), {}) for _ in range(2)]

    assert [(build.failure, build.cached) for build in builds] == [(None, False)] * 2


def artifact_of(directory: Path, key: str, size: int) -> Build:
    directory.mkdir(exist_ok=True)
    (directory / f"{key}.so").write_bytes(b"x" * size)
    return Build(key=key, artifact=str(directory / f"{key}.so"))


def test_what_was_not_used_for_longest_goes_first(tmp_path, kept):
    KeptBuilds(kept, MIB).keep("a", artifact_of(tmp_path / "run", "a", 600))
    limit = 3 * (kept / "a.build").stat().st_size + 10
    builds = KeptBuilds(kept, limit)
    for age, key in enumerate("edcba"):
        builds.keep(key, artifact_of(tmp_path / "run", key, 600))
        os.utime(kept / f"{key}.build", (time.time() - 1000 + age,) * 2)
    assert builds.take("d") is not None
    builds.shrink()

    sizes = {file.stem: file.stat().st_size for file in kept.iterdir()}
    assert sum(sizes.values()) <= limit
    assert set(sizes) == {"d", "a", "b"}


def test_what_is_larger_than_all_that_may_be_kept_is_not_kept(tmp_path, kept):
    KeptBuilds(kept, 1000).keep("a", artifact_of(tmp_path / "run", "a", 1000))

    assert not kept.exists()


def test_what_a_killed_program_was_writing_is_never_taken_and_removed_after_an_hour(tmp_path, kept):
    builds = KeptBuilds(kept, MIB)
    builds.keep("a", artifact_of(tmp_path / "run", "a", 10))
    for name, age in ((".new-old", 4000), (".new-young", 10)):
        (kept / name).write_text("half")
        os.utime(kept / name, (time.time() - age,) * 2)
    (kept / "a stranger's").touch()
    builds.shrink()

    assert {file.name for file in kept.iterdir()} == {"a.build", ".new-young", "a stranger's"}


def test_a_write_that_fails_leaves_no_remains(tmp_path, kept, monkeypatch):
    def disk_full(*_):
        raise OSError("disk full")

    monkeypatch.setattr(Path, "replace", disk_full)
    KeptBuilds(kept, MIB).keep("a", artifact_of(tmp_path / "run", "a", 10))

    assert [*kept.iterdir()] == []


def test_a_failure_is_kept_without_an_artifact(kept):
    failed = Build(key="a", failure=Failure(kind=FailureKind.COMPILE, message="k.cu:1: error: no"), milliseconds=9)
    KeptBuilds(kept, MIB).keep("a", failed)

    taken = KeptBuilds(kept, MIB).take("a")
    assert taken == (failed.model_copy(update={"milliseconds": 0.0}), None, "")
