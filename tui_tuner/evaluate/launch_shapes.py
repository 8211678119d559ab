"""The launches of a configuration at every size it is checked at, or why the device cannot launch it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tui_tuner.evaluate.devices.kinds import kind_named
from tui_tuner.evaluate.results import DeviceInfo, Failure, FailureKind
from tui_tuner.evaluate.runner.protocol import LaunchShape
from tui_tuner.problem.candidate import Candidate, Geometry, geometry, local_memory
from tui_tuner.problem.expressions import ExpressionError, evaluate
from tui_tuner.problem.inputs import test_sizes
from tui_tuner.problem.model import Configuration, Launch, Problem


def launch_shapes(
    candidate: Candidate, configuration: Configuration, problem: Problem, device: DeviceInfo
) -> list[LaunchShape] | Failure:
    """One launch for each test and, last, the timed size; a failure where the configuration is invalid."""
    try:
        for restriction in candidate.restrictions:
            if not evaluate(restriction, {**problem.sizes, **configuration}):
                return _invalid(f"breaks the restriction {restriction}")
        launches = [_launch(candidate.launch, problem, sizes, configuration) for sizes in test_sizes(problem)]
    except ExpressionError as error:
        return _invalid(str(error))
    return _beyond_limits(launches[-1], device) or [
        LaunchShape(grid=one.grid, block=one.block, shared_bytes=one.shared_bytes, local=one.local) for one in launches
    ]


def _launch(launch: Launch, problem: Problem, sizes: Mapping[str, int], configuration: Configuration) -> Geometry:
    shape = geometry(launch, sizes, configuration)
    return replace(shape, local=local_memory(problem.arguments, sizes, configuration, shape.block))


def _beyond_limits(launch: Geometry, device: DeviceInfo) -> Failure | None:
    if not kind_named(device.kind).has_blocks:
        return None
    threads = launch.block[0] * launch.block[1] * launch.block[2]
    if device.max_threads_per_block is not None and threads > device.max_threads_per_block:
        return _invalid(f"{threads} threads a block, the device has {device.max_threads_per_block}")
    limit = device.shared_bytes_optin
    asked = launch.shared_bytes + sum(nbytes for _, nbytes in launch.local)
    if limit is not None and asked > limit:
        return _invalid(f"{asked} bytes of shared memory a block, the device has {limit}")
    return None


def _invalid(message: str) -> Failure:
    return Failure(kind=FailureKind.INVALID, message=message)
