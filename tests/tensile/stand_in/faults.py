"""Faults that a run has, by the places where they strike."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Faults:
    """The faults of one run: name and value."""

    active: dict[str, str]

    @classmethod
    def of_run(cls, text: str, run: int) -> Faults:
        active: dict[str, str] = {}
        for item in filter(None, text.split(",")):
            when, _, what = item.partition(":")
            name, _, value = (what if when.isdigit() else item).partition("=")
            if not when.isdigit() or int(when) == run:
                active[name] = value
        return cls(active)

    def __contains__(self, name: str) -> bool:
        return name in self.active

    def at_the_start(self) -> None:
        if "exception" in self:
            raise RuntimeError("something broke")
        if "no_compiler" in self:
            raise FileNotFoundError("`amdclang++` either not found or not executable in any search path: /opt/rocm/bin")
        if "no_gpu" in self:
            raise Exception("Failed to detect currect ISA")
        if "offspring" in self:  # a process that would outlive this one, and holds its output open
            child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
            Path(self.active["offspring"]).write_text(str(child.pid))

    def while_kernels_run(self) -> None:
        if "crash" in self:
            sys.stdout.flush()
            os.kill(os.getpid(), signal.SIGSEGV)
        if "hang" in self:
            sys.stdout.flush()
            Path(sys.argv[0]).with_name("hangs").touch()
            time.sleep(600)

    def strikes(self, solution: int) -> bool:
        """Whether a solution fails validation."""
        return "all_failed" in self or ("some_failed" in self and solution % 2 == 1)

    def on_table(self, text: str) -> bytes:
        """The table as it is written to the disk."""
        if "malformed" in self:
            text = text.rstrip("\n").rpartition(",")[0] + ", fast\n"
        if "truncated_csv" in self:
            text = text[: int(len(text) * 0.6)]
        return b"\x7fELF\x00\xff\xfe" + text.encode() if "binary" in self else text.encode()

    def on_solutions(self, text: str) -> bytes:
        """The solutions as they are written to the disk."""
        return text[: int(len(text) * 0.6)].encode() if "truncated_yaml" in self else text.encode()
