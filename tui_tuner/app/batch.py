"""Every problem file below a directory tuned under one budget, each as a run of its own.

What was done is known from the runs alone: those that came to their end are left out when it is asked for again, those
that were begun are gone on with.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import tomli

from tui_tuner.app.attaching import EndingSignals
from tui_tuner.app.first_draft import off_the_loop
from tui_tuner.app.named import problem_of
from tui_tuner.app.sessions import KernelSessionSetup, begin_session
from tui_tuner.errors import ExitCode, JournalError, SettingsError, UserError, writing
from tui_tuner.format import brief_duration, factor_in_lines
from tui_tuner.headless import run_headless
from tui_tuner.journal.reading import FILE, header_of
from tui_tuner.journal.runs import result_of
from tui_tuner.problem.load import Written
from tui_tuner.progress import Verbosity
from tui_tuner.resources import write_whole
from tui_tuner.session.run_directory import is_about
from tui_tuner.session_options import SessionOptions
from tui_tuner.settings import Settings
from tui_tuner.text import say

SUMMARY = "summary.json"
_OVER = ("finished", "no_improvement")
_LIMITS = {"max_evaluations": "evaluations", "max_calls": "model_calls", "max_seconds": "elapsed_s", "max_cost": "cost"}
"""Limits of the budget, with what a result says was spent of each."""


@dataclass(frozen=True)
class Row:
    """What came of one problem.

    Attributes:
        status: of its session, or `failed` where it could not be tuned, or `not begun`.
        reason: why it ended or failed.
        speedup: median and 95 % interval over the kernel as given; None before there is a best.
        cost: US dollars; None where the model's price is not known.
    """

    problem: str
    run: str
    status: str = "not begun"
    reason: str = ""
    speedup: tuple[float, float, float] | None = None
    device: str = ""
    evaluations: int = 0
    model_calls: int = 0
    cost: float | None = 0.0
    elapsed_s: float = 0.0


def problem_files(directory: Path) -> list[Path]:
    """The problem files below a directory; those of runs and below hidden directories are none.

    Raises:
        SettingsError: there is no such directory, or no problem file in it.
    """
    if not directory.is_dir():
        raise SettingsError(f"{directory} is no directory", hint="for a single kernel: tuner-tui KERNEL --auto")
    found = [file for file in sorted(directory.rglob("*.toml")) if _is_problem(file, directory)]
    if not found:
        hint = "`tuner-tui init kernel.cu` writes one"
        raise SettingsError("there is no problem file below this directory", hint=hint, file=directory)
    return found


def _is_problem(file: Path, directory: Path) -> bool:
    """Whether a file has a table `kernel`, or would have one if it were TOML: then its fault is told."""
    within = file.relative_to(directory)
    is_of_run = any((directory / parent / FILE).exists() for parent in within.parents)
    if is_of_run or any(part.startswith(".") for part in within.parts):
        return False
    try:
        text = file.read_text(encoding="utf-8-sig", errors="replace")
        return isinstance(tomli.loads(text).get("kernel"), dict)
    except OSError:
        return True
    except (ValueError, RecursionError):
        return "[kernel]" in text


def share_of(total: SessionOptions, spent: Sequence[Row], left: int) -> dict[str, Any]:
    """The limits of the next of the problems that are left: an equal share of what others have not spent.

    Raises:
        SettingsError: nothing is left.
    """
    share: dict[str, Any] = {}
    for name, field in _LIMITS.items():
        limit, of_others = getattr(total, name), [getattr(row, field) for row in spent]
        if limit is None:
            continue
        rest = max(0, limit - sum(limit if one is None else one for one in of_others))  # an unknown price is all of it
        share[name] = rest // left if isinstance(limit, int) else rest / left
    if share.get("max_evaluations") == 0 or share.get("max_seconds") == 0:
        raise SettingsError("nothing of the budget is left for it", hint="run it again with a larger budget")
    return share


class Batch:
    """Problems that are tuned one after the other.

    Args:
        total: options of every session; their limits are those of all together.
        runs: the directory of the runs.
        for_each: limits that are those of one session.
    """

    def __init__(
        self, directory: Path, runs: Path, total: SessionOptions, settings: Settings, *, for_each: Sequence[str]
    ) -> None:
        self._files = problem_files(directory)
        more = {name: getattr(total, name) * len(self._files) for name in for_each}
        self._total, self._settings, self._runs = total.model_copy(update=more), settings, runs
        self.rows = [Row(str(file), str(runs / _name(file, directory))) for file in self._files]
        self._setup: KernelSessionSetup | None = None
        self._interrupted = ""

    async def run(self, verbosity: Verbosity) -> int:
        """Tune all that is not done yet; the exit code, once the summary is on the disk."""
        signals = EndingSignals(self._interrupt)
        self.rows = [_known(row) for row in self.rows]
        with suppress(asyncio.CancelledError):
            for number, row in enumerate(self.rows):
                if signals.came:
                    break
                self.rows[number] = await self._tuned(number, row, verbosity)
                self._write()
        self._write()
        if signals.came:
            say("interrupted; the same command goes on")
            return signals.code
        return ExitCode.FINISHED if all(row.status in _OVER for row in self.rows) else ExitCode.FAILED

    def _interrupt(self, reason: str) -> None:
        self._interrupted = reason
        if self._setup is not None:
            self._setup.session.interrupt(reason)

    async def _tuned(self, number: int, row: Row, verbosity: Verbosity) -> Row:
        """What came of a problem; a mistake in one keeps no other from being tuned."""
        run, before, after = Path(row.run), self.rows[:number], self.rows[number + 1 :]
        over = [other for other in after if other.status in _OVER]
        try:
            written = await off_the_loop(problem_of, self._files[number], self._total.device)
            if row.status in _OVER:
                if not is_about(header_of(run), written):
                    hint = "name another directory with --run-dir"
                    raise JournalError("the problem has changed since this run", hint=hint, file=run)
                say(f"{row.problem}: done before, in {row.run}")
                return row
            share = share_of(self._total, [*before, *over], 1 + len(after) - len(over))
            await self._session(written, run, share, verbosity)
        except UserError as error:
            say(f"tuner-tui: {row.problem}: {error}")
            return replace(_known(row), status="failed", reason=error.message)
        finally:
            self._setup = None
        return _known(row)

    async def _session(self, written: Written, run: Path, share: dict[str, Any], verbosity: Verbosity) -> None:
        options = self._total.model_copy(update=share)
        self._setup = setup = await begin_session(written, options, self._settings, run, go_on=True)
        limits = ", ".join(f"{name.removeprefix('max_')} {value:g}" for name, value in share.items())
        for line in (f"{written.file}: {limits}", *setup.notes):
            say(line)
        if self._interrupted:  # while the session was put together
            setup.session.interrupt(self._interrupted)
        try:
            await run_headless(setup.session, json=False, verbosity=verbosity, out=sys.stderr)
        except UserError:
            setup.forget_if_empty()
            raise

    def _write(self) -> None:
        """Write the summary.

        Raises:
            SettingsError: it cannot be written.
        """
        file = self._runs / SUMMARY
        with writing(file, "name another directory with --run-dir"):
            file.parent.mkdir(parents=True, exist_ok=True)
            write_whole(file, self.as_json() + "\n")

    def as_json(self) -> str:
        """All rows as one JSON object."""
        return json.dumps({"format": 1, "problems": [asdict(row) for row in self.rows]}, indent=2)

    def table(self) -> Iterator[str]:
        """All rows for people, a line each."""
        width = max(len(row.problem) for row in self.rows)
        for row in self.rows:
            gain = "-" if row.speedup is None else factor_in_lines(row.speedup)
            effort = f"{row.evaluations:>5} evals  {brief_duration(row.elapsed_s):>7}"
            reason = row.reason if row.status not in _OVER else ""
            yield f"{row.problem:<{width}}  {row.status:<14}  {gain:<22}  {effort}  {reason}".rstrip()


def _name(file: Path, directory: Path) -> str:
    return "-".join(file.relative_to(directory).with_suffix("").parts)


def _known(row: Row) -> Row:
    """A row with what the result of its run says."""
    result = result_of(Path(row.run))
    if result is None:
        return row
    with suppress(KeyError, TypeError, ValueError):
        found = {name: result[name] for name in ("status", "reason", "evaluations", "model_calls", "cost", "elapsed_s")}
        return replace(row, **found, speedup=tuple(result["speedup"]), device=result["device"]["name"])
    return row
