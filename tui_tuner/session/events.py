"""The one stream of events that the screen, the headless printer and the tests read."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from tui_tuner.evaluate.library import LibraryTime
from tui_tuner.evaluate.profiling import Diagnosis, Profile
from tui_tuner.evaluate.results import Comparison, DeviceInfo, Evaluation, Failure
from tui_tuner.problem.candidate import AnySource, Candidate
from tui_tuner.problem.model import Configuration
from tui_tuner.session import (
    CHANGES,
    FORMAT,
    AnswerFailed,
    AnswerReceived,
    AnswerText,
    ApprovalLevelChanged,
    BudgetChanged,
    CallFailed,
    Event,
    HelpAsked,
    HelpGiven,
    ModelChanged,
    ModelText,
    PairAsked,
    PairCompared,
    PauseChanged,
    PromptSent,
    QuestionAsked,
    ReplyReceived,
    ReplyRefused,
    StrategyChanged,
    UserSaid,
    stream_schema,
)
from tui_tuner.strategies.steps import Decision, Proposal, Step


class SessionStarted(Event):
    """First event of every session.

    Attributes:
        format: version of the stream: a new one means that a field went or changed its meaning; more may come in one.
        kernel: name of the kernel, or of the file of what else is tuned.
        language: of the source.
        baseline: the source as given.
        max_calls: of the model; None where no limit is told, like those of seconds and US dollars.
    """

    type: Literal["session_started"] = "session_started"
    format: int = FORMAT
    run: str
    directory: str
    kernel: str
    language: str
    strategy: str
    model: str | None
    seed: int
    baseline: AnySource
    max_evaluations: int
    max_calls: int | None = None
    max_seconds: float | None = None
    max_cost: float | None = None
    resumed: bool = False


class DeviceReady(Event):
    """The device is known; `sandbox` says in one line how builds are confined, `devices` which measure side by side.

    Attributes:
        library: what the library needs that the problem names.
    """

    type: Literal["device_ready"] = "device_ready"
    device: DeviceInfo
    sandbox: str
    devices: list[str] = Field(default_factory=list)
    library: LibraryTime | None = None

    @property
    def title(self) -> str:
        """The device, or how many of it."""
        return self.device.name if len(self.devices) < 2 else f"{len(self.devices)} x {self.device.name}"


class Note(Event):
    """A line of the story for people."""

    type: Literal["note"] = "note"
    level: Literal["info", "warning"] = "info"
    text: str


class StepChanged(Event):
    """A step is new or its state changed."""

    type: Literal["step_changed"] = "step_changed"
    step: Step


class PlanOrdered(Event):
    """The order of the plan, other than by appending: ids of all steps."""

    type: Literal["plan_ordered"] = "plan_ordered"
    order: list[int]


class ParametersFrozen(Event):
    """Tunables that are held at a value from now on: all of them, so an empty one says that all are free."""

    type: Literal["parameters_frozen"] = "parameters_frozen"
    frozen: Configuration


class CandidateProposed(Event):
    """A new kernel to look at, or what else is tuned."""

    type: Literal["candidate_proposed"] = "candidate_proposed"
    step: int
    candidate: AnySource
    rationale: str = ""


class ApprovalAsked(Event):
    """The session waits for the user."""

    type: Literal["approval_asked"] = "approval_asked"
    proposal: Proposal


class ApprovalGiven(Event):
    """The user (or `--auto`) decided."""

    type: Literal["approval_given"] = "approval_given"
    step: int
    decision: Decision


class SearchBegun(Event):
    """A search of a candidate's tunables begins, of so many evaluations at most."""

    type: Literal["search_begun"] = "search_begun"
    candidate: str
    evaluations: int


class EvaluationStarted(Event):
    """A configuration is on its way: queued, building, then running."""

    type: Literal["evaluation_started"] = "evaluation_started"
    number: int
    candidate: str
    configuration: Configuration


class EvaluationLeft(Event):
    """A configuration that was on its way was given up: nothing is known of it."""

    type: Literal["evaluation_left"] = "evaluation_left"
    number: int


class EvaluationFinished(Event):
    """A configuration has its result; `diagnosis` says what holds it back, where the device's ceilings are known."""

    type: Literal["evaluation_finished"] = "evaluation_finished"
    number: int
    evaluation: Evaluation
    diagnosis: Diagnosis | None = None


class ComparisonBegun(Event):
    """A candidate is checked on fresh data and timed against another one, interleaved."""

    type: Literal["comparison_begun"] = "comparison_begun"
    doing: ClassVar[str] = "comparing"
    candidate: str
    configuration: Configuration


class Compared(Event):
    """A candidate was timed against the incumbent, interleaved."""

    type: Literal["compared"] = "compared"
    candidate: str
    configuration: Configuration
    comparison: Comparison


class ProfileBegun(Event):
    """It is looked at what the compiler makes of a configuration, and what the device counts while it runs."""

    type: Literal["profile_begun"] = "profile_begun"
    doing: ClassVar[str] = "profiling"
    candidate: str
    configuration: Configuration


class Profiled(Event):
    """What the compiler made of a configuration, what the device counted while it ran, and what that says of it."""

    type: Literal["profiled"] = "profiled"
    candidate: str
    configuration: Configuration
    profile: Profile
    diagnosis: Diagnosis | None = None


class BaselineMeasured(Event):
    """The kernel as given, and with its own tunables tuned once that is known; `diagnosis` is of the former."""

    type: Literal["baseline_measured"] = "baseline_measured"
    given: Evaluation
    tuned: Evaluation | None = None
    diagnosis: Diagnosis | None = None


class IncumbentChanged(Event):
    """A new best.

    Attributes:
        speedup: over the kernel as given, with the ends of its interval.
        refuted: what is wrong with the best of before, so that the one before that is the best again.
    """

    type: Literal["incumbent_changed"] = "incumbent_changed"
    candidate: Candidate
    evaluation: Evaluation
    speedup: tuple[float, float, float]
    refuted: Failure | None = None


class SessionFinished(Event):
    """Last event.

    Attributes:
        speedup: of the best over the kernel as given, both timed interleaved.
        times: of the kernel as given and of the best in that comparison, ms.
        model_fault: why no reply of the model could be used; empty where one could, or none was asked for.
        confirmed: False for a session that was interrupted before that comparison: the times were taken apart.
    """

    type: Literal["session_finished"] = "session_finished"
    status: Literal["finished", "no_improvement", "failed", "interrupted"]
    reason: str
    evaluations: int
    model_calls: int
    cost: float | None = 0.0
    speedup: tuple[float, float, float] | None = None
    times: tuple[float, float] | None = None
    confirmed: bool = True
    model_fault: str = ""
    result: str | None = None

    @property
    def words(self) -> str:
        """A line of the story."""
        return f"{self.status.replace('_', ' ')}: {self.reason}"


__all__ = [
    "CHANGES",
    "FORMAT",
    "AnswerFailed",
    "AnswerReceived",
    "AnswerText",
    "ApprovalAsked",
    "ApprovalGiven",
    "ApprovalLevelChanged",
    "BaselineMeasured",
    "BudgetChanged",
    "CallFailed",
    "CandidateProposed",
    "Compared",
    "ComparisonBegun",
    "DeviceReady",
    "EvaluationFinished",
    "EvaluationLeft",
    "EvaluationStarted",
    "Event",
    "HelpAsked",
    "HelpGiven",
    "IncumbentChanged",
    "ModelChanged",
    "ModelText",
    "Note",
    "PairAsked",
    "PairCompared",
    "ParametersFrozen",
    "PauseChanged",
    "PlanOrdered",
    "ProfileBegun",
    "Profiled",
    "PromptSent",
    "QuestionAsked",
    "ReplyReceived",
    "ReplyRefused",
    "SearchBegun",
    "SessionFinished",
    "SessionStarted",
    "StepChanged",
    "StrategyChanged",
    "UserSaid",
    "stream_schema",
]
