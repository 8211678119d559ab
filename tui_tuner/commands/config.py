"""`tuner-tui config`: every setting with its value, ready to be put into the settings file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tomlkit
from pydantic import BaseModel
from tomlkit.items import Table

from tui_tuner.settings import Settings
from tui_tuner.subjects import subjects


def settings_text(settings: Settings) -> str:
    """The settings as TOML; keys without a value stand there as comments."""
    document = tomlkit.document()
    for name in Settings.model_fields:
        document.add(name, _table(getattr(settings, name)))
    for name, subject in subjects().items():
        if subject.settings:
            document.add(name, _table(settings.table(name)))
    return tomlkit.dumps(document)


def _table(section: BaseModel | Mapping[str, Any]) -> Table:
    table = tomlkit.table()
    content = section.model_dump(mode="json") if isinstance(section, BaseModel) else section
    for name, value in sorted(content.items(), key=lambda item: isinstance(item[1], dict)):  # else keys end up in them
        if value is None:
            table.add(tomlkit.comment(f"{name} is not set"))
        else:
            table.add(name, _table(value) if isinstance(value, dict) else tomlkit.item(value))
    return table
