"""The screen while evaluations rain: how long a key takes, how much memory and how many bytes it costs.

    python benchmarks/screen_under_load.py --evaluations 10000 --rate 1000 --size 120x36

The real app runs in a terminal of its own (a pseudo terminal that this program reads), and is fed with the events that
a session has, at the given rate. All the while `d` is pressed, and the time is taken until the kernel's next view is
in what the terminal gets. `rss` is the memory of the app's process once it is calm, at half of the evaluations, and
after the last one; `bytes` is what it wrote to the terminal, `idle` what it writes in ten seconds after the last one,
while a session that is not finished waits (its clock goes on). `cpu s` is the processor time of the app under load.
Where the machine has other work, the times of keys are long because of that: `work p99` is the processor time, in ms,
that all of the app used while a key was on its way, what arrived meanwhile included.

`--rows 100000` has as many evaluations there before the load begins: `open s` is the processor time until they are
shown.
"""

from __future__ import annotations

import argparse
import asyncio
import fcntl
import gc
import os
import pty
import select
import signal
import statistics
import struct
import sys
import termios
import time
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

HEADINGS = (
    "rows", "open s", "evals", "per s", "size", "p50 ms", "p99 ms", "max ms", "work p50", "work p99", "cpu s", "rss MB",
    "half", "end", "bytes", "idle",
)  # fmt: skip
COLUMNS = " ".join(f"{{:>{max(7, len(heading))}}}" for heading in HEADINGS)
VIEWS = (b"[diff]", b"[best]", b"[source]")
KEY_EVERY_S = 0.15
CALM_S, CALM_BYTES = 1.0, 200
IDLE_S = 10.0
SLICE_S = 0.004


@dataclass
class Terminal:
    """A pseudo terminal with the app in it."""

    process: int
    handle: int
    written: int = 0
    unread: bytes = b""

    @classmethod
    def start(cls, size: str, arguments: list[str]) -> Terminal:
        """This program once more, as the app."""
        process, handle = pty.fork()
        if process == 0:
            os.environ.update(TERM="xterm-256color", COLORTERM="truecolor")
            os.execv(sys.executable, [sys.executable, __file__, *arguments])  # noqa: S606  # this very program
        columns, rows = map(int, size.split("x"))
        fcntl.ioctl(handle, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        return cls(process, handle)

    def read(self, seconds: float) -> bytes:
        """What arrives within a time, as soon as anything does.

        Raises:
            SystemExit: the app has ended.
        """
        if not select.select([self.handle], [], [], max(0.0, seconds))[0]:
            return b""
        try:
            data = os.read(self.handle, 1 << 16)
        except OSError:
            raise SystemExit("the app has ended by itself") from None
        self.written += len(data)
        return data

    def press(self, key: str, shows: bytes) -> tuple[float, float]:
        """Seconds from a key to what it shows, and the processor time that the app used meanwhile."""
        pressed, worked = time.perf_counter(), self.worked_s()
        os.write(self.handle, key.encode())
        seen = b""
        while shows not in seen:
            seen = seen[-64:] + self.read(10.0)
            if time.perf_counter() - pressed > 30:
                raise TimeoutError(f"{shows!r} never came")
        return time.perf_counter() - pressed, self.worked_s() - worked

    def drain(self, seconds: float) -> int:
        """Read for so long; how many bytes came."""
        before, end = self.written, time.perf_counter() + seconds
        while (left := end - time.perf_counter()) > 0:
            self.read(left)
        return self.written - before

    def rss_mb(self) -> float:
        """Memory of the app."""
        status = Path(f"/proc/{self.process}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) / 1024

    def cpu_s(self) -> float:
        """Processor time that the app has used."""
        fields = Path(f"/proc/{self.process}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def worked_s(self) -> float:
        """The same to the nanosecond, of the threads that there are now."""
        threads = Path(f"/proc/{self.process}/task").iterdir()
        return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads) / 1e9

    def end(self) -> None:
        """Kill the app."""
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)


@dataclass
class Figures:
    """What was measured."""

    latencies: list[tuple[float, float]] = field(default_factory=list)
    rss: list[float] = field(default_factory=list)


def measure(options: argparse.Namespace) -> str:
    """Run the app under load; a line of the table."""
    told, tells = os.pipe()
    os.set_inheritable(tells, True)
    load = [
        "--evaluations",
        str(options.evaluations),
        "--rate",
        str(options.rate),
        "--rows",
        str(options.rows),
        "--app",
        str(tells),
    ]
    terminal = Terminal.start(options.size, load)
    os.close(tells)
    figures, views = Figures(), views_in_turn()
    try:
        seen = b""
        while b"scale.cu" not in seen:
            seen = seen[-64:] + terminal.read(10.0)
        while said_now(told) != b"there":
            terminal.drain(SLICE_S)
        while terminal.drain(CALM_S) > CALM_BYTES:
            pass
        opened = terminal.cpu_s()
        figures.rss.append(terminal.rss_mb())
        terminal.press("d", next(views))  # the load begins with the first key
        begun, before, used = time.perf_counter(), terminal.written, terminal.cpu_s()
        while (said := said_now(told)) != b"end":
            figures.latencies.append(terminal.press("d", next(views)))
            terminal.drain(KEY_EVERY_S)
            if said == b"half":
                figures.rss.append(terminal.rss_mb())
        rate = options.evaluations / (time.perf_counter() - begun)
        written, used = terminal.written - before, terminal.cpu_s() - used
        terminal.drain(CALM_S)
        figures.rss.append(terminal.rss_mb())
        idle = terminal.drain(IDLE_S)
    finally:
        terminal.end()
    whole, work = [each for each, _ in figures.latencies], [worked for _, worked in figures.latencies]
    times = [f"{1000 * each:.0f}" for each in (*percents(whole), max(whole), *percents(work))]
    times += [f"{used:.1f}", *(f"{each:.0f}" for each in figures.rss)]
    load = options.rows, f"{opened:.1f}", options.evaluations, f"{rate:.0f}", options.size
    return COLUMNS.format(*load, *times, f"{written:,}", idle)


def percents(values: list[float]) -> tuple[float, float]:
    """The median and the 99th percentile, which is no more than the largest."""
    cuts = statistics.quantiles(values, n=100, method="inclusive")
    return cuts[49], cuts[98]


def views_in_turn() -> Iterator[bytes]:
    """What `d` shows, again and again."""
    while True:
        yield from VIEWS


def said_now(pipe: int) -> bytes:
    """What the app says of its load since it was last asked; empty for nothing."""
    return os.read(pipe, 64).split()[-1] if select.select([pipe], [], [], 0)[0] else b""


# --- the app


def show(options: argparse.Namespace) -> None:
    """Show a session whose evaluations arrive at the rate."""
    from tui_tuner.__main__ import THRESHOLDS
    from tui_tuner.subjects import KERNEL
    from tui_tuner.tui.app import TunerApp

    gc.set_threshold(*THRESHOLDS)

    class Load:
        """A session that only evaluates."""

        title = "load"
        seen_as = ()
        subject = KERNEL

        def tell(self, _: object) -> bool:
            return False

        async def events(self, _: object) -> AsyncGenerator[object, None]:
            making = events_of(options.rows + options.evaluations)
            for pair in islice(making, 1 + options.rows):
                for event in pair:
                    yield event
            os.write(options.app, b"there ")
            while app.screen is not app.session_screen or app.session_screen.query_one("KernelPane").view == "source":  # type: ignore[attr-defined]
                await asyncio.sleep(SLICE_S)
            begun = time.perf_counter()
            for number, pair in enumerate(making, start=1):
                while number / options.rate > time.perf_counter() - begun:
                    await asyncio.sleep(SLICE_S)
                for event in pair:
                    yield event
                if number in (options.evaluations // 2, options.evaluations):
                    os.write(options.app, b"half " if number < options.evaluations else b"end ")
            await asyncio.Event().wait()

    app = TunerApp(Load(), starting=True)  # type: ignore[arg-type]
    app.run()


def events_of(count: int) -> Iterator[list[object]]:
    """The opening, then the two events of each evaluation; made when they are wanted, as those of a session."""
    from tui_tuner.evaluate.results import DeviceInfo, Evaluation, Failure, FailureKind, Resources, Timing
    from tui_tuner.problem.candidate import Candidate
    from tui_tuner.problem.model import Launch
    from tui_tuner.session import events

    source = "__global__ void scale(float *x, int n) {\n    // some line\n" + "    x[0] += 1.0f;\n" * 60 + "}\n"
    first = Candidate(source=source, kernel="scale", launch=Launch(problem_size=["n"]), title="baseline")
    better = first.model_copy(update={"source": source.replace("+= 1.0f", "*= 2.0f"), "title": "Doubled"})
    yield [
        events.SessionStarted(run="run", directory="run", kernel="scale.cu", language="cuda", strategy="search",
                              model=None, seed=0, baseline=first, max_evaluations=count),
        events.DeviceReady(device=DeviceInfo(kind="cuda", name="NVIDIA H200", backend="synthetic"), sandbox="none"),
        events.CandidateProposed(step=1, candidate=better),
    ]  # fmt: skip
    candidate = better.id
    for number in range(1, count + 1):
        chosen = {"block_size_x": 2 ** (number % 10), "block_size_y": number % 7, "tile": number % 13, "unroll": number}
        made: dict[str, object] = {"candidate": candidate, "configuration": chosen}
        median = 0.1 + (number * 7919 % count) / count
        if number % 10:
            made["timing"] = Timing(median=median, low=median * 0.99, high=median * 1.01, samples=40)
            made["resources"] = Resources(registers=32 + number % 200, spill_bytes=0, shared_bytes=8192)
        else:
            made["failure"] = Failure(kind=FailureKind.WRONG_RESULT, message=f"C[{number}] is 0.5, expected 12.25")
        evaluation = Evaluation.model_validate(made)
        elapsed = number / 1000
        yield [
            events.EvaluationStarted(number=number, candidate=candidate, configuration=chosen, elapsed=elapsed),
            events.EvaluationFinished(number=number, evaluation=evaluation, elapsed=elapsed),
        ]


def main() -> None:
    """Measure, or be the app that is measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--evaluations", type=int, default=10_000)
    parser.add_argument("--rate", type=float, default=1000.0, help="evaluations a second")
    parser.add_argument("--rows", type=int, default=0, help="evaluations that are there before")
    parser.add_argument("--size", default="120x36", help="columns x rows")
    parser.add_argument("--app", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.app is not None:
        show(options)
    else:
        print(COLUMNS.format(*HEADINGS))
        print(measure(options))


if __name__ == "__main__":
    main()
