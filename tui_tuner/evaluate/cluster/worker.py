"""What runs on a machine of a cluster for one of its devices: the same builder and the same supervised runner as here.

Ray starts it as an actor and gives it its GPU through `CUDA_VISIBLE_DEVICES`. It knows no objects of Ray, only parcels:
our own messages as JSON, and files beside them."""

from __future__ import annotations

import asyncio
import json
import struct
import tempfile
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from tui_tuner.errors import DeviceError, MachineError, UserError
from tui_tuner.evaluate.build.builder import Builder
from tui_tuner.evaluate.build.kept_builds import MIB, KeptBuilds, write_once
from tui_tuner.evaluate.devices.choose import compiler_for, device_named
from tui_tuner.evaluate.results import Build, DeviceInfo, Failure
from tui_tuner.evaluate.runner.protocol import (
    Frame,
    PreparationRequest,
    RehearsalRequest,
    RunnerAnswer,
    RunnerRequest,
)
from tui_tuner.evaluate.runner.supervisor import RunnerDied, Supervisor
from tui_tuner.evaluate.sandbox.run import Policy
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.model import Configuration, Problem
from tui_tuner.resources import __version__, cache_directory

_LENGTH = struct.Struct("!I")


class AskMessage(Frame):
    """A request for the runner; with `keep` also of every runner that follows a crash. Artifacts go by their names."""

    type: Literal["ask"] = "ask"
    request: RunnerRequest
    keep: bool = False


class ToolsMessage(Frame):
    """Find the compiler for a device and prove the sandbox.

    Attributes:
        jobs: builds at once.
        cache_mb: size of the builds that the machine keeps for later runs, MiB; 0 keeps none.
    """

    type: Literal["tools"] = "tools"
    device: str
    info: DeviceInfo
    problem: Problem
    allow_unconfined: bool
    jobs: int
    cache_mb: int


class BuildMessage(Frame):
    """Build a configuration."""

    type: Literal["build"] = "build"
    candidate: Candidate
    configuration: Configuration
    options: list[str]


Message = Annotated[AskMessage | ToolsMessage | BuildMessage, Field(discriminator="type")]


class AnsweredReply(Frame):
    """What the runner answered."""

    type: Literal["answered"] = "answered"
    answer: RunnerAnswer


class ToolsReply(Frame):
    """Compiler and version, and how it is confined."""

    type: Literal["tools"] = "tools"
    toolchain: str
    sandbox: str


class BuiltReply(Frame):
    """A build; its artifact is a file of the parcel."""

    type: Literal["built"] = "built"
    build: Build


class DiedReply(Frame):
    """The request ended the runner."""

    type: Literal["died"] = "died"
    failure: Failure


class RefusedReply(Frame):
    """A UserError; with `unwell` a DeviceError: the device does not come back; with `machine` a MachineError."""

    type: Literal["refused"] = "refused"
    message: str
    hint: str | None = None
    unwell: bool = False
    machine: bool = False


Reply = Annotated[
    AnsweredReply | ToolsReply | BuiltReply | DiedReply | RefusedReply,
    Field(discriminator="type"),
]
MESSAGES: TypeAdapter[Message] = TypeAdapter(Message)
REPLIES: TypeAdapter[Reply] = TypeAdapter(Reply)


def packed(message: Frame, files: Mapping[str, bytes]) -> bytes:
    """A parcel."""
    listed = {name: len(content) for name, content in files.items()}
    text = json.dumps({"message": message.model_dump(mode="json"), "files": listed}).encode()
    return b"".join((_LENGTH.pack(len(text)), text, *files.values()))


def unpacked(parcel: bytes) -> tuple[Any, dict[str, bytes]]:
    """The message as JSON has it, which is still to be checked, and the files of a parcel."""
    (length,) = _LENGTH.unpack_from(parcel)
    place = _LENGTH.size + length
    content = json.loads(parcel[_LENGTH.size : place])
    files: dict[str, bytes] = {}
    for name, size in content["files"].items():
        files[name] = parcel[place : place + size]
        place += size
    return content["message"], files


class Worker:
    """Builds and measures for one device; many parcels may wait at once."""

    def __init__(self) -> None:
        self._directory = tempfile.TemporaryDirectory(prefix="tuner-worker-", ignore_cleanup_errors=True)
        self._place = Path(self._directory.name)
        self._supervisor = Supervisor(self._place / "runner.log")
        self._builder: Builder | None = None
        self._policy: Policy | None = None
        self._kept: KeptBuilds | None = None

    async def introduce(self) -> bytes:
        """The version of the program."""
        return __version__.encode()

    async def serve(self, parcel: bytes) -> bytes:
        """Do what a parcel says and answer with one; what is the user's to mend is an answer as well."""
        content, files = unpacked(parcel)
        try:
            await asyncio.to_thread(self._write, files)
            reply, back = await self._serve(content)
        except RunnerDied as died:
            reply, back = DiedReply(failure=died.failure), {}
        except UserError as error:
            unwell, machine = isinstance(error, DeviceError), isinstance(error, MachineError)
            reply, back = RefusedReply(message=error.message, hint=error.hint, unwell=unwell, machine=machine), {}
        return packed(reply, back)

    async def end_runner(self) -> None:
        """End the runner; the next request gets a fresh one."""
        await self._supervisor.close()

    async def close(self) -> None:
        """End the runner, and remove what was written."""
        await self._supervisor.close()
        if self._policy is not None:
            self._policy.close()
        if self._kept is not None:
            await asyncio.to_thread(self._kept.shrink)
        self._directory.cleanup()

    async def _serve(self, content: Any) -> tuple[Reply, dict[str, bytes]]:  # noqa: ANN401 - checked here
        message = MESSAGES.validate_python(_with_paths(content, self._place))
        match message:
            case AskMessage():
                ask = self._supervisor.open if message.keep else self._supervisor.ask
                return AnsweredReply(answer=await ask(self._at_home(message.request))), {}
            case ToolsMessage():
                return await self._find_tools(message), {}
            case BuildMessage():
                return await self._build(message)

    async def _find_tools(self, message: ToolsMessage) -> ToolsReply:
        self._policy = policy = Policy(allow_unconfined=message.allow_unconfined)
        report = await policy.prove()
        problem = self._here(message.problem)
        compiler = compiler_for(device_named(message.device), message.info, problem)
        if message.cache_mb:
            self._kept = KeptBuilds(cache_directory("builds"), message.cache_mb * MIB)
        self._builder = Builder(
            compiler,
            cache=self._place,
            policy=policy,
            jobs=message.jobs,
            language=problem.language,
            kept=self._kept,
        )
        return ToolsReply(toolchain=compiler.toolchain, sandbox=report.line)

    async def _build(self, message: BuildMessage) -> tuple[Reply, dict[str, bytes]]:
        if self._builder is None:
            raise RuntimeError("the compiler was not asked for")
        build = await self._builder.build(message.candidate, message.configuration, message.options)
        if build.artifact is None:
            return BuiltReply(build=build), {}
        artifact = Path(build.artifact)
        content = await asyncio.to_thread(artifact.read_bytes)
        return BuiltReply(build=build.model_copy(update={"artifact": artifact.name})), {artifact.name: content}

    def _write(self, files: dict[str, bytes]) -> None:
        for name, content in files.items():
            path = self._place / _harmless(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            write_once(path, content)

    def _at_home(self, request: RunnerRequest) -> RunnerRequest:
        if isinstance(request, PreparationRequest | RehearsalRequest):
            return request.model_copy(update={"problem": self._here(request.problem)})
        return request

    def _here(self, problem: Problem) -> Problem:
        return problem.model_copy(update={"directory": self._place})


def _with_paths(content: Any, place: Path) -> Any:  # noqa: ANN401 - JSON
    """A message with the names of artifacts made paths."""
    if isinstance(content, list):
        return [_with_paths(one, place) for one in content]
    if not isinstance(content, dict):
        return content
    return {
        key: str(place / _harmless(one)) if key == "artifact" and one else _with_paths(one, place)
        for key, one in content.items()
    }


def _harmless(name: str) -> PurePath:
    """The name of a file below the worker's directory.

    Raises:
        UserError: it is elsewhere.
    """
    path = PurePath(name)
    if path.is_absolute() or ".." in path.parts:
        raise UserError(f"{name} is not beside the problem file", hint="put the reference beside it")
    return path
