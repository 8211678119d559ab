"""Tune GPU kernels: a language model proposes, the machine decides.

    import tui_tuner
    result = tui_tuner.tune("kernel.cu")

Each public name is imported when it is first used, so that `import tui_tuner` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tui_tuner.api import Choices, Tuning, TuningResult, tune, tune_async, tuning
    from tui_tuner.errors import StrategyError, UserError
    from tui_tuner.evaluate.results import Comparison, Evaluation, Failure, FailureKind
    from tui_tuner.llm import Message
    from tui_tuner.problem.candidate import Candidate
    from tui_tuner.problem.model import Argument, Kernel, Launch, Problem, Search, Test
    from tui_tuner.problem.tuning_step import TuningStep
    from tui_tuner.resources import __version__ as __version__
    from tui_tuner.session.controls import (
        AskAbout,
        GoOn,
        Pause,
        RaiseBudget,
        SkipStep,
        Stop,
        UseModel,
        UseStrategy,
    )
    from tui_tuner.session.plan import AddStep, Ask, DeleteStep, EditStep, MoveStep, Say, Thaw, Withdraw
    from tui_tuner.session_options import RoundOptions
    from tui_tuner.settings import Settings
    from tui_tuner.strategies.autonomous import AutonomousStrategy
    from tui_tuner.strategies.base import BudgetSpent, Effects, Incumbent, ModelFailed, StepSkipped, Strategy
    from tui_tuner.strategies.custom import CustomStrategy
    from tui_tuner.strategies.explicit import ExplicitStrategy
    from tui_tuner.strategies.history import Outcome
    from tui_tuner.strategies.rewriting.extraction import UnusableKernel
    from tui_tuner.strategies.rewriting.failures import (
        BuildFailed,
        BuildTimedOut,
        CandidateFailed,
        CompileFailed,
        Crashed,
        EvaluationFailed,
        IllegalAccess,
        ImplausibleTime,
        InvalidConfiguration,
        LaunchFailed,
        NoneRight,
        NotFaster,
        Raced,
        Rejected,
        RetryPolicy,
        RunFailed,
        SameKernel,
        SourceRefused,
        TimedOut,
        WrongResult,
        failure_of,
    )
    from tui_tuner.strategies.single_step import LlmSearchStrategy, OnePromptStrategy, SearchStrategy
    from tui_tuner.strategies.steps import Approver, Decision, Proposal, Step, StepState

__all__ = [
    "AddStep",
    "Approver",
    "Argument",
    "Ask",
    "AskAbout",
    "AutonomousStrategy",
    "BudgetSpent",
    "BuildFailed",
    "BuildTimedOut",
    "Candidate",
    "CandidateFailed",
    "Choices",
    "Comparison",
    "CompileFailed",
    "Crashed",
    "CustomStrategy",
    "Decision",
    "DeleteStep",
    "EditStep",
    "Effects",
    "Evaluation",
    "EvaluationFailed",
    "ExplicitStrategy",
    "Failure",
    "FailureKind",
    "GoOn",
    "IllegalAccess",
    "ImplausibleTime",
    "Incumbent",
    "InvalidConfiguration",
    "Kernel",
    "Launch",
    "LaunchFailed",
    "LlmSearchStrategy",
    "Message",
    "ModelFailed",
    "MoveStep",
    "NoneRight",
    "NotFaster",
    "OnePromptStrategy",
    "Outcome",
    "Pause",
    "Problem",
    "Proposal",
    "Raced",
    "RaiseBudget",
    "Rejected",
    "RetryPolicy",
    "RoundOptions",
    "RunFailed",
    "SameKernel",
    "Say",
    "Search",
    "SearchStrategy",
    "Settings",
    "SkipStep",
    "SourceRefused",
    "Step",
    "StepSkipped",
    "StepState",
    "Stop",
    "Strategy",
    "StrategyError",
    "Test",
    "Thaw",
    "TimedOut",
    "Tuning",
    "TuningResult",
    "TuningStep",
    "UnusableKernel",
    "UseModel",
    "UseStrategy",
    "UserError",
    "Withdraw",
    "WrongResult",
    "failure_of",
    "tune",
    "tune_async",
    "tuning",
]

_HOMES = {
    "api": ("Choices", "Tuning", "TuningResult", "tune", "tune_async", "tuning"),
    "errors": ("StrategyError", "UserError"),
    "evaluate.results": ("Comparison", "Evaluation", "Failure", "FailureKind"),
    "llm": ("Message",),
    "problem.candidate": ("Candidate",),
    "problem.model": ("Argument", "Kernel", "Launch", "Problem", "Search", "Test"),
    "problem.tuning_step": ("TuningStep",),
    "resources": ("__version__",),
    "session_options": ("RoundOptions",),
    "session.controls": (
        "AskAbout",
        "GoOn",
        "Pause",
        "RaiseBudget",
        "SkipStep",
        "Stop",
        "UseModel",
        "UseStrategy",
    ),
    "session.plan": ("AddStep", "Ask", "DeleteStep", "EditStep", "MoveStep", "Say", "Thaw", "Withdraw"),
    "settings": ("Settings",),
    "strategies.autonomous": ("AutonomousStrategy",),
    "strategies.base": ("BudgetSpent", "Effects", "Incumbent", "ModelFailed", "StepSkipped", "Strategy"),
    "strategies.custom": ("CustomStrategy",),
    "strategies.explicit": ("ExplicitStrategy",),
    "strategies.history": ("Outcome",),
    "strategies.rewriting.extraction": ("UnusableKernel",),
    "strategies.rewriting.failures": ("RetryPolicy",),
    "strategies.single_step": ("LlmSearchStrategy", "OnePromptStrategy", "SearchStrategy"),
    "strategies.steps": ("Approver", "Decision", "Proposal", "Step", "StepState"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


if not TYPE_CHECKING:  # else no misspelt name would be noticed

    def __getattr__(name: str) -> Any:  # noqa: ANN401 (whatever the name stands for)
        if name not in __all__ and name != "__version__":
            raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
        value = getattr(import_module(f"tui_tuner.{_HOME_OF.get(name, 'strategies.rewriting.failures')}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
