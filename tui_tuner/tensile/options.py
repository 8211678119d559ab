"""The settings of a Tensile session, checked; `option_table` has their defaults and describes them."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict

from tui_tuner.options import model_field
from tui_tuner.tensile.document.configuration import BenchmarkConfiguration
from tui_tuner.tensile.option_table import LEAST_LIMIT, TENSILE_OPTIONS


class TensileOptions(BaseModel):
    """Settings of `[tensile]`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_rounds: int = model_field(TENSILE_OPTIONS, "max_rounds", ge=0)
    patience: int = model_field(TENSILE_OPTIONS, "patience", ge=1)
    min_gain: float = model_field(TENSILE_OPTIONS, "min_gain", ge=0)
    max_permutations: int | None = model_field(TENSILE_OPTIONS, "max_permutations", ge=1)
    max_measured: int | None = model_field(TENSILE_OPTIONS, "max_measured", ge=1)
    measure_given: bool = model_field(TENSILE_OPTIONS, "measure_given")
    repeats: int = model_field(TENSILE_OPTIONS, "repeats", ge=0)
    max_run_seconds: float | None = model_field(TENSILE_OPTIONS, "max_run_seconds", gt=0)
    gpu: str | None = model_field(TENSILE_OPTIONS, "gpu")
    tensile: Path | None = model_field(TENSILE_OPTIONS, "tensile")
    knowledge: Path | None = model_field(TENSILE_OPTIONS, "knowledge")

    def limit(self, given: BenchmarkConfiguration) -> int:
        """Permutations that an edited configuration may have at most."""
        return max(LEAST_LIMIT, given.permutations) if self.max_permutations is None else self.max_permutations
