"""A small GEMM for tests: a configuration of 16 permutations at two problem sizes, and a table of their speeds."""

from __future__ import annotations

import itertools
from pathlib import Path

INSTRUCTIONS = (
    [16, 16, 16, 1, 1, 2, 2, 2, 2],
    [16, 16, 16, 1, 1, 4, 4, 2, 2],
    [32, 32, 8, 1, 1, 2, 2, 2, 2],
    [32, 32, 8, 1, 1, 4, 4, 2, 2],
)
DEPTHS, SPLITS = (32, 64), (1, 4)
SIZES = ([256, 128, 1, 4096], [512, 512, 1, 1024])
BEST = {"MatrixInstruction": [16, 16, 16, 1, 1, 4, 4, 2, 2], "DepthU": 64, "GlobalSplitU": 4}
"""At the first size."""

CONFIGURATION = """\
GlobalParameters:
  MinimumRequiredVersion: 4.14.0
  PrintSolutionRejectionReason: True
  CSVExportWinner: {winner}

BenchmarkProblems:
  -
    - # ProblemType
      OperationType: GEMM
      DataType: h
      DestDataType: h
      ComputeDataType: s
      HighPrecisionAccumulate: True
      TransposeA: 1
      TransposeB: 0
      Batched: True
    - # BenchmarkProblemSizeGroup
      InitialSolutionParameters:
      BenchmarkCommonParameters:
        - KernelLanguage: ["Assembly"]
      ForkParameters:
        - MatrixInstruction: {instructions}
        - DepthU: [32, 64]
        - GlobalSplitU: [1, 4]
      BenchmarkJoinParameters:
      BenchmarkFinalParameters:
        - ProblemSizes:
          - Exact: [256, 128, 1, 4096]
          - Exact: [512, 512, 1, 1024]
"""


def configuration(*, winner: bool = True) -> str:
    """The text of the configuration."""
    return CONFIGURATION.format(winner=int(winner), instructions=[list(one) for one in INSTRUCTIONS])


def write_table(file: Path) -> Path:
    """Write speeds of all permutations at both sizes."""
    lines = ["M,N,K,MatrixInstruction,DepthU,GlobalSplitU,gflops"]
    for size, instruction, depth, split in itertools.product(SIZES, INSTRUCTIONS, DEPTHS, SPLITS):
        tile = instruction[0] * instruction[5] * instruction[7]
        speed = 40_000 * min(tile, 128) / 128 * (1.2 if depth == 64 else 1.0)
        speed *= 1.5 if (split == 4) == (size[3] == 4096) else 1.0
        speed *= 1.0 if instruction[0] == 16 else 0.95
        lines.append(f'{size[0]},{size[1]},{size[3]},"{instruction}",{depth},{split},{speed:.1f}')
    file.write_text("\n".join(lines) + "\n")
    return file
