"""Benchmarks one size group: solutions, kernels, client, files."""

from __future__ import annotations

import json
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.tensile.stand_in.client import run_all, table, with_strides
from tests.tensile.stand_in.measured import Measured
from tests.tensile.stand_in.options import Options
from tests.tensile.stand_in.solution import LDS_BYTES, derived, name, problem_name
from tests.tensile.stand_in.space import Space, space_of
from tests.tensile.stand_in.speech import RULE, fatal, say, tell, warn

_SIGNAL_STATUS = 128 + 11
_LINE = "\n  "


@dataclass(frozen=True)
class Setting:
    """What all size groups of a run share.

    Attributes:
        parameters: GlobalParameters of the configuration.
        started: when the run did, in seconds of the monotonic clock.
    """

    output: Path
    parameters: dict[str, Any]
    options: Options
    measured: Measured
    started: float


def benchmark(setting: Setting, problem: dict[str, Any], group: dict[str, Any], number: int) -> int:
    """Benchmark a size group and collect its files; the client's exit status, which counts what failed."""
    say(f"\n{RULE}\n# Converting Config to BenchmarkProcess Object\n{RULE}\n\n# Filling in Parameters With Defaults")
    space = space_of(group)
    title = f"{problem_name(problem)}_{number:02d}"
    sizes = _sizes(setting, group)
    say("# Convert Parameters to Benchmark Step(s)\n# Benchmark Final\n# NumBenchmarkSteps: 1")
    tell(setting.options.layout, f"# Benchmark Step: {title} - 00_Final {time.monotonic() - setting.started:.3f}s")
    say(f"# Num Sizes: {len(sizes)}\n# Fork Parameters:")
    for parameter, values in space.forked.items():
        tell(setting.options.layout, f"#     {parameter}: {values}")
    solutions = _solutions(setting, problem, group, space)
    step = setting.output / "1_BenchmarkProblems" / title / "00_Final"
    data = step.parent / "Data"
    for directory in (step / "source", step / "build", data):
        directory.mkdir(parents=True, exist_ok=True)
    _write_solutions(data / "00_Final.yaml", setting, sizes, [state for state, _ in solutions])
    status = _run_client(setting, data / "00_Final.csv", solutions, sizes)
    say(f"{RULE}\n# {title}\n# 00_Final: End - {time.monotonic() - setting.started:.3f}s\n{RULE}\n")
    say(f"clientExit={int(status > 0)} ({'ERROR' if status else 'PASS'}) for the configuration")
    _collect(setting, data, title)
    return status


def _sizes(setting: Setting, group: dict[str, Any]) -> list[list[int]]:
    sizes = [entry["Exact"] for entry in group["BenchmarkFinalParameters"][0]["ProblemSizes"]]
    unknown = [size for size in sizes if not setting.measured.has_size(size)]
    if unknown:
        fatal(f"the stand-in has no recorded speeds at {unknown}")
    return sizes


def _solutions(
    setting: Setting, problem: dict[str, Any], group: dict[str, Any], space: Space
) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Those that are valid and different: as Tensile derives them, and as they were forked."""
    permutations = space.permutations() if group["ForkParameters"] else []
    say("# Enumerating Solutions")
    forked = set(space.forked) | {key for alternatives in space.groups for one in alternatives for key in one}
    tells = bool(setting.parameters.get("PrintSolutionRejectionReason"))
    found: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}
    for permutation in permutations:
        values = space.constants | permutation
        state = derived(values, problem)
        why = "everything" if "reject_all" in setting.options.faults else _rejection(setting, state, values)
        if why is None:
            state["SolutionNameMin"] = name(state, problem_name(problem), forked)
            state["KernelNameMin"] = name(state, problem_name(problem), forked, kernel=True)
            found.setdefault(state["SolutionNameMin"], (state, values))
        elif tells:
            name_of_all = name(state, problem_name(problem), set(values)) if setting.options.is_newer else state
            tell(setting.options.layout, f"\nreject: {why}", f"rejecting solution {name_of_all}")
    say(f"# Actual Solutions: {len(found)} / {len(permutations)} after SolutionStructs\n")
    if not found:
        words = "Your parameters resulted in 0 valid solutions."
        fatal(words + "\nExamine reject and backtrace messages above to see whyand where solutions were rejected.")
    time.sleep(setting.options.pace * len(found))
    say(f"# Actual Solutions: {len(found)} / {len(found)} after KernelWriter\n")
    for index, (state, _) in enumerate(found.values()):
        state["SolutionIndex"] = index
    return list(found.values())


def _rejection(setting: Setting, state: dict[str, Any], values: dict[str, Any]) -> str | None:
    """Why Tensile would not make a kernel of what was not recorded; None for what was."""
    if setting.measured.knows(values):
        return None
    if state["LdsNumBytes"] > LDS_BYTES:
        return f"Kernel Uses {state['LdsNumBytes']} > {LDS_BYTES} bytes of LDS"
    tile = f"MT{state['MacroTile0']}x{state['MacroTile1']} with DepthU {state['DepthU']}"
    return f"totalVgprs of {tile} exceeds the limit of 512"


def _write_solutions(file: Path, setting: Setting, sizes: list[list[int]], states: list[dict[str, Any]]) -> None:
    text = f"- MinimumRequiredVersion: {setting.options.version}\n- ProblemSizes:\n"
    for size in sizes:
        text += f"  - Exact: {with_strides(size) if setting.options.is_newer else size}\n"
    text += "".join(_block(state) for state in states)
    file.write_bytes(setting.options.faults.on_solutions(text))


def _block(state: dict[str, Any]) -> str:
    """A solution in the layout of PyYAML's dump, which takes as long as all the rest of a run."""
    lines = []
    for key, value in sorted(state.items()):
        inner = sorted(value.items()) if isinstance(value, dict) else []
        lines.append(f"{key}:" if inner else f"{key}: {json.dumps(value)}")
        lines += [f"  {name}: {json.dumps(one)}" for name, one in inner]
    return f"- {_LINE.join(lines)}\n"


def _run_client(
    setting: Setting, file: Path, solutions: list[tuple[dict[str, Any], dict[str, Any]]], sizes: list[list[int]]
) -> int:
    options = setting.options
    if "client_crash" in options.faults:
        say("build/run.sh: line 8:   512 Segmentation fault      (core dumped) tensile_client")
        return _complain(_SIGNAL_STATUS)
    by_name = {state["SolutionNameMin"]: values for state, values in solutions}
    rows = run_all(options, setting.measured, by_name, sizes)
    winner = bool(setting.parameters.get("CSVExportWinner"))
    text = table(rows, list(by_name), winner=winner, newer=options.is_newer)
    file.write_bytes(options.faults.on_table(text))
    return _complain(sum(speed < 0 for row in rows for speed in row.speeds))


def write_logic(setting: Setting, configuration: dict[str, Any]) -> None:
    """The library logic of the last size group: its solutions that win somewhere, and the winner of each size."""
    told = configuration["LibraryLogic"] or {}
    (setting.output / "3_LibraryLogic").mkdir(exist_ok=True)
    data = setting.output / "2_BenchmarkData"
    problem = configuration["BenchmarkProblems"][-1][0]
    for file in sorted(data.glob("*.csv"))[-1:]:
        solutions = [one for one in yaml.safe_load(file.with_suffix(".yaml").read_text()) if "SolutionIndex" in one]
        winners = []
        for line in file.read_text().splitlines()[1:]:
            cells = line.split(", ")
            speeds = [float(cell or 0) for cell in cells[-len(solutions) :]]
            winners.append(([int(cell) for cell in cells[1:9]], speeds.index(max(speeds)), max(speeds)))
        kept = sorted({index for _, index, _ in winners})
        exact = [[size, [kept.index(index), speed]] for size, index, speed in winners]
        pool = [{**solutions[index], "SolutionIndex": number} for number, index in enumerate(kept)]
        schedule, isa = told.get("ScheduleName", "aldebaran"), told.get("ArchitectureName", "gfx90a")
        head = [{"MinimumRequiredVersion": setting.options.version}, schedule, isa, told.get("DeviceNames", [])]
        text = yaml.safe_dump([*head, problem, pool, [2, 3, 0, 1], exact, None, None, "DeviceEfficiency"])
        name_of = f"{schedule}_{problem_name(problem)}.yaml"
        (setting.output / "3_LibraryLogic" / name_of).write_text(text)


def _complain(status: int) -> int:
    if status:
        warn(f"ClientWriter Benchmark Process exited with code {status}")
        warn(f"BenchmarkProblems: Benchmark Process exited with code {status}")
    return status


def _collect(setting: Setting, data: Path, title: str) -> None:
    collected = setting.output / "2_BenchmarkData"
    collected.mkdir(exist_ok=True)
    suffix = "_CSVWinner" if setting.parameters.get("CSVExportWinner") else ""
    for ending in ("csv", "yaml"):
        shutil.copy(data / f"00_Final.{ending}", collected / f"{title}{suffix}.{ending}")
