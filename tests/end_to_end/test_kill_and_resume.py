"""`kill -9` in the middle of a run: what is known is not asked, built or measured again, and nobody is left behind."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.end_to_end.kernels import SLOW_TO_COMPILE, rewrite, write_kernel
from tests.end_to_end.program import (
    Ended,
    ModelDouble,
    kinds,
    orphans_come_here,
    records,
    start,
    tuner_tui,
    tuner_tui_process,
    wait_until,
)

COUNTING = """\
import os, sys

def note_build(event, arguments):
    if event == "os.mkdir" and os.path.basename(arguments[0]).startswith("work-"):
        with open(os.environ["STARTS"], "a") as log:
            log.write("g++\\n")

sys.addaudithook(note_build)
"""
"""Python tells when a directory to build in is made, one a compiler: the sandbox would not run a wrapper of one's own,
nor let it write."""


@dataclass(frozen=True)
class Bench:
    """A kernel, a model and a log of compiler starts in a directory of their own; `ended` if the run did, unhurt."""

    directory: Path
    model: ModelDouble
    ended: Ended | None = None

    @property
    def run(self) -> Path:
        return self.directory / "run"

    @property
    def changes(self) -> dict[str, str]:
        here = str(self.directory)
        return {"PYTHONPATH": here, "STARTS": f"{here}/starts", "TMPDIR": here}

    @property
    def arguments(self) -> tuple[object, ...]:
        options = ("--device", "emulator", "--max-evals", 7, "--search", "random_sample", "--run-dir", "run")
        return ("scale.cu", "--auto", *self.model.asked_by("one_prompt"), *options)

    @property
    def compiler_starts(self) -> int:
        return len((self.directory / "starts").read_text().splitlines())

    @property
    def finished_builds(self) -> set[str]:
        return {file.stem for file in (self.run / "builds").glob("*.json")}

    @property
    def evaluated(self) -> list[str]:
        return sorted(str(record["key"]) for record in records(self.run) if record["kind"] == "evaluate")

    @property
    def result(self) -> dict[str, object]:
        content: dict[str, object] = json.loads((self.run / "result.json").read_text())
        return content


def new_bench(directory: Path) -> Bench:
    write_kernel(directory, tests=[333], passes=[400, 200, 100])
    (directory / "sitecustomize.py").write_text(COUNTING)
    return Bench(directory, ModelDouble(directory / "model", rewrite(passes=(10, 5, 20))))


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    bench = new_bench(tmp_path_factory.mktemp("uninterrupted"))
    ended = tuner_tui_process(*bench.arguments, cwd=bench.directory, **bench.changes)
    assert ended.code == 0, ended.err
    return replace(bench, ended=ended)


def during_the_search_of_the_baseline(run: Path) -> bool:
    return "evaluate" in kinds(run)


def just_after_the_model_answered(run: Path) -> bool:
    return "ask" in kinds(run)


def during_the_search_of_the_rewrite(run: Path) -> bool:
    known = kinds(run)
    return "ask" in known and known[known.index("ask") :].count("evaluate") >= 2


@contextmanager
def left_to_die(descendants: Callable[[], Mapping[int, str]]) -> Iterator[None]:
    """Whatever a failing test finds alive must not disturb the next."""
    try:
        yield
    finally:
        for pid in descendants():
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not descendants(), "the end of what was killed")


@dataclass(frozen=True)
class Killed:
    """A run that was killed and resumed.

    Attributes:
        alive: what ran below the program when it was killed.
        known: evaluations recorded by then.
        in_flight: builds begun by then and not finished.
        resumed: how the resumed run ended.
    """

    bench: Bench
    alive: list[str]
    known: list[str]
    in_flight: int
    resumed: Ended


def killed(directory: Path, moment: Callable[[Path], bool]) -> Killed:
    bench = new_bench(directory)
    with orphans_come_here() as descendants:
        process = start(*bench.arguments, cwd=bench.directory, **bench.changes)
        wait_until(lambda: moment(bench.run), moment.__name__)
        alive = [*descendants().values()]
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        wait_until(lambda: not descendants(), "the end of all that the program had started")
    in_flight = bench.compiler_starts - len(bench.finished_builds)
    known = bench.evaluated
    resumed = tuner_tui_process("resume", "run", "--auto", cwd=bench.directory, **bench.changes)
    return Killed(bench, alive, known, in_flight, resumed)


@pytest.mark.parametrize(
    "moment",
    [
        pytest.param(during_the_search_of_the_baseline, marks=pytest.mark.slow),
        pytest.param(just_after_the_model_answered, marks=pytest.mark.slow),
        during_the_search_of_the_rewrite,
    ],
)
def test_a_killed_run_goes_on_where_it_was_and_ends_like_one_that_was_not(
    tmp_path: Path, uninterrupted: Bench, moment: Callable[[Path], bool]
) -> None:
    run = killed(tmp_path / "killed", moment)
    bench, resumed, result = run.bench, run.resumed, run.bench.result

    # Nobody is left behind: that all of these ended was awaited before the run was resumed.
    assert any("tui_tuner.evaluate.runner.server" in command for command in run.alive)
    if moment is during_the_search_of_the_rewrite:
        assert any("tui_tuner.search.process" in command for command in run.alive)

    assert resumed.code == 0, resumed.err
    assert "resumed: scale.cu" in resumed.err
    assert result["status"] == "finished"
    for count in ("evaluations", "model_calls", "failures", "best_title"):
        assert result[count] == uninterrupted.result[count], count

    assert len(bench.model.prompts) == len(uninterrupted.model.prompts) == 1, "the model is not asked again"
    assert kinds(bench.run).count("ask") == 1

    # Only builds in flight are begun again; those that were finished count in the result.
    assert bench.finished_builds == uninterrupted.finished_builds
    assert bench.compiler_starts <= uninterrupted.compiler_starts + run.in_flight
    assert result["builds"] == uninterrupted.result["builds"] == len(uninterrupted.finished_builds)
    left = {file.suffix for file in (bench.run / "builds").iterdir()}
    assert left == {".json", ".so"}, "what the killed program was building is cleared away"

    assert set(run.known) < set(bench.evaluated), "killed too late to interrupt anything"
    assert bench.evaluated == uninterrupted.evaluated
    assert len(set(bench.evaluated)) == len(bench.evaluated), "nothing is measured again"


@pytest.mark.slow
def test_a_killed_program_leaves_no_compiler_behind(tmp_path: Path) -> None:
    write_kernel(tmp_path, source=SLOW_TO_COMPILE, passes=[400, 200])
    options = ("--auto", "--llm", "none", "--device", "emulator", "--run-dir", "run")

    with orphans_come_here() as descendants:
        process = start("scale.cu", *options, cwd=tmp_path, TMPDIR=str(tmp_path))
        wait_until(lambda: "approve" in kinds(tmp_path / "run"), "the beginning of the search")
        wait_until(lambda: any("cc1plus" in command for command in descendants().values()), "a slow compiler")
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        with left_to_die(descendants):
            # Sooner than the compiler would end by itself.
            wait_until(lambda: not descendants(), "the end of all that the program had started", limit_s=15)


def test_a_last_line_that_a_crash_cut_off_is_done_again_from_finished_builds(
    tmp_path: Path, uninterrupted: Bench
) -> None:
    directory = tmp_path / "cut"
    shutil.copytree(uninterrupted.directory, directory)
    bench = Bench(directory, ModelDouble(tmp_path / "model", "never asked"))
    journal = bench.run / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    last = max(number for number, line in enumerate(lines) if b'"kind": "evaluate"' in line)
    journal.write_bytes(b"".join(lines[:last]) + lines[last][:-40])
    (bench.run / "result.json").unlink()
    assert len(bench.evaluated) == len(uninterrupted.evaluated) - 1

    ended = tuner_tui_process("resume", "run", "--auto", cwd=bench.directory, **bench.changes)

    assert ended.code == 0, ended.err
    assert bench.evaluated == uninterrupted.evaluated
    assert bench.compiler_starts == uninterrupted.compiler_starts
    assert bench.model.prompts == []
    assert bench.result["status"] == "finished"


def test_a_replay_shows_the_same_with_neither_compiler_nor_model(tmp_path: Path, uninterrupted: Bench) -> None:
    before = (uninterrupted.run / "journal.jsonl").read_bytes()
    nothing = tmp_path / "empty"
    nothing.mkdir()

    replayed = tuner_tui("replay", uninterrupted.run, "--auto", cwd=tmp_path, PATH=str(nothing))

    assert replayed.code == 0, replayed.err
    assert replayed.out.splitlines() == uninterrupted.ended.out.splitlines()[:-1], "all but where it was written"
    assert (uninterrupted.run / "journal.jsonl").read_bytes() == before
    assert len(uninterrupted.model.prompts) == 1
