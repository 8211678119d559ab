"""Layouts of benchmark configurations seen in public repositories, retyped small; each names where it was seen.

`tl/` is `tensilelite/Tensile/` of ROCm/hipBLASLt, `lib/` is `projects/hipblaslt/tensilelite/Tensile/` of
ROCm/rocm-libraries, `t/` is `Tensile/` of ROCm/Tensile. Those marked `made` were not seen, YAML and Tensile allow them.
"""

from __future__ import annotations

_TYPE = "    - # ProblemType\n      OperationType: GEMM\n      Batched: True\n"
_SIZES = "      BenchmarkFinalParameters:\n        - ProblemSizes:\n          - Exact: [ 64, 64, 1, 8 ]\n"


def _deep(forks: str, before: str = "", after: str = _SIZES) -> str:
    """A size group four levels in, as in most files of `tl/Tests/common/gemm`."""
    head = f"BenchmarkProblems:\n  -\n{_TYPE}    - # BenchmarkProblemSizeGroup\n"
    return f"{head}{before}      ForkParameters:\n{forks}{after}"


LAYOUTS = {
    "a generator's comments behind each line, groups of two keys": (  # lib/Tests/common/ductile/gfx950/bf16_tn_dp.yaml
        "BenchmarkProblems:\n- - OperationType: GEMM\n    #ComplexConjugateA: True\n    Batched: True\n"
        "  - InitialSolutionParameters: \n    BenchmarkCommonParameters:\n    - KernelLanguage: [Assembly]\n"
        "    ForkParameters:\n    - DepthU: [32, 64] # Default Value: [-1] # Range: [-1, 2, ..., 1023, 1024]\n"
        "    - MIArchVgpr: [false, true] # Default Value: [False]\n    - Groups:\n"
        "      - - MatrixInstruction: [16, 16, 32, 1, 1, 1, 1, 1, 1] #MT 16x16  -- sizes [(32, 16, 1, 1024)]\n"
        "          WorkGroup: [16, 4, 4]\n        - MatrixInstruction: [16, 16, 32, 1, 1, 1, 2, 1, 1] #MT 16x32\n"
        "      - - DirectToLds: 0 # Default Value: [0]\n          UseSgprForGRO: 0\n"
        "        - DirectToLds: 1 # Default Value: [0]\n          UseSgprForGRO: 0 # Range: [-1, 0, 1]\n"
        "    BenchmarkJoinParameters: \n    BenchmarkFinalParameters:\n    - ProblemSizes:\n"
        '      - Exact: [ 32, 16, 1, 1024 ]\n    - BiasTypeArgs: [B]\nLibraryLogic:\n  ScheduleName: "gfx950"\n'
        "#LibraryClient: \nBackend:\n  Name: Ductile\n  Config:\n    weights:\n"
        "      - group_0: [1.0, 1.00003]\n# End \n"
    ),
    "comments at the margin between entries": _deep(  # lib/Tests/common/ductile/gfx950/f8_tn_mx_subtile.yaml
        "      - UseSubtileImpl: [True] # on\n#     - GlobalReadVectorWidthA: [8] # off\n"
        "      - WorkGroupMapping: [0, 8]\n"
        "#     - VectorWidthA: [1]\n      - NonTemporalA: [0, 4] # Range: [0, 1, ..., 6, 7]\n"
    ),
    "a parameter twice": _deep(  # lib/Tests/common/gemm/cgemm.yaml
        "        - 1LDSBuffer: [0, 1, -1]\n        - MIArchVgpr: [false, true]\n        - 1LDSBuffer: [0, 1]\n"
        "        - WorkGroup:\n          - [16, 4, 1]\n          - [16, 4, 2]\n        # - ThreadTile:\n"
        "          ##- [ 3, 5 ]\n      BenchmarkForkParameters:\n      JoinParameters:\n"
    ),
    "a comment above the first value": _deep(  # t/Tests/pre_checkin/direct_to_vgpr/dtv_sgemm_lite.yaml
        "        - MatrixInstruction:\n            # for DTVA\n            - [16, 16, 4, 1, 1, 2, 4, 4,1]  # 128x64\n"
        "            - [32, 32, 2, 1, 1, 2, 2, 4,1]  # 256x64\n        #- ThreadTile:\n        #  - [ 2, 2 ]\n"
        "        - StaggerU: [0]#[0,32]\n        - ExpandPointerSwap: [1] # 1 for DirectToVgpr\n"
        "        - DirectToVgprA: [True, False]\n"
    ),
    "comments deeper than their list": _deep(  # t/Tests/bugs/simple_use_initial_strides_1.yaml, t/Tests/bugs/d2lds.yaml
        "        - ThreadTile:\n          - [ 2, 2 ]\n        - WorkGroup:\n          - [  8, 8, 1 ]\n"
        "            #- [  16, 8, 1 ]\n        - DepthU: [4]\n          #- GlobalReadVectorWidth: [1]\n"
        "        - VectorWidth: [1]\n\n          #- FractionalLoad: [0]\n",
        before="      InitialSolutionParameters:\n",
        after="      BenchmarkFinalParameters:\n         - ProblemSizes:\n           - Range: [ [8,8,16], [16], [24]]\n"
        "           - Exact : [6, 4, 3]\n             #- Range: [[64],[64],[1],[16,1,30]]\n\n# Bug with PFR=1.\n",
    ),
    "values three more blanks in, types mixed": _deep(  # tl/Tests/common/gemm/gfx950/custom_mainloop_scheduling.yaml
        "        - MatrixInstruction:\n           - [16, 16,32, 1,  1, 8, 8,  2,2 ]\n        - TransposeLDS: [1] #0,1\n"
        "        - LdsPadA: [8] #[-1]\n        - WaveSeparateGlobalReadB: [1, false]\n        - StreamK: [3, 0]\n"
    ),
    "a value twice in a list of lines": _deep(  # t/Configs/miopen/archives/bert/2020-11-06/configs/nn.yaml
        "        - ThreadTile:\n          - [ 4, 16 ] #-\n          - [ 8, 32 ]\n          - [ 8, 32 ]\n"
        "        - FractionalLoad: [0,1] #\n        #- InnerUnroll: [1,2]\n        - GlobalReadVectorWidth: [-1,4]\n"
    ),
    "values as a list of lists on one line": _deep(  # tl/Tests/build_client.yaml
        '        - KernelLanguage: ["Assembly"]\n        - MatrixInstruction: [[16, 16, 16, 1, 1, 2, 2, 1, 1]]\n'
        "        - DepthU: [32]\n",
        after="      BenchmarkFinalParameters:\n        - ProblemSizes:\n          - Exact: [ 128, 128, 128 ]\n",
    ),
    "one group of one alternative": (  # tl/Tests/common/streamk/sk_hgemm_race.yaml
        "BenchmarkProblems:\n- - OperationType: GEMM\n    #UseBias: 1\n    Batched: True\n"
        "  - InitialSolutionParameters: \n    ForkParameters:\n    - 1LDSBuffer: [1]\n    - Groups:\n      - \n"
        "        - NonTemporalC: 0\n          NonTemporalD: 0\n      - \n"
        "        - MatrixInstruction: [16, 16, 16,  1,  1,  4,  8,  4,  1] # MT 256x128\n"
        "    BenchmarkFinalParameters:\n    - ProblemSizes:\n"
        "      - Range: [ [256, 263, 2097], 0, [1], [256, 263, 1045] ]\n"
    ),
    "custom kernels over several lines and nothing forked": _deep(  # tl/Tests/common/gemm/gemm_ck_gfx942.yaml
        "",
        before='      CustomKernels:\n        [\n          "Custom_A",\n          "Custom_B"\n        ]\n'
        '      InitialSolutionParameters:\n      BenchmarkCommonParameters:\n        - KernelLanguage: ["Assembly"]\n',
        after=f"      BenchmarkJoinParameters:\n{_SIZES}        - BiasTypeArgs: ['s','b']\n        - ActivationArgs:\n"
        "          - [Enum: Relu]\n\n\n\n",
    ),
    "all custom kernels": _deep(  # made, from tl/BenchmarkStructs.py
        "        - DepthU: [16, 32]\n",
        before='      CustomKernels: ["*"]\n      InternalSupportParams: {KernArgsVersion: 2}\n',
    ),
    "leading dimensions and strides in sizes": _deep(  # t/Configs/mfma/sgemm_transposeLDS.yaml
        "        - SuppressNoLoadLoop: [False, True]\n        - OptNoLoadLoop: [0, 1]\n",
        after="      BenchmarkFinalParameters:\n        - ProblemSizes:\n"
        "          - Exact: [ 7680, 8192, 1, 8192, 8224, 8224, 8224, 8224 ]\n          # - Exact: [ 64, 128, 1, 17 ]\n"
        "          - Exact: { sizes: [8, 8, 2, 8], stridesA: [-1, 9, 9], stridesB: [-1, 8, 64] }\n"
        "          - MinStride: [1, 1, 1, 1]\n########################################\nLibraryLogic:\n    A: b\n",
    ),
    "a section twice, the first one empty": (  # t/Tests/extended/bufferload_offset/rocblas_dgemm_bufferload_limit.yaml
        f"BenchmarkProblems:\n\n  -\n{_TYPE}\n    - BenchmarkCommonParameters:\n      BenchmarkFinalParameters:\n"
        "      ForkParameters:\n        - EdgeType: [ShiftPtr]\n        - WorkGroup:\n          - [16, 16, 1]\n"
        f"        - GlobalSplitU: [1, 10]\n      BenchmarkJoinParameters:\n{_SIZES}"
    ),
    "comments at the margin between size groups": (  # t/Configs/deepbench.yaml, t/Configs/convolution.yaml
        f"BenchmarkProblems:\n\n  ###\n  -\n{_TYPE}\n  ####\n  # NN - Super Skinny\n  ####\n    - # Benchmark Group\n"
        "      InitialSolutionParameters:\n      BenchmarkCommonParameters:\n        - LoopTail: [True]\n"
        "        - PrefetchGlobalRead: [False, True]\n      ForkParameters:\n        - WorkGroup:\n"
        "          - [  4,  4,  4 ]\n          - [  2,  1, 32 ]\n        - DepthU: [ 16, 32, 64 ]\n"
        "      BenchmarkFinalParameters:\n        - ProblemSizes:\n"
        "          - Range: [ [64, 128], [64, 64, 64, 7000], [1], [3104] ] # skinny-0\n\n  ####\n"
        "    - # Benchmark Group\n      ForkParameters:\n        - DepthU: [ 8, 16 ]\n\n"
        "LibraryLogic:\n\nLibraryClient:\n"
    ),
    "the alternate format": (  # t/Configs/alternate-format/vega20-example.yaml
        "GlobalParameters: {CSVExportWinner: 1,\n  MinimumRequiredVersion: 4.14.0, numWarmups: 1}\n"
        "ProblemType: {Batched: true, DataType: s}\nBenchmarkCommonParameters:\n- KernelLanguage: [Assembly]\n"
        "ForkParameters:\n- WaveSeparateGlobalReadB: [1, false]\n- PrefetchGlobalRead: [true, 2]\n- Groups:\n"
        "  - - WorkGroup: [8, 8, 1]\n      ThreadTile: [8, 8]\n    - WorkGroup: [16, 16, 1]\n      ThreadTile: [4, 4]\n"
        "  - - DepthU: 16\n      WorkGroupMapping: 1\n    - DepthU: 8\n      WorkGroupMapping: 8\n"
    ),
    "values that are lists of lists": _deep(  # lib/Common/GlobalParameters.py (default of SFCWGM)
        "        - SFCWGM: [[[1,1],[1,1]], [[2,1],[1,2]]]\n        - DepthU: [16]\n"
    ),
    "a problem with nothing but its type": "BenchmarkProblems:\n  -\n" + _TYPE,  # tl/BenchmarkProblems.py
    "nothing forked and no sizes": f"BenchmarkProblems:\n  -\n{_TYPE}    - BenchmarkCommonParameters:\n",  # made
    "several keys an entry": _deep(  # made
        "        - DepthU: [16, 32]   # first\n          # about the second\n          StaggerU: [0, 4]   # second\n"
        "          1LDSBuffer: [0]\n        - {VectorWidthA: [1, 2], VectorWidthB: [1, 2]}\n"
    ),
    "comments above the alternatives": _deep(  # made, of comments as in tl/Tests/common/gemm/dtv.yaml
        "        - Groups:\n          - - MatrixInstruction: [16, 16, 16, 1]   # small\n"
        "            # about the wide one\n"
        "            - MatrixInstruction: [32, 32, 8, 1]\n              WorkGroup: [16,8,2]\n"
        "            #- MatrixInstruction: [4, 4, 4, 16]\n          -\n            # of two\n"
        "            - {StaggerU: 0}\n"
        "            - {StaggerU: 4,}\n"
    ),
    "quotes, numbers of all kinds, an end of the document": (  # made
        "%YAML 1.1\n--- # head\n\"BenchmarkProblems\":\n- - {'OperationType': GEMM, ? Batched : yes}\n"
        "  - 'ForkParameters' :\n    - \"DepthU\": [0x10, 0o20, 1_6, 020]\n"
        "    - ? GlobalReadPerMfma\n      : [.5, 1e3, 1.0e+3]\n"
        "    - SourceSwap:\t[on, no,\t]\t# tab\n    - Word: [!!str 1, 'a b', \"c\\td\"]\n...\n"
    ),
    "anchors that are used elsewhere": (  # made
        'Shared: &common\n  BenchmarkCommonParameters: &list\n    - KernelLanguage: ["Assembly"]\n'
        "BenchmarkProblems:\n- - {DataType: s}\n  - <<: *common\n    ForkParameters: &forks\n    - DepthU: &values\n"
        "      - 16\n      - 32\n    - StaggerU: &one [0, 4]\n"
        "  - <<: [*common, {ForkParameters: [{VectorWidthA: [1, 2]}]}]\n"
    ),
    "no line end at the end": _deep(
        "        - DepthU: [16, 32]\n        - Groups: [[{A: 1}, {A: 2}]]", after=""
    ),  # made
    "all on one line": (  # made
        "BenchmarkProblems: [[{DataType: s}, {ForkParameters: [DepthU: [16, 32], {A: [], B: [ ]}, "
        "{Groups: [[{C: 1, D: 2}, {C: 2, D: 1}]]}], BenchmarkFinalParameters: [{ProblemSizes: "
        "[{Exact: [1, 2, 3, 4]}]}]}]]\n"
    ),
}
LAYOUTS["a mark of the byte order"] = "\ufeff" + LAYOUTS["a value twice in a list of lines"]
LAYOUTS["lines of Windows"] = LAYOUTS["comments above the alternatives"].replace("\n", "\r\n")
LAYOUTS["unbalanced brackets in comments"] = "# from [0 to 3)\n" * 300 + LAYOUTS["several keys an entry"]
LAYOUTS["letters beyond ASCII"] = "# \u00fcber \U0001f600 [\u2028\n" + LAYOUTS["comments above the alternatives"]
