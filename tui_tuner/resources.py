"""The program itself: its name, its version, where files lie, how one is written whole and how a packed one begins."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

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


PROJECT_FILE = "tuner-tui.toml"
"""The settings of a project, beside its kernels."""
VARIABLES = "TUNER_TUI_"
"""How the names of our variables begin."""


def project_file(beside: Path) -> Path:
    """The settings of a project, by a kernel or by its directory."""
    is_directory = os.path.isdir(beside)  # noqa: PTH112 (pathlib's raises for what no file can be called)
    return (beside if is_directory else beside.parent) / PROJECT_FILE


def is_named(file: Path) -> bool:
    """Whether the user says where the settings are, by `$TUNER_TUI_CONFIG`, so that this file must be there."""
    named = os.environ.get("TUNER_TUI_CONFIG")
    return bool(named) and file == Path(named or "")


def own_table(name: str, file: Path | None = None) -> dict[str, Any]:
    """A table of the user's settings file, or of another, before anything checks it; empty where it cannot be read."""
    import tomllib

    try:
        table = tomllib.loads((file or settings_file()).read_text(encoding="utf-8-sig")).get(name, {})
    except (OSError, ValueError):
        return {}
    return table if isinstance(table, dict) else {}


def write_whole(file: Path, text: str) -> None:
    """Write a file whole, or leave what was there as it was.

    Raises:
        OSError: it cannot be written.
    """
    new = file.with_name(f".{file.name}.new")
    try:
        new.write_text(text, encoding="utf-8", errors="surrogateescape")
        new.replace(file)
    except OSError:
        new.unlink(missing_ok=True)
        raise


def installed_version(package: str) -> str | None:
    """The version of an installed package; None where it is not installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return None


def is_packed(content: bytes) -> bool:
    """Whether a file that begins like this was packed by gzip."""
    return content.startswith(b"\x1f\x8b")


def how_to_unpack(file: Path) -> str:
    """A hint for a packed file where only an unpacked one is read."""
    return f"unpack it: gzip -dk {file.name}"


def cache_directory(name: str) -> Path:
    """A directory of what can be made anew, in the user's cache."""
    from platformdirs import user_cache_path

    return user_cache_path(APPLICATION) / name


def look_file() -> Path:
    """Where is kept how the screen was left, in the user's directory for state."""
    from platformdirs import user_state_path

    return user_state_path(APPLICATION) / "screen.json"


def log_directory() -> Path:
    """Where the program writes what only its makers need, as where the screen broke."""
    from platformdirs import user_log_path

    return user_log_path(APPLICATION)
