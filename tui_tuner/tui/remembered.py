"""How the screen was left, kept for the next start; whatever stands in the file, the program starts."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tui_tuner.resources import write_whole


class Look(BaseModel):
    """What is remembered.

    Attributes:
        maximised: number of the pane that has the whole screen; 0 for none.
        order: name of the order of the table; one that a table does not have is its first.
        turned: whether that is turned round.
        chart: name of the chart; as with the order.
        split: whether diffs stand side by side.
    """

    model_config = ConfigDict(frozen=True)

    maximised: int = Field(default=0, ge=0, le=4)
    order: str = ""
    turned: bool = False
    chart: str = ""
    split: bool = False


def remembered(file: Path | None) -> tuple[Look, str]:
    """The look that is kept, and what is wrong with the file, if anything; nothing is kept where there is none."""
    if file is None:
        return Look(), ""
    try:
        return Look.model_validate_json(file.read_bytes()), ""
    except FileNotFoundError:
        return Look(), ""
    except OSError as error:
        return Look(), f"How the screen was left cannot be read: {file}: {error.strerror}"
    except ValidationError as error:
        fault = error.errors()[0]
        where = ".".join(map(str, fault["loc"])) or "it"
        return Look(), f"How the screen was left cannot be used: {file}: {where}: {fault['msg']}; begun anew"


def remember(file: Path, look: Look) -> None:
    """Keep a look, if it can be written: nothing depends on it."""
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, look.model_dump_json(indent=1) + "\n")
