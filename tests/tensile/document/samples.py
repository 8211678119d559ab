"""Configurations as people write them, each with a layout of its own."""

from __future__ import annotations

from pathlib import Path

from tui_tuner.tensile.document import BenchmarkConfiguration
from tui_tuner.tensile.document.reading import parse_configuration

PLAIN = """\
# A comment at the top stays.
GlobalParameters:
  NumElementsToValidate: -1   # all
  Device: 0

BenchmarkProblems:
  ########################################
  # TN
  ########################################
  -
    - # ProblemType
      OperationType: GEMM
      DataType: h
      Batched: True
    - # BenchmarkProblemSizeGroup
      InitialSolutionParameters:
      BenchmarkCommonParameters:
        - KernelLanguage: ["Assembly"]
      ForkParameters:
        - MatrixInstruction:
          - [16, 16, 16, 1,  1,  2, 2,  2, 2] #64x64
          - [32, 32, 8, 1,  1,  1, 1,  2, 2] #64x64
        - PrefetchGlobalRead: [2]
        - DepthU: [32,64]
        - GlobalSplitU: [1,2,4]   # as in the issue
        - SourceSwap: [True]
        - GlobalSplitUAlgorithm: ["MultipleBuffer"]
      BenchmarkJoinParameters:
      BenchmarkFinalParameters:
        - ProblemSizes:
          - Exact: [256, 128, 1, 4096]

          - Exact: [512, 512, 1, 1024]   # square
        - BiasTypeArgs: ['h', 's']
        - ActivationArgs:
          - [Enum: relu]
"""

GROUPS = """\
BenchmarkProblems:
- - OperationType: GEMM
    DataType: s
  - ForkParameters:
    - DepthU:
      - 16   # small
      # about the next
      - 32
      - 64
    - StaggerU: [0,
                 4,   # four
                 8]
      WorkGroupMapping: [1, 8]
    - Groups:
      -
        - PrefetchGlobalRead: 1
          TransposeLDS: 0
        # between
        - PrefetchGlobalRead: 2
          TransposeLDS: 1
      - - {WorkGroup: [16, 16, 1]}
        - {WorkGroup: [8, 8, 1]}   # small
    BenchmarkFinalParameters:
    - ProblemSizes:
      - Range: [[16, 16, 64], [32], 0, [1]]
  - BenchmarkCommonParameters:
    - KernelLanguage: ["Assembly"]
    ForkParameters:     # nothing yet
    BenchmarkFinalParameters:
    - ProblemSizes:
      - Exact: [1, 2, 3, 4]
"""

FLOW = (
    "BenchmarkProblems:\n"
    "- [{OperationType: GEMM, DataType: h}, {ForkParameters: [{DepthU: [16, 32]},"
    " {Groups: [[{StaggerU: 0, GlobalSplitU: 1}, {StaggerU: 8, GlobalSplitU: 4}]]}],"
    " BenchmarkFinalParameters: [{ProblemSizes: [{Exact: [1, 2, 3, 4]}]}]}]\n"
)

ALTERNATE = """\
GlobalParameters: {CSVExportWinner: 1,
  PrintLevel: 3}
ProblemType: {Batched: true, DataType: s}
BenchmarkCommonParameters:
- KernelLanguage: [Assembly]
ForkParameters:
- TransposeLDS: [1, 0]
- Groups:
  - - WorkGroup: [8, 8, 1]
      ThreadTile: [8, 8]
    - WorkGroup: [16, 16, 1]
      ThreadTile: [4, 4]
"""

ALL = {"plain": PLAIN, "groups": GROUPS, "flow": FLOW, "alternate": ALTERNATE, "windows": GROUPS.replace("\n", "\r\n")}


def parsed(text: str) -> BenchmarkConfiguration:
    """What a text says."""
    return parse_configuration(text, Path("config.yaml"))
