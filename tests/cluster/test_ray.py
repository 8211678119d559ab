"""The same through Ray itself, which is no package of the tests: `pip install 'tuner-tui[cluster]'` for them."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.session.fakes import write_problem

pytestmark = pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed")

LOSING_ONE = """
import asyncio, json, sys
from pathlib import Path
from tui_tuner.evaluate.cluster.places import ClusterOptions
from tui_tuner.evaluate.cluster import RayCluster
from tui_tuner.evaluate.local import LocalEvaluator
from tui_tuner.evaluate.site import LocalOptions
from tui_tuner.evaluate.sandbox.run import Policy
from tui_tuner.problem.candidate import baseline
from tui_tuner.problem.load import load_problem

async def main(file, directory):
    import ray
    ray.init(address="local", num_cpus=2, resources={"emulator": 2}, include_dashboard=False, log_to_driver=False)
    problem = load_problem(file)
    site = RayCluster(problem, ClusterOptions("", directory / "builds"))
    options = LocalOptions("ray", directory / "builds", directory / "log", 2, Policy())
    evaluator = LocalEvaluator(problem, options, site)
    started = await evaluator.start()
    asked = [{"block_size_x": size} for size in (32, 64, 128, 256)]
    tasks = [asyncio.ensure_future(evaluator.evaluate(baseline(problem), one, None)) for one in asked]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    ray.kill(site._places[1]._actor)
    evaluations = [*await asyncio.gather(*tasks)]
    evaluations += [await evaluator.evaluate(baseline(problem), one, None) for one in asked]
    told = {"devices": started.devices, "ok": [e.ok for e in evaluations], "news": evaluator.news()}
    await evaluator.close()
    print(json.dumps(told))

asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2])))
"""


def test_a_worker_that_is_killed_in_the_middle_loses_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-c", LOSING_ONE, str(write_problem(tmp_path)), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=250, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert len(told["devices"]) == 2
    assert told["ok"] == [True] * 8
    assert len(told["news"]) == 1
    assert "is left out from now on" in told["news"][0]


def test_a_whole_session_starts_a_cluster_of_its_own_and_says_nothing_else_on_standard_output(tmp_path: Path) -> None:
    options = ["--auto", "--strategy", "search", "--llm", "none", "--device", "ray", "--output", "json"]
    where = ["--run-dir", str(tmp_path / "run"), "--max-evals", "3"]
    command = [sys.executable, "-m", "tui_tuner", str(write_problem(tmp_path)), *options, *where]
    done = subprocess.run(command, capture_output=True, text=True, timeout=250, check=False)
    events = [json.loads(line) for line in done.stdout.splitlines()]
    finished = [event for event in events if event["type"] == "evaluation_finished"]
    assert [event["evaluation"]["failure"] for event in finished] == [None] * 3, done.stderr
    assert events[-1]["type"] == "session_finished"
