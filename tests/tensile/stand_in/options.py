"""How a run of the stand-in is bent: its pace, its layout, its faults."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

from tests.tensile.stand_in.faults import Faults
from tests.tensile.stand_in.speech import NEWER, OLDER


@dataclass(frozen=True)
class Options:
    """Options of one run.

    Attributes:
        measured: the table of GFLOP/s.
        pace: seconds that a solution takes to be built, and again to run at one size.
        layout: of files and words, 4.33 or 4.44.
        faults: given as `fault`, comma-separated: `crash` strikes in every run, `2:crash` in the second; some have a
            value, as `fatal=WORDS`.
    """

    measured: Path
    pace: float
    layout: str
    faults: Faults

    @classmethod
    def read(cls, file: Path, *, counted: bool) -> Options:
        """Read them, and count the run, if it is one, in the file `runs` beside them."""
        told = json.loads(file.read_text())
        counter = file.with_name("runs")
        run = int(counter.read_text()) + 1 if counter.exists() else 1
        if counted:
            new = file.with_name(f"runs-{os.getpid()}")
            new.write_text(str(run))
            new.replace(counter)  # whole at once: a run on another GPU may be reading it
        faults = Faults.of_run(told.get("fault", ""), run)
        return cls(Path(told["measured"]), float(told.get("pace", 0)), told.get("layout", OLDER), faults)

    @property
    def version(self) -> str:
        """That the stand-in tells."""
        return f"{self.layout}.0"

    @property
    def is_newer(self) -> bool:
        """Whether files and words are those of Tensile 4.44."""
        return self.layout == NEWER
