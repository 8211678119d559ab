"""A session without a screen: the story on standard error, the result on standard output."""

from tui_tuner.errors import ExitCode
from tui_tuner.headless.run import EXIT_CODES, ApproveAll, run_headless

__all__ = ["EXIT_CODES", "ApproveAll", "ExitCode", "run_headless"]
