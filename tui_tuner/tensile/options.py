"""The settings of a Tensile session, each described where it is declared, as on the command line."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from tui_tuner.tensile.document.configuration import BenchmarkConfiguration

LEAST_LIMIT = 256
"""A configuration may grow to so many permutations, however small it is as given."""


class TensileOptions(BaseModel):
    """Settings of `[tensile]`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_rounds: int = Field(default=6, ge=0, description="rounds of edits at most")
    patience: int = Field(default=2, ge=1, description="rounds without a gain after which they end")
    min_gain: float = Field(default=0.01, ge=0, description="gain of a round that counts, relative, mean of all sizes")
    max_permutations: int | None = Field(
        default=None,
        ge=1,
        description="permutations that the configuration may have at most; by default what it has as given, "
        f"or {LEAST_LIMIT} where that is less",
    )
    max_measured: int | None = Field(
        default=None, ge=1, description="permutations measured in all at most, the first run included"
    )
    measure_given: bool = Field(
        default=True, description="whether the configuration as given is measured before the first edit"
    )
    repeats: int = Field(default=3, ge=0, description="runs in which the first winners and the best are compared")
    max_run_seconds: float | None = Field(default=None, gt=0, description="time of one run of Tensile at most, s")
    gpu: str | None = Field(default=None, description="the GPU, as in gfx90a or MI210, for the facts that a prompt has")
    tensile: Path | None = Field(default=None, description="Tensile's program or directory; by default that of PATH")
    knowledge: Path | None = Field(
        default=None, description="directory with more terms, GPUs and valid values; by default beside the settings"
    )

    def limit(self, given: BenchmarkConfiguration) -> int:
        """Permutations that an edited configuration may have at most."""
        return max(LEAST_LIMIT, given.permutations) if self.max_permutations is None else self.max_permutations
