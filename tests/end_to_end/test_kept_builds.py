"""A second run of a problem builds nothing, and is a run like the first in all else."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.kernels import SOURCE, write_kernel
from tests.end_to_end.program import Ended, records, tuner_tui
from tui_tuner.evaluate.build import builder as building
from tui_tuner.evaluate.sandbox.process import CommandResult
from tui_tuner.evaluate.sandbox.run import run_confined

OPTIONS = ("--auto", "--llm", "none", "--device", "emulator")


@dataclass
class Machine:
    """A user's machine with a cache of its own.

    Attributes:
        directory: where the programs run.
        kept: directory of the builds that are kept.
        compiled: the commands of all compilers that were started.
    """

    directory: Path
    kept: Path
    compiled: list[Sequence[str]] = field(default_factory=list)

    def run(self, name: str, *options: object, **changes: str) -> dict[str, Any]:
        """What a run put into its result."""
        return self.result(name, tuner_tui("scale.cu", *OPTIONS, *options, "--run-dir", name, **self.place(**changes)))

    def result(self, name: str, ended: Ended) -> dict[str, Any]:
        assert ended.code in (0, 3), ended.err
        content: dict[str, Any] = json.loads((self.directory / name / "result.json").read_text())
        return content

    def place(self, **changes: str) -> dict[str, Any]:
        return {"cwd": self.directory, "XDG_CACHE_HOME": str(self.kept.parents[1]), **changes}

    def builds_of(self, name: str) -> dict[str, bytes]:
        return {file.name: file.read_bytes() for file in (self.directory / name / "builds").glob("*.so")}

    def evaluated(self, name: str) -> list[str]:
        return [str(record["key"]) for record in records(self.directory / name) if record["kind"] == "evaluate"]


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    ours = tmp_path / "cache" / "tuner-tui"
    ours.mkdir(parents=True)
    runtimes = Path(os.environ["XDG_CACHE_HOME"], "tuner-tui", "emulator")
    runtimes.mkdir(exist_ok=True)
    (ours / "emulator").symlink_to(runtimes)
    found = Machine(tmp_path / "here", ours / "builds")
    broken = SOURCE.replace("{", "{\n#if passes == 40\n    int none = missing;\n#endif\n", 1)
    write_kernel(found.directory, source=broken, tests=[333], passes=[400, 40, 4])

    async def noted(command: Sequence[str], **options: Any) -> CommandResult:
        if "-shared" in command:
            found.compiled.append(command)
        return await run_confined(command, **options)

    monkeypatch.setattr(building, "run_confined", noted)
    return found


def test_a_second_run_starts_no_compiler_and_ends_like_the_first(machine: Machine) -> None:
    first = machine.run("first")
    begun = len(machine.compiled)
    second = machine.run("second")

    assert (begun, len(machine.compiled)) == (3, 3)
    assert (first["builds"], second["builds"]) == (3, 0)
    assert (first["failures"], second["failures"]) == ({"compile error": 1}, {"compile error": 1})
    for count in ("status", "evaluations", "model_calls", "best_title"):
        assert second[count] == first[count], count
    assert second["best"]["configuration"] == first["best"]["configuration"] == {"block_size_x": 64, "passes": 4}
    assert machine.builds_of("second") == machine.builds_of("first")
    assert machine.evaluated("second") == machine.evaluated("first")


@pytest.mark.slow
def test_a_run_goes_on_when_the_cache_is_gone(machine: Machine) -> None:
    machine.run("first")
    second = machine.run("second")
    begun = len(machine.compiled)
    shutil.rmtree(machine.kept)
    journal = machine.directory / "second" / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    last = max(number for number, line in enumerate(lines) if b'"kind": "evaluate"' in line)
    journal.write_bytes(b"".join(lines[:last]))

    resumed = machine.result("second", tuner_tui("resume", "second", "--auto", **machine.place()))

    assert len(machine.compiled) == begun
    assert (resumed["builds"], resumed["evaluations"]) == (0, second["evaluations"])


@pytest.mark.slow
def test_nothing_is_kept_where_the_settings_say_so(machine: Machine, tmp_path: Path) -> None:
    settings = tmp_path / "settings.toml"
    settings.write_text("[build]\ncache_mb = 0\n")
    results = [machine.run(name, TUNER_TUI_CONFIG=str(settings)) for name in ("first", "second")]

    assert [result["builds"] for result in results] == [3, 3]
    assert not machine.kept.exists()


@pytest.mark.slow
def test_the_limit_of_the_settings_holds_after_a_run(machine: Machine, tmp_path: Path) -> None:
    settings = tmp_path / "settings.toml"
    settings.write_text("[build]\ncache_mb = 1\n")
    machine.kept.mkdir()
    for number in range(3):
        file = machine.kept / f"{number}.build"
        file.write_bytes(b"x" * 500_000)
        os.utime(file, (number, number))

    machine.run("first", TUNER_TUI_CONFIG=str(settings))

    sizes = {file.name: file.stat().st_size for file in machine.kept.iterdir()}
    assert sum(sizes.values()) <= 2**20
    assert "0.build" not in sizes
    assert "2.build" in sizes


@pytest.mark.slow
def test_a_header_of_the_users_that_changed_is_built_with(machine: Machine) -> None:
    include = machine.directory / "include"
    include.mkdir()
    problem = machine.directory / "scale.toml"
    options = f'[kernel]\ncompiler_options = ["-I{include}"]\n'
    problem.write_text(problem.read_text().replace("[kernel]\n", options))
    (machine.directory / "scale.cu").write_text(f"#include <factor.h>\n{SOURCE}".replace("2.0f", "FACTOR"))
    (include / "factor.h").write_text("#define FACTOR 2.0f\n")

    builds = [machine.run(name)["builds"] for name in ("first", "second")]
    (include / "factor.h").write_text("#define FACTOR 3.0f\n")
    builds.append(machine.run("third")["builds"])

    assert builds == [3, 0, 3]
    assert not set(machine.builds_of("third").values()) & set(machine.builds_of("first").values())
