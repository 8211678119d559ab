"""What is printed and left behind, held against the JSON Schemas that are shipped."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import jsonschema

from tui_tuner.app.inventory import schema_of


def keep_to_the_schemas(lines: Iterable[str], run: Path | None = None) -> None:
    """The lines of `--output json`, and the result.json of a run."""
    events = jsonschema.Draft202012Validator(schema_of("events"))
    for line in lines:
        events.validate(json.loads(line))
    if run is not None:
        jsonschema.validate(json.loads((run / "result.json").read_text("utf-8")), schema_of("result"))
