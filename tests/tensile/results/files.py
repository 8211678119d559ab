"""Results as Tensile leaves them, small enough to read in a test."""

from __future__ import annotations

from pathlib import Path

NAME = "Cijk_Ailk_Bljk_HB_UserArgs_00"
NAMES = ("MT64x64x32_GSU1", "MT64x64x32_GSU4", "MT128x128x32_GSU1")
HEADER = "GFlops, SizeI, SizeJ, SizeK, SizeL, LDD, LDC, LDA, LDB, TotalFlops"
WINNER = "TilesPerCu, TotalGranularity, WinnerGFlops, WinnerTimeUS, WinnerIdx, WinnerName"
ROW = "0, 256, 128, 1, 4096, 256, 256, 4096, 4096, 268435456"
SOLUTION = """\
- 1LDSBuffer: 0
  DepthU: 32
  GlobalSplitU: {split}
  MatrixInstruction: [16, 16, 16, 1]
  MIWaveTile: [{tile}, {tile}]
  ProblemType:
    Batched: true
    DataType: 4
    IndexAssignmentsA: [3, 0, 2]
  SolutionIndex: {index}
  SolutionNameMin: {name}
  WorkGroupMapping: 8
"""
YAML_HEADER = "- MinimumRequiredVersion: 4.33.0\n- ProblemSizes:\n  - Exact: [256, 128, 1, 4096]\n"


def solutions(names: tuple[str, ...] = NAMES, more_header: str = "") -> str:
    """The text of a file of solutions."""
    text = YAML_HEADER + more_header
    for index, name in enumerate(names):
        split = 4 if name.endswith("GSU4") else 1
        text += SOLUTION.format(split=split, tile=4 if "128" in name else 2, index=index, name=name)
    return text


def table(*rows: str, names: tuple[str, ...] = NAMES, header: str = HEADER) -> str:
    """The text of a table."""
    return "\n".join([f"{header}, {', '.join(names)}", *rows]) + "\n"


def leave(output: Path, csv: str | bytes, yaml: str | bytes | None = None, name: str = NAME) -> Path:
    """Write a group's files where Tensile collects them; returns the output directory."""
    data = output / "2_BenchmarkData"
    data.mkdir(parents=True, exist_ok=True)
    for ending, content in (("csv", csv), ("yaml", solutions() if yaml is None else yaml)):
        (data / f"{name}.{ending}").write_bytes(content if isinstance(content, bytes) else content.encode())
    return output
