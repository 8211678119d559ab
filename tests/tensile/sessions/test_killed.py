"""`kill -9` and signals to the whole program while Tensile runs: nobody is left behind, and the run is gone on with."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from tests.end_to_end.program import (
    ModelDouble,
    end_of,
    kinds,
    orphans_come_here,
    start,
    tuner_tui,
    wait_until,
)
from tests.tensile.sessions.replies import DEEPER, SPLIT, STOP
from tests.tensile.sessions.world import World

ANSWERS = [([f"This is round {number} of"], reply) for number, reply in enumerate((DEEPER, SPLIT, STOP), start=1)]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=lambda number: number.name)
def test_a_program_that_is_killed_leaves_no_tensile_behind_and_is_gone_on_with(
    tmp_path: Path, number: signal.Signals
) -> None:
    world, double = World(tmp_path, fault="3:hang"), ModelDouble(tmp_path / "model", ANSWERS)
    path = f"{world.program.parent}{os.pathsep}{os.environ['PATH']}"
    arguments = ("--auto", "--repeats", 1, "--no-rehearse", "--llm", double.name, "--run-dir", "run")
    with orphans_come_here() as descendants:
        process = start("tensile", "gemm.yaml", *arguments, cwd=tmp_path, PATH=path)
        wait_until(lambda: world.runs == 3 or process.poll() is not None, "the third run of Tensile")
        assert process.poll() is None, end_of(process).err
        log = world.path / "rounds" / "02" / "tensile.log"
        wait_until(lambda: log.exists() and b"Contraction" in log.read_bytes(), "kernels that run")
        os.kill(process.pid, number)
        if number is signal.SIGTERM:
            ended = end_of(process)
            assert ended.code == 143
            assert "interrupted; go on with: tuner-tui resume run" in ended.err
        process.communicate()
        try:
            wait_until(lambda: not descendants(), "the end of all that the program had started")
        finally:
            for pid in descendants():
                os.kill(pid, signal.SIGKILL)
    assert kinds(world.path).count("benchmark") == 2

    resumed = tuner_tui("resume", "run", "--auto", cwd=tmp_path, PATH=path)
    assert resumed.code == 0, resumed.err
    assert "resumed: gemm.yaml, strategy tensile" in resumed.err
    assert world.runs == 3 + 2, "the run under way again, and the last one"
    assert len(double.prompts) == 3
    result = json.loads((world.path / "result.json").read_text())
    assert [winner["gflops"] for winner in result["winners"]] == [72_000, 72_000]
    assert result["model_calls"] == 3
    assert kinds(world.path).count("ask") == 3
