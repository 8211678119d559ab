"""Tests that take long and show of one more case what a quicker one shows: `make test` leaves them out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def slow_but_for(kept: Iterable[str], values: Iterable[str]) -> list[Any]:
    """The values of a parameter, of which `make test` tries those that are kept, and `make test-all` all.

    Raises:
        ValueError: one that is to be kept is none of them.
    """
    values = list(values)
    if unknown := set(kept).difference(values):
        raise ValueError(f"{', '.join(sorted(unknown))}: not one of {', '.join(values)}")
    return [value if value in kept else pytest.param(value, marks=pytest.mark.slow) for value in values]
