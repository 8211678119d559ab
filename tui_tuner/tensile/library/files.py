"""Where the library logic of a run lies, Tensile's own merge where it is installed, and how a file is replaced."""

from __future__ import annotations

import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

from tui_tuner.errors import SettingsError, writing
from tui_tuner.processes.waited import run_program
from tui_tuner.resources import write_whole
from tui_tuner.tensile.library import LibraryLogic, read_logic
from tui_tuner.tensile.library.merging import Merge, merged
from tui_tuner.tensile.outcome import geometric_mean
from tui_tuner.tensile.program import Tensile, environment, python_of
from tui_tuner.tensile.result_tables import ResultsError
from tui_tuner.text import clean

LOGIC = "3_LibraryLogic"
"""Where Tensile leaves it in its output directory."""
_LIMIT_S = 1800.0
_LAST_LINES = 3
_MERGE = "TensileMergeLibrary"
_OLDER_MERGE = Path("Utilities") / "merge.py"


def find_logic(path: Path) -> list[Path]:
    """The library logic of a run, a file for each problem type: of its last runs where there are any, else the best.

    Args:
        path: a file of library logic, Tensile's output directory, or the directory of a run of this program.

    Raises:
        SettingsError: there is none.
    """
    if path.is_file():
        return [path]
    found = sorted(path.glob(f"{LOGIC}/*.yaml")) or sorted(path.glob("*.yaml") if path.name == LOGIC else [])
    if found:
        return found
    found = logic_of_run(path)
    if not found:
        hint = "name a file of library logic, Tensile's output directory, or a run of this program"
        raise SettingsError(f"there is no library logic in {path}", hint=hint)
    return found


def logic_of_run(path: Path) -> list[Path]:
    """The library logic in the directory of a run of this program, a file for each problem type."""
    runs = sorted(path.glob(f"rounds/*/tensile/{LOGIC}/*.yaml"))
    last = [file for file in runs if file.parents[2].name.startswith("finals")]
    by_name: defaultdict[str, list[Path]] = defaultdict(list)
    for file in last or runs:
        by_name[file.name].append(file)
    return [_chosen(files, median=bool(last)) for files in by_name.values()]


def _chosen(files: list[Path], *, median: bool) -> Path:
    """Of runs of the same solutions the median one, as the luckiest would promise too much; else the fastest."""
    speeds = sorted(((_mean(file), file) for file in files), key=lambda pair: pair[0])
    return speeds[len(speeds) // 2 if median else -1][1]


def _mean(file: Path) -> float:
    try:
        return geometric_mean(row.speed for row in read_logic(file).rows if row.speed > 0) or 0.0
    except ResultsError:
        return 0.0


def replace_file(file: Path, text: str, out: Path | None) -> Path:
    """Write a merged file: elsewhere, or in its own place, with the original kept beside it.

    Returns:
        The file that was written.

    Raises:
        SettingsError: the place is taken, or cannot be written.
    """
    if out is not None and out.exists():
        raise SettingsError(f"{out} is there already", hint="name another, or remove it")
    target = out or file
    with writing(target, "name another with -o"):
        if out is None:
            shutil.copy2(file, backup_of(file))
        write_whole(target, text)
    return target


def backup_of(file: Path) -> Path:
    """Where the original is kept: never over an earlier one."""
    names = [file.with_name(f"{file.name}.orig"), *(file.with_name(f"{file.name}.orig{n}") for n in range(2, 1000))]
    return next(name for name in names if not name.exists())


# --- Tensile's own


def own_merge(tensile: Tensile) -> list[str] | None:
    """The command of the merge that an installed Tensile has; None where it has none."""
    beside = tensile.program.resolve().parent
    if (program := beside / _MERGE).is_file():
        python = python_of(program)
        return None if python is None else [python, str(program)]
    older = beside.parent / _OLDER_MERGE
    python = python_of(tensile.program)
    return [python, str(older)] if older.is_file() and python is not None else None


def merged_by(tensile: Tensile, base: LibraryLogic, new: LibraryLogic, *, force: bool) -> tuple[Merge, str]:
    """Merge with the installed Tensile where that works, else by the same rules here.

    Both files must go together, and what comes of it is read again, before it counts.

    Returns:
        The merge, and the text of the file.

    Raises:
        MergeError: the files don't go together.
    """
    ours = merged(base, new, force=force)
    command = own_merge(tensile)
    if command is None:
        return _told(ours, "the Tensile that is installed has no merge of its own"), ours.logic.text()
    with TemporaryDirectory(prefix="tuner-tensile-", ignore_cleanup_errors=True) as directory:
        try:
            file = _run(command, base, new, Path(directory), tensile, force=force)
            theirs = read_logic(file)
            text = file.read_text(encoding="utf-8")
        except (ResultsError, OSError, subprocess.TimeoutExpired, _FailedMerge) as error:
            why = f"Tensile's own merge failed, so its rules were followed here: {_words(error)}"
            return _told(ours, why), ours.logic.text()
    lost = {row.size for row in ours.logic.rows} - {row.size for row in theirs.rows}
    if lost:
        return _told(ours, f"Tensile's own merge lost {len(lost)} sizes; merged here"), ours.logic.text()
    return _told(ours, f"merged by {Path(command[-1]).name} of Tensile {tensile.version}".strip()), text


class _FailedMerge(Exception):
    """A merge by Tensile that failed, with its last words."""


def _run(
    command: list[str], base: LibraryLogic, new: LibraryLogic, directory: Path, tensile: Tensile, *, force: bool
) -> Path:
    """Run Tensile's merge on directories: it pairs files by name; TensileLite reads the kind from the directory."""
    places = [directory / "base" / (base.matching or "base"), directory / "new", directory / "merged"]
    for place, logic in zip(places, (base, new), strict=False):
        place.mkdir(parents=True)
        (place / base.file.name).write_text("".join(logic.items), encoding="utf-8")
    above = str(tensile.program.resolve().parent.parent.parent)
    ended = run_program(
        [*command, *map(str, places), "--force_merge", "true" if force else "false"],
        environment=environment() | {"PYTHONPATH": above},
        limit_s=_LIMIT_S,
        dies_with_us=True,
    )
    file = places[-1] / base.file.name
    if ended.returncode or not file.is_file():
        raise _FailedMerge("\n".join((ended.stderr or ended.stdout).strip().splitlines()[-_LAST_LINES:]))
    return file


def _words(error: Exception) -> str:
    return clean(str(error)).strip().splitlines()[-1][:200] if str(error).strip() else type(error).__name__


def _told(merge: Merge, words: str) -> Merge:
    return Merge(merge.logic, merge.changes, (*merge.notes, words))


def only_one_for(base: LibraryLogic, files: Iterable[Path]) -> LibraryLogic:
    """The file of a run that is of the same problem type.

    Raises:
        SettingsError: none is, by its name; and there are several.
    """
    files = list(files)
    same = [file for file in files if file.name == base.file.name] or files
    if len(same) == 1:
        return read_logic(same[0])
    alike = [logic for logic in map(read_logic, same) if logic.problem_type == base.problem_type]
    if len(alike) == 1:
        return alike[0]
    names = ", ".join(str(file) for file in same)
    raise SettingsError("the run has several problem types", hint=f"name one of its files: {names}")
