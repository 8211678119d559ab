"""A project's settings: a file beside its kernels, which may come from others and so may not set everything.

What it may set decides how a kernel is searched. What runs a program, reaches a server, spends money, leaves out the
sandbox or is the user's own taste is refused with its line, unless the user trusts the directory.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tui_tuner.resources import settings_file
from tui_tuner.settings.layers import Layer, layer_of_file

_Allowed = Callable[[Any, Any], bool]
"""Whether a value may stand in the place of the user's own."""


def _any(value: object, own: object) -> bool:
    return True


def _is_name(value: object, own: object) -> bool:
    """Whether a strategy is named, and not file.py:Class, which would be run."""
    return isinstance(value, str) and re.fullmatch(r"[\w-]+", value) is not None


def _is_here(value: object, own: object) -> bool:
    """A device of this machine."""
    return not str(value).strip().lower().startswith("ray")


def _is_none(value: object, own: object) -> bool:
    return value == "none"


def _is_lower(value: object, own: object) -> bool:
    return own is None or (isinstance(value, int | float) and isinstance(own, int | float) and value <= own)


_ALLOWED: dict[str, dict[str, _Allowed]] = {
    "session": {
        "strategy": _is_name,
        "device": _is_here,
        "llm": _is_none,
        "max_calls": _is_lower,
        "max_cost": _is_lower,
        **dict.fromkeys(
            (
                "strategy_options", "search", "rounds", "require_model", "temperature", "max_evaluations",
                "max_seconds", "reply_seconds", "target", "seed", "delta",
            ),
            _any,
        ),
    },
    "model": dict.fromkeys(("temperature", "context_tokens", "structured", "timeout_s"), _any),
}  # fmt: skip
"""What a project that is not trusted may set; all options of strategies as well."""

_OWN = ("screen", "projects", "log")
"""Tables that no project sets, trusted or not."""
_PATHS = (("session", "strategy"), ("build", "nvcc"), ("memory", "file"))
"""Keys whose relative paths begin at the project's file."""


def is_trusted(file: Path, trusted: Sequence[Path]) -> bool:
    """Whether a project's file lies in or below one of the directories."""
    directory = file.resolve().parent
    return any(directory.is_relative_to(place.expanduser().resolve()) for place in trusted)


def project_layer(file: Path) -> Layer:
    """What a project's file sets, its paths made those that they are from here.

    Raises:
        SettingsError: it cannot be read, or is not TOML.
    """
    layer = layer_of_file(file)
    for table, key in _PATHS:
        value = layer.content.get(table, {}).get(key) if isinstance(layer.content.get(table), dict) else None
        if isinstance(value, str) and (key != "strategy" or ".py:" in value):
            layer.content[table][key] = str(file.parent / Path(value).expanduser())
    return layer


def check_project(layer: Layer, own: Mapping[str, Any], *, trusted: bool) -> None:
    """Whether a project's file may set what it sets.

    Args:
        own: what holds without it, as tables.

    Raises:
        SettingsError: it may not.
    """
    for path, value in layer.leaves():
        table, key = str(path[0]), str(path[1]) if len(path) > 1 else ""
        name = ".".join(map(str, path))
        if table in _OWN:
            raise layer.fault(f"{name}: is for your own settings, not for a project's", path, f"in {settings_file()}")
        if trusted or (table == "strategies" and _is_name(key, None)):
            continue
        mine = own.get(table, {}).get(key)
        allowed = _ALLOWED.get(table, {}).get(key)
        if allowed is None or not allowed(value, mine):
            limit = "" if allowed is not _is_lower else f", only lower it: yours is {mine}"
            directory = shlex.quote(str((layer.place(()).file or Path()).parent))
            hint = f"read the file; if you trust whoever writes it: tuner-tui config trust {directory}"
            raise layer.fault(f"{name}: a project may not set this{limit}", path, hint)
