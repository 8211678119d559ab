"""The machines of a Ray cluster as a site: a worker for each device that is free, wherever Ray has put it.

Ray places the workers, tells when one is gone, and carries bytes. Everything else is as on this machine: a worker
builds in the sandbox of its machine and keeps a runner. Each takes one GPU of the cluster and its share of the CPUs of
its machine, for builds. Where the cluster has no GPU, what its machines offer as the resource `emulator` does.
"""

from __future__ import annotations

import asyncio
import os
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from tui_tuner.errors import DeviceError
from tui_tuner.evaluate.build.kept_builds import BuildCache
from tui_tuner.evaluate.cluster.places import ClusterBuilder, ClusterOptions, Connection, RemotePlace, Slot
from tui_tuner.evaluate.devices.kind import DeviceChoice, DeviceSelection
from tui_tuner.evaluate.devices.kinds import KINDS
from tui_tuner.evaluate.results import DeviceInfo
from tui_tuner.evaluate.runner.protocol import DeviceAnswer
from tui_tuner.evaluate.site import OtherPlace, Tools
from tui_tuner.problem.model import Problem
from tui_tuner.processes.limits import usable_cores

_RESOURCES = {"cuda": "GPU", "emulator": "emulator"}
"""Kind of device to what Ray calls it, the preferred one first."""


def slots_in(nodes: Sequence[dict[str, Any]]) -> tuple[str, list[Slot]]:
    """The kind of devices that a cluster offers, and all of them; none where it offers none.

    Args:
        nodes: as `ray.nodes()` tells.
    """
    for kind, resource in _RESOURCES.items():
        slots: list[Slot] = []
        for node in nodes:
            count = int(node["Resources"].get(resource, 0)) if node["Alive"] else 0
            cpus = max(1, int(node["Resources"].get("CPU", 1)) // max(1, count))
            host = node.get("NodeManagerHostname") or node["NodeManagerAddress"]
            slots += [Slot(f"{host}/{number}", node["NodeID"], cpus) for number in range(count)]
        if slots:
            return kind, slots
    return "", []


class RayCluster:
    """Connected when the devices are chosen, left when it is closed."""

    named = False
    is_here = False

    def __init__(self, problem: Problem, options: ClusterOptions) -> None:
        self._problem = problem
        self._connection = Connection(options)
        self._is_ours = False
        self._kind = ""
        self._places = [RemotePlace(problem, self._connection)]

    @property
    def first(self) -> RemotePlace:
        """Where the first device is, once it is connected."""
        return self._places[0]

    async def chosen(self, problem: Problem) -> tuple[DeviceSelection, str]:
        """All devices of the best kind that the cluster offers.

        Raises:
            DeviceError: there is no Ray or no cluster, or it offers no device.
        """
        connection = self._connection
        connection.ray = connection.ray or await asyncio.to_thread(self._connect)
        self._kind, slots = slots_in(connection.ray.nodes())
        if not slots:
            hint = "see docs/cluster.md; an emulator is offered with: ray start --resources='{\"emulator\": 2}'"
            raise DeviceError("no machine of the cluster offers a GPU", hint=hint)
        if self.first.slot is None:
            connection.resource = _RESOURCES[self._kind]
            self._places += [RemotePlace(self._problem, connection) for _ in slots[1:]]
            for place, slot in zip(self._places, slots, strict=True):
                place.start(slot)
        kind = KINDS[self._kind]
        note = f"no machine of the cluster offers a GPU: {kind.substitution}" if kind.substitution else ""
        return DeviceSelection(DeviceChoice(self._kind)), note

    async def ready(self, choice: DeviceChoice, problem: Problem) -> None:
        """The workers are on their way."""

    async def others(self, selection: DeviceSelection, taken: DeviceAnswer) -> tuple[str, Sequence[OtherPlace]]:
        """The other workers."""
        return self.first.title, [OtherPlace(place, place.title, self._kind) for place in self._places[1:]]

    async def tools(self, choice: DeviceChoice, device: DeviceInfo, problem: Problem) -> Tools:
        """The compilers of the machines, which are the same version everywhere."""
        found = self._connection.tools
        if found is None:
            raise RuntimeError("the first device is not taken")
        builder = ClusterBuilder(self._places, BuildCache(self._connection.options.cache))
        return Tools(builder, found.toolchain, found.sandbox, sum(place.jobs for place in self._places))

    async def close(self) -> None:
        """End the workers, and leave the cluster."""
        await asyncio.gather(*(place.leave() for place in self._places))
        if self._is_ours:
            await asyncio.to_thread(self._connection.ray.shutdown)

    def _connect(self) -> Any:  # noqa: ANN401 - it is there only where the user installed it
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # or it warns, on the screen
        ray, address = import_module("ray"), self._connection.options.address
        if ray.is_initialized():
            return ray
        quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR", "namespace": "tuner-tui"}
        try:
            with warnings.catch_warnings(action="ignore"):  # its client warns of what it then raises
                ray.init(address=address or "auto", **quiet)
        except (ConnectionError, TimeoutError) as error:
            if address:
                hint = "is `ray start --head` running there, with its client server on that port?"
                raise DeviceError(f"no cluster answers at {address}: {error}", hint=hint) from error
            cores = usable_cores()
            ray.init(address="local", resources={"emulator": cores}, include_dashboard=False, **quiet)
        # Ray 2 prints what becomes of workers to standard output, which is data here, and offers no switch for it.
        setattr(import_module("ray._private.worker"), "print_to_stdstream", _say_nothing)  # noqa: B010 - it is no name of ours
        self._is_ours = True
        return ray


def _say_nothing(*_: object, **__: object) -> None:
    """What is lost is told by the places."""
