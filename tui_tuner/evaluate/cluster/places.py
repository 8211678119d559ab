"""A device of another machine as a place, and the machines of a cluster as one builder.

Ray tells when a worker is gone: then its place is lost, and what it was doing is done elsewhere.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from tui_tuner.errors import DeviceError, MachineError, UserError
from tui_tuner.evaluate.build.kept_builds import BuildCache
from tui_tuner.evaluate.cluster.worker import (
    REPLIES,
    AnsweredReply,
    AskMessage,
    BuildMessage,
    BuiltReply,
    DiedReply,
    RefusedReply,
    Reply,
    ToolsMessage,
    ToolsReply,
    packed,
    unpacked,
)
from tui_tuner.evaluate.results import Build
from tui_tuner.evaluate.runner.protocol import DeviceAnswer, Frame, OpenRequest, RunnerAnswer, RunnerRequest
from tui_tuner.evaluate.runner.supervisor import RunnerDied
from tui_tuner.evaluate.site import PlaceLost, expected
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.model import Configuration, Problem
from tui_tuner.problem.reference import find_reference
from tui_tuner.resources import __version__

ROOM_S = 60.0
"""How long Ray may take to place a worker: its machine may be full."""
GOODBYE_S = 10.0


@dataclass(frozen=True)
class ClusterOptions:
    """What is wanted of a cluster.

    Attributes:
        address: as in "ray://head:10001"; empty for the cluster that this machine is part of, or one of its own.
        cache: directory of built artifacts, here.
        jobs: builds at once for each device; None for its share of the machine's CPUs.
        cache_mb: size of the builds that each machine keeps for later runs, MiB.
    """

    address: str
    cache: Path
    allow_unconfined: bool = False
    jobs: int | None = None
    cache_mb: int = 0


@dataclass(frozen=True)
class Slot:
    """A device of a machine, as Ray counts them.

    Attributes:
        title: the machine and a number.
        node: Ray's own name of the machine.
        cpus: of the machine, its share.
    """

    title: str
    node: str
    cpus: int


@dataclass
class Connection:
    """What all places of a cluster share.

    Attributes:
        ray: the package; None before it is connected.
        resource: what Ray calls the devices.
        tools: of the device that was taken first; None before it is.
    """

    options: ClusterOptions
    ray: Any = None
    resource: str = ""
    tools: ToolsReply | None = None


class RemotePlace:
    """A device of another machine, with the verbs of a place; it builds as well.

    Attributes:
        slot: where it is; None before it is started.
        tools: of its machine; None before it is opened.
        building: how many builds are under way there.
        doing: nothing: what a machine far away is at is not told meanwhile.
    """

    doing = ""

    def __init__(self, problem: Problem, connection: Connection) -> None:
        self._problem = problem
        self._connection = connection
        self._actor: Any = None
        self._sent: set[str] = set()
        self.slot: Slot | None = None
        self.tools: ToolsReply | None = None
        self.building = 0

    @property
    def title(self) -> str:
        """The machine, and the number of the device."""
        return "" if self.slot is None else self.slot.title

    @property
    def builds(self) -> bool:
        """Whether something can be built there."""
        return self._actor is not None and self.tools is not None

    @property
    def load(self) -> float:
        """Builds under way for each of its CPUs."""
        return self.building / self.jobs

    @property
    def jobs(self) -> int:
        """Builds at once."""
        return self._connection.options.jobs or (self.slot.cpus if self.slot else 1)

    def start(self, slot: Slot) -> None:
        """Ask Ray for the worker."""
        self.slot = slot
        affinity = import_module("ray.util.scheduling_strategies").NodeAffinitySchedulingStrategy
        wanted: dict[str, Any] = {"num_cpus": self.jobs, "scheduling_strategy": affinity(slot.node, soft=False)}
        resource = self._connection.resource
        wanted |= {"num_gpus": 1} if resource == "GPU" else {"resources": {resource: 1}}
        worker = import_module("tui_tuner.evaluate.cluster.worker").Worker
        self._actor = (
            self._connection.ray.remote(worker).options(max_restarts=0, max_concurrency=1000, **wanted).remote()
        )

    def news(self) -> list[str]:
        """Nothing: the machine tells no news."""
        return []

    async def open(self, request: RunnerRequest) -> RunnerAnswer:
        """Ask once now and of every runner that follows a crash; a device is taken with the tools beside it."""
        if isinstance(request, OpenRequest):
            return await self._open(request)
        return await self._asked(request, keep=True)

    async def ask(self, request: RunnerRequest) -> RunnerAnswer:
        """Ask, one request at a time."""
        return await self._asked(request, keep=False)

    async def close(self) -> None:
        """End the runner; the worker stays."""
        if self._actor is not None:
            await self._said("end_runner")

    async def leave(self) -> None:
        """End the worker."""
        if self._actor is not None:
            await self._said("close")
            self._connection.ray.kill(self._actor)
            self._actor = None

    async def _said(self, goodbye: str) -> None:
        with suppress(PlaceLost, TimeoutError):
            async with asyncio.timeout(GOODBYE_S):
                await self._called(goodbye)

    async def build(self, message: BuildMessage) -> tuple[Build, dict[str, bytes]]:
        """Build there; the artifact is a file of this name.

        Raises:
            UserError: it cannot be built there.
            PlaceLost: the machine is gone.
        """
        self.building += 1
        try:
            reply, files = await self._served(message, {})
        finally:
            self.building -= 1
        self._sent.update(files)
        return expected(BuiltReply, reply).build, files

    async def _open(self, request: OpenRequest) -> RunnerAnswer:
        await self._introduced()
        answer = await self._asked(request, keep=True)
        if not isinstance(answer, DeviceAnswer):
            return answer
        message = ToolsMessage(
            device=request.device,
            info=answer.device,
            problem=self._problem,
            allow_unconfined=request.allow_unconfined,
            jobs=self.jobs,
            cache_mb=self._connection.options.cache_mb,
        )
        reply, _ = await self._served(message, {})
        tools = expected(ToolsReply, reply)
        first = self._connection.tools = self._connection.tools or tools
        if first.toolchain != tools.toolchain:
            raise DeviceError(f"its compiler is {tools.toolchain}, that of the first {first.toolchain}")
        self.tools = tools
        return answer

    async def _introduced(self) -> None:
        """Wait until the worker has started.

        Raises:
            DeviceError: there is no room for it, or its program is another one.
        """
        try:
            async with asyncio.timeout(ROOM_S):
                version = (await self._called("introduce")).decode()
        except TimeoutError:
            message = f"{self.title} has no room: a device and {self.jobs} CPUs are not free there"
            raise DeviceError(message, hint="`ray status` shows what is; [build] jobs asks for fewer CPUs") from None
        except PlaceLost as lost:
            hint = "tuner-tui must be installed on every machine; `ray logs` has more"
            raise DeviceError(f"no worker starts on {self.title}: {lost}", hint=hint) from lost
        if version != __version__:
            raise DeviceError(
                f"tuner-tui is {version} on {self.title}, and {__version__} here", hint="install the same"
            )

    async def _asked(self, request: RunnerRequest, *, keep: bool) -> RunnerAnswer:
        content = request.model_dump(mode="json")
        artifacts = _named_only(content)
        names = [name for name in artifacts if name not in self._sent]
        files = {name: await asyncio.to_thread(artifacts[name].read_bytes) for name in names}
        if "problem" in content and self._problem.reference is not None:
            reference = find_reference(self._problem).file
            files[self._problem.reference.python.rpartition(":")[0]] = await asyncio.to_thread(reference.read_bytes)
        reply, _ = await self._served(AskMessage.model_validate({"request": content, "keep": keep}), files)
        self._sent.update(names)
        return expected(AnsweredReply, reply).answer

    async def _served(self, message: Frame, files: dict[str, bytes]) -> tuple[Reply, dict[str, bytes]]:
        content, back = unpacked(await self._called("serve", packed(message, files)))
        reply = REPLIES.validate_python(content)
        match reply:
            case DiedReply():
                raise RunnerDied(reply.failure)
            case RefusedReply(unwell=True):
                raise DeviceError(reply.message, hint=reply.hint)
            case RefusedReply(machine=True):
                raise MachineError(f"{self.title}: {reply.message}", hint=reply.hint)
            case RefusedReply():
                raise UserError(reply.message, hint=reply.hint)
        return reply, back

    async def _called(self, verb: str, *arguments: bytes) -> Any:  # noqa: ANN401 - bytes, or nothing
        """What a method of the worker returns; cancelled, it is cancelled there.

        Raises:
            PlaceLost: the worker is gone.
        """
        errors = self._connection.ray.exceptions
        try:
            reference = getattr(self._actor, verb).remote(*arguments)
            answer: Future[Any] = reference.future()
            return await asyncio.wrap_future(answer)
        except asyncio.CancelledError:
            self._connection.ray.cancel(reference)
            raise
        except errors.RayTaskError as error:
            raise RuntimeError(f"the worker on {self.title} failed: {error}") from error
        except (errors.RayError, ConnectionError) as error:
            lines = str(error).strip().splitlines() or [type(error).__name__]
            raise PlaceLost(f"{self.title} is gone ({type(error).__name__}: {lines[0]})") from error


def _named_only(content: Any) -> dict[str, Path]:  # noqa: ANN401 - JSON
    """Reduce the paths of artifacts in a request to their names; returns the paths by name."""
    found: dict[str, Path] = {}
    parts = content.values() if isinstance(content, dict) else content if isinstance(content, list) else ()
    for part in parts:
        found |= _named_only(part)
    if isinstance(content, dict) and content.get("artifact"):
        path = Path(content["artifact"])
        content["artifact"] = path.name
        found[path.name] = path
    return found


class ClusterBuilder:
    """Builds on the machine that has the least to build; each configuration once.

    Args:
        cache: where artifacts are kept here, to be sent to whichever device measures.
    """

    def __init__(self, places: Sequence[RemotePlace], cache: BuildCache) -> None:
        self._places = places
        self._cache = cache
        self._built: dict[str, asyncio.Future[Build]] = {}

    async def build(self, candidate: Candidate, configuration: Configuration, options: Sequence[str] = ()) -> Build:
        """The artifact of a configuration, or why there is none.

        Raises:
            DeviceError: no machine is left.
        """
        message = BuildMessage(candidate=candidate, configuration=configuration, options=[*options])
        key = message.model_dump_json()
        begun = self._built.get(key)
        if begun is not None and not begun.cancelled():
            build = await asyncio.shield(begun)
            return build.model_copy(update={"cached": True})
        self._built[key] = asyncio.ensure_future(self._new(message))
        try:
            return await self._built[key]
        except BaseException:
            self._built.pop(key, None)
            raise

    async def _new(self, message: BuildMessage) -> Build:
        while True:
            usable = [place for place in self._places if place.builds]
            if not usable:
                raise DeviceError("no machine is left to build on")
            place = min(usable, key=lambda one: one.load)
            try:
                build, files = await place.build(message)
            except PlaceLost:
                place.tools = None
                continue
            for name, content in files.items():
                return await asyncio.to_thread(self._cache.store, build, content, Path(name).suffix)
            return build
