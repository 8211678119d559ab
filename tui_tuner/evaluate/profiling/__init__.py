"""What is known of a configuration beside its time: a profile of it, and the diagnosis that is made of all of that."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import Field

from tui_tuner.evaluate.profiling.counters import Counters, counter_facts
from tui_tuner.evaluate.profiling.machine_code import MachineCode, machine_code_facts
from tui_tuner.evaluate.results import ResultModel
from tui_tuner.problem.tuning_step import Bottleneck


class Profile(ResultModel):
    """What is known of a configuration beside its time; nothing where no tool could tell.

    Attributes:
        missing: why something could not be had, a line each.
    """

    code: MachineCode | None = None
    counters: Counters | None = None
    missing: list[str] = Field(default_factory=list)


NO_PROFILE = Profile()


@dataclass(frozen=True)
class Diagnosis:
    """Why a launch takes the time it does.

    Attributes:
        bottleneck: its name.
        cause: a sentence that names it with the figures it rests on.
        facts: a line each: how the launch fills the device, what it achieves.
    """

    bottleneck: Bottleneck
    cause: str
    facts: tuple[str, ...]


def profile_facts(profile: Profile, declared: float) -> Iterator[str]:
    """A profile in words, a line each.

    Args:
        declared: bytes that a launch must move, as the problem says; 0 where it does not.
    """
    if profile.counters is not None:
        yield from counter_facts(profile.counters, declared or None)
    if profile.code is not None:
        yield from machine_code_facts(profile.code)
