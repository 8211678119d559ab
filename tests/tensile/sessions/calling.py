"""The command line inside this process."""

from __future__ import annotations

from collections.abc import Callable

from tests.end_to_end.program import Ended

TuneHere = Callable[..., Ended]
