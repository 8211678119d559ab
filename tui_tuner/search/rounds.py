"""What the user chose for the search of parameters: its method, and how a model chooses configurations in rounds."""

from __future__ import annotations

from typing import Literal, Protocol

from pydantic import BaseModel, ConfigDict

from tui_tuner.options import model_field
from tui_tuner.search.methods import ROUND_OPTIONS


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


class SearchOptions(Protocol):
    """What the user chose for the search of parameters."""

    @property
    def search(self) -> str | None:
        """The method, None for the default."""
        ...

    @property
    def rounds(self) -> RoundOptions:
        """How a model chooses configurations round by round."""
        ...
