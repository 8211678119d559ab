"""The program measured: how good searches are, and sessions as training data; here are the commands."""

from __future__ import annotations

import argparse
from pathlib import Path

from tui_tuner.cli.flags import factor, positive
from tui_tuner.processes.limits import usable_cores
from tui_tuner.search import DEFAULT_METHOD, MODEL_METHODS

RANDOM = "random"
"""Sampling without replacement and without a start: what the score of a search has as its baseline."""


def add_bench_search(parser: argparse.ArgumentParser) -> None:
    """The options of measuring searches."""
    parser.add_argument("data", nargs="+", metavar="DATA", help="a recording, or RECORDING:PROBLEM.toml")
    default = f"{DEFAULT_METHOD},{RANDOM}"
    names = f"separated by commas (default {default}); all: every one without a model"
    parser.add_argument("--strategies", default=default, metavar="NAME,NAME", help=names)
    parser.add_argument("--repeats", type=positive, default=20, metavar="N", help="runs of each (default 20)")
    parser.add_argument("--evaluations", type=positive, default=200, metavar="N", help="of a run (default 200)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the first run; the next has the next one")
    parser.add_argument("--llm", metavar="PROVIDER[:MODEL]", help=f"the model of {' and '.join(MODEL_METHODS)}")
    parser.add_argument("--jobs", type=positive, default=usable_cores(), metavar="N", help="runs at once")
    parser.add_argument("--runs", type=Path, metavar="DIR", help="keep a model's sessions here, and go on with them")
    parser.add_argument("--output", choices=("text", "json"), default="text", help="default text")
    parser.set_defaults(command=_bench_search)


def _bench_search(chosen: argparse.Namespace) -> int:
    from tui_tuner.lab.bench_search import bench_search

    return bench_search(chosen)


def add_export_dataset(parser: argparse.ArgumentParser) -> None:
    """The options of writing sessions as training data."""
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN", help="a run's directory, or a journal")
    parser.add_argument("--output", type=Path, metavar="FILE", help="a new file (default: standard output)")
    least = "only replies that brought such a speed-up over the kernel as given, as in 1.5x"
    parser.add_argument("--min-speedup", type=factor, metavar="FACTOR", help=least)
    accepted = "only replies whose kernel or configuration was accepted"
    parser.add_argument("--accepted-only", action="store_true", help=accepted)
    parser.set_defaults(command=_export_dataset)


async def _export_dataset(chosen: argparse.Namespace) -> int:
    from tui_tuner.lab.export_dataset import LineFilter, export_dataset

    return await export_dataset(chosen.runs, chosen.output, LineFilter(chosen.min_speedup, chosen.accepted_only))
