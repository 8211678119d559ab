"""Asks an installed Tensile itself whether it takes a configuration."""

from tui_tuner.tensile.installed.ask import check_installed
from tui_tuner.tensile.installed.verdict import Standing, Verdict

__all__ = ["Standing", "Verdict", "check_installed"]
