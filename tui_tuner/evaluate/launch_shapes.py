"""The launches of a configuration at every size it is checked at, or why the device cannot launch it."""

from __future__ import annotations

from tui_tuner.evaluate.devices.kinds import kind_named
from tui_tuner.evaluate.results import DeviceInfo, Failure, FailureKind
from tui_tuner.evaluate.runner.protocol import LaunchShape
from tui_tuner.problem.candidate import Candidate, Geometry, geometry
from tui_tuner.problem.expressions import ExpressionError, evaluate
from tui_tuner.problem.inputs import test_sizes
from tui_tuner.problem.model import Configuration, Problem


def launch_shapes(
    candidate: Candidate, configuration: Configuration, problem: Problem, device: DeviceInfo
) -> list[LaunchShape] | Failure:
    """One launch for each test and, last, the timed size; a failure where the configuration is invalid."""
    try:
        for restriction in candidate.restrictions:
            if not evaluate(restriction, {**problem.sizes, **configuration}):
                return _invalid(f"breaks the restriction {restriction}")
        launches = [geometry(candidate.launch, sizes, configuration) for sizes in test_sizes(problem)]
    except ExpressionError as error:
        return _invalid(str(error))
    return _beyond_limits(launches[-1], device) or [
        LaunchShape(grid=launch.grid, block=launch.block, shared_bytes=launch.shared_bytes) for launch in launches
    ]


def _beyond_limits(launch: Geometry, device: DeviceInfo) -> Failure | None:
    if not kind_named(device.kind).has_blocks:
        return None
    threads = launch.block[0] * launch.block[1] * launch.block[2]
    if device.max_threads_per_block is not None and threads > device.max_threads_per_block:
        return _invalid(f"{threads} threads a block, the device has {device.max_threads_per_block}")
    limit = device.shared_bytes_optin
    if limit is not None and launch.shared_bytes > limit:
        return _invalid(f"{launch.shared_bytes} bytes of shared memory a block, the device has {limit}")
    return None


def _invalid(message: str) -> Failure:
    return Failure(kind=FailureKind.INVALID, message=message)
