"""Problem sizes out of the logs of applications: what they asked of rocBLAS and hipBLASLt, as sizes for Tensile.

Read are lines of `rocblas-bench` (ROCBLAS_LAYER=2) and `hipblaslt-bench` (HIPBLASLT_LOG_MASK=32), the maps with call
counts of their profile layers, and hipBLASLt's own trace (HIPBLASLT_LOG_LEVEL=2).
"""

from __future__ import annotations

import gzip
import re
import shlex
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from math import prod
from pathlib import Path

import yaml

from tui_tuner.errors import SettingsError
from tui_tuner.format import counted
from tui_tuner.resources import is_packed
from tui_tuner.text import clean

Arguments = dict[str, str]
"""The arguments of one call, by the names of the bench programs without dashes, in lower case."""
_BENCH = re.compile(r"(?:^|[\s/])(?:rocblas|hipblaslt)-bench\s+(-.*)")
_PROFILE = re.compile(r"\s*-?\s*(\{.*\bcall_count\b.*\})")
_TRACE = re.compile(r"\[rocblaslt_matmul\]\s+(.*)")
_BLOCK = re.compile(r"(\w+)=\[([^\]]*)\]")
_PAIR = re.compile(r"(\w+)=(\S+)")
_GEMM = re.compile(r"(?:rocblas_)?(?:(?P<letter>[hsdcz])?gemm)(?:_batched|_strided_batched)?(?:_ex\d?)?(?:_64)?")
_SAME = {
    "sizem": "m", "sizen": "n", "sizek": "k", "transposea": "transa", "transposeb": "transb", "f": "function",
    "rocblas_function": "function", "r": "precision", "batch": "batch_count",
}  # fmt: skip
_TYPES = {
    "f16": "h", "f32": "s", "f64": "d", "bf16": "b", "i8": "I8", "i32": "I", "f8": "F8", "bf8": "B8", "xf32": "s",
    "f8_fnuz": "F8N", "bf8_fnuz": "B8N", "16f": "h", "32f": "s", "64f": "d", "16bf": "b", "8i": "I8", "32i": "I",
    "8f_e4m3": "F8", "8f_e5m2": "B8", "8f_e4m3_fnuz": "F8N", "8f_e5m2_fnuz": "B8N",
    "c_f32": "c", "c_f64": "z", "f32_c": "c", "f64_c": "z",
}  # fmt: skip
_NARROW = frozenset({"h", "b", "I8", "F8", "B8", "F8N", "B8N"})
_MOST_TOLD = 5
_REMEMBERED = 4096
"""Calls that are read once: a log has the same ones again and again."""


@dataclass(frozen=True, order=True)
class ProblemKind:
    """A problem type, in Tensile's words."""

    data: str
    dest: str
    compute: str
    transpose_a: bool
    transpose_b: bool
    conjugate: tuple[bool, bool] = (False, False)
    bias: str = ""
    activation: bool = False

    def lines(self) -> Iterator[str]:
        """A `ProblemType` for a configuration."""
        yield "OperationType: GEMM"
        yield f"DataType: {self.data}"
        yield f"DestDataType: {self.dest}"
        yield f"ComputeDataType: {self.compute}"
        if self.data in _NARROW and self.compute != self.data:
            yield "HighPrecisionAccumulate: True"
        yield f"TransposeA: {int(self.transpose_a)}"
        yield f"TransposeB: {int(self.transpose_b)}"
        yield from (f"ComplexConjugate{one}: True" for one, told in zip("AB", self.conjugate, strict=True) if told)
        yield from ("UseBeta: True", "Batched: True")
        if self.bias:
            yield from ("UseBias: 1", f"BiasDataTypeList: [{self.bias}]")
        if self.activation:
            yield from ("Activation: True", "ActivationType: hipblaslt_all")

    def words(self) -> str:
        """The problem type in a few words, as in "TN h to s, compute s"."""
        letters = "".join("T" if one else "N" for one in (self.transpose_a, self.transpose_b))
        more = [*(["bias"] if self.bias else []), *(["activation"] if self.activation else [])]
        return ", ".join([f"{letters} {self.data} to {self.dest}", f"compute {self.compute}", *more])


Exact = tuple[int, int, int, int, int, int, int, int]
"""M, N, batch, K and the leading dimensions of D, C, A and B: as Tensile's `Exact`."""


@dataclass
class LoggedProblems:
    """What a log asked for.

    Attributes:
        calls: how often each size was asked for, by problem type.
        others: calls that are no GEMM, by function.
        unread: lines of calls that cannot be understood, with why.
    """

    calls: dict[ProblemKind, Counter[Exact]] = field(default_factory=lambda: defaultdict(Counter))
    others: Counter[str] = field(default_factory=Counter)
    unread: list[str] = field(default_factory=list)

    @property
    def count(self) -> int:
        """Calls that were understood."""
        return sum(sizes.total() for sizes in self.calls.values())

    def kinds(self) -> list[ProblemKind]:
        """The one with the most work first."""
        return sorted(self.calls, key=lambda kind: (-_work(self.calls[kind]), kind))


class _Unreadable(ValueError):
    """Why a call cannot be understood."""


def _work(sizes: Mapping[Exact, int]) -> int:
    return sum(calls * prod(size[:4]) for size, calls in sizes.items())


def read_problems(file: Path) -> LoggedProblems:
    """The problems that a log names.

    Raises:
        SettingsError: it cannot be read, or names none.
    """
    try:
        with file.open("rb") as raw:
            packed = is_packed(raw.read(4))
        with (
            gzip.open(file, "rt", encoding="utf-8", errors="replace")
            if packed
            else file.open(encoding="utf-8", errors="replace") as lines
        ):
            found = problems_in(lines)
    except (OSError, EOFError, zlib.error) as error:
        why = getattr(error, "strerror", None) or f"what is packed in it is not whole: {error}"
        raise SettingsError(f"cannot be read: {why}", file=file) from error
    if not found.calls:
        others = ", ".join(f"{name} ({calls})" for name, calls in found.others.most_common(_MOST_TOLD))
        why = found.unread[0] if found.unread else f"it calls {others}" if others else "no line is a call"
        hint = "log with ROCBLAS_LAYER=2, HIPBLASLT_LOG_MASK=32 or HIPBLASLT_LOG_LEVEL=2"
        raise SettingsError(f"it names no matrix multiplication: {why}", hint=hint, file=file)
    return found


def problems_in(lines: Iterable[str]) -> LoggedProblems:
    """The problems that the lines of a log name; other lines are passed over."""
    found = LoggedProblems()
    for number, line in enumerate(lines, start=1):
        try:
            if (call := _call(line)) is not None:
                _take(found, call)
        except _Unreadable as why:
            found.unread.append(f"line {number}: {clean(str(why))[:120]}")
    return found


def _call(line: str) -> Arguments | None:
    """What a line calls; None where it is no call."""
    if match := _BENCH.search(line):
        return _of_bench(match[1])
    if match := _PROFILE.match(line):
        return _of_profile(match[1])
    match = _TRACE.search(line)
    return None if match is None else _of_trace(match[1])


@lru_cache(_REMEMBERED)
def _of_bench(text: str) -> Arguments:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise _Unreadable(f"its quotes do not close: {error}") from error
    found: Arguments = {}
    for at, word in enumerate(words):
        if _is_option(word):
            value = words[at + 1] if at + 1 < len(words) and not _is_option(words[at + 1]) else ""
            found[_name(word.lstrip("-"))] = value
    return found


def _is_option(word: str) -> bool:
    return word.startswith("-") and word[1:2] not in "0123456789."


def _name(word: str) -> str:
    return _SAME.get(word.lower(), word.lower())


@lru_cache(_REMEMBERED)
def _of_profile(text: str) -> Arguments:
    try:
        told = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise _Unreadable("its map cannot be read") from error
    return {_name(str(key)): str(value) for key, value in told.items()} if isinstance(told, dict) else {}


def _of_trace(text: str) -> Arguments:
    """A line of hipBLASLt's trace, which gives the matrices as stored: rows and columns before transposition."""
    blocks = {name: dict(_PAIR.findall(inside)) for name, inside in _BLOCK.findall(text)}
    try:
        a, d, described = blocks["Adesc"], blocks["Ddesc"], blocks["computeDesc"]
        transposed = described["transA"] != "OP_N"
        found = {"m": d["rows"], "n": d["cols"], "k": a["rows"] if transposed else a["cols"]}
        found |= {f"ld{one}": blocks[f"{one.upper()}desc"]["ld"] for one in "abcd"}
        found |= {f"{one}_type": blocks[f"{one.upper()}desc"]["type"] for one in "abcd"}
    except KeyError as missing:
        raise _Unreadable(f"it does not tell {missing.args[0]}") from missing
    found |= {"transa": described["transA"], "transb": described.get("transB", "OP_N")}
    found |= {"compute_type": described.get("computeType", a["type"]), "function": "gemm"}
    found["batch_count"] = next((d[key] for key in ("batchCount", "batch_count", "batch") if key in d), "1")
    epilogue = described.get("epilogue", "")
    found["activation_type"] = "all" if re.search(r"RELU|GELU|SWISH|SILU|SIGMOID", epilogue) else "none"
    return found | ({"bias_vector": "1"} if "BIAS" in epilogue else {})


def _take(found: LoggedProblems, call: Arguments) -> None:
    function = call.get("function", "matmul")
    match = _GEMM.fullmatch(function)
    if match is None and function not in ("matmul", "matmul_ex"):
        found.others[clean(function)[:40]] += 1
        return
    if match is not None and match["letter"]:
        call = {
            "precision": {"h": "f16_r", "s": "f32_r", "d": "f64_r", "c": "f32_c", "z": "f64_c"}[match["letter"]],
            **call,
        }
    kind, size, calls = _kind(call), _exact(call), _number(call, "call_count", 1)
    found.calls[kind][size] += calls


def _kind(call: Arguments) -> ProblemKind:
    every = call.get("precision", "")
    data = _type(call.get("a_type") or every)
    trans = [call.get(f"trans{one}", "N").removeprefix("OP_").upper()[:1] for one in "ab"]
    bias = "bias_vector" in call and call["bias_vector"] not in ("0", "false")
    return ProblemKind(
        data=data,
        dest=_type(call.get("d_type") or call.get("c_type") or every or data),
        compute=_compute(call.get("compute_type") or every, data),
        transpose_a=trans[0] != "N",
        transpose_b=trans[1] != "N",
        conjugate=(trans[0] == "C", trans[1] == "C"),
        bias=_type(call.get("bias_type") or call.get("d_type") or every or data) if bias else "",
        activation=call.get("activation_type", "none").lower() not in ("none", ""),
    )


def _type(name: str) -> str:
    """Tensile's letter of a data type, from `f16_r`, `R_16F` or a letter."""
    short = name.lower().removeprefix("hip_").removeprefix("r_").removesuffix("_r")
    if short in ("h", "s", "d", "c", "z", "b"):
        return short
    if short not in _TYPES:
        raise _Unreadable(f"the data type {name or 'is missing'!r} is not known")
    return _TYPES[short]


def _compute(name: str, data: str) -> str:
    """The type of accumulation; of `f32_bf16_r` and `COMPUTE_32F_FAST_16F` that of the sum, which comes first."""
    short = name.lower().removeprefix("compute_").removeprefix("c_")
    match = re.match(r"x?(f16|f32|f64|i32|16f|32f|64f|32i)", short)
    found = _TYPES[match[1]] if match else "s" if data in _NARROW else data
    return data if data in ("c", "z") else found


def _exact(call: Arguments) -> Exact:
    m, n, k = (_number(call, one) for one in "mnk")
    kind = [call.get(f"trans{one}", "N").removeprefix("OP_").upper()[:1] != "N" for one in "ab"]
    ldc = _number(call, "ldc", m)
    lda, ldb = _number(call, "lda", k if kind[0] else m), _number(call, "ldb", n if kind[1] else k)
    return m, n, _number(call, "batch_count", 1), k, _number(call, "ldd", ldc), ldc, lda, ldb


def _number(call: Arguments, name: str, otherwise: int | None = None) -> int:
    text = call.get(name, "")
    if not text and otherwise is not None:
        return otherwise
    if not text.isdecimal() or int(text) == 0:
        raise _Unreadable(f"{name} is {text or 'missing'!r} and no size")
    return int(text)


def configuration_text(found: LoggedProblems, source: str) -> str:
    """A configuration with these problems, a size group each, without fork parameters: those are the tuner's.

    Args:
        source: the log's name.
    """
    head = f"# {counted(found.count, 'call')} of {counted(sum(map(len, found.calls.values())), 'size')} in {source}"
    lines = [head, "BenchmarkProblems:"]
    for kind in found.kinds():
        sizes = found.calls[kind]
        lines += ["  -", f"    - # ProblemType: {kind.words()}: {counted(sizes.total(), 'call')}"]
        lines += [f"      {line}" for line in kind.lines()]
        lines += ["    - # BenchmarkProblemSizeGroup", "      ForkParameters: # what is to be tried"]
        lines += ["      BenchmarkFinalParameters:", "        - ProblemSizes:"]
        for size, calls in sorted(sizes.items(), key=lambda pair: (-pair[1] * prod(pair[0][:4]), pair[0])):
            lines.append(f"          - Exact: {list(size)} # {counted(calls, 'call')}")
    return "\n".join(lines) + "\n"


def summary_lines(found: LoggedProblems) -> list[str]:
    """What was found and what was not, for people."""
    lines = [
        f"{kind.words()}: {counted(sizes.total(), 'call')} of {counted(len(sizes), 'size')}"
        for kind in found.kinds()
        for sizes in [found.calls[kind]]
    ]
    return [*lines, *left_out(found)]


def left_out(found: LoggedProblems) -> list[str]:
    """Calls that gave no size, with their lines: those of other functions, and those that were not understood."""
    lines = []
    if found.others:
        names = ", ".join(f"{name} ({calls})" for name, calls in found.others.most_common(_MOST_TOLD))
        lines.append(f"passed over, no matrix multiplication: {names}")
    if found.unread:
        lines += [f"{counted(len(found.unread), 'call')} not understood:", *found.unread[:_MOST_TOLD]]
    return lines
