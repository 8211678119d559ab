"""Problem sizes out of logs, by lines as rocBLAS and hipBLASLt write them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tui_tuner.errors import SettingsError
from tui_tuner.tensile.document.reading import parse_configuration
from tui_tuner.tensile.problem_logs import (
    ProblemKind,
    configuration_text,
    problems_in,
    read_problems,
    summary_lines,
)

ROCBLAS = (
    "./rocblas-bench -f gemm_ex --transposeA T --transposeB N -m 256 -n 128 -k 4096 --alpha 1 --a_type f16_r "
    "--lda 4096 --b_type f16_r --ldb 4160 --beta 0 --c_type f16_r --ldc 256 --d_type f16_r --ldd 512 "
    "--compute_type f32_r --algo 0"
)
PLAIN = (
    "./rocblas-bench -f gemm_strided_batched -r f32_r --transposeA N --transposeB C -m 64 -n 32 -k 16 --batch_count 4"
)
HIPBLASLT = (
    "hipblaslt-bench --api_method c -m 4096 -n 2048 -k 512 --lda 512 --ldb 512 --ldc 4096 --ldd 4096 --stride_a 0 "
    "--alpha 1.000000 --beta -1.5 --transA T --transB N --batch_count 1 --a_type f16_r --b_type f16_r --c_type f16_r "
    "--d_type f32_r --scale_type f32_r --bias_vector --bias_type f16_r --compute_type f32_r --activation_type gelu "
    "--any_stride --rotating 0"
)
TRACE = (
    "[2023-06-12 21:16:46][HIPBLASLT][690719][Trace][rocblaslt_matmul] A=0x7efa94800000 Adesc=[type=R_16BF rows=2400 "
    "cols=128 ld=2400] B=0x7efa7b8156d0 Bdesc=[type=R_16BF rows=2400 cols=2048 ld=25272] C=0x7e Cdesc=[type=R_32F "
    "rows=128 cols=2048 ld=128] D=0x7e Ddesc=[type=R_32F rows=128 cols=2048 ld=256] "
    "computeDesc=[computeType=COMPUTE_32F "
    "scaleType=R_32F transA=OP_T transB=OP_N epilogue=EPILOGUE_RELU_BIAS biasPointer=0x9ae00200] workSpace=0x7e"
)
PROFILE = (
    '- { rocblas_function: "rocblas_hgemm", transA: "N", transB: "T", M: 128, N: 64, K: 32, alpha: 1, lda: 128, '
    "ldb: 64, beta: 0, ldc: 128, call_count: 7 }"
)
HALF = ProblemKind("h", "h", "s", True, False)


@pytest.mark.parametrize(
    ("line", "kind", "size", "calls"),
    [
        (ROCBLAS, HALF, (256, 128, 1, 4096, 512, 256, 4096, 4160), 1),
        (PLAIN, ProblemKind("s", "s", "s", False, True, (False, True)), (64, 32, 4, 16, 64, 64, 64, 32), 1),
        (
            HIPBLASLT,
            ProblemKind("h", "s", "s", True, False, bias="h", activation=True),
            (4096, 2048, 1, 512, 4096, 4096, 512, 512),
            1,
        ),
        (
            TRACE,
            ProblemKind("b", "s", "s", True, False, bias="s", activation=True),
            (128, 2048, 1, 2400, 256, 128, 2400, 25272),
            1,
        ),
        (PROFILE, ProblemKind("h", "h", "h", False, True), (128, 64, 1, 32, 128, 128, 128, 64), 7),
    ],
)
def test_every_format_gives_type_size_leading_dimensions_and_calls(
    line: str, kind: ProblemKind, size: tuple[int, ...], calls: int
) -> None:
    found = problems_in(["some words\n", f"{line}\n", f"{line}\r\n", "hipblaslt-bench was not found\n"])
    ((only, sizes),) = found.calls.items()
    assert (only, dict(sizes)) == (kind, {size: 2 * calls})
    assert not found.unread


def test_a_configuration_has_a_group_a_type_and_the_most_work_first() -> None:
    small = ROCBLAS.replace("-m 256", "-m 16")
    found = problems_in([PLAIN, small, small, ROCBLAS, "./rocblas-bench -f gemv -r f32_r -m 5 -n 5"])
    text = configuration_text(found, "app.log")
    given = parse_configuration(text, Path("config.yaml"))
    assert [group.sizes.listed for group in given.size_groups] == [
        ((256, 128, 1, 4096, 512, 256, 4096, 4160), (16, 128, 1, 4096, 512, 256, 4096, 4160)),
        ((64, 32, 4, 16, 64, 64, 64, 32),),
    ]
    assert given.size_groups[0].problem_type == {
        "OperationType": "GEMM",
        "DataType": "h",
        "DestDataType": "h",
        "ComputeDataType": "s",
        "HighPrecisionAccumulate": True,
        "TransposeA": 1,
        "TransposeB": 0,
        "UseBeta": True,
        "Batched": True,
    }
    assert "- Exact: [16, 128, 1, 4096, 512, 256, 4096, 4160] # 2 calls" in text
    assert summary_lines(found) == [
        "TN h to h, compute s: 3 calls of 2 sizes",
        "NT s to s, compute s: 1 call of 1 size",
        "passed over, no matrix multiplication: gemv (1)",
    ]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (ROCBLAS.replace("-m 256", "-m x"), "line 1: m is 'x' and no size"),
        (ROCBLAS.replace("-k 4096", "-k 0"), "line 1: k is '0' and no size"),
        (ROCBLAS.replace("--a_type f16_r", "--a_type f4_r"), "line 1: the data type 'f4_r' is not known"),
        (TRACE.replace("Ddesc", "Edesc"), "line 1: it does not tell Ddesc"),
        (ROCBLAS + " 'x", "line 1: its quotes do not close"),
        ("- { call_count: [ }", "line 1: its map cannot be read"),
    ],
)
def test_a_call_that_cannot_be_understood_is_told_with_its_line(tmp_path: Path, line: str, why: str) -> None:
    assert problems_in([line, PLAIN]).unread[0].startswith(why)
    log = tmp_path / "app.log"
    log.write_text(line)
    with pytest.raises(SettingsError, match="it names no matrix multiplication: line 1"):
        read_problems(log)


def test_a_log_without_calls_says_how_to_make_one(tmp_path: Path) -> None:
    log = tmp_path / "app.log"
    log.write_bytes(b"\xff\xfe nothing\n")
    with pytest.raises(SettingsError, match="no line is a call") as caught:
        read_problems(log)
    assert "ROCBLAS_LAYER=2" in str(caught.value.hint)
