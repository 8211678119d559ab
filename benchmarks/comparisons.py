"""How long comparisons of two kernels take, and whether they say the same of the same two each time.

    python benchmarks/comparisons.py sample_kernels/vector_add.cu --device cuda:0 --sizes n=2000 n=100000 n=8000000

For each size the kernel in its default configuration is set against some others of its space, in as many sessions as
there are rounds. `ratios` are the default's time over the other's, one a round: how far they are from each other is
what a gain must exceed to be one. `faster` counts those that the session would have accepted.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any, ClassVar

from tui_tuner.format import configuration_words
from tui_tuner.session_options import SessionOptions
from tui_tuner.strategies.base import Effects
from tui_tuner.strategies.custom import CustomStrategy

COLUMNS = "{:<12} {:<22} {:>7} {:>22} {:>6}  {}"
HEADINGS = ("size", "configuration", "ms", "seconds", "faster", "ratios")
OTHERS = 6
"""Configurations at the most."""
DELTA = SessionOptions.model_fields["delta"].default
"""Gain from which on a kernel is faster, as it is where nothing else is set."""


class Comparisons(CustomStrategy):
    """Compares the kernel as given with others of its configurations, whatever they take."""

    needs_model: ClassVar[bool] = False

    async def run(self, session: Effects) -> None:
        """Measure all, then compare each with the default."""
        given = session.baseline
        space = given.space(sizes=session.problem.sizes, max_threads=1024)
        sampled = space.sample(OTHERS + 1, random.Random(1))  # noqa: S311
        others = [one for one in sampled if one != given.default_configuration]
        await session.evaluate(given, [given.default_configuration])
        for evaluation in await session.evaluate(given, others[:OTHERS]):
            if evaluation.ms is not None:
                await session.compare(session.incumbent, given, evaluation)


def compared(kernel: Path, device: str) -> list[tuple[str, float, dict[str, Any]]]:
    """One session: of each comparison the configuration, seconds, and what it said."""
    strategy = f"{Path(__file__).resolve()}:Comparisons"
    options = ("--auto", "--quiet", "--output", "json", "--llm", "none", "--no-memory", "--max-evals", str(OTHERS + 1))
    command = [sys.executable, "-m", "tui_tuner", str(kernel), "--strategy", strategy, "--device", device, *options]
    command += ["--run-dir", str(kernel.parent / "run")]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)  # noqa: S603
    events = [json.loads(line) for line in done.stdout.splitlines()]
    begun, found = 0.0, []
    for event in events:
        if event["type"] == "comparison_begun":
            begun = event["elapsed"]
        elif event["type"] == "compared" and event["comparison"]["failure"] is None:
            words = configuration_words(event["configuration"], between=" ")
            found.append((words, event["elapsed"] - begun, event["comparison"]))
    if not found:
        sys.exit("no two configurations could be compared")
    return found


def main() -> None:
    """Run all in turns, and print a table."""
    from several_devices import resized  # not beside this file's class, where the program loads it as a strategy

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernel", type=Path)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--sizes", nargs="+", required=True, metavar="NAME=N")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print(COLUMNS.format(*HEADINGS))
    for size in options.sizes:
        name, _, value = size.partition("=")
        found: dict[str, list[tuple[float, dict[str, Any]]]] = defaultdict(list)
        for _ in range(options.rounds):
            with tempfile.TemporaryDirectory() as place:
                kernel = resized(options.kernel, {name: int(value)}, Path(place))
                for words, seconds, comparison in compared(kernel, options.device):
                    found[words].append((seconds, comparison))
        for words, rounds in found.items():
            times = " ".join(f"{seconds:.2f}" for seconds, _ in rounds)
            ratios = " ".join(f"{one['ratio']:.3f}" for _, one in rounds)
            ms = f"{rounds[-1][1]['challenger']['median']:.4g}"
            faster = sum(one["low"] > 1 + DELTA for _, one in rounds)
            print(COLUMNS.format(size, words, ms, times, faster, ratios), flush=True)


if __name__ == "__main__":
    main()
