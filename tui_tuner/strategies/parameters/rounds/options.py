"""How a model chooses configurations: the settings of its rounds."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class RoundOptions(BaseModel):
    """Settings of the rounds; each is described where it is declared, and on the command line by the same words."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    initial_batch_size: int = Field(
        default=25, ge=1, description="configurations of the first round, its seeds included"
    )
    refinement_batch_size: int = Field(default=15, ge=1, description="configurations of each later round")
    max_rounds: int = Field(default=5, ge=1, description="rounds at most")
    patience: int = Field(default=2, ge=1, description="rounds without an improvement after which they end")
    min_improvement: float = Field(default=0.01, ge=0, description="relative gain over two rounds below which they end")
    target_ms: float | None = Field(default=None, gt=0, description="time of the kernel at which the rounds end, ms")
    include_kernel_source: bool = Field(default=True, description="whether the model sees the kernel's code")
    hardware_context: bool = Field(default=True, description="whether the model sees the device and its limits")
    fallback: Literal["random", "pattern", "error"] = Field(
        default="pattern",
        description="what chooses in place of a model that fails: pattern takes neighbours of the best",
    )
    seeds: int = Field(default=3, ge=0, description="configurations measured while the first reply is on its way")
    local_share: float = Field(
        default=0.35, ge=0, lt=1, description="part of the evaluations left to the local search after"
    )
