"""What is kept of one session: features, device, the best configurations, what helped. No source, no path."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from tui_tuner.memory.features import KernelFeatures
from tui_tuner.memory.kept import KeptConfiguration, KeptNumber, KeptText, MemoryModel
from tui_tuner.memory.similarity import NO_CPU

MOST_OTHERS = 5
MOST_HELPED = 8


class TimedConfiguration(MemoryModel):
    """A configuration with its time, ms."""

    configuration: KeptConfiguration
    ms: KeptNumber


class HelpfulStep(MemoryModel):
    """A step that was accepted, with its factor over the best before; None where it was not measured."""

    title: KeptText
    factor: KeptNumber | None = None


class MemoryEntry(MemoryModel):
    """One session.

    Attributes:
        created: date and time (UTC) of the session's begin, ISO 8601.
        features: what the kernel as given is recognised by.
        device: the name of the device.
        kind: the kind of the device, as in "cuda".
        times: whose times these are, see `tui_tuner.memory.similarity.times_of`.
        best: the fastest configuration of the best kernel, which may have other tunables than the one as given.
        others: further configurations of that kernel, fastest first.
        speedup: how much faster the best is than the kernel as given, with the ends of the interval.
    """

    created: KeptText
    features: KernelFeatures
    device: KeptText
    kind: KeptText
    architecture: KeptText
    times: KeptText
    best: TimedConfiguration
    others: Annotated[list[TimedConfiguration], Field(max_length=MOST_OTHERS)]
    speedup: tuple[KeptNumber, KeptNumber, KeptNumber]
    helped: Annotated[list[HelpfulStep], Field(max_length=MOST_HELPED)]

    @property
    def is_cpu(self) -> bool:
        """Whether the times are a CPU's."""
        return self.times not in NO_CPU
