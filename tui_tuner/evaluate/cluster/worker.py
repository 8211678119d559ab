"""What runs on a machine of a cluster for one of its devices: the same builder and the same supervised runner as here.

Ray starts it as an actor and gives it its GPU through `CUDA_VISIBLE_DEVICES`. It knows parcels and no objects of Ray.
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path, PurePath
from typing import Any

from tui_tuner.errors import DeviceError, MachineError, UserError
from tui_tuner.evaluate.build.builder import Builder
from tui_tuner.evaluate.build.kept_builds import MIB, KeptBuilds, write_once
from tui_tuner.evaluate.cluster import (
    MESSAGES,
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
from tui_tuner.evaluate.devices.choose import compiler_for, device_named
from tui_tuner.evaluate.runner.protocol import PreparationRequest, RehearsalRequest, RunnerRequest
from tui_tuner.evaluate.runner.supervisor import RunnerDied, Supervisor
from tui_tuner.evaluate.sandbox.run import Policy
from tui_tuner.problem.model import Problem
from tui_tuner.resources import __version__, cache_directory


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
