"""Opening the run of a Tensile session: what is wrong with it is told, and nothing is kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tui_tuner.errors import JournalError
from tui_tuner.resources import samples_directory
from tui_tuner.tensile.run_directory import open_run


def test_a_run_whose_header_cannot_be_used_is_given_back(tmp_path: Path) -> None:
    first, _, rest = (samples_directory() / "tensile/recorded/journal.jsonl").read_text("utf-8").partition("\n")
    header = json.loads(first)
    whole = header.pop("tensile")
    journal = tmp_path / "journal.jsonl"
    journal.write_text(f"{json.dumps(header)}\n{rest}", "utf-8")
    with pytest.raises(JournalError, match="its header lacks 'tensile'") as refused:
        open_run(tmp_path, resume=True)
    assert refused.value.line == 1

    journal.write_text(f"{json.dumps({**header, 'tensile': whole})}\n{rest}", "utf-8")
    run = open_run(tmp_path, resume=True)  # and not: another process is at work on this run
    run.journal.close()
