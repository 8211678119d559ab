"""What the tables of the problem file have in common."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict

Value = bool | int | float | str
"""A value of a tunable parameter."""
Language = Literal["cuda", "opencl", "c"]

TABLE = ConfigDict(extra="forbid", frozen=True)
"""Every table is immutable and refuses unknown keys."""
