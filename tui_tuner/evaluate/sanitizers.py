"""Tools that watch what a kernel does to memory: before it is accepted, since luck may be right, and where it fails.

A build of its own is launched at the tests. On an NVIDIA GPU that is done under compute-sanitizer, and once more with
warps that are late (`evaluate/build/compilers/late_warps.py`); for the emulator the kernel is compiled to tell our own
runtime of every access (`evaluate/emulator/watching`).
"""

from __future__ import annotations

import asyncio
import re
import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tui_tuner.errors import UserError
from tui_tuner.evaluate.quoted import not_followed, quoted
from tui_tuner.evaluate.results import Build, Failure, FailureKind
from tui_tuner.evaluate.runner.protocol import (
    Executable,
    RunnerAnswer,
    RunnerRequest,
    SanitizeAnswer,
    SanitizeRequest,
    ToolFinding,
)
from tui_tuner.evaluate.runner.supervisor import RunnerDied
from tui_tuner.evaluate.sandbox.run import Policy, run_confined
from tui_tuner.evaluate.site import expected
from tui_tuner.evaluate.toolkit import LATE_WARPS, ORDERCHECK, WARPCHECK
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.model import Configuration

Kernel = tuple[Candidate, Configuration]
MEMCHECK = "memcheck"
_FAULTS = (FailureKind.ILLEGAL_ACCESS, FailureKind.CRASH)
"""Failures whose place in the source the device does not tell."""
BuildWith = Callable[[Candidate, Configuration, Sequence[str]], Awaitable[Failure | tuple[Build, Executable | None]]]
"""Builds a configuration with more options of the compiler."""


@dataclass
class Sanitizers:
    """The tools of one session.

    Attributes:
        tools: by the option of the compiler that a build for them needs; one that is of no use is dropped.
        given: the kernel as given: what a tool says of that one too is no reason to refuse another.
        build: makes the builds.
        ask: the runner.
        tell: the user, once for each tool that is of no use.
    """

    tools: dict[str, str]
    given: Kernel
    build: BuildWith
    ask: Callable[[RunnerRequest], Awaitable[RunnerAnswer]]
    policy: Policy
    tell: Callable[[str], None]
    _known: dict[tuple[str, str], ToolFinding] = field(default_factory=dict)
    _located: set[str] = field(default_factory=set)
    _told: set[str] = field(default_factory=set)

    async def accusation(self, kernel: Kernel) -> Failure | None:
        """What the first tool finds that finds something in this kernel and nothing in the kernel as given.

        What a tool does not follow it may accuse wrongly: that is left to the results with late warps.
        """
        source = kernel[0].source
        async with self.building_for(kernel):  # for all tools at once
            found = await self._found(kernel, [tool for tool in self.tools if _can_judge(tool, source)])
        accused = {tool: finding.failure for tool, finding in found.items() if finding.failure is not None}
        excuses = await self._found(self.given, [*accused])
        for tool, failure in accused.items():
            if excuse := excuses[tool].failure:
                if self.tools.pop(tool, ""):
                    self.tell(f"the kernel as given does not pass {excuse.message}: others are not judged by {tool}")
            elif tool in self.tools:
                if not any(not_followed(failure, source)) or not _is_right(found.get(ORDERCHECK)):
                    return quoted(failure, source)
                why = f"{tool} does not follow such barriers, and with late warps all is right"
                self._tell_once(f"{failure.message}: {why}")
        return None

    async def located(self, kernel: Kernel, failure: Failure) -> Failure:
        """The failure with line and thread by memcheck, where a kernel left its arrays or crashed; once a candidate."""
        candidate, _ = kernel
        if failure.kind not in _FAULTS or MEMCHECK not in self.tools or candidate.id in self._located:
            return failure
        self._located.add(candidate.id)
        found = (await self._looked([MEMCHECK], self.tools[MEMCHECK], kernel))[MEMCHECK].failure
        if found is None or found.kind is not FailureKind.ILLEGAL_ACCESS:
            return failure
        return failure.model_copy(update={"detail": "\n".join(filter(None, (failure.detail, found.message)))})

    @asynccontextmanager
    async def building_for(self, kernel: Kernel) -> AsyncIterator[None]:
        """Meanwhile make the builds that are watched, so that they are at hand."""
        options = set(self.tools.values())
        building = [asyncio.ensure_future(self.build(*kernel, [option])) for option in options]
        try:
            yield
        finally:
            for build in building:
                build.cancel()
            await asyncio.gather(*building, return_exceptions=True)

    async def _found(self, kernel: Kernel, tools: Sequence[str]) -> dict[str, ToolFinding]:
        """What each tool found that was not dropped; those that watch the same build look at once.

        One that cannot say anything of a kernel goes on with others, unless it cannot of the kernel as given either.
        """
        candidate, configuration = kernel
        name = f"{candidate.id} {sorted(configuration.items())!r}"
        unknown: dict[str, str] = {}
        new = [tool for tool in tools if (tool, name) not in self._known]
        for option in dict.fromkeys(self.tools[tool] for tool in new if tool in self.tools):
            group = [tool for tool in new if self.tools.get(tool) == option]
            for tool, finding in (await self._looked(group, option, kernel)).items():
                if not finding.unknown:
                    self._known[tool, name] = finding
                elif kernel == self.given:
                    self._drop(tool, finding.unknown)
                else:
                    unknown[tool] = finding.unknown
        if unknown:
            await self._found(self.given, [*unknown])
        for tool, why in unknown.items():
            if tool in self.tools:
                self._known[tool, name] = _UNSEEN
                self.tell(f"a kernel is judged without {tool}: {why}")
        return {tool: self._known.get((tool, name), _UNSEEN) for tool in tools}

    async def _looked(self, tools: Sequence[str], option: str, kernel: Kernel) -> dict[str, ToolFinding]:
        built = await self.build(*kernel, [option])
        if not isinstance(built, Failure) and built[1] is not None:
            findings = await self._watched(tools, built[1])
            return {tool: self._fair(tool, one) for tool, one in findings.items()} if option == LATE_WARPS else findings
        why = built if isinstance(built, Failure) else built[0].failure
        too_late = why if why is not None and why.kind is FailureKind.BUILD_TIMEOUT else None
        if option == LATE_WARPS:  # what is built is not the candidate's own: that it does not build is not its fault
            if too_late is not None:
                self.tell(f"a kernel is judged without {' and '.join(tools)}: no build for it in time")
            no_nvcc = why.message if why is not None and why.kind is FailureKind.INVALID else ""
            return dict.fromkeys(tools, ToolFinding(unknown=no_nvcc, has_seen=False))
        if too_late is not None:
            return dict.fromkeys(tools, ToolFinding(unknown=f"no build for it in time: {too_late.message}"))
        return {
            tool: ToolFinding(
                failure=why and why.model_copy(update={"message": f"{tool}: it does not build for that: {why.message}"})
            )
            for tool in tools
        }

    async def _watched(self, tools: Sequence[str], executable: Executable) -> dict[str, ToolFinding]:
        try:
            request = SanitizeRequest(executable=executable, tools=list(tools))
            answer = expected(SanitizeAnswer, await self.ask(request))
        except RunnerDied as died:
            if len(tools) == 1:
                return {tools[0]: ToolFinding(failure=died.failure)}
            alone = [await self._watched([tool], executable) for tool in tools]
            return {tool: finding for found in alone for tool, finding in found.items()}
        artifact = Path(executable.artifact)
        return {
            tool: ToolFinding(failure=await with_lines(finding.failure, artifact, self.policy))
            if finding.failure
            else finding
            for tool, finding in answer.findings.items()
        }

    def _fair(self, tool: str, late: ToolFinding) -> ToolFinding:
        """What is found with late warps, without what waiting alone may do: take more time, and more registers."""
        if late.failure is None or late.failure.kind not in (FailureKind.TIMEOUT, FailureKind.LAUNCH):
            return late
        self._tell_once(f"a kernel is judged without {tool}: with late warps, {late.failure.message}")
        return _UNSEEN

    def _tell_once(self, words: str) -> None:
        if words not in self._told:
            self._told.add(words)
            self.tell(words)

    def _drop(self, tool: str, why: str) -> None:
        if self.tools.pop(tool, ""):
            self.tell(f"kernels are accepted without {tool}: {why}")


_UNSEEN = ToolFinding(has_seen=False)
_LANES_ORDERED_OTHERWISE = re.compile(
    r"\b(?:__)?asm\b|memcpy_async|__pipeline_|\bcuda(?:::|/)(?:barrier|pipeline|ptx)\b|\bw?mma\b|\bcute\b"
)


def _can_judge(tool: str, source: str) -> bool:
    """Whether a tool has been seen to be right on such sources: not so warpcheck where instructions order lanes."""
    return tool != WARPCHECK or not _LANES_ORDERED_OTHERWISE.search(source)


def _is_right(late: ToolFinding | None) -> bool:
    return late is not None and late.has_seen and late.failure is None


_PLACE = re.compile(r"\{([0-9a-f]{1,16})\}")
_LOOKUP_LIMIT_S, _MOST_PLACES = 20.0, 4
_USERS, _OURS = re.compile(r"kernel\.cu:(\d+)"), re.compile(r"launch\.cpp:(\d+)")
"""The latter includes the former, and takes some of its lines for its own."""


async def with_lines(failure: Failure, artifact: Path, policy: Policy) -> Failure:
    """The failure with lines of the kernel where the emulator's runtime named places in the machine code."""
    places = [*dict.fromkeys(_PLACE.findall(failure.message))][:_MOST_PLACES]
    if not places:
        return failure
    lines = await asyncio.gather(*(_line(place, artifact, policy) for place in places))
    known = dict(zip(places, lines, strict=True))
    message = _PLACE.sub(lambda place: known.get(place[1], "?"), failure.message)
    return failure.model_copy(update={"message": message})


async def _line(place: str, artifact: Path, policy: Policy) -> str:
    """The line of the kernel that an instruction was made from; a question mark where that is not known."""
    program = shutil.which("addr2line")
    if program is None or not artifact.is_file():
        return "?"
    with tempfile.TemporaryDirectory(prefix="tuner-line-") as directory:
        command = (program, "-i", "-e", str(artifact), place)
        try:
            done = await run_confined(
                command, directory=Path(directory), policy=policy, read=[artifact], timeout_s=_LOOKUP_LIMIT_S
            )
        except UserError:
            return "?"
    found = _USERS.search(done.output) or _OURS.search(done.output)
    return found[1] if found else "?"


def chosen_tools(wanted: Sequence[str], offered: Mapping[str, str]) -> dict[str, str]:
    """The tools of a device that the user wants, in the user's order."""
    return {tool: offered[tool] for tool in wanted if tool in offered}
