"""Searches of configurations side by side: the whole program, once for each kernel and method, on this device.

    python benchmarks/llm_search.py sample_kernels/*_tiled.cu sample_kernels/stencil3d.cu --max-evals 85 \
        --methods llm hybrid hybrid_vndx surrogate --versus surrogate --llm 'replay:runs/{kernel}/journal.jsonl'

`llm` is `--strategy llm_search --search llm`, `hybrid` is `--strategy llm_search`; every other method is `--strategy
search --search METHOD`, without a model. In `--llm`, `{kernel}` stands for the name of the kernel's file. Each session
has a run directory of its own, `RUNS/KERNEL-METHOD`, and no builds of others; no memory, no cached replies. A run
directory that holds a result is not run again: its result is taken.

Times are those of each session's last comparison, the kernel as given and the best timed in turns on fresh data.
`versus` compares methods by their speed-ups over the kernel as given, so that a device that has become slower or
faster between the sessions does not count: above 1 is faster than the method that `--versus` names.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from tui_tuner.report import FILE, SessionOutcome

PROGRAM = Path(sys.executable).with_name("tuner-tui")
MODEL_METHODS = {"llm": ["--search", "llm"], "hybrid": []}
COLUMNS = "{:<22} {:<14} {:>10} {:>7} {:>16} {:>8} {:>6} {:>7} {:>8} {:>6}"
HEADINGS = ("kernel", "method", "best", "faster", "interval", "versus", "evals", "failed", "wall s", "calls")


@dataclass(frozen=True)
class Session:
    """One session to run: a kernel, a method and where its run goes."""

    kernel: Path
    method: str
    directory: Path

    def command(self, options: argparse.Namespace) -> list[str]:
        """The program and its arguments."""
        if self.method in MODEL_METHODS:
            model = options.llm.replace("{kernel}", self.kernel.stem)
            how = ["--strategy", "llm_search", *MODEL_METHODS[self.method], "--llm", model]
        else:
            how = ["--strategy", "search", "--search", self.method, "--llm", "none"]
        budget = ["--max-evals", str(options.max_evals), "--seed", str(options.seed), "--device", options.device]
        apart = ["--no-memory", "--no-cache-replies", "--run-dir", str(self.directory)]
        return [str(PROGRAM), str(self.kernel), "--auto", "--output", "json", *how, *budget, *apart]

    def run(self, options: argparse.Namespace) -> SessionOutcome | None:
        """What the session found; None, with what it said on standard error, if it failed."""
        result = self.directory / FILE
        if not result.exists():
            print(f"{self.kernel.stem}: {self.method} ...", file=sys.stderr, flush=True)
            with tempfile.TemporaryDirectory() as cache:
                environment = {**os.environ, "XDG_CACHE_HOME": cache}
                done = subprocess.run(  # noqa: S603 - ours
                    self.command(options), capture_output=True, text=True, env=environment, check=False
                )
            if not result.exists():
                print(done.stderr, file=sys.stderr, flush=True)
                return None
        return SessionOutcome.model_validate_json(result.read_text("utf-8"))


def row(session: Session, found: SessionOutcome | None, against: SessionOutcome | None) -> str:
    """One line of the table; `against` is what `versus` divides by."""
    if found is None:
        return COLUMNS.format(session.kernel.stem, session.method, *["failed", *["-"] * 7])
    factor, low, high = found.speedup
    return COLUMNS.format(
        session.kernel.stem,
        session.method,
        f"{best_time(found):.4g}",
        f"{factor:.2f}x",
        f"[{low:.2f}, {high:.2f}]",
        "-" if against is None else f"{factor / against.speedup[0]:.3f}",
        found.evaluations,
        sum(found.failures.values()),
        f"{found.elapsed_s:.0f}",
        found.model_calls,
    )


def best_time(found: SessionOutcome) -> float:
    """Of the last comparison, ms; where nothing was faster, that of the kernel as given."""
    if found.paired_times is not None:
        return found.paired_times[1]
    assert found.best.timing is not None  # noqa: S101 - a best that has no time is never written
    return found.best.timing.median


def parsed() -> argparse.Namespace:
    """The arguments of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernels", nargs="+", type=Path, metavar="KERNEL", help="a .cu, .cl or .c file with its .toml")
    parser.add_argument("--methods", nargs="+", default=["llm", "hybrid", "hybrid_vndx", "surrogate"], metavar="METHOD")
    parser.add_argument("--versus", default="surrogate", metavar="METHOD", help="that the others are compared with")
    parser.add_argument("--llm", default="auto", metavar="SPEC", help="the model; {kernel} is replaced")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--max-evals", type=int, default=85, metavar="N")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--runs", type=Path, help="where the run directories go (default: a new one in tuner-runs)")
    return parser.parse_args()


def main() -> None:
    """Run what is asked for and print the table, each kernel as soon as its sessions are over."""
    options = parsed()
    runs = options.runs or Path("tuner-runs") / f"llm-search-{datetime.now():%Y%m%d-%H%M%S}"
    print(COLUMNS.format(*HEADINGS), flush=True)
    for kernel in options.kernels:
        sessions = [Session(kernel, method, runs / f"{kernel.stem}-{method}") for method in options.methods]
        found = {session.method: session.run(options) for session in sessions}
        for session in sessions:
            print(row(session, found[session.method], found.get(options.versus)), flush=True)


if __name__ == "__main__":
    main()
