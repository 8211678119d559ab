"""What is known of a configuration beside its time: a profile, and the diagnosis that is made of all of that.

A profile has what the hardware counted (`counters.py`) and what the compiler made of the kernel: the instructions of
its innermost loop and of all of it, by what they do. These are read from the listing of nvdisasm, whose mnemonics
NVIDIA lists in "CUDA Binary Utilities", instruction set reference.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import Field

from tui_tuner.evaluate.profiling.counters import Counters, counter_facts
from tui_tuner.evaluate.results import ResultModel
from tui_tuner.problem.tuning_step import Bottleneck

_INTEGER = "integer, address or move"
_LOCAL, _ASYNC, _TENSOR = "access to local memory", "asynchronous copy", "tensor-core instruction"
_MATRIX, _ATOMIC, _BARRIER = "matrix load from shared memory", "atomic operation", "barrier or wait"
_WIDE = ("global load", "global store", "shared load", "shared store")
"""Kinds that are told by the bytes that a thread moves at once."""
_GLOBAL = _WIDE[:2]
_BULK = 128
"""Bytes of a bulk copy, for which no thread moves anything: more than any other access."""
_RARE = (_ASYNC, _TENSOR, _LOCAL, _MATRIX, _ATOMIC)
"""What says something outside of a loop, too, as all that moves data does."""
_KINDS = (
    (_ASYNC, r"LDGSTS|UBLKCP|UTMALDG|UTMASTG|UBLKPF"),
    (_TENSOR, r"[HIDBQO]G?MMA|UTC\w*MMA"),
    (_MATRIX, r"LDSM"),
    ("global load", r"LDG|LD"),
    ("global store", r"STG|ST"),
    ("shared load", r"LDS"),
    ("shared store", r"STSM?"),
    (_LOCAL, r"LDL|STL"),
    (_ATOMIC, r"ATOM[GS]?|RED(?:G|S|AS)?|UTMAREDG"),
    ("special function", r"MUFU"),
    ("conversion", r"F2F|F2I|I2F|F2FP|I2FP|I2IP|FRND"),
    ("shuffle or vote", r"SHFL|VOTEU?|MATCH|C?REDUX"),
    (_BARRIER, r"BAR|SYNCS|WARPSYNC|MEMBAR|DEPBAR|LDGDEPBAR|WARPGROUP|ERRBAR|UCGABAR\w*"),
    ("load of a constant", r"U?LDC|LDCU"),
    ("jump", r"BRA|BRX|JMP|CALL|RET|EXIT|BSSY|BSYNC|BREAK|KILL|NANOSLEEP"),
    ("floating-point operation", r"F(?:FMA|ADD|MUL|MNMX|SEL|SET|SETP|CHK)\d?|H(?:FMA|ADD|MUL|MNMX|SETP?)2|D\w+"),
)
_PATTERNS = tuple((kind, re.compile(pattern)) for kind, pattern in _KINDS)
_INSTRUCTION = re.compile(r"\s*/\*[0-9a-f]+\*/\s+\{?\s*(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_]*(?:\.\w+)*)([^;]*)")
_LABEL = re.compile(r"(\.L\w*):")
_TARGET = re.compile(r"`\((\.L\w+)\)")
_SECTION = re.compile(r"\s*\.section\s+\.text\.([^,\s]+)")
_BITS = re.compile(r"\.[US]?(8|16|64|128)(?:\.|$)")
_CONSTANT = re.compile(r"\s*R\d+, -RZ, RZ,")  # HFMA2.MMA and the like, which put a constant into a register
_SHORT_LOOP = 6
"""A loop of fewer instructions waits for something, as for a barrier in shared memory."""


class MachineCode(ResultModel):
    """The instructions of a kernel, counted by what they do; what only fills up is not counted.

    Attributes:
        instructions: of the whole kernel.
        mix: how many do what, each named in words.
        loop_instructions: of the innermost loop, the likely main one where there are several; 0 where there is none.
        loop: how many of these do what.
        loops: how many innermost ones there are; 0 where that was not counted.
    """

    instructions: int
    mix: dict[str, int]
    loop_instructions: int = 0
    loop: dict[str, int] = Field(default_factory=dict)
    loops: int = 0

    @property
    def reads(self) -> bool:
        """Whether anything is loaded from global memory, to registers or past them."""
        return bool(_loads(self.mix)) or _ASYNC in self.mix

    @property
    def copies(self) -> bool:
        """Whether it has asynchronous copies, whose accesses the counters of loads leave out."""
        return _ASYNC in self.mix

    @property
    def has_atomics(self) -> bool:
        """Whether any of its instructions is an atomic operation."""
        return _ATOMIC in self.mix

    @property
    def has_tensor_cores(self) -> bool:
        """Whether any of its instructions is one of tensor cores."""
        return _TENSOR in self.mix

    @property
    def inner_loads(self) -> int:
        """Loads from global memory in the innermost loop; in the whole kernel where there is none."""
        return sum(_loads(self.loop or self.mix).values())

    @property
    def loaded_bytes(self) -> int:
        """Bytes that a thread loads from global memory, of a kernel without a loop; else 0, as nobody knows."""
        return 0 if self.loop else sum(nbytes * count for nbytes, count in _loads(self.mix).items())

    @property
    def inner_barriers(self) -> int:
        """Barriers and other waits in the innermost loop."""
        return self.loop.get(_BARRIER, 0)


_LOAD = re.compile(r"global load of (\d+) byte")


def _loads(mix: Mapping[str, int]) -> dict[int, int]:
    """How many loads from global memory there are of so many bytes."""
    return {int(load[1]): count for kind, count in mix.items() if (load := _LOAD.match(kind))}


@dataclass(frozen=True)
class _Instruction:
    name: str
    operands: str

    @property
    def kind(self) -> str:
        base = self.name.split(".")[0]
        if base.startswith("HFMA2") and _CONSTANT.match(self.operands):
            return _INTEGER
        kind = next((kind for kind, pattern in _PATTERNS if pattern.fullmatch(base)), _INTEGER)
        if kind not in _WIDE:
            return kind
        return f"{kind} of {self._bytes} byte{'s' if self._bytes > 1 else ''}"

    @property
    def global_bytes(self) -> int:
        """Bytes that it moves to or from global memory; 0 for everything else."""
        if self.kind.startswith(_GLOBAL):
            return self._bytes
        if self.kind != _ASYNC:
            return 0
        return self._bytes if self.name.startswith("LDGSTS") else _BULK

    @property
    def _bytes(self) -> int:
        bits = _BITS.search(self.name)
        return int(bits[1]) // 8 if bits else 4


def read_machine_code(listing: str, symbol: str) -> MachineCode | None:
    """Count the instructions of one kernel.

    Args:
        listing: what `nvdisasm -c` prints.
        symbol: the kernel's mangled name.

    Returns:
        None where the listing has no such kernel.
    """
    instructions, labels = _parsed(_section(listing, symbol))
    if not instructions:
        return None
    loops = [instructions[start:end] for start, end in _innermost(instructions, labels)]
    main = _main(loops)
    counted = [one for one in instructions if one.name != "NOP"]
    return MachineCode(
        instructions=len(counted), mix=_mix(counted), loop_instructions=len(main), loop=_mix(main), loops=len(loops)
    )


def _section(listing: str, symbol: str) -> Iterator[str]:
    inside = False
    for line in listing.splitlines():
        if section := _SECTION.match(line):
            inside = section[1] == symbol
        elif inside:
            yield line


def _parsed(lines: Iterator[str]) -> tuple[list[_Instruction], dict[str, int]]:
    """The instructions, and for each label the index of the one behind it."""
    instructions: list[_Instruction] = []
    labels: dict[str, int] = {}
    for line in lines:
        if label := _LABEL.match(line):
            labels[label[1]] = len(instructions)
        elif found := _INSTRUCTION.match(line):
            instructions.append(_Instruction(found[1], found[2]))
    return instructions, labels


def _innermost(instructions: Sequence[_Instruction], labels: dict[str, int]) -> list[tuple[int, int]]:
    """Where each loop begins and ends that has no other in it."""
    loops: list[tuple[int, int]] = []
    for index, instruction in enumerate(instructions):
        target = _TARGET.search(instruction.operands) if instruction.name.startswith("BRA") else None
        start = index if target is None else labels.get(target[1], index)
        if index - start >= _SHORT_LOOP - 1:
            loops.append((start, index + 1))
    return [loop for loop in loops if not any(_holds(loop, other) for other in loops)]


def _main(loops: Sequence[Sequence[_Instruction]]) -> Sequence[_Instruction]:
    """The loop that the work is likely in: of those with tensor-core instructions, where any has them, the longest.

    Where that moves data of global memory, and another does so in wider accesses, it is the other: what sizes that are
    no multiples go through is longer and moves one element at a time.
    """
    of_tensors = [loop for loop in loops if any(one.kind == _TENSOR for one in loop)]
    known = of_tensors or loops
    longest = max(known, key=len, default=())
    return max(known, key=lambda loop: (_widest(loop), len(loop))) if _widest(longest) else longest


def _widest(loop: Sequence[_Instruction]) -> int:
    """Bytes that a thread moves at once to or from global memory, at most; 0 where it moves none."""
    return max((one.global_bytes for one in loop), default=0)


def _holds(loop: tuple[int, int], other: tuple[int, int]) -> bool:
    return loop != other and loop[0] <= other[0] and other[1] <= loop[1]


def _mix(instructions: Sequence[_Instruction]) -> dict[str, int]:
    return dict(Counter(one.kind for one in instructions).most_common())


def machine_code_facts(code: MachineCode) -> Iterator[str]:
    """The machine code in words, a line or two."""
    if code.loop:
        which = (
            f"what is likely the main one of {code.loops} innermost loops" if code.loops > 1 else "the innermost loop"
        )
        yield f"machine code of {which}, {code.loop_instructions} instructions: {_counted(code.loop)}"
    told = {kind: count for kind, count in code.mix.items() if kind.startswith(_WIDE) or kind in _RARE}
    unused = "".join(f"; no {kind}" for kind in (_ASYNC, _TENSOR, _LOCAL) if kind not in code.mix)
    said = _counted(told) or "nothing is loaded or stored"
    yield f"machine code of the whole kernel, {code.instructions} instructions, of these: {said}{unused}"


def _counted(mix: dict[str, int]) -> str:
    return ", ".join(f"{count} x {kind}" for kind, count in mix.items())


class Profile(ResultModel):
    """What is known of a configuration beside its time; nothing where no tool could tell.

    Attributes:
        missing: why something could not be had, a line each.
    """

    code: MachineCode | None = None
    counters: Counters | None = None
    missing: list[str] = Field(default_factory=list)


NO_PROFILE = Profile()


@dataclass(frozen=True)
class Diagnosis:
    """Why a launch takes the time it does.

    Attributes:
        bottleneck: its name.
        cause: a sentence that names it with the figures it rests on.
        facts: a line each: how the launch fills the device, what it achieves.
        leaves_idle: whether its blocks leave much of the device idle, be it the bottleneck or not.
    """

    bottleneck: Bottleneck
    cause: str
    facts: tuple[str, ...]
    leaves_idle: bool = False


def profile_facts(profile: Profile, declared: float) -> Iterator[str]:
    """A profile in words, a line each.

    Args:
        declared: bytes that a launch must move, as the problem says; 0 where it does not.
    """
    counters, code = profile.counters, profile.code
    if counters is not None:
        told = counters if code is None else counters.of(tensor=code.has_tensor_cores, copies=code.copies)
        yield from counter_facts(told, declared or None)
    if code is not None:
        yield from machine_code_facts(code)
