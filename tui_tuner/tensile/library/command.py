"""The words `logic` and `bench` of the command `tensile`: library logic told, merged, and compared before and after.

The bench programs load the kernels from the directory that ROCBLAS_TENSILE_LIBPATH or HIPBLASLT_TENSILE_LIBPATH names;
so one program measures both, in turns, each pair in a random order, and the medians of the ratio are told."""

from __future__ import annotations

import argparse
import random
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from tui_tuner.errors import ExitCode, SettingsError
from tui_tuner.format import counted, factor
from tui_tuner.processes.waited import run_program
from tui_tuner.tensile.document import value_text
from tui_tuner.tensile.knowledge.known import Gpu, gpu_facts
from tui_tuner.tensile.library import DATA_TYPES, LibraryLogic, LogicRow, Size, read_logic
from tui_tuner.tensile.library.files import find_logic, merged_by, only_one_for, replace_file
from tui_tuner.tensile.library.merging import Merge, merged
from tui_tuner.tensile.outcome import geometric_mean, gflops_words, size_text
from tui_tuner.tensile.program import environment, find_tensile
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


CLIENTS = {"rocblas-bench": "ROCBLAS_TENSILE_LIBPATH", "hipblaslt-bench": "HIPBLASLT_TENSILE_LIBPATH"}
"""The variable by which each is told where its kernels are."""
_TYPES = {"s": "f32_r", "d": "f64_r", "c": "f32_c", "z": "f64_c", "h": "f16_r", "b": "bf16_r", "I": "i32_r",
          "I8": "i8_r"}  # fmt: skip
_REPEATS = 5
_LIMIT_S = 120.0
_SPEED = "gflops"
_BUILD = (
    "Have the kernels built twice, from the file as it was and as merged (by the library's own build, or by "
    "TensileCreateLibrary), and name the two directories with --before DIR --after DIR."
)


@dataclass(frozen=True)
class Client:
    """A bench program.

    Attributes:
        variable: that names its kernels.
    """

    program: Path
    variable: str

    def gflops(self, words: list[str], library: Path) -> float:
        """GFLOP/s of one call with the kernels of a library.

        Raises:
            SettingsError: it gives no time.
        """
        told = environment() | {self.variable: str(library.absolute())}
        try:
            ended = run_program([str(self.program), *words], environment=told, limit_s=_LIMIT_S, dies_with_us=True)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise SettingsError(f"{self.program.name} gave no time: {error}", hint="try the command by hand") from error
        speed = speed_in(ended.stdout)
        if speed is None:
            last = clean((ended.stderr or ended.stdout).strip().splitlines()[-1:][0] if ended.stderr or ended.stdout
                         else "it printed nothing")  # fmt: skip
            hint = f"try it by hand: {self.variable}={library} {self.program.name} {' '.join(words)}"
            raise SettingsError(f"{self.program.name} gave no time: {last[:200]}", hint=hint)
        return speed


def speed_in(output: str) -> float | None:
    """The GFLOP/s that a bench program printed: a line of names with commas between them, then one of values."""
    names: list[str] = []
    for line in output.splitlines():
        cells = [cell.strip().lower() for cell in line.rpartition("]:")[2].split(",")]
        if any(_SPEED in cell for cell in cells):
            names = cells
        elif names and len(cells) == len(names):
            try:
                return float(cells[next(place for place, name in enumerate(names) if _SPEED in name)])
            except ValueError:
                continue
    return None


def find_client(path: Path | None) -> Client:
    """The bench program that is named, or that PATH has.

    Raises:
        SettingsError: there is none.
    """
    found = shutil.which(str(path)) if path else next(filter(None, map(shutil.which, CLIENTS)), None)
    if found is None:
        missing = f"there is no {path}" if path else f"neither {' nor '.join(CLIENTS)} is on PATH"
        hint = "they come with the clients of rocBLAS and hipBLASLt; name one with --client PROGRAM"
        raise SettingsError(missing, hint=hint)
    name = next((name for name in CLIENTS if Path(found).name.startswith(name)), None)
    if name is None:
        raise SettingsError(f"{found} is neither {' nor '.join(CLIENTS)}", hint="name one of them with --client")
    return Client(Path(found), CLIENTS[name])


def words_of(logic: LibraryLogic, size: Size, client: Client) -> list[str]:
    """The arguments for one size of the table.

    Raises:
        SettingsError: a data type that the program is not known to have.
    """
    problem = logic.problem_type
    m, n, batch, k = size[:4]
    rocblas = client.variable == CLIENTS["rocblas-bench"]
    types = [_bench_type(problem, key) for key in ("DataType", "DestDataType", "ComputeDataType")]
    words = {
        "m": m, "n": n, "k": k, "alpha": 1, "beta": int(bool(problem.get("UseBeta"))), "batch_count": batch,
        "a_type": types[0], "b_type": types[0], "c_type": types[1], "d_type": types[1], "compute_type": types[2],
        ("transposeA" if rocblas else "transA"): _letter(problem, "A"),
        ("transposeB" if rocblas else "transB"): _letter(problem, "B"),
    }  # fmt: skip
    if rocblas:
        words["function"] = "gemm_strided_batched_ex" if batch > 1 else "gemm_ex"
    return [word for name, value in words.items() for word in (_option(name), str(value))]


def _option(name: str) -> str:
    return f"-{name}" if len(name) == 1 else f"--{name}"


def _letter(problem: Mapping[str, object], matrix: str) -> str:
    return ("C" if problem.get(f"ComplexConjugate{matrix}") else "T") if problem.get(f"Transpose{matrix}") else "N"


def _bench_type(problem: Mapping[str, object], key: str) -> str:
    told = problem.get(key)
    name = _TYPES.get(DATA_TYPES.get(told, "") if isinstance(told, int) else "")
    if name is None:
        raise SettingsError(f"{key} {told} has no name for the bench programs here", hint="measure such sizes by hand")
    return name


def bench(chosen: argparse.Namespace) -> int:
    """Compare two libraries at the sizes of a run's library logic.

    Raises:
        SettingsError: something that is needed for it is missing.
    """
    if chosen.sizes is None:
        hint = "tuner-tui tensile bench RUN --before DIR --after DIR"
        raise SettingsError("no run is named", hint=hint)
    logics = [read_logic(file) for file in find_logic(chosen.sizes)]
    client = find_client(chosen.client)
    for name, library in (("--before", chosen.before), ("--after", chosen.after)):
        if library is None or not library.is_dir():
            missing = f"{name} DIR is not named" if library is None else f"there is no directory {library}"
            raise SettingsError(f"a library is missing: {missing}", hint=_BUILD)
    ratios = [ratio for logic in logics for ratio in _compared(logic, client, chosen.before, chosen.after)]
    mean = geometric_mean(ratios)
    if mean is not None:
        tell(f"after over before: {factor(mean)}, geometric mean of {counted(len(ratios), 'size')}")
    return ExitCode.FINISHED


def _compared(logic: LibraryLogic, client: Client, before: Path, after: Path) -> list[float]:
    ratios = []
    chance = random.Random(0)  # noqa: S311 - an order, no secret
    for row in logic.rows:
        words = words_of(logic, row.size, client)
        tell(f"{size_text(row.size[:4])}: {client.program.name} in turns")
        pairs = [_pair(client, words, before, after, turned=chance.random() < 0.5) for _ in range(_REPEATS)]
        ratios.append(median(new / old for old, new in pairs))
        low, high = min(new / old for old, new in pairs), max(new / old for old, new in pairs)
        old, new = (median(speeds) for speeds in zip(*pairs, strict=True))
        told = f"{gflops_words(old)} to {gflops_words(new)} GFLOP/s"
        tell(f"{size_text(row.size[:4])}  {told}  {factor(ratios[-1])} ({low:.3f} to {high:.3f})")
    return ratios


def _pair(client: Client, words: list[str], before: Path, after: Path, *, turned: bool) -> tuple[float, float]:
    """Speeds before and after, measured in either order."""
    if turned:
        new = client.gflops(words, after)
        return client.gflops(words, before), new
    return client.gflops(words, before), client.gflops(words, after)
