"""What the tables of the problem file have in common."""

from __future__ import annotations

from typing import Literal, get_args

from pydantic import ConfigDict

Value = bool | int | float | str
"""A value of a tunable parameter."""
Language = Literal["cuda", "opencl", "c", "python", "recorded"]
"""What a kernel is written in; `python`: Helion or Triton; `recorded`: whatever it was, its times are on file."""
CompiledLanguage = Literal["cuda", "opencl", "c"]
"""A language whose kernels this program builds and launches, and a model may rewrite."""
COMPILED: tuple[CompiledLanguage, ...] = get_args(CompiledLanguage)

TABLE = ConfigDict(extra="forbid", frozen=True)
"""Every table is immutable and refuses unknown keys."""
