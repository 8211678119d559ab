"""Whether a runner must be confined for its OpenCL device, and what it may read then."""

from __future__ import annotations

from pathlib import Path

from tui_tuner.evaluate.compilers.opencl import DRIVERS
from tui_tuner.evaluate.devices.probe import Probe
from tui_tuner.evaluate.sandbox.places import existing
from tui_tuner.evaluate.sandbox.run import Policy
from tui_tuner.problem.model import Problem
from tui_tuner.problem.reference import find_reference


async def opencl_confinement(
    device: str,
    problem: Problem,
    builds: Path,
    policy: Policy,
    probe: Probe,
) -> tuple[Path, ...] | None:
    """What a confined runner must be able to read, None for a runner that is not confined.

    Args:
        device: "PLATFORM.N", as in `DeviceReport.opencl_cpus`.
        builds: directory of the artifacts; it is made, since only what is there can be allowed.
        probe: looks for devices.

    Raises:
        ProblemError: the reference cannot be used.
        SandboxError: the runner must be confined and cannot be.
    """
    if policy.allow_unconfined:
        return None
    # A GPU's kernels do not run in the runner, and the drivers of GPUs write to caches and talk to daemons in
    # places that only their vendors know: confined, they might fail, with nothing gained.
    if device not in (await probe()).opencl_cpus:
        return None
    await policy.confinement_demanded()
    builds.mkdir(parents=True, exist_ok=True, mode=0o700)
    return (*existing(DRIVERS), builds, *_reference(problem))


def _reference(problem: Problem) -> tuple[Path, ...]:
    """The reference's file alone: beside it may lie keys, or all of a home directory."""
    return () if problem.reference is None else (find_reference(problem).file,)
