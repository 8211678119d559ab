"""How alike two kernels are on two devices, 0 to 1: a weighted mean over features, times a factor for the device.

The formula is our own; `docs/memory.md` tells it to the user, with what it gives for the sample kernels.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from tui_tuner.evaluate.results import DeviceInfo
from tui_tuner.memory.features import KernelFeatures

THRESHOLD = 0.6
"""What is less alike is not offered."""
WEIGHTS = {
    "tunables": 0.25,
    "name": 0.20,
    "arguments": 0.20,
    "uses": 0.15,
    "intensity": 0.10,
    "threads": 0.05,
    "language": 0.05,
}
SAME_ARCHITECTURE = 0.95
OTHER_DEVICE = 0.85
_UNKNOWN = 0.5
_GPU, _RECORDED = "gpu", "recorded"
NO_CPU = (_GPU, _RECORDED)
"""Of what `times_of` gives, those that are no CPU's."""


def times_of(device: DeviceInfo) -> str:
    """Whose times a device gives; what was found with the times of one is never offered to another.

    All GPUs are one; each device that runs on a CPU is one for itself, and so are recorded times.
    """
    return device.kind if device.is_cpu or device.kind == _RECORDED else _GPU


def similarity(ours: KernelFeatures, theirs: KernelFeatures) -> float:
    """How alike two kernels are, 0 to 1."""
    parts = {
        "tunables": _spaces(ours.tunables, theirs.tunables),
        "name": _shared(_words(ours.kernel), _words(theirs.kernel)),
        "arguments": _shared(ours.arguments, theirs.arguments),
        "uses": _shared(ours.uses, theirs.uses),
        "intensity": _closeness(ours.intensity, theirs.intensity),
        "threads": _launches(ours.threads, theirs.threads),
        "language": float(ours.language == theirs.language),
    }
    return sum(WEIGHTS[name] * part for name, part in parts.items())


def device_factor(device: DeviceInfo, name: str, architecture: str) -> float:
    """How much what was found on another device counts here, 0 to 1."""
    if name == device.name:
        return 1.0
    return SAME_ARCHITECTURE if architecture and architecture == device.architecture else OTHER_DEVICE


def _words(name: str) -> list[str]:
    return re.findall(r"[a-z]+|\d+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower())


def _shared(ours: Collection[object], theirs: Collection[object]) -> float:
    """What both have, over what either has, each as often as it occurs (Jaccard); 1 where there is nothing."""
    a, b = Counter(ours), Counter(theirs)
    either = (a | b).total()
    return (a & b).total() / either if either else 1.0


def _spaces(ours: Mapping[str, Sequence[object]], theirs: Mapping[str, Sequence[object]]) -> float:
    """Names that both have, over names that either has; half of each counts for the values."""
    names = ours.keys() | theirs.keys()
    both = ours.keys() & theirs.keys()
    return sum((1 + _shared(ours[name], theirs[name])) / 2 for name in both) / len(names) if names else 1.0


def _closeness(a: float | None, b: float | None) -> float:
    """The smaller over the larger."""
    if a is None and b is None:
        return 1.0
    if a is None or b is None:
        return _UNKNOWN
    return min(a, b) / max(a, b) if max(a, b) > 0 else 1.0


def _launches(ours: Sequence[int], theirs: Sequence[int]) -> float:
    """Half for the same number of dimensions, half for how close the numbers of threads are."""
    if not ours or not theirs:
        return 1.0 if not ours and not theirs else _UNKNOWN
    dimensions = [sum(extent > 1 for extent in extents) for extents in (ours, theirs)]
    threads = [float(_product(extents)) for extents in (ours, theirs)]
    return 0.5 * (dimensions[0] == dimensions[1]) + 0.5 * _closeness(*threads)


def _product(extents: Sequence[int]) -> int:
    product = 1
    for extent in extents:
        product *= max(1, min(extent, 2**40))
    return product
