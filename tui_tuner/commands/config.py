"""`tuner-tui config`: every setting with its value, ready to be put into the settings file."""

from __future__ import annotations

import tomlkit
from pydantic import BaseModel
from tomlkit.items import Table

from tui_tuner.settings import Settings


def settings_text(settings: Settings) -> str:
    """The settings as TOML; keys without a value stand there as comments."""
    document = tomlkit.document()
    for name in type(settings).model_fields:
        document.add(name, _table(getattr(settings, name)))
    return tomlkit.dumps(document)


def _table(section: BaseModel) -> Table:
    table = tomlkit.table()
    for name, value in section.model_dump(mode="json").items():
        if value is None:
            table.add(tomlkit.comment(f"{name} is not set"))
        elif isinstance(value, dict):
            table.add(name, tomlkit.item(value))
        else:
            table.add(name, value)
    return table
