"""Tunes the kernels of benchmarks/thesis/kernels one after the other, a run directory for each kernel and strategy.

    python -m benchmarks.thesis --device cuda:0 --max-evals 85 --runs RUNS                        # search, no model
    python -m benchmarks.thesis --strategy one_prompt --llm anthropic --runs RUNS sigmoid top_k
    python -m benchmarks.thesis --strategy autonomous --box BOX --runs RUNS --time 580            # model by letter

A run that is there is resumed with the options that it began with, so other options or models belong into another RUNS;
one that is finished is left as it is, and one that fails keeps no other from its turn.
With --box a run stops at a prompt that nobody has answered yet (BOX/prompts/SHA.txt); once the reply stands in
BOX/replies/SHA.txt, the same command goes on at that question. A line for each run is printed as it ends; what the
program says is in RUNS/NAME.log. Exit code: 0 all finished, 3 some wait for a reply or for more time, 1 some failed.
"""

from __future__ import annotations

import argparse
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from benchmarks.thesis.mailbox import Mailbox, write_program
from benchmarks.thesis.measured import EIGHT, ELEVEN, KERNELS
from tui_tuner.errors import ExitCode, UserError
from tui_tuner.journal.reading import FILE, read_journal
from tui_tuner.journal.runs import result_of, speedup_of

PROGRAM = (sys.executable, "-m", "tui_tuner")
POLL_S, SETTLE_S, GRACE_S = 0.2, 2.0, 30.0
"""How often to look, how long a prompt stays without a reply before its run stops, how long a run has to end."""
LEAST_S = 45.0
"""With less than this left, no further run is begun."""
LETTER_S = 3600.0


class State(IntEnum):
    """How a run ended; the value is the driver's exit code where it is the worst."""

    FINISHED = 0
    FAILED = 1
    UNFINISHED = 3


@dataclass(frozen=True)
class Turn:
    """A kernel tuned with a strategy.

    Attributes:
        repeat: counted from 1; gives the seed.
    """

    kernel: str
    strategy: str
    repeat: int
    runs: Path

    @property
    def name(self) -> str:
        """Of its run directory."""
        return f"{self.kernel}-{self.strategy}" + (f"-{self.repeat}" if self.repeat > 1 else "")

    @property
    def run(self) -> Path:
        """Its run directory."""
        return self.runs / self.name

    @property
    def is_finished(self) -> bool:
        """Whether the session came to its end."""
        result = result_of(self.run)
        return result is not None and result.get("status") != "interrupted"

    @property
    def is_empty(self) -> bool:
        """Whether nothing is on record of it beside its beginning."""
        file = self.run / FILE
        return file.is_file() and not read_journal(file).records

    def command(self, chosen: argparse.Namespace) -> list[str]:
        """What begins the run, or goes on with it."""
        limits = [f"--max-evals={chosen.max_evals}", f"--max-calls={chosen.max_calls}"]
        if (self.run / FILE).is_file():
            return [*PROGRAM, "resume", str(self.run), "--auto", *limits]
        options = [f"--strategy={self.strategy}", f"--device={chosen.device}", f"--seed={self.repeat - 1}"]
        options += [f"--llm={_model(self.strategy, chosen)}", *(f"--set={option}" for option in chosen.set)]
        return [*PROGRAM, str(KERNELS / f"{self.kernel}.toml"), "--auto", f"--run-dir={self.run}", *options, *limits]


def main() -> int:
    """Give each kernel its turn."""
    chosen = _parser().parse_args()
    known = [file.stem for file in sorted(KERNELS.glob("*.toml"))]
    if unknown := [name for name in chosen.kernels if name not in known]:
        _parser().error(f"no kernel {', '.join(unknown)}; there are {', '.join(known)}")
    chosen.runs.mkdir(parents=True, exist_ok=True)
    if chosen.box:
        write_program(chosen.box, chosen.model)  # anew: a machine of the same kind may have Python elsewhere
    end = time.monotonic() + (chosen.time or float("inf"))
    worst = State.FINISHED
    for turn in _turns(chosen.kernels or (*EIGHT, *ELEVEN), chosen):
        try:
            state, words = _taken(turn, chosen, end)
        except UserError as error:
            state, words = State.FAILED, error.message
        print(f"{turn.name}: {words}", flush=True)
        worst = min(worst or state, state or worst)
    return worst


def _turns(kernels: Sequence[str], chosen: argparse.Namespace) -> Iterator[Turn]:
    for repeat in chosen.repeat:
        for strategy in chosen.strategy:
            for kernel in kernels:
                yield Turn(kernel, strategy, repeat, chosen.runs)


def _taken(turn: Turn, chosen: argparse.Namespace, end: float) -> tuple[State, str]:
    """Begin a run or go on with it, unless it is finished or the time is up; how it ended, in words."""
    if turn.is_finished:
        return State.FINISHED, f"{_found(turn)} (was finished)"
    begin = time.monotonic()
    if end - begin < LEAST_S:
        return State.UNFINISHED, "the time is up"
    if turn.is_empty:
        shutil.rmtree(turn.run)  # its journal would go on with the problem file as it was
    status, stopped = _run(turn, chosen, min(end - GRACE_S / 2, begin + chosen.limit))
    took = f", {time.monotonic() - begin:.0f} s"
    if turn.is_finished:
        return State.FINISHED, _found(turn) + took
    if stopped or status == ExitCode.INTERRUPTED:
        return State.UNFINISHED, (stopped or "was interrupted") + took
    return State.FAILED, f"failed with exit code {status}: {_last_words(turn)}{took}"


def _run(turn: Turn, chosen: argparse.Namespace, end: float) -> tuple[int, str]:
    """The exit code of the program, and why it was stopped, if it was."""
    box, begun = Mailbox(chosen.box) if chosen.box else None, time.time()
    with turn.runs.joinpath(f"{turn.name}.log").open("ab") as log:
        child = subprocess.Popen(turn.command(chosen), stdin=subprocess.DEVNULL, stdout=log, stderr=log)  # noqa: S603
        stopped, since = "", float("inf")
        while child.poll() is None and not stopped:
            time.sleep(POLL_S)
            now = time.monotonic()
            waiting = box.unanswered(begun) if box else []
            since = min(since, now) if waiting else float("inf")
            if now - since > SETTLE_S:
                stopped = f"waits for a reply to {', '.join(str(file) for file in waiting)}"
            elif now > end:
                stopped = "stopped at its limit of time"
        return _ended(child, stopped), stopped


def _ended(child: subprocess.Popen[bytes], stopped: str) -> int:
    """The exit code of a program, which is told to end where it was stopped."""
    if stopped:
        child.send_signal(signal.SIGINT)
    try:
        return child.wait(GRACE_S if stopped else None)
    except subprocess.TimeoutExpired:
        child.kill()
        return child.wait()


def _model(strategy: str, chosen: argparse.Namespace) -> str:
    if chosen.llm:
        return str(chosen.llm)
    if not chosen.box:
        return "none" if strategy == "search" else "auto"
    box = chosen.box.resolve()
    return f"command:{shlex.join([str(box / chosen.model), str(box), '--wait', f'{LETTER_S:g}'])}"


def _found(turn: Turn) -> str:
    """What a finished run found."""
    result = result_of(turn.run) or {}
    factor = speedup_of(result)
    times = [((result.get(key) or {}).get("timing") or {}).get("median") for key in ("baseline", "best")]
    words = [f"finished {factor:.3g}x over the kernel as given" if factor else "finished"]
    words += [" to ".join(f"{time:.4g}" for time in times) + f" {result.get('time_unit', 'ms')}"] if all(times) else []
    words += [f"{result.get('evaluations')} evaluations", f"{result.get('model_calls')} calls"]
    return ", ".join(words + ([f"model: {fault}"] if (fault := result.get("model_fault")) else []))


def _last_words(turn: Turn) -> str:
    lines = turn.runs.joinpath(f"{turn.name}.log").read_text("utf-8", errors="replace").splitlines()
    return " | ".join([line.strip() for line in lines if line.strip()][-3:])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.thesis",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("kernels", nargs="*", help="names of kernels (default: the eight and eleven more)")
    parser.add_argument("--strategy", nargs="+", default=["search"], help="one or more (default search)")
    parser.add_argument("--set", action="append", default=[], help="an option of the strategy, as the program takes it")
    parser.add_argument("--llm", default="", help="as the program takes it (default auto; none for search)")
    parser.add_argument("--box", type=Path, help="instead: directory of prompts and replies, see mailbox.py")
    parser.add_argument("--model", default="mailbox", help="with --box: who answers, as journals will name the model")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--max-evals", type=int, default=85)
    parser.add_argument("--max-calls", type=int, default=100)
    parser.add_argument("--repeat", type=int, nargs="+", default=[1], help="which repeats, as in 1 2 3 (default 1)")
    parser.add_argument("--runs", type=Path, required=True, help="where the run directories are")
    parser.add_argument("--limit", type=float, default=float("inf"), help="of one run, seconds")
    parser.add_argument("--time", type=float, help="of all together, seconds; the next call resumes")
    return parser


if __name__ == "__main__":
    sys.exit(main())
