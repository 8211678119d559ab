"""The word `logic` of the command `tensile`: library logic in words, and merged into a file."""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tui_tuner.errors import ExitCode, SettingsError
from tui_tuner.format import counted
from tui_tuner.tensile.document import value_text
from tui_tuner.tensile.knowledge.known import Gpu, gpu_facts
from tui_tuner.tensile.library import DATA_TYPES, LibraryLogic, LogicRow, Size, read_logic
from tui_tuner.tensile.library.files import find_logic, merged_by, only_one_for, replace_file
from tui_tuner.tensile.library.merging import Merge, merged
from tui_tuner.tensile.outcome import gflops_words, size_text
from tui_tuner.tensile.program import find_tensile
from tui_tuner.text import clean, tell

_MERGED_SIZES = 40
_PEAKS = {"s": "f32", "d": "f64", "h": "f16", "b": "bf16", "I8": "i8"}
"""Names in the facts of GPUs."""
_PERCENT = 100.0
_MOST_SIZES = 6
_TOLD = (
    "MatrixInstruction", "MIWaveTile", "MIWaveGroup", "WorkGroup", "GlobalSplitU", "GlobalSplitUAlgorithm", "StreamK",
    "PrefetchGlobalRead", "PrefetchLocalRead", "TransposeLDS", "SourceSwap", "VectorWidthA", "VectorWidthB", "StaggerU",
    "WorkGroupMapping", "WorkGroupMappingXCC", "NonTemporalA", "NonTemporalB", "CustomKernelName",
)  # fmt: skip
_MATCHED = {
    "Equality": "exact: only the sizes of the table",
    "GridBased": "a grid: other sizes take the solution of the nearest one",
    "": "other sizes take the solution of the nearest one",
    "Euclidean": "other sizes take the solution of the nearest one",
}


def logic(chosen: argparse.Namespace) -> int:
    """Explain the library logic of a run, and merge it into a file where one is named.

    Raises:
        UserError: there is none, or the two do not go together.
    """
    files = find_logic(_run_of(chosen))
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


def _run_of(chosen: argparse.Namespace) -> Path:
    if chosen.sizes is None:
        raise SettingsError("no run is named", hint="tuner-tui tensile logic RUN, or logic RUN --into FILE")
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
    told = [f"  {change.words()}" for change in merge.changes[:_MERGED_SIZES]]
    if len(merge.changes) > _MERGED_SIZES:
        told.append(f"  and {len(merge.changes) - _MERGED_SIZES} more")
    fresh = sum(change.before is None for change in merge.changes)
    replaced = merge.taken - fresh
    kept = len(merge.changes) - merge.taken
    return [
        f"{new.file} into {base.file}: {fresh} sizes added, {replaced} replaced, {kept} kept as they were",
        *told,
        *merge.notes,
        f"{len(merge.logic.rows)} sizes and {len(merge.logic.solutions)} solutions now",
    ]


def explained(logic: LibraryLogic, gpu: str | None = None) -> list[str]:
    """Lines for people.

    Args:
        gpu: the product, for its peak; by default what the file says.
    """
    facts = gpu_facts(gpu or logic.gpu)
    devices = f", {', '.join(logic.devices)}" if logic.devices else ""
    return [
        f"{logic.file.name}: Tensile {logic.version}, {logic.gpu} ({logic.schedule}{devices})",
        f"problem   {problem_words(logic.problem_type)}",
        f"table     {_MATCHED.get(logic.matching, logic.matching)}",
        *_solutions(logic, _peak(logic, facts)),
    ]


def problem_words(problem: Mapping[str, Any]) -> str:
    """A problem type in a line, as "TN h to s, compute s"."""
    letters = "".join("T" if problem.get(f"Transpose{one}") else "N" for one in "AB")
    data, dest, compute = (_type(problem.get(key)) for key in ("DataType", "DestDataType", "ComputeDataType"))
    more = [name for name, told in (("beta", "UseBeta"), ("bias", "UseBias"), ("batched", "Batched"),
                                    ("grouped", "GroupedGemm"), ("activation", "Activation"),
                                    ("sparse", "Sparse")) if problem.get(told)]  # fmt: skip
    return ", ".join([f"{letters} {data} to {dest}", f"compute {compute}", *more])


def _type(told: Any) -> str:  # noqa: ANN401
    return DATA_TYPES.get(told, f"type {told}") if isinstance(told, int) else str(told).lower()


def _peak(logic: LibraryLogic, gpu: Gpu | None) -> float | None:
    """Peak TFLOP/s of the GPU, where one product is meant; None where it is not known."""
    name = _PEAKS.get(_type(logic.problem_type.get("DataType")))
    if gpu is None or name is None or len(gpu.products) != 1:
        return None
    return next(iter(gpu.products.values())).peak.get(name)


def _solutions(logic: LibraryLogic, peak: float | None) -> Iterator[str]:
    won: defaultdict[int, list[LogicRow]] = defaultdict(list)
    for row in logic.rows:
        won[row.solution].append(row)
    yield f"{counted(len(won), 'solution')} for {counted(len(logic.rows), 'size')}:"
    percent = max((row.speed for row in logic.rows), default=0) <= _PERCENT
    varied = _varied([logic.solutions[number].values for number in sorted(won)])
    for number in sorted(won, key=lambda one: -len(won[one])):
        values = logic.solutions[number].values
        yield f"  {number}  {solution_words(values, varied)}: {counted(len(won[number]), 'size')}"
        for row in won[number][:_MOST_SIZES]:
            yield f"       {size_text(_short(logic, row.size))}  {_speed(row.speed, peak, percent=percent)}"
        if len(won[number]) > _MOST_SIZES:
            yield f"       and {len(won[number]) - _MOST_SIZES} more"
    unused = len(logic.solutions) - len(won)
    if unused:
        yield f"{counted(unused, 'solution')} win nowhere"


def _short(logic: LibraryLogic, size: Size) -> Size:
    return size[: logic.indices]


def _speed(speed: float, peak: float | None, *, percent: bool) -> str:
    if percent:
        return f"{speed:.4g} % of the peak" if speed > 0 else "speed not told"
    share = "" if not peak else f", {speed / 10 / peak:.1f} % of the peak"
    return f"{gflops_words(speed)} GFLOP/s{share}"


def _varied(solutions: Sequence[Mapping[str, Any]]) -> list[str]:
    """What tells the solutions apart, of what people set."""
    return [name for name in _TOLD if len({str(values.get(name)) for values in solutions}) > 1]


def solution_words(values: Mapping[str, Any], varied: Sequence[str]) -> str:
    """A solution in a few words: macro tile and depth, its instruction, and what tells it from the others."""
    tile = "x".join(str(values.get(name, "?")) for name in ("MacroTile0", "MacroTile1", "DepthU"))
    names = ["MatrixInstruction", *(name for name in varied if name != "MatrixInstruction")]
    told = (f"{name} {value_text(values[name])}" for name in names if name in values)
    return ", ".join([f"tile {tile}", *told])
