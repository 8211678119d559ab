"""Names, default values and valid values of TensileLite's parameters, as of October 2024."""

from __future__ import annotations

from collections.abc import Callable

_Rule = Callable[[object], bool]
BOOL: tuple[object, ...] = (False, True)
UNCHECKED = None


def _in(*values: object) -> _Rule:
    return lambda value: value in values


def _within(low: float, high: float) -> _Rule:
    return lambda value: isinstance(value, int | float) and low <= value <= high


def _whole(low: int, high: int) -> _Rule:
    return lambda value: isinstance(value, int) and low <= value <= high


_INSTRUCTIONS = {
    *((32, 32, 4, 2), (32, 32, 8, 1), (16, 16, 4, 4), (16, 16, 16, 1), (4, 4, 4, 16)),
    *((32, 32, 1, 2), (32, 32, 2, 1), (16, 16, 1, 4), (16, 16, 4, 1), (4, 4, 1, 16)),
    *((32, 32, 2, 2), (32, 32, 4, 1), (16, 16, 2, 4), (16, 16, 8, 1), (4, 4, 2, 16)),
    *((32, 32, 16, 1), (16, 16, 32, 1), (4, 4, 4, 4)),
}


def _instruction(value: object) -> bool:
    if not isinstance(value, list) or not all(type(number) is int for number in value):
        return False
    if value in ([], [-1]):
        return True
    if tuple(value[:4]) not in _INSTRUCTIONS or len(value) not in (4, 9):
        return False
    if len(value) == 4:
        return True
    block, *tiles, wave_m, wave_n = value[4:]
    blocks = [1 << bit for bit in range(value[3].bit_length())]
    return block in blocks and all(1 <= tile <= 32 for tile in tiles) and {wave_m, wave_n} <= {1, 2, 4}


def _work_group(value: object) -> bool:
    return isinstance(value, list) and len(value) == 3 and 32 <= value[0] * value[1] * value[2] <= 1024


def _thread_tile(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(1 <= side <= 256 for side in value)


_WIDTH = _in(-1, 1, 2, 3, 4, 6, 8)
_READ_WIDTH = _in(-2, -1, 1, 2, 3, 4, 6, 8, 16)
_PAD = _in(-1, 0, 1, 2, 3, 4, 8, 16, 32, 48, 64)
_PAD_BLOCK = _in(-1, 0, 64, 128, 256, 512, 1024, 2048)
_MULTIPLE = _in(1, 2, 4, 8, 16)
_BOOL = _in(*BOOL)
_CACHE = _whole(0, 7)

PARAMETERS: dict[str, tuple[object, _Rule | None]] = {
    "InnerUnroll": (1, _in(1, 2, 4, 8, 16, 32, 64)),
    "KernelLanguage": ("Assembly", _in("Assembly")),
    "LdsPadA": (-1, _PAD), "LdsPadB": (-1, _PAD), "LdsPadMetadata": (0, _in(-1, 0, 1, 2, 3, 4, 8)),
    "LdsBlockSizePerPadA": (-1, _PAD_BLOCK), "LdsBlockSizePerPadB": (-1, _PAD_BLOCK),
    "LdsBlockSizePerPadMetadata": (0, _PAD_BLOCK),
    "TransposeLDS": (-1, _in(-1, 0, 1, 2)),
    "MaxOccupancy": (40, _whole(1, 40)),
    "VectorWidthA": (-1, _WIDTH), "VectorWidthB": (-1, _WIDTH), "VectorStore": (-1, _in(-1, 0, 1)),
    "StoreVectorWidth": (-1, _WIDTH),
    "GlobalReadVectorWidthA": (-1, _READ_WIDTH), "GlobalReadVectorWidthB": (-1, _READ_WIDTH),
    "LocalReadVectorWidth": (-1, _in(-1, 1, 2, 4, 8, 16)),
    "WaveSeparateGlobalReadA": (0, _in(0, 1, 2)), "WaveSeparateGlobalReadB": (0, _in(0, 1, 2)),
    "UnrollLoopSwapGlobalReadOrder": (0, _in(0, 1)),
    "PrefetchGlobalRead": (1, _in(0, 1, 2)), "PrefetchLocalRead": (1, _whole(0, 128)),
    "ClusterLocalRead": (1, _in(0, 1)), "SuppressNoLoadLoop": (False, _BOOL), "ExpandPointerSwap": (True, _BOOL),
    "ScheduleGlobalRead": (1, _in(0, 1)), "ScheduleLocalWrite": (1, _in(0, 1)),
    "ScheduleIterAlg": (3, _in(0, 1, 2, 3)),
    "GlobalReadPerMfma": (1, _within(0.01, 31.99)),
    "LocalWritePerMfma": (-1, lambda value: value == -1 or _within(0.01, 31.99)(value)),
    "InterleaveAlpha": (0, _in(0, 1)), "OptNoLoadLoop": (1, _in(0, 1, 2)),
    "BufferLoad": (True, _BOOL), "BufferStore": (True, _BOOL),
    "DirectToVgprA": (False, _BOOL), "DirectToVgprB": (False, _BOOL),
    "DirectToVgprSparseMetadata": (False, _BOOL), "DirectToLds": (False, _BOOL),
    "UseSgprForGRO": (-1, _in(-1, 0, 1)), "UseInstOffsetForGRO": (0, _in(-1, 0, 1)),
    "AssertSummationElementMultiple": (1, _in(1, 2, 4, 8, 16, 32, 64, 128)),
    "AssertFree0ElementMultiple": (1, _MULTIPLE), "AssertFree1ElementMultiple": (1, _MULTIPLE),
    "AssertAIGreaterThanEqual": (-1, UNCHECKED), "AssertAILessThanEqual": (-1, UNCHECKED),
    "StaggerU": (32, _in(0, 2, 4, 8, 16, 32, 64)),
    "StaggerUStride": (256, _in(-1, 16, 32, 64, 128, 256, 512, 1024, 2048)),
    "StaggerUMapping": (0, _whole(0, 4)), "MagicDivAlg": (2, _in(0, 1, 2)),
    "GlobalSplitU": (1, _whole(0, 1024)),
    "GlobalSplitUAlgorithm": ("MultipleBuffer", _in("SingleBuffer", "MultipleBuffer", "MultipleBufferSingleKernel")),
    "GlobalSplitUCoalesced": (False, _BOOL), "GlobalSplitUWorkGroupMappingRoundRobin": (False, _BOOL),
    "Use64bShadowLimit": (1, _BOOL),
    "NumLoadsCoalescedA": (1, _whole(-1, 64)), "NumLoadsCoalescedB": (1, _whole(-1, 64)),
    "WorkGroup": ([16, 16, 1], _work_group), "WorkGroupMapping": (8, _whole(-1024, 1024)),
    "WorkGroupMappingXCC": (1, _in(1, 2, 4, 8, 16, 32)), "WorkGroupMappingXCCGroup": (-1, _whole(-1, 1023)),
    "ThreadTile": ([4, 4], _thread_tile), "WavefrontSize": (64, _in(32, 64)),
    "MatrixInstruction": ([], _instruction),
    "1LDSBuffer": (0, _in(-1, 0, 1)), "DepthU": (16, lambda value: _whole(-16, 1024)(value) and value not in (0, 1)),
    "NonTemporalA": (0, _CACHE), "NonTemporalB": (0, _CACHE), "NonTemporalC": (0, _CACHE), "NonTemporalD": (0, _CACHE),
    "NonTemporalE": (0, _CACHE), "NonTemporalWS": (0, _CACHE), "NonTemporalMetadata": (0, _CACHE),
    "NonTemporal": (-1, _whole(-1, 7)),
    "PreloadKernArgs": (True, _BOOL), "CustomKernelName": ("", UNCHECKED), "NoReject": (False, _BOOL),
    "MinVgprNumber": (0, _whole(0, 255)), "MaxVgprNumber": (256, _whole(0, 256)),
    "StoreRemapVectorWidth": (0, _in(-1, 0, 1, 2, 4, 8)), "SourceSwap": (False, _BOOL),
    "StorePriorityOpt": (False, _BOOL), "NumElementsPerBatchStore": (0, _whole(-1, 255)),
    "StoreSyncOpt": (0, _whole(0, 255)), "GroupLoadStore": (False, _BOOL), "MIArchVgpr": (False, _BOOL),
    "StreamK": (0, _in(0, 1, 2, 3)), "StreamKAtomic": (0, _in(0, 1)),
    "StreamKXCCMapping": (0, _in(0, 2, 3, 4, 5, 6, 7, 8)), "DebugStreamK": (0, _in(0, 1, 2, 3)),
    "ActivationFused": (True, _BOOL), "ActivationFuncCall": (True, _BOOL), "ActivationAlt": (False, _BOOL),
    "WorkGroupReduction": (False, _in(False)), "ConvertAfterDS": (False, _BOOL),
    "ForceDisableShadowInit": (False, _BOOL),
}  # fmt: skip
NOT_DEFAULTED: dict[str, _Rule] = {"MacroTile": _thread_tile, "ISA": _work_group, "Sparse": _in(0, 1, 2)}
DEFAULTS = {name: default for name, (default, _) in PARAMETERS.items()}


def rule(name: str) -> _Rule | None:
    """Whether a value is one of a parameter's valid values; None where any is.

    Raises:
        KeyError: there is no such parameter.
    """
    return NOT_DEFAULTED[name] if name in NOT_DEFAULTED else PARAMETERS[name][1]
