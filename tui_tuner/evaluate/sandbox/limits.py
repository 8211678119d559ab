"""Resource limits of a confined child. Standard library only."""

from __future__ import annotations

import resource
from typing import NamedTuple

_GIB = 2**30


class ResourceLimits(NamedTuple):
    """Limits of every single process in the sandbox; 0 is no limit.

    Attributes:
        cpu_s: processor time, seconds.
        memory: address space, bytes.
        file: size of a written file, bytes.
        descriptors: open files.
    """

    cpu_s: int = 60
    memory: int = 4 * _GIB
    file: int = _GIB // 4
    descriptors: int = 256


def apply_limits(limits: ResourceLimits) -> None:
    """Put the limits in force for the calling process and all that it starts; core files are off."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for which, amount in (
        (resource.RLIMIT_CPU, limits.cpu_s),
        (resource.RLIMIT_AS, limits.memory),
        (resource.RLIMIT_FSIZE, limits.file),
        (resource.RLIMIT_NOFILE, limits.descriptors),
    ):
        hard = resource.getrlimit(which)[1]
        if amount and (hard == resource.RLIM_INFINITY or amount < hard):
            resource.setrlimit(which, (amount, amount))
