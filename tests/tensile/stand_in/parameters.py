"""Names, default values and valid values of some of TensileLite's parameters, as of October 2024."""

from __future__ import annotations

from collections.abc import Callable

_Rule = Callable[[object], bool]


def _in(*values: object) -> _Rule:
    return lambda value: value in values


def _whole(low: int, high: int) -> _Rule:
    return lambda value: isinstance(value, int) and low <= value <= high


def _instruction(value: object) -> bool:
    if value == []:
        return True
    if not isinstance(value, list) or len(value) != 9 or not all(type(number) is int for number in value):
        return False
    *instruction, block, tile_m, tile_n, wave_m, wave_n = value
    sizes = all(1 <= tile <= 32 for tile in (tile_m, tile_n)) and {wave_m, wave_n} <= {1, 2, 4}
    return instruction in ([32, 32, 8, 1], [16, 16, 16, 1]) and block == 1 and sizes


def _work_group(value: object) -> bool:
    return isinstance(value, list) and len(value) == 3 and 32 <= value[0] * value[1] * value[2] <= 1024


def _thread_tile(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(1 <= side <= 256 for side in value)


PARAMETERS: dict[str, tuple[object, _Rule]] = {
    "KernelLanguage": ("Assembly", _in("Assembly")),
    "LdsPadA": (-1, _in(-1, 0, 1, 2, 3, 4, 8, 16, 32, 48, 64)),
    "TransposeLDS": (-1, _in(-1, 0, 1, 2)),
    "VectorWidthA": (-1, _in(-1, 1, 2, 3, 4, 6, 8)),
    "PrefetchGlobalRead": (1, _in(0, 1, 2)),
    "LocalWritePerMfma": (-1, _in(-1, 1)),
    "StaggerU": (32, _in(0, 2, 4, 8, 16, 32, 64)),
    "StaggerUStride": (256, _in(-1, 16, 32, 64, 128, 256, 512, 1024, 2048)),
    "GlobalSplitU": (1, _whole(0, 1024)),
    "WorkGroup": ([16, 16, 1], _work_group),
    "WorkGroupMapping": (8, _whole(-1024, 1024)),
    "ThreadTile": ([4, 4], _thread_tile),
    "WavefrontSize": (64, _in(32, 64)),
    "MatrixInstruction": ([], _instruction),
    "DepthU": (16, lambda value: _whole(-16, 1024)(value) and value not in (0, 1)),
    "NonTemporalA": (0, _whole(0, 7)),
    "NonTemporalB": (0, _whole(0, 7)),
    "CustomKernelName": ("", lambda _: True),
}
DEFAULTS = {name: default for name, (default, _) in PARAMETERS.items()}
