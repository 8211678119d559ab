"""How a run of the stand-in is bent: noise, pace, and faults on demand."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, fields
from pathlib import Path

from tests.tensile.stand_in.speech import NEWER, OLDER

_MEASURED = Path(__file__).parent / "measured.csv.gz"


@dataclass(frozen=True)
class Options:
    """Options of the stand-in.

    Attributes:
        measured: the table of GFLOP/s.
        seed: of the measurement noise.
        noise: its standard deviation, as a share of a speed.
        pace: seconds that a solution takes to be built, and again to run at one size.
        fault: faults, comma-separated: `crash` in every run, `2:crash` in the second, `some_failed=0.25` with a value.
            Beside this, a file `faults` next to the output directory is read the same way.
        layout: of files and words, 4.33 or 4.44.
        state: the directory that counts the runs.
    """

    measured: Path = _MEASURED
    seed: int = 0
    noise: float = 0.0
    pace: float = 0.0
    fault: str = ""
    layout: str = OLDER
    state: Path = Path()

    @classmethod
    def read(cls, file: Path) -> Options:
        told = json.loads(file.read_text())
        told.setdefault("state", str(file.parent))
        for field in fields(cls):
            if (value := os.environ.get(f"STAND_IN_{field.name.upper()}")) is not None:
                told[field.name] = value
        kinds = {
            "measured": Path,
            "state": Path,
            "seed": int,
            "noise": float,
            "pace": float,
            "fault": str,
            "layout": str,
        }
        return cls(**{name: kinds[name](value) for name, value in told.items()})

    @property
    def version(self) -> str:
        """That the stand-in tells."""
        return f"{self.layout}.0"

    @property
    def is_newer(self) -> bool:
        """Whether files and words are those of Tensile 4.44."""
        return self.layout == NEWER

    def run_number(self) -> int:
        """Counts this run, from 1."""
        counter = self.state / "runs"
        number = int(counter.read_text()) + 1 if counter.exists() else 1
        counter.write_text(str(number))
        return number
