"""Entries and devices for the tests of the memory."""

from __future__ import annotations

from typing import Any

from tui_tuner.evaluate.results import DeviceInfo
from tui_tuner.memory import RecallQuery
from tui_tuner.memory.entry import KernelFeatures, MemoryEntry, features_of
from tui_tuner.problem.candidate import baseline
from tui_tuner.problem.load import load_problem
from tui_tuner.problem.model import Configuration, Problem
from tui_tuner.resources import samples_directory

H200 = DeviceInfo(kind="cuda", name="NVIDIA H200", backend="cuda", architecture="sm_90")
A100 = DeviceInfo(kind="cuda", name="NVIDIA A100", backend="cuda", architecture="sm_80")
EMULATOR = DeviceInfo(kind="emulator", name="CPU emulator", backend="g++", is_cpu=True)


def sample(name: str) -> Problem:
    return load_problem(samples_directory() / f"{name}.toml")


def features(name: str = "matmul", **changes: Any) -> KernelFeatures:
    return features_of(sample(name)).model_copy(update=changes)


def wanted(name: str = "matmul", device: DeviceInfo = H200) -> RecallQuery:
    problem = sample(name)
    space = baseline(problem).space(sizes=problem.sizes, max_threads=device.max_threads_per_block)
    return RecallQuery(features_of(problem), device, space)


def entry(best: Configuration | None = None, **changes: Any) -> MemoryEntry:
    """What a session with the sample `matmul` on an H200 found, with some of it changed."""
    content = {
        "created": "2026-11-21T20:00:00+00:00",
        "features": features().model_dump(),
        "device": "NVIDIA H200",
        "kind": "cuda",
        "architecture": "sm_90",
        "times": "gpu",
        "best": {"configuration": best or {"block_size_x": 64, "block_size_y": 4}, "ms": 1.5},
        "others": [],
        "speedup": (8.4, 8.3, 8.5),
        "helped": [{"title": "shared-memory tiling", "factor": 3.1}],
    }
    return MemoryEntry.model_validate({**content, **changes})
