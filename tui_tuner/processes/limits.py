"""How much of the machine this process may use: what its affinity and the control groups of a container leave it.

Linux documents the files in admin-guide/cgroup-v2 (`cpu.max`, `memory.max`), scheduler/sched-bwc (`cpu.cfs_quota_us`)
and admin-guide/cgroup-v1/memory (`memory.limit_in_bytes`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

MOUNT, GROUPS = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
_NO_LIMIT = 1 << 62


def usable_cores() -> int:
    """On how many processors programs of ours may compute at once."""
    return min(len(os.sched_getaffinity(0)), cores_left(MOUNT, GROUPS))


def usable_memory() -> int:
    """Of how many bytes of memory this machine and what this process runs in leave the use."""
    return min(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"), memory_left(MOUNT, GROUPS))


@cache
def cores_left(mount: Path, groups: Path) -> int:
    """The least quota of time among the groups of this process, in processors, rounded up; more than any if none.

    Args:
        mount: where control groups are mounted.
        groups: the file that names those of this process.
    """
    least = _NO_LIMIT
    for group in _groups(mount, groups, "cpu"):
        first_version = " ".join(_text(group / name) for name in ("cpu.cfs_quota_us", "cpu.cfs_period_us"))
        quota = (_text(group / "cpu.max") or first_version).split()
        if len(quota) > 1 and quota[0].isdecimal():  # no quota is `max`, or -1
            least = min(least, max(1, -(-int(quota[0]) // int(quota[1]))))
    return least


@cache
def memory_left(mount: Path, groups: Path) -> int:
    """The least limit of memory among the groups of this process, bytes; more than any machine has if there is none."""
    files = ("memory.max", "memory.limit_in_bytes")
    found = [_text(group / name).split() for group in _groups(mount, groups, "memory") for name in files]
    return min((int(words[0]) for words in found if words and words[0].isdecimal()), default=_NO_LIMIT)


def _groups(mount: Path, groups: Path, controller: str) -> Iterator[Path]:
    """The directories of the groups that this process is in, and of those around them, as far as they can be seen."""
    for line in _text(groups).splitlines():
        _, controllers, group = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        top = mount / controllers  # the second version has one tree, without a name
        yield from (top / part for part in (Path(group.strip("/")), *Path(group.strip("/")).parents))


def _text(file: Path) -> str:
    """What a file says; nothing where there is none, or where a confined process may not read it."""
    with suppress(OSError):
        return file.read_text("utf-8")
    return ""
