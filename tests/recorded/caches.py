"""Small cache files as kernel_tuner writes them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

KEYS = ("block_size_x", "tile", "layout")
TUNE_PARAMS: dict[str, list[Any]] = {"block_size_x": [32, 64, 128, 512], "tile": [1, 2], "layout": ["row", "column"]}
FAILED = {
    (128, 2, "row"): "RuntimeFailedConfig",
    (128, 2, "column"): "CompilationFailedConfig",
    (32, 2, "row"): "InvalidConfig",
}
"""Configurations without a time; those with a block of 512 were never tried."""


def milliseconds(block: int, tile: int, layout: str) -> float:
    """Best is (128, 1, "column") with 1 ms; the first, (32, 1, "row"), takes 8 ms."""
    return 128 / block * tile * (2 if layout == "row" else 1)


def entries(*, old: bool = False) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for block in (32, 64, 128):
        for tile in (1, 2):
            for layout in ("row", "column"):
                values = dict(zip(KEYS, (block, tile, layout), strict=True))
                found[f"{block},{tile},{layout}"] = {**values, **_outcome(block, tile, layout, old=old)}
    return found


def _outcome(block: int, tile: int, layout: str, *, old: bool) -> dict[str, Any]:
    error = FAILED.get((block, tile, layout))
    if error is not None:
        return {("time" if old else "__error__"): error, "compile_time": 9.5}
    time = milliseconds(block, tile, layout)
    times = [time * (1 + step / 1000) for step in (-2, -1, 0, 1, 2)]
    return {
        "time": time,
        "times": times,
        "compile_time": 30.5,
        "verification_time": 2,
        "benchmark_time": 7.25,
        "num_regs": 40,
        "timestamp": "2026-01-02",
    }


def header(**changes: object) -> dict[str, Any]:
    content = {
        "device_name": "Slow GPU",
        "kernel_name": "scale",
        "problem_size": [4096, 16],
        "tune_params_keys": list(KEYS),
        "tune_params": TUNE_PARAMS,
        "objective": "time",
    }
    return {name: value for name, value in {**content, **changes}.items() if value is not None}


def cache_text(cache: Mapping[str, object] | None = None, *, closed: bool = True, **changes: object) -> str:
    """The text of a file; one that is still being written lacks the last brackets."""
    head = json.dumps({**header(**changes), "cache": {}}, indent="")[:-3]
    lines = [f"\n{json.dumps({key: entry})[1:-1]}," for key, entry in (cache or entries()).items()]
    text = head + "".join(lines)
    return text[:-1] + "}\n}" if closed else text


def write_cache(file: Path, text: str | None = None) -> Path:
    """Write a file, packed if its name says so."""
    content = (text or cache_text()).encode()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(gzip.compress(content) if file.suffix == ".gz" else content)
    return file
