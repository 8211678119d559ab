"""The program itself: its name, its version, and where files lie: those that travel with it, and the user's."""

from __future__ import annotations

import os
from pathlib import Path

APPLICATION = "tuner-tui"
__version__ = "0.1.0"
_PACKAGE = Path(__file__).resolve().parent

DEFAULT_SETTINGS = _PACKAGE / "default_settings.toml"
"""The settings of kernels with nothing set, as `tuner-tui config` prints them."""


def _directory(name: str) -> Path:
    inside = _PACKAGE / name
    return inside if inside.is_dir() else _PACKAGE.parent / name


def themes_directory() -> Path:
    """The folder of the TOML themes."""
    return _directory("themes")


def samples_directory() -> Path:
    """The folder of the sample kernels."""
    return _directory("sample_kernels")


def settings_file() -> Path:
    """Where the user's settings are: `$TUNER_TUI_CONFIG`, else the platform's configuration directory."""
    named = os.environ.get("TUNER_TUI_CONFIG")
    if named:
        return Path(named)
    from platformdirs import user_config_path

    return user_config_path(APPLICATION) / "config.toml"


def log_directory() -> Path:
    """Where the program writes what only its makers need, as where the screen broke."""
    from platformdirs import user_log_path

    return user_log_path(APPLICATION)
