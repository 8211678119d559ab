"""The problem that a recording is about: from its header alone, or from a problem file that is given with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import tomlkit

from tui_tuner.evaluate.recorded import Recording, RecordingEntry
from tui_tuner.evaluate.recorded.reading import is_cache_name, stem_of
from tui_tuner.problem.candidate import AXES
from tui_tuner.problem.expressions import ExpressionError
from tui_tuner.problem.load import Written, problem_of_tables, problem_text, written_in_file
from tui_tuner.problem.model import Configuration, Value
from tui_tuner.problem.space import SearchSpace
from tui_tuner.problem.toml_file import KeyLocations, read_text, read_toml
from tui_tuner.problem.tunables import exact

_RECORDED = "recorded"


def problem_beside(recording: Path) -> Path | None:
    """The problem file beside a recording, as conv.toml beside conv.json.gz; None where there is none."""
    file = recording.parent / f"{stem_of(recording)}.toml"
    return file if file.is_file() else None


def problem_of_recording(recording: Recording, file: Path | None) -> Written:
    """The problem that a recording answers for.

    Args:
        file: a problem file, or a kernel's file with a problem file beside it; None for what the header says.

    Raises:
        ProblemError: the file cannot be used, or is about other tunables than were recorded.
    """
    if file is None:
        return _written_by_header(recording)
    table = file.with_suffix(".toml")
    if file.suffix != ".toml" and not table.is_file():
        return written_in_file(file)  # which says what is missing
    text = read_text(table)
    tables, place = read_toml(text, table)
    kernel = tables.get("kernel", {})
    if isinstance(kernel, dict) and kernel.get("language", None if "source" in kernel else _RECORDED) == _RECORDED:
        return _written_by_tables(recording, tables, text, place)
    return _as_recorded(recording, written_in_file(file), tables, place)


def _written_by_header(recording: Recording) -> Written:
    file = recording.file.parent / f"{stem_of(recording.file)}.toml"
    tables = _filled({}, recording, KeyLocations(recording.file, {}))
    problem = problem_of_tables(tables, KeyLocations(recording.file, {}), directory=file.parent, source_text="")
    return Written(problem, problem_text(problem), file)


def _written_by_tables(recording: Recording, given: Mapping[str, Any], text: str, place: KeyLocations) -> Written:
    """The problem of a file that leaves to the recording what that knows."""
    if isinstance(given.get("tunables"), dict):
        check_tunables(given["tunables"], recording, place)
    tables, directory = _filled(given, recording, place), place.file.parent
    source = Path(str(tables["kernel"]["source"]))
    code = "" if is_cache_name(source) else read_text(directory / source)
    problem = problem_of_tables(tables, place, directory=directory, source_text=code)
    return Written(problem, _text_with(text, given, tables), place.file)


def _as_recorded(recording: Recording, written: Written, given: Mapping[str, Any], place: KeyLocations) -> Written:
    """A problem that could run on a device, for one whose times are known: the same but for its default."""
    problem = written.problem
    check_tunables(problem.tunables, recording, place)
    entry = recording.entry(problem.default_configuration)
    if entry is not None and entry.time is not None:
        return written
    default = _default(recording, problem.tunables, problem.search.restrictions, problem.sizes, problem.defaults, place)
    text = _text_with(written.text, given, {**given, "defaults": default})
    return Written(problem.model_copy(update={"defaults": default}), text, written.file)


def _filled(given: Mapping[str, Any], recording: Recording, place: KeyLocations) -> dict[str, Any]:
    """The tables of a problem file with what the recording knows in the place of what is missing."""
    kernel = {"source": recording.file.name, "name": recording.kernel, "language": _RECORDED, **given.get("kernel", {})}
    tables = {"sizes": _sizes(recording), "tunables": recording.tunables, **given, "kernel": kernel}
    search = tables.get("search", {})
    restrictions = search.get("restrictions", []) if isinstance(search, dict) else []
    wanted = tables.get("defaults", {})
    if all(isinstance(table, dict) for table in (tables["sizes"], tables["tunables"], wanted)):
        default = _default(recording, tables["tunables"], restrictions, tables["sizes"], wanted, place)
        tables["defaults"] = {**default, **wanted}
    return tables


def _sizes(recording: Recording) -> dict[str, int]:
    names = (f"problem_size_{axis}" for axis in AXES)
    sizes = zip(names, recording.problem_size, strict=False)
    return {name: size for name, size in sizes if name not in recording.offered}


def _default(
    recording: Recording,
    tunables: Mapping[str, list[Value]],
    restrictions: list[str],
    sizes: Mapping[str, int],
    wanted: Configuration,
    place: KeyLocations,
) -> Configuration:
    """The first configuration, in the order of the tunables' values, that was timed and has the wanted values.

    Raises:
        ProblemError: there is none.
    """
    try:
        space = SearchSpace(tunables, restrictions, sizes=sizes)
    except (ExpressionError, TypeError):
        return {}  # the checks of the problem say what is wrong with them
    for entry in _in_order(recording, tunables):
        has_values = all(exact(entry.configuration.get(name, "")) == exact(value) for name, value in wanted.items())
        if has_values and space.contains(entry.configuration):
            return {name: entry.configuration[name] for name in tunables}
    if not set(wanted) <= set(tunables):
        return {}
    message = f"no configuration with these values has a time in {recording.file.name}"
    if wanted:
        raise place.error(message, "defaults", hint="name others, or leave [defaults] out")
    message = f"no configuration that the restrictions allow has a time in {recording.file.name}"
    raise place.error(message, "search", "restrictions", hint="they must be those that the recording was made with")


def _in_order(recording: Recording, tunables: Mapping[str, list[Value]]) -> list[RecordingEntry]:
    places = {name: {exact(value): place for place, value in enumerate(values)} for name, values in tunables.items()}

    def rank(entry: RecordingEntry) -> tuple[int, ...]:
        return tuple(place[exact(entry.configuration[name])] for name, place in places.items())

    return sorted(recording.timed(), key=rank)


def _text_with(text: str, given: Mapping[str, Any], tables: Mapping[str, Any]) -> str:
    """The text of a problem file with the tables that were added or changed, comments kept."""
    document = tomlkit.parse(text)
    for name, content in tables.items():
        if given.get(name) == content:
            continue
        if name not in document:
            document[name] = tomlkit.table()
        for key, value in content.items():
            document[name][key] = value
    return tomlkit.dumps(document)


def check_tunables(given: Mapping[str, Any], recording: Recording, place: KeyLocations) -> None:
    """Refuse tunables that are not those of the recording.

    Raises:
        ProblemError: for the first difference.
    """
    hint = "they must be those of the recording; without [tunables] they are taken from it"
    for difference, path in _differences(given, recording):
        raise place.error(f"{difference} in {recording.file.name}", "tunables", *path, hint=hint)


def _differences(given: Mapping[str, Any], recording: Recording) -> Iterator[tuple[str, tuple[str, ...]]]:
    for name in given:
        if name not in recording.offered:
            yield f"there is no tunable '{name}'", (name,)
    for name, occurring in recording.tunables.items():
        if name not in given:
            yield f"[tunables] lacks '{name}', which is a tunable", ()
            continue
        listed = given[name] if isinstance(given[name], list) else []
        known, offered = {exact(value) for value in listed}, {exact(value) for value in recording.offered[name]}
        for value in listed:
            if exact(value) not in offered:
                yield f"{name} is never {value!r}", (name,)
        for value in occurring:
            if exact(value) not in known:
                yield f"{name} lacks the value {value!r}, which occurs", (name,)
