"""Where the files that travel with the program lie: inside an installed package, or beside it in a checkout."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def _directory(name: str) -> Path:
    inside = _PACKAGE / name
    return inside if inside.is_dir() else _PACKAGE.parent / name


def themes_directory() -> Path:
    """The folder of the TOML themes."""
    return _directory("themes")


def samples_directory() -> Path:
    """The folder of the sample kernels."""
    return _directory("sample_kernels")
