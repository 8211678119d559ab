"""A library before and after a merge, compared at its own level: rocblas-bench or hipblaslt-bench at every size.

The bench programs load the kernels from the directory that ROCBLAS_TENSILE_LIBPATH or HIPBLASLT_TENSILE_LIBPATH names;
so one program measures both, in turns, each pair in a random order, and the medians of the ratio are told.
"""

from __future__ import annotations

import argparse
import random
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from tui_tuner.errors import ExitCode, SettingsError
from tui_tuner.format import counted, factor
from tui_tuner.processes.child import run_program
from tui_tuner.tensile.library import DATA_TYPES, LibraryLogic, Size, read_logic
from tui_tuner.tensile.library.files import find_logic
from tui_tuner.tensile.outcome import geometric_mean, gflops_words, size_text
from tui_tuner.tensile.program import environment
from tui_tuner.text import clean, tell

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
    types = [_type(problem, key) for key in ("DataType", "DestDataType", "ComputeDataType")]
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


def _type(problem: Mapping[str, object], key: str) -> str:
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
