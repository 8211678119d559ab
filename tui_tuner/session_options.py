"""What the user chose for a session; stands in the journal's header, so that a resume needs no arguments."""

from __future__ import annotations

from typing import Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field

from tui_tuner.options import model_field
from tui_tuner.search import ROUND_OPTIONS

MOST = 10**9
"""Evaluations, or calls, that a budget may allow."""


class RoundOptions(BaseModel):
    """Settings of the rounds; `ROUND_OPTIONS` has their defaults and describes them, on the command line too."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    initial_batch_size: int = model_field(ROUND_OPTIONS, "initial_batch_size", ge=1)
    refinement_batch_size: int = model_field(ROUND_OPTIONS, "refinement_batch_size", ge=1)
    max_rounds: int = model_field(ROUND_OPTIONS, "max_rounds", ge=1)
    patience: int = model_field(ROUND_OPTIONS, "patience", ge=1)
    min_improvement: float = model_field(ROUND_OPTIONS, "min_improvement", ge=0)
    target_ms: float | None = model_field(ROUND_OPTIONS, "target_ms", gt=0)
    include_kernel_source: bool = model_field(ROUND_OPTIONS, "include_kernel_source")
    hardware_context: bool = model_field(ROUND_OPTIONS, "hardware_context")
    fallback: Literal["random", "pattern", "error"] = model_field(ROUND_OPTIONS, "fallback")
    seeds: int = model_field(ROUND_OPTIONS, "seeds", ge=0)
    local_share: float = model_field(ROUND_OPTIONS, "local_share", ge=0, lt=1)

    def batch_size(self, number: int) -> int:
        """Configurations that the round of this number has, counted from 1, where enough evaluations are left."""
        return self.initial_batch_size if number == 1 else self.refinement_batch_size


class SearchOptions(Protocol):
    """What the user chose for the search of parameters."""

    @property
    def search(self) -> str | None:
        """The method, None for the default."""

    @property
    def rounds(self) -> RoundOptions:
        """How a model chooses configurations round by round."""


class SessionOptions(BaseModel):
    """Choices of one session.

    Attributes:
        strategy: name of a strategy, or file.py:Class.
        strategy_options: what is set of the strategy's own options.
        search: method of the parameter search, None for the default; `llm` and `hybrid` let a model choose.
        rounds: how a model chooses configurations.
        llm: the model as the user names it, "auto", "ollama:qwen3-coder".
        require_model: whether the session is to end, and not to go on without one, where the model is of no use.
        temperature: of the model's replies, None for the setting of `[model]`.
        device: as the user names it, "auto", "cuda:0", "emulator".
        max_evaluations: configurations evaluated at most.
        max_calls: calls of the model at most, refused replies included.
        max_seconds: wall-clock time at most, None for no limit.
        reply_seconds: that one call of the model may take with its retries, None for the setting of `[model]`.
        max_cost: US dollars at most, None for no limit.
        target: speed-up over the kernel as given at which to stop.
        seed: of every random choice.
        delta: least relative gain that makes a challenger the incumbent.
        allow_unconfined: whether to build and run where no sandbox can be had.
        memory: whether to use what earlier sessions found and to remember this one; None: as `[memory]` says.
        cache_replies: whether replies of the model are kept for later sessions; None: as `[model]` says.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    strategy: str = "autonomous"
    strategy_options: dict[str, Any] = {}
    search: str | None = None
    rounds: RoundOptions = RoundOptions()
    llm: str = "auto"
    require_model: bool = False
    temperature: float | None = Field(default=None, ge=0, le=2)
    device: str = "auto"
    max_evaluations: int = Field(default=85, ge=1, le=MOST)
    max_calls: int = Field(default=100, ge=0, le=MOST)
    max_seconds: float | None = Field(default=None, gt=0)
    reply_seconds: float | None = Field(default=None, gt=0)
    max_cost: float | None = Field(default=None, ge=0)
    target: float | None = Field(default=None, gt=1)
    seed: int = 0
    delta: float = Field(default=0.01, ge=0)
    allow_unconfined: bool = False
    memory: bool | None = None
    cache_replies: bool | None = None
