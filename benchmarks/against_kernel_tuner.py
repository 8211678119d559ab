"""The same configurations of the same kernel through tuner-tui and through kernel_tuner, each checked, side by side.

    python benchmarks/against_kernel_tuner.py sample_kernels/convolution2d_tiled.cu --configurations 200

Both get the same random configurations and the same sizes, check every result and time it, in a process of their own
with an empty cache, first one and then the other, as often as `--rounds` says. kernel_tuner works through cuda-python.

`evals/s` is from the first evaluation to the last, `whole s` from the start of the process to its end. Build, verify
and measure are sums over all configurations, in seconds: those of builds overlap. `bound s` is what a perfect overlap
would take, max(builds / cores, verify + measure); `over it` is the time of the evaluations over that.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, ClassVar

from tui_tuner.strategies.base import Effects
from tui_tuner.strategies.custom import CustomStrategy

COLUMNS = "{:<22} {:>6} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}"
HEADINGS = ("program", "evals", "failed", "evals/s", "whole s", "build", "verify", "measure", "bound s", "over it")


class Chosen(CustomStrategy):
    """Evaluates the configurations of a file."""

    needs_model: ClassVar[bool] = False
    file: str = ""

    async def run(self, session: Effects) -> None:
        """All at once, in their order."""
        await session.evaluate(session.baseline, json.loads(Path(self.file).read_text("utf-8")))


@dataclass(frozen=True)
class Outcome:
    """One run: counts, and seconds."""

    program: str
    evaluations: int
    failed: int
    loop_s: float
    whole_s: float
    build_s: float
    verify_s: float
    measure_s: float
    devices: int = 1

    @property
    def rate(self) -> float:
        """Evaluations a second, from the first to the last."""
        return self.evaluations / self.loop_s

    def line(self) -> str:
        """As a row of the table."""
        bound = max(self.build_s / (os.cpu_count() or 1), self.verify_s + self.measure_s)
        numbers = (self.whole_s, self.build_s, self.verify_s, self.measure_s, bound, self.loop_s / bound)
        counts = (self.program, self.evaluations, self.failed, f"{self.rate:.2f}")
        return COLUMNS.format(*counts, *(f"{number:.2f}" for number in numbers))


def tuner_tui(kernel: Path, chosen: Path, device: str, cache: Path | None = None) -> Outcome:
    """The configurations through this program; without a cache of builds, in an empty one."""
    with tempfile.TemporaryDirectory() as place:
        strategy = ["--strategy", f"{Path(__file__).resolve()}:Chosen", "--set", f"file={chosen}", "--llm", "none"]
        where = ["--device", device, "--run-dir", f"{place}/run", "--no-memory", "--max-evals", "100000"]
        command = [sys.executable, "-m", "tui_tuner", str(kernel), "--auto", "--output", "json", *strategy, *where]
        environment = {**os.environ, "XDG_CACHE_HOME": str(cache or f"{place}/cache")}
        began = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)  # noqa: S603 - ours
        whole = time.perf_counter() - began
    events = [json.loads(line) for line in done.stdout.splitlines()]
    begun = [event["elapsed"] for event in events if event["type"] == "evaluation_started"]
    ended = [event for event in events if event["type"] == "evaluation_finished"]
    if not ended:
        sys.exit(done.stderr or done.stdout)
    evaluations = [event["evaluation"] for event in ended]

    def total(name: str) -> float:
        return sum(evaluation[name] for evaluation in evaluations) / 1000

    return Outcome(
        "tuner-tui",
        len(ended),
        sum(evaluation["failure"] is not None for evaluation in evaluations),
        ended[-1]["elapsed"] - begun[0],
        whole,
        total("build_ms"),
        total("verify_ms"),
        total("measure_ms"),
        max([1, *(len(event["devices"]) for event in events if event["type"] == "device_ready")]),
    )


def kernel_tuner(kernel: Path, chosen: Path) -> Outcome:
    """The configurations through kernel_tuner, in a process of its own."""
    command = [sys.executable, __file__, str(kernel), "--child", str(chosen)]
    with tempfile.TemporaryDirectory() as cache:  # of what its driver and compiler keep
        environment = {**os.environ, "CUDA_CACHE_PATH": cache}
        began = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)  # noqa: S603 - ours
        whole = time.perf_counter() - began
    if done.returncode:
        sys.exit(done.stderr)
    told = json.loads(done.stdout.splitlines()[-1])
    return Outcome("kernel_tuner", whole_s=whole - told.pop("reference_s"), **told)


def child(kernel: Path, chosen: Path) -> None:
    """Tune with kernel_tuner, and print what came of it as JSON."""
    import kernel_tuner
    import numpy as np
    from kernel_tuner.strategies import brute_force

    from tui_tuner.problem.expressions import evaluate
    from tui_tuner.problem.inputs import call_reference, make_arguments
    from tui_tuner.problem.load import written_in_file

    problem = written_in_file(kernel.with_suffix(".toml")).problem
    arguments = make_arguments(problem, {}, 1)
    began = time.perf_counter()
    expected = call_reference(problem, arguments)
    reference_s = time.perf_counter() - began
    answer = [
        expected[argument.name].astype(argument.dtype) if argument.output else None for argument in problem.arguments
    ]
    given = [
        np.zeros_like(value) if argument.output else value
        for argument, value in zip(problem.arguments, arguments, strict=True)
    ]
    wanted = [tuple(one[name] for name in problem.tunables) for one in json.loads(chosen.read_text("utf-8"))]
    brute_force.tune = lambda _space, runner, options: runner.run(wanted, options)
    launch = problem.launch
    began = time.perf_counter()
    results, _ = kernel_tuner.tune_kernel(
        problem.kernel.name,
        problem.source_text,
        tuple(int(evaluate(extent, problem.sizes)) for extent in launch.problem_size),
        given,
        problem.tunables,
        grid_div_x=launch.grid_div_x,
        grid_div_y=launch.grid_div_y,
        answer=answer,
        atol=1e-2,
        lang="nvcuda",
        quiet=True,
    )
    loop = time.perf_counter() - began

    def total(name: str) -> float:
        return sum(float(result.get(name, 0)) for result in results) / 1000

    failed = sum(not isinstance(result.get("time"), float) for result in results)
    numbers: dict[str, Any] = {
        "evaluations": len(results),
        "failed": failed,
        "loop_s": loop,
        "build_s": total("compile_time"),
        "verify_s": total("verification_time"),
        "measure_s": total("benchmark_time"),
        "reference_s": reference_s,
    }
    print(f"\n{json.dumps(numbers)}")


def choose(kernel: Path, count: int, seed: int) -> str:
    """So many random valid configurations, as JSON."""
    from tui_tuner.problem.candidate import baseline
    from tui_tuner.problem.load import written_in_file

    problem = written_in_file(kernel.with_suffix(".toml")).problem
    space = baseline(problem).space(sizes=problem.sizes, max_threads=1024)
    return json.dumps([dict(one) for one in space.sample(count, random.Random(seed))])  # noqa: S311 - the same again


def main() -> None:
    """Run both in turns, and print a table and the ratios of the medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernel", type=Path)
    parser.add_argument("--configurations", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child is not None:
        child(options.kernel, options.child)
        return
    with tempfile.TemporaryDirectory() as place:
        chosen = Path(place) / "configurations.json"
        chosen.write_text(choose(options.kernel, options.configurations, options.seed), "utf-8")
        print(f"{options.kernel.stem}, {os.cpu_count()} cores\n{COLUMNS.format(*HEADINGS)}")
        ours, theirs = [], []
        for _ in range(options.rounds):
            ours.append(tuner_tui(options.kernel, chosen, options.device))
            print(ours[-1].line(), flush=True)
            theirs.append(kernel_tuner(options.kernel, chosen))
            print(theirs[-1].line(), flush=True)
    rates = median(one.rate for one in ours) / median(one.rate for one in theirs)
    wholes = median(one.whole_s for one in theirs) / median(one.whole_s for one in ours)
    print(
        f"tuner-tui over kernel_tuner: {rates:.2f} times the evaluations a second, {wholes:.2f} times as whole programs"
    )


if __name__ == "__main__":
    main()
