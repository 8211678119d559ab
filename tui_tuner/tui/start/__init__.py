"""The screen of a bare `tuner-tui`, and what it is about: kernels, what can be chosen, recent runs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from tui_tuner.errors import UserError
from tui_tuner.format import factor
from tui_tuner.journal.runs import GOES_ON, RECORDED
from tui_tuner.subjects import KERNEL, Subject

PICKS = {"device": "--device", "llm": "--llm", "strategy": "--strategy"}
"""What is picked from a list, and the options that it is."""


@dataclass(frozen=True)
class GivenFile:
    """What can be tuned: a kernel's file, or that of another subject.

    Attributes:
        path: from the directory that the screen is about.
        has_problem: whether a kernel has a problem file.
    """

    path: Path
    has_problem: bool = True
    subject: Subject = KERNEL

    @property
    def kind(self) -> str:
        """What it is, as in "Tensile configuration"."""
        return self.subject.title.partition(" ")[2]

    @property
    def is_kernel(self) -> bool:
        """Whether it has a problem file, or may get one."""
        return self.subject is KERNEL

    @property
    def words(self) -> list[str]:
        """What the command line that tunes it begins with."""
        return [*(command.name for command in self.subject.commands[:1]), str(self.path)]

    def begins(self, words: Sequence[str]) -> bool:
        """Whether it is what a command line tunes."""
        return self.words == [*words[: len(self.words)]]


@dataclass(frozen=True)
class RunCard:
    """A run as the list shows it.

    Attributes:
        details: what is told of it by name where it is compared with another run.
    """

    path: Path
    kernel: str
    state: str
    created: str = ""
    speedup: float | None = None
    strategy: str = ""
    details: Mapping[str, str] = field(default_factory=dict)
    worked: str = ""

    @property
    def last_at_work(self) -> str:
        """When, to the minute."""
        return _minute(self.worked)

    @property
    def gain(self) -> str:
        """The speed-up, where there is one."""
        return "" if self.speedup is None else factor(self.speedup)

    @property
    def facts(self) -> dict[str, str]:
        """All that is known of it, by name."""
        begun = {"begun": _minute(self.created), "last at work": self.last_at_work}
        known = {"kernel": self.kernel, "state": self.state, **begun, "strategy": self.strategy}
        return {**known, "speed-up": self.gain or "none yet", **self.details}

    @property
    def usual_action(self) -> str:
        """The command that Enter runs."""
        return self.actions[0]

    @property
    def actions(self) -> tuple[str, ...]:
        """The commands that make sense for it, the usual one first."""
        goes_on = dict.fromkeys(GOES_ON, ("resume", "replay"))
        others = {"running": ("attach",), RECORDED: ("replay", "resume")}
        return {**others, **goes_on}.get(self.state, ("replay",))


def _minute(time: str) -> str:
    """A time in ISO 8601, to the minute."""
    return time[:16].replace("T", " ")


class FailedChoice(NamedTuple):
    """A command that was chosen before, by its words, and what kept it from being carried out."""

    words: Sequence[str]
    fault: UserError


@dataclass(frozen=True)
class Found:
    """What can be chosen, as (words, value of the option), the default first.

    Attributes:
        automatic: the device that `auto` stands for, by the ending of a kernel's file.
        missing: what keeps sessions from being begun here, in one line, by the name of the subject.
    """

    picks: Mapping[str, Sequence[tuple[str, str]]]
    automatic: Mapping[str, str] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)

    def offered(self, name: str, file: GivenFile | None) -> list[tuple[str, str]]:
        """What a picker offers for a file: which device it gets, what comes of no model."""
        subject, suffix = (KERNEL, "") if file is None else (file.subject, file.path.suffix)
        told = {
            ("device", "auto"): f"auto  {self.automatic.get(suffix, '')}".rstrip(),
            ("llm", "auto  none"): f"auto  none: {subject.modelless}",
            ("llm", "none"): f"none: {subject.modelless}",
        }
        return [(told.get((name, words), words), value) for words, value in self.picks.get(name, ())]


@dataclass(frozen=True)
class StartWorld:
    """What the screen shows, and what it can have done; none of it knows a screen.

    Attributes:
        chosen: what the settings say, by the name of the field.
        discover: looks for devices, models and strategies; takes its time.
        runs: those that there are now, the one last at work first.
        scaffold: a kernel's file -> its problem file and the text of it, guessed where there is none.
        check_deletion: raises UserError where a run cannot be removed.
        delete: removes a run.
        fault_of: what is wrong with what is typed for a limit or the model, by the name of the field; empty where
            nothing is.
        save: keeps choices as settings; the file.
    """

    chosen: Mapping[str, str]
    discover: Callable[[], Awaitable[Found]]
    runs: Callable[[], list[RunCard]]
    scaffold: Callable[[Path], Awaitable[tuple[Path, str]]]
    check_deletion: Callable[[Path], None]
    delete: Callable[[Path], None]
    fault_of: Callable[[str, str], str]
    save: Callable[[Mapping[str, str]], Path]
    first: Found = field(default_factory=lambda: Found({name: [("auto", "auto")] for name in PICKS}))
