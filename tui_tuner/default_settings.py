"""The settings where nothing is set, known without the models that check a settings file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from tui_tuner.options import Option
from tui_tuner.resources import DEFAULT_SETTINGS
from tui_tuner.subjects import SUBJECTS, loaded


def default_settings_text() -> str:
    """What `tuner-tui config` prints without a settings file: the tables of kernels, then one a subject."""
    tables = [DEFAULT_SETTINGS.read_text(encoding="utf-8")]
    for name, subject in SUBJECTS.items():
        tables.append("\n".join([f"[{name}]", *_lines(loaded(subject.options)), ""]))
    return "\n".join(tables)


def _lines(options: Iterable[Option]) -> Iterator[str]:
    for option in options:
        if option.default is None:
            yield f"# {option.name} is not set"
        else:
            yield f"{option.name} = {json.dumps(option.default)}"
