"""Devices of the machines of a Ray cluster: a worker a device, which builds and measures there as this machine does.

Here: what goes between the program and the workers, our own messages as JSON and files beside them.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from tui_tuner.evaluate.results import Build, DeviceInfo, Failure
from tui_tuner.evaluate.runner.protocol import DeviceAnswer, Frame, RunnerAnswer, RunnerRequest
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.model import Configuration, Problem

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
    answer: RunnerAnswer | DeviceAnswer


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


def packed(message: Frame, files: Mapping[str, bytes] | None = None) -> bytes:
    """A parcel."""
    files = files or {}
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
