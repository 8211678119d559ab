"""Finds Tensile, runs it in a process group of its own, and says in words how that ended."""

from tui_tuner.tensile.running.ended import Ended, GroupLog
from tui_tuner.tensile.running.explain import explain
from tui_tuner.tensile.running.find import Tensile, find_tensile
from tui_tuner.tensile.running.run import run_tensile

__all__ = ["Ended", "GroupLog", "Tensile", "explain", "find_tensile", "run_tensile"]
