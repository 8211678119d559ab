"""What a container leaves a process, from files as Linux has them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tui_tuner.processes.limits import cores_left, memory_left, usable_cores, usable_memory

MORE_THAN_ANY = 1 << 40


def grouped(directory: Path, groups: str, files: dict[str, str]) -> tuple[Path, Path]:
    for name, content in files.items():
        file = directory / "cgroup" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    named = directory / "groups"
    named.write_text(groups)
    return directory / "cgroup", named


@pytest.mark.parametrize(
    ("groups", "files", "cores"),
    [
        ("0::/\n", {"cpu.max": "250000 100000\n"}, 3),
        ("0::/\n", {"cpu.max": "max 100000\n"}, MORE_THAN_ANY),
        ("0::/\n", {"cpu.max": "20000 100000\n"}, 1),
        ("0::/jobs/mine\n", {"jobs/cpu.max": "400000 100000\n", "jobs/mine/cpu.max": "max 100000\n"}, 4),
        ("0::/jobs/mine\n", {"jobs/cpu.max": "400000 100000\n", "jobs/mine/cpu.max": "200000 100000\n"}, 2),
        ("0::/../../outside\n", {"cpu.max": "200000 100000\n"}, 2),
        (
            "3:cpu,cpuacct:/docker/a\n1:name=systemd:/docker/a\n",
            {"cpu,cpuacct/docker/a/cpu.cfs_quota_us": "800000\n", "cpu,cpuacct/docker/a/cpu.cfs_period_us": "100000\n"},
            8,
        ),
        ("1:cpu:/\n", {"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, MORE_THAN_ANY),
        ("", {}, MORE_THAN_ANY),
    ],
)
def test_a_quota_of_processor_time_is_that_of_the_narrowest_group(tmp_path, groups, files, cores):
    left = cores_left(*grouped(tmp_path, groups, files))
    assert left >= MORE_THAN_ANY if cores == MORE_THAN_ANY else left == cores


@pytest.mark.parametrize(
    ("groups", "files", "nbytes"),
    [
        ("0::/\n", {"memory.max": "8589934592\n"}, 1 << 33),
        ("0::/a/b\n", {"a/memory.max": "8589934592\n", "a/b/memory.max": "max\n"}, 1 << 33),
        ("4:memory:/a\n0::/\n", {"memory/a/memory.limit_in_bytes": "4294967296\n"}, 1 << 32),
        ("4:memory:/a\n", {"memory/a/memory.limit_in_bytes": "9223372036854771712\n"}, MORE_THAN_ANY),
        ("0::/\n", {"memory.max": "max\n"}, MORE_THAN_ANY),
    ],
)
def test_a_limit_of_memory_is_that_of_the_narrowest_group(tmp_path, groups, files, nbytes):
    left = memory_left(*grouped(tmp_path, groups, files))
    assert left >= MORE_THAN_ANY if nbytes == MORE_THAN_ANY else left == nbytes


@pytest.mark.parametrize("groups", ["none", "."])
def test_where_control_groups_cannot_be_read_there_is_no_limit(tmp_path, groups):
    assert cores_left(tmp_path, tmp_path / groups) >= MORE_THAN_ANY
    assert memory_left(tmp_path, tmp_path / groups) >= MORE_THAN_ANY


def test_no_more_than_the_machine_has_is_usable():
    assert 1 <= usable_cores() <= len(os.sched_getaffinity(0))
    assert 1 << 20 < usable_memory() <= os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
