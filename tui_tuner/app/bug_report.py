"""All that a report of a fault needs: versions, what this machine has, what is set and where, the end of the log."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from tui_tuner.app.inventory import findings
from tui_tuner.llm import shown
from tui_tuner.log import last_entries, log_file, this_system, without_secrets
from tui_tuner.resources import VARIABLES, __version__, installed_version
from tui_tuner.settings import Layered

_PACKAGES = (
    "textual", "rich", "pydantic", "kernel_tuner", "numpy", "scipy", "tree-sitter", "httpx", "ollama", "openai",
    "anthropic", "keyring", "cuda-python", "nvidia-ml-py", "pycuda", "cupy-cuda12x", "cupy-cuda13x", "pyopencl", "ray",
    "torch", "triton", "helion", "textual-serve",
)  # fmt: skip
_TELLING = (VARIABLES, "CUDA_", "OCL_", "POCL_", "OLLAMA_", "TERM", "COLORTERM", "NO_COLOR", "LANG", "LC_", "TEXTUAL")
"""How the names of variables begin that change what this program does."""
_ENTRIES = 50


async def bug_report(layered: Layered) -> dict[str, Any]:
    """The report as one JSON object, without keys; paths in the home directory begin with `~`."""
    found = [finding async for finding in findings(layered.settings)]
    report: dict[str, Any] = without_secrets(
        {
            "program": __version__,
            **this_system(),
            "packages": {name: installed_version(name) for name in _PACKAGES},
            "findings": [finding._asdict() for finding in found],
            "settings": list(_set(layered)),
            "environment": dict(_environment()),
            "log": {"file": log_file(), "last": last_entries(_ENTRIES)},
        }
    )
    return report


def _set(layered: Layered) -> Iterator[dict[str, Any]]:
    """What is set, with where."""
    paths = dict.fromkeys(path for layer in layered.layers for path, _ in layer.leaves())
    for path in paths:
        names = [str(part) for part in path]
        setting = next(layer for layer in reversed(layered.layers) if layer.sets(names))
        value = dict(setting.leaves())[path]
        yield {"key": ".".join(names), "value": _without_password(value), "from": str(setting.place(path))}


def _environment() -> Iterator[tuple[str, str]]:
    for name, value in sorted(os.environ.items()):
        if name.endswith("_API_KEY"):
            yield name, "is set" if value else "is empty"
        elif name.startswith(_TELLING) or name.endswith("_BASE_URL"):
            yield name, _without_password(value)


def _without_password(value: Any) -> Any:  # noqa: ANN401 (whatever is set)
    """An address without what may give access to it."""
    return shown(value) if isinstance(value, str) and "://" in value else value
