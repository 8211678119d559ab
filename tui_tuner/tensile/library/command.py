"""The words `logic` and `bench` of the command `tensile`: library logic explained, merged, and compared."""

from __future__ import annotations

import argparse
from pathlib import Path

from tui_tuner.errors import ExitCode, SettingsError
from tui_tuner.tensile.library.files import find_logic, merged_by, only_one_for, replace_file
from tui_tuner.tensile.library.logic import LibraryLogic, read_logic
from tui_tuner.tensile.library.merging import Merge, merged
from tui_tuner.tensile.library.words import explained
from tui_tuner.tensile.program import find_tensile
from tui_tuner.text import clean, tell

_SIZES = 40


def logic(chosen: argparse.Namespace) -> int:
    """Explain the library logic of a run, and merge it into a file where one is named.

    Raises:
        UserError: there is none, or the two do not go together.
    """
    files = find_logic(_run_of(chosen, "logic RUN, or logic RUN --into FILE"))
    if chosen.into is None:
        if chosen.edited is not None or chosen.force:
            raise SettingsError("-o and --force go with --into FILE", hint="name the file that is merged into")
        for file in files:
            tell(str(file))
            for line in explained(read_logic(file), chosen.gpu):
                tell(clean(line))
        return ExitCode.FINISHED
    base = read_logic(chosen.into)
    new = only_one_for(base, files)
    merge, text = _merged(chosen, base, new)
    written = replace_file(base.file, text, chosen.edited)
    for line in _lines(merge, new, base):
        tell(clean(line))
    tell(f"wrote {written}; the original is unchanged" if chosen.edited else f"wrote {written}, the original beside it")
    return ExitCode.FINISHED


def _run_of(chosen: argparse.Namespace, usage: str) -> Path:
    if chosen.sizes is None:
        raise SettingsError("no run is named", hint=f"tuner-tui tensile {usage}")
    return Path(chosen.sizes)


def _merged(chosen: argparse.Namespace, base: LibraryLogic, new: LibraryLogic) -> tuple[Merge, str]:
    """By Tensile's own merge where one is named or found."""
    try:
        tensile = find_tensile(None if chosen.tensile is None else Path(chosen.tensile))
    except SettingsError:
        if chosen.tensile is not None:
            raise
        merge = merged(base, new, force=chosen.force)
        return merge, merge.logic.text()
    return merged_by(tensile, base, new, force=chosen.force)


def _lines(merge: Merge, new: LibraryLogic, base: LibraryLogic) -> list[str]:
    told = [f"  {change.words()}" for change in merge.changes[:_SIZES]]
    if len(merge.changes) > _SIZES:
        told.append(f"  and {len(merge.changes) - _SIZES} more")
    fresh = sum(change.before is None for change in merge.changes)
    replaced = merge.taken - fresh
    kept = len(merge.changes) - merge.taken
    return [
        f"{new.file} into {base.file}: {fresh} sizes added, {replaced} replaced, {kept} kept as they were",
        *told,
        *merge.notes,
        f"{len(merge.logic.rows)} sizes and {len(merge.logic.solutions)} solutions now",
    ]
