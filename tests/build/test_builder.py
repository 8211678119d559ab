"""The builder around any compiler: cache, concurrency, time-out and what is not remembered."""

import asyncio
import errno
import json
import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tui_tuner.errors import MachineError, SandboxError
from tui_tuner.evaluate.build import builder as building
from tui_tuner.evaluate.build import kept_builds
from tui_tuner.evaluate.build.builder import Builder
from tui_tuner.evaluate.build.compilers import UNAVAILABLE, Recipe, TextBetween, macros
from tui_tuner.evaluate.build.kept_builds import BuildCache
from tui_tuner.evaluate.results import Build, Failure, FailureKind, Resources
from tui_tuner.evaluate.sandbox import run
from tui_tuner.evaluate.sandbox.run import Policy, SandboxReport, run_confined
from tui_tuner.problem.headers import include_paths


@dataclass
class ShellCompiler:
    """Runs the candidate's source as a shell script; each run leaves something else in the artifact."""

    toolchain: str = "shell 1"
    read: tuple[Path, ...] = field(default=())

    def recipe(self, candidate, configuration, options):
        script = f"mktemp -u > out\n{candidate.source}"
        command = ("/bin/sh", "build.sh", *macros(configuration), *options)
        return Recipe({"build.sh": script}, command, "out", self.read)

    def symbol(self, candidate, log):
        return f"symbol of {candidate.kernel}"

    def resources(self, log, symbol):
        return Resources(registers=len(log))


@pytest.fixture
def make(policy, tmp_path):
    def builder(compiler=None, **options):
        options = {"cache": tmp_path / "cache", "jobs": 2, "policy": policy, **options}
        return Builder(compiler or ShellCompiler(), **options)

    return builder


async def test_what_was_built_is_not_built_again_even_by_another_builder(make, candidate):
    first = await make().build(candidate("echo abc"), {"n": 4})
    second = await make().build(candidate("echo abc"), {"n": 4})

    assert (first.cached, second.cached) == (False, True)
    assert first.milliseconds > 0
    assert second == first.model_copy(update={"cached": True})
    assert first.resources.registers == len("abc\n")


async def test_all_that_determines_an_artifact_has_a_part_in_its_key(make, candidate):
    script = candidate("true")
    builds = [
        await make().build(script, {"n": 4}),
        await make().build(script, {"n": 5}),
        await make().build(script, {"m": 4}),
        await make().build(script, {"n": 4}, ["-O1"]),
        await make().build(candidate("true;"), {"n": 4}),
        await make().build(candidate("true", "other"), {"n": 4}),
        await make(ShellCompiler("shell 2")).build(script, {"n": 4}),
    ]

    assert len({build.key for build in builds}) == len(builds)
    assert not any(build.cached for build in builds)


async def test_builds_of_one_key_at_the_same_time_run_the_compiler_once(make, candidate):
    builder = make()

    builds = await asyncio.gather(*(builder.build(candidate("sleep 0.2"), {}) for _ in range(4)))

    assert sorted(build.cached for build in builds) == [False, True, True, True]
    assert len({build.artifact for build in builds}) == 1


@pytest.mark.slow
async def test_no_more_compilers_run_at_once_than_allowed(make, candidate, monkeypatch):
    running, most = 0, 0

    async def counted(*arguments, **options):
        nonlocal running, most
        running += 1
        most = max(most, running)
        try:
            return await run_confined(*arguments, **options)
        finally:
            running -= 1

    async def at_once(jobs):
        nonlocal most
        builder, most = make(jobs=jobs), 0
        await asyncio.gather(*(builder.build(candidate(f"sleep 0.2 # {jobs}"), {"n": n}) for n in range(3)))
        return most

    monkeypatch.setattr(building, "run_confined", counted)
    assert await at_once(2) == 2
    assert await at_once(1) == 1


async def test_a_compile_error_is_remembered(make, candidate):
    script = candidate("echo 'build.sh(3): error: no' >&2; exit 1")

    first, second = [await make().build(script, {}) for _ in range(2)]

    assert first.failure == second.failure
    assert first.failure.kind is FailureKind.COMPILE
    assert first.failure.message == "build.sh:3: error: no"
    assert (first.cached, second.cached) == (False, True)


@pytest.mark.slow
async def test_a_time_out_is_remembered_by_this_program_alone_and_leaves_no_process(make, candidate):
    forever = str(1_000_000 + os.getpid())  # seconds that no other run of the tests uses
    script = candidate(f"sleep {forever} & wait")
    builders = [make(timeout_s=0.4), make(timeout_s=0.4)]

    first, second, other = [await builders[which].build(script, {}) for which in (0, 0, 1)]

    assert first.failure.kind is FailureKind.BUILD_TIMEOUT
    assert first.failure.message == "the compiler was stopped after 0.4 s"
    assert second == first
    assert (other.failure, other.milliseconds == first.milliseconds) == (first.failure, False)
    assert _running(forever) == []


def _running(argument):
    lines = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            lines.append(file.read_bytes().split(b"\0"))
        except OSError:
            continue
    return [line for line in lines if argument.encode() in line]


@pytest.mark.parametrize("end", ["kill -9 $$", "echo 'g++: fatal error: Killed signal terminated program'; exit 1"])
async def test_a_compiler_killed_from_outside_is_the_machines_fault_and_not_remembered(make, candidate, end):
    for _ in range(2):
        with pytest.raises(MachineError, match="something killed the compiler"):
            await make().build(candidate(end), {})


@pytest.mark.parametrize(
    "said", ["a.cpp:1:2: error: #error Killed signal 9", "a.cpp:1: fatal error: Killed signal terminated program"]
)
async def test_a_source_that_speaks_of_killed_compilers_has_failed(make, candidate, said):
    build = await make().build(candidate(f"echo '{said}'; exit 1"), {})

    assert build.failure.kind is FailureKind.COMPILE


FULL = "echo 'fatal error: error writing to out: No space left on device'; exit 1"


@pytest.mark.parametrize(("free", "is_machines"), [(2**20, True), (2**40, False)])
async def test_a_compiler_that_finds_the_disk_full_is_believed_where_it_is(
    make, candidate, monkeypatch, free, is_machines
):
    monkeypatch.setattr(building.shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(2**41, 2**41 - free, free))
    if is_machines:
        with pytest.raises(MachineError, match="the disk is full"):
            await make().build(candidate(FULL), {})
    else:
        assert (await make().build(candidate(FULL), {})).failure.kind is FailureKind.COMPILE


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.ENOMEM, errno.EMFILE])
async def test_what_the_system_refuses_is_no_failure_of_the_candidate_and_goes_well_later(
    make, candidate, monkeypatch, number
):
    def refuse(*_):
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(kept_builds, "write_whole", refuse)
        with pytest.raises(MachineError):
            await make().build(candidate("true"), {})

    made = await make().build(candidate("true"), {})
    assert (made.failure, made.cached) == (None, False)


@pytest.mark.slow
async def test_a_cancelled_build_frees_its_place_for_the_next_of_the_same_key(make, candidate):
    builder = make(jobs=1)
    script = candidate("sleep 0.5")
    first = asyncio.create_task(builder.build(script, {}))
    await asyncio.sleep(0.2)
    second = asyncio.create_task(builder.build(script, {}))

    first.cancel()

    build = await second
    assert (build.failure, build.cached) == (None, False)
    assert first.cancelled()


@pytest.mark.parametrize("script", ["rm out", "rm out; ln -s /etc/passwd out", "rm out; mkdir out"])
async def test_a_compiler_that_writes_no_artifact_has_failed(make, candidate, script):
    build = await make().build(candidate(script), {})

    assert build.artifact is None
    assert build.failure.kind is FailureKind.COMPILE


async def test_nothing_is_built_where_confinement_is_not_proven(make, candidate, monkeypatch):
    async def report(_):
        return SandboxReport("unconfined", "not confined", ("everything",))

    monkeypatch.setattr(run, "prove", report)

    with pytest.raises(SandboxError, match="everything"):
        await make(policy=Policy()).build(candidate("true"), {})


async def test_a_damaged_record_or_a_missing_artifact_is_built_again(make, candidate, tmp_path):
    script = candidate("true")
    first = await make().build(script, {})
    (tmp_path / "cache" / f"{first.key}.json").write_text('{"key": "')
    second = await make().build(script, {})
    Path(second.artifact).unlink()
    third = await make().build(script, {})

    assert [build.cached for build in (first, second, third)] == [False, False, False]
    assert Path(third.artifact).is_file()


def test_an_artifact_that_is_there_is_not_put_anew_since_somebody_may_be_about_to_load_it(tmp_path):
    cache = BuildCache(tmp_path)
    (tmp_path / "a.so").write_bytes(b"sent by another machine")
    before = (tmp_path / "a.so").stat().st_ino

    build = cache.store(Build(key="a"), b"the same, built elsewhere", ".so")

    assert Path(build.artifact).stat().st_ino == before
    assert Path(build.artifact).read_bytes() == b"sent by another machine"


def test_a_write_that_fails_leaves_the_old_record_and_no_remains(tmp_path, monkeypatch):
    cache = BuildCache(tmp_path)
    failure = Failure(kind=FailureKind.COMPILE, message="old")
    cache.store(Build(key="a", failure=failure))

    def disk_full(*_):
        raise OSError("disk full")

    monkeypatch.setattr(Path, "replace", disk_full)
    with pytest.raises(OSError, match="disk full"):
        cache.store(Build(key="a", failure=Failure(kind=FailureKind.COMPILE, message="new")))

    assert cache.load("a").failure == failure
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


async def test_builds_work_inside_the_cache_and_clear_up_after_themselves(make, candidate, tmp_path):
    build = await make().build(candidate('case "$PWD" in */cache/work-*) ;; *) exit 1 ;; esac'), {})

    assert build.failure is None
    assert {path.name for path in (tmp_path / "cache").iterdir()} == {f"{build.key}.json", build.key}


async def test_what_a_killed_process_was_building_is_removed_and_what_it_finished_stays(make, candidate, tmp_path):
    first = await make().build(candidate("true"), {})
    work = tmp_path / "cache" / "work-x"
    work.mkdir()
    (work / "kernel.cu").touch()
    (tmp_path / "cache" / ".new-x").write_text("half")

    second = await make().build(candidate("true"), {})

    assert second == first.model_copy(update={"cached": True})
    assert {path.name for path in (tmp_path / "cache").iterdir()} == {f"{first.key}.json", first.key}


def artifacts(directory):
    return {path.stem for path in directory.glob("*.so")}


def test_what_was_not_used_for_longest_is_removed_where_it_is_too_much(tmp_path, monkeypatch):
    monkeypatch.setattr(kept_builds, "_ALWAYS_KEPT", 2)
    cache = BuildCache(tmp_path, limit=300)
    for key in "abc":
        cache.store(Build(key=key), b"x" * 100, ".so")
    cache.load("a")

    cache.store(Build(key="d"), b"x" * 100, ".so")

    assert artifacts(tmp_path) == {"a", "c", "d"}
    assert cache.load("b") is None
    assert not (tmp_path / "b.json").exists()


def test_the_last_builds_stay_however_large_they_are(tmp_path, monkeypatch):
    monkeypatch.setattr(kept_builds, "_ALWAYS_KEPT", 2)
    cache = BuildCache(tmp_path, limit=10)

    for key in "abc":
        cache.store(Build(key=key), b"x" * 100, ".so")

    assert artifacts(tmp_path) == {"b", "c"}


def test_what_an_earlier_process_left_counts(tmp_path, monkeypatch):
    monkeypatch.setattr(kept_builds, "_ALWAYS_KEPT", 1)
    earlier = BuildCache(tmp_path)
    for number, key in enumerate("ab"):
        os.utime(earlier.store(Build(key=key), b"x" * 100, ".so").artifact, (number, number))
    later = BuildCache(tmp_path, limit=200)
    later.remove_leftovers()

    later.store(Build(key="c"), b"x" * 100, ".so")

    assert artifacts(tmp_path) == {"b", "c"}


async def test_an_error_does_not_show_where_the_cache_is(make, candidate, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    script = candidate('echo "$PWD/build.sh(3): error: no" >&2; exit 1')

    build = await make(cache=Path("a cache")).build(script, {})

    assert build.failure.message == "<work>/build.sh:3: error: no"
    assert str(tmp_path) not in build.failure.detail


async def test_a_cache_that_was_moved_still_finds_its_artifacts(make, candidate, tmp_path):
    first = await make().build(candidate("true"), {})
    (tmp_path / "cache").rename(tmp_path / "moved")

    second = await make(cache=tmp_path / "moved").build(candidate("true"), {})

    assert second.cached
    assert Path(second.artifact).parent == tmp_path / "moved"
    assert json.loads((tmp_path / "moved" / f"{first.key}.json").read_text())["artifact"] == Path(first.artifact).name


def test_absolute_include_paths_are_found_in_every_spelling():
    options = ["-I/a", "-I", "/b", "-isystem", "/c", "-include", "/d/e.h", "-Irelative", "-O3", "/f"]

    assert {str(path) for path in include_paths(options)} == {"/a", "/b", "/c", "/d/e.h"}


class TwoWays(ShellCompiler):
    """Tries the first line of the source before the rest."""

    def recipe(self, candidate, configuration, options):
        attempt, _, script = candidate.source.partition("\n")
        files = {"attempt.sh": attempt, "build.sh": script}
        defines = macros(configuration)
        return Recipe(files, ("/bin/sh", "build.sh", *defines), "out", attempt=("/bin/sh", "attempt.sh", *defines))


@pytest.fixture
def ran(monkeypatch):
    """The scripts that ran."""
    scripts = []

    async def counted(command, **options):
        scripts.append(command[1])
        return await run_confined(command, **options)

    monkeypatch.setattr(building, "run_confined", counted)
    return scripts


async def test_what_an_attempt_builds_is_the_build(make, candidate, ran):
    build = await make(TwoWays()).build(candidate("echo ab; touch out\nexit 1"), {})
    assert (build.failure, build.resources.registers) == (None, len("ab\n"))
    assert ran == ["attempt.sh"]


async def test_what_an_attempt_cannot_build_is_not_tried_so_again(make, candidate, ran):
    builder = make(TwoWays())
    hard = candidate("echo left; touch out; exit 1\necho abc; touch out")
    builds = [await builder.build(hard, {"n": n}) for n in (1, 2)]
    assert [build.resources.registers for build in builds] == [len("abc\n")] * 2
    assert ran == ["attempt.sh", "build.sh", "build.sh"]
    await builder.build(candidate("touch out\nexit 1"), {})
    assert ran[3:] == ["attempt.sh"], "another source is tried"


async def test_why_a_source_is_wrong_says_the_command(make, candidate, ran):
    build = await make(TwoWays()).build(candidate("echo one; exit 1\necho k.c:1: error: two; exit 1"), {})
    assert build.failure.kind is FailureKind.COMPILE
    assert "two" in build.failure.message
    assert "one" not in build.failure.message


async def test_an_attempt_that_lacks_its_program_is_the_last(make, candidate, ran):
    builder = make(TwoWays())
    for text in "ab":
        build = await builder.build(candidate(f"exit {UNAVAILABLE}\necho {text}; touch out"), {})
        assert build.failure is None
    assert ran == ["attempt.sh", "build.sh", "build.sh"]


async def test_an_attempt_that_takes_too_long_is_not_followed_by_another(make, candidate, ran):
    build = await make(TwoWays(), timeout_s=0.3).build(candidate("sleep 60\ntouch out"), {})
    assert build.failure.kind is FailureKind.BUILD_TIMEOUT
    assert ran == ["attempt.sh"]


class ByAText(ShellCompiler):
    """The first line of the source writes a text, which the rest reads in capitals."""

    def recipe(self, candidate, configuration, options):
        first, _, script = candidate.source.partition("\n")
        files = {"first.sh": first, "build.sh": script}
        between = TextBetween(("/bin/sh", "first.sh", *macros(configuration)), "text", str.upper)
        return Recipe(files, ("/bin/sh", "build.sh"), "out", between=between)


async def test_a_text_on_the_way_is_changed_before_it_is_read(make, candidate, ran):
    builder = make(ByAText())
    build = await builder.build(candidate("echo abc > text; echo first\ncat text > out; echo last"), {})
    assert (build.failure, Path(build.artifact).read_text()) == (None, "ABC\n")
    assert build.resources.registers == len("last\n"), "what the last command says counts"
    other = await builder.build(candidate("echo $1 > text\ncat text > out"), {"TILE": 4})
    assert Path(other.artifact).read_text() == "-DTILE=4\n"
    again = await builder.build(candidate("echo $1 > text\ncat text > out"), {"TILE": 8})
    assert Path(again.artifact).read_text() == "-DTILE=8\n", "what writes the text is part of a build's key"
    assert ran == ["first.sh", "build.sh"] * 3


@pytest.mark.parametrize(
    ("first", "said"), [("echo 'error: no'; exit 1", "error: no"), ("true", "no reason"), ("ln -s outside text", "no")]
)
async def test_what_leaves_no_text_ends_the_build(make, candidate, ran, first, said):
    build = await make(ByAText()).build(candidate(f"{first}\ntouch out"), {})
    assert said in build.failure.message
    assert ran == ["first.sh"]


@pytest.mark.slow
async def test_either_command_may_be_stopped(make, candidate):
    for source in ("sleep 30\ntouch out", "touch text\nsleep 30"):
        build = await make(ByAText(), timeout_s=0.5).build(candidate(source), {})
        assert build.failure.kind is FailureKind.BUILD_TIMEOUT
