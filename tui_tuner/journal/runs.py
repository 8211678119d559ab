"""The runs of a directory: what each is about and how far it came, which is the newest, and what can be removed."""

from __future__ import annotations

import fcntl
import json
import shutil
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tui_tuner.errors import JournalError
from tui_tuner.format import in_columns
from tui_tuner.journal import Journal
from tui_tuner.journal.reading import FILE, RESULT, JournalContent, read_journal

STOPPED = "stopped by hand"
"""The reason that the result of a session has which the user stopped; a resume goes on."""
GOES_ON = ("resumable", "stopped")
"""The states of a run that a resume goes on with, and that has not come to its end."""
RECORDED = "recorded"
"""The state of a run that is its journal alone, see `state_of`."""
LIVE, LIVE_EVENTS = "live", "events.jsonl"
"""Where in a run's directory its events are told to who watches; locked by the process that drives the run."""


@dataclass(frozen=True)
class ListedRun:
    """What a list says of a run.

    Attributes:
        state: see `state_of`; "damaged" where its journal cannot be read.
        created: when it was begun, in ISO 8601.
        worked: when it was last at work, likewise.
        records: how many effects its journal holds, of whatever kind.
        evaluations: how many of them are evaluations.
        speedup: of the best over the kernel as given; None before there is one.
        error: why the journal cannot be read.
    """

    run: str
    state: str
    created: str = ""
    worked: str = ""
    kernel: str = ""
    device: str = ""
    strategy: str = ""
    model: str | None = None
    records: int = 0
    evaluations: int = 0
    speedup: float | None = None
    error: str = ""

    @property
    def fields(self) -> dict[str, Any]:
        """The run as plain data."""
        return asdict(self)

    def age(self, now: datetime) -> str:
        """How long ago it was last at work, as in 12 min."""
        seconds = (now - datetime.fromisoformat(self.worked)).total_seconds()
        for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
            if seconds >= length:
                return f"{seconds // length:.0f} {unit}"
        return f"{max(seconds, 0):.0f} s"


def list_runs(directory: Path) -> list[ListedRun]:
    """Every run in a directory, the one that was last at work first."""
    runs = map(_listed, sorted(directory.glob(f"*/{FILE}")))
    return sorted(filter(None, runs), key=lambda run: run.worked, reverse=True)


def last_run(directory: Path, *, to_resume: bool = False) -> Path:
    """The run that was last at work.

    Args:
        to_resume: of those that did not come to their end, where there are such.

    Raises:
        JournalError: there is none.
    """
    runs = [run for run in list_runs(directory) if run.created]
    if not runs:
        raise JournalError("there are no runs here", hint="name the directory of a run", file=directory)
    unfinished = [run for run in runs if to_resume and run.state in GOES_ON]
    return Path((unfinished or runs)[0].run)


def worked_at(run: Path) -> str | None:
    """When a run was last at work, in ISO 8601: when something came into its journal; None where it is gone."""
    with suppress(OSError):
        return datetime.fromtimestamp((run / FILE).stat().st_mtime, UTC).isoformat()
    return None


def run_lines(runs: list[ListedRun], now: datetime | None = None) -> Iterator[str]:
    """The runs as a table with a head."""
    now = now or datetime.now(UTC)
    return in_columns([_HEAD, *(_row(run, now) for run in runs)])


_HEAD = ("run", "kernel", "device", "strategy", "model", "evaluations", "speed-up", "age", "state")


def _row(run: ListedRun, now: datetime) -> tuple[str, ...]:
    faster = "-" if run.speedup is None else f"{run.speedup:.2f}x"
    words = (run.kernel, run.device, run.strategy, run.model or "")
    return (
        run.run,
        *(word or "-" for word in words),
        str(run.evaluations),
        faster,
        run.age(now),
        run.error or run.state,
    )


def _listed(file: Path) -> ListedRun | None:
    """None where it was removed since it was found."""
    run, worked = str(file.parent), worked_at(file.parent)
    if worked is None:
        return None
    try:
        content = read_journal(file)
    except JournalError as error:
        return ListedRun(run, "damaged", worked=worked, error=error.message) if file.exists() else None
    header, result = content.header, result_of(file.parent)
    return ListedRun(
        run,
        state_of(file.parent, result),
        created=str(header.get("created") or ""),
        worked=worked,
        kernel=kernel_of(header),
        device=_device(content),
        strategy=strategy_of(header),
        model=model_of(header),
        records=len(content.records),
        evaluations=sum(record.kind == "evaluate" for record in content.records),
        speedup=speedup_of(result or {}),
    )


def result_of(run: Path) -> dict[str, Any] | None:
    """What `result.json` of a run says; None where there is none that can be read."""
    with suppress(OSError, ValueError):
        content = json.loads((run / RESULT).read_bytes())
        return content if isinstance(content, dict) else None
    return None


def state_of(run: Path, result: Mapping[str, Any] | None) -> str:
    """How far a run is: "running" while a process is at work on it, "finished", "stopped", or "resumable".

    Of which there is a journal and nothing else is "recorded": it is handed on to be replayed, and does not say whether
    it came to its end.

    Args:
        result: what `result.json` says: before a session came to its end that is what it had found so far.
    """
    if is_driven(run):
        return "running"
    if result is None or result.get("status") in (None, "interrupted"):
        return RECORDED if [*run.iterdir()] == [run / FILE] else "resumable"
    return "stopped" if result.get("reason") == STOPPED else "finished"


def kernel_of(header: Mapping[str, Any]) -> str:
    """The name of the file that is tuned, by a journal's header; empty where it does not tell."""
    with suppress(ValueError, TypeError, AttributeError):
        source = _part(tomllib.loads(header["problem"]), "kernel").get("source") if "problem" in header else None
        return str(source or Path(str(header.get("file", ""))).name)
    return ""


def strategy_of(header: Mapping[str, Any]) -> str:
    """The name of a run's strategy; empty where its header does not tell."""
    return str(_part(header, "options").get("strategy") or "")


def model_of(header: Mapping[str, Any]) -> str | None:
    """The model that a run asks; None where it asks none."""
    return str(header["model"]) if header.get("model") else None


def _device(content: JournalContent) -> str:
    started = next((record.result for record in content.records if record.kind == "device"), {})
    return str(_part(started, "device").get("name") or "")


def speedup_of(result: Mapping[str, Any]) -> float | None:
    """How much faster the best is than the kernel as given, by `result.json`; None before there is one."""
    found = result.get("speedup")
    return float(found[0]) if isinstance(found, list) and found and isinstance(found[0], int | float) else None


def _part(table: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = table.get(name)
    return part if isinstance(part, Mapping) else {}


def clean_runs(directory: Path) -> Iterator[str]:
    """Remove runs in which nothing is on record, and the builds of finished ones; a line for each.

    What cannot be read, or is at work, stays as it is.
    """
    for run in list_runs(directory):
        path, builds = Path(run.run), Path(run.run) / "builds"
        if run.state == "finished" and builds.is_dir():
            freed = sum(file.stat().st_size for file in builds.iterdir() if file.is_file())
            shutil.rmtree(builds, ignore_errors=True)
            yield f"{run.run}: removed its builds, {freed / 2**20:.1f} MiB"
        elif run.state in ("resumable", RECORDED) and not run.records:
            with suppress(JournalError):
                Journal.reopen(path / FILE).close()  # another process at work on it holds its journal
                shutil.rmtree(path, ignore_errors=True)
                yield f"{run.run}: removed: nothing was on record"


def is_driven(run: Path) -> bool:
    """Whether a process drives this run now, and lets others watch."""
    try:
        with (run / LIVE / LIVE_EVENTS).open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
