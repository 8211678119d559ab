"""Build configurations in the sandbox: many at once, each only once, with what all builds of a toolchain share."""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import re
import shutil
import signal
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from weakref import WeakValueDictionary

from tui_tuner.errors import MachineError, machine_faults
from tui_tuner.evaluate.build.compilers import (
    UNAVAILABLE,
    BuildRefusal,
    Compiler,
    Recipe,
    SharedPart,
    compile_failure,
)
from tui_tuner.evaluate.build.kept_builds import NEW, BuildCache, KeptBuilds, is_for_good
from tui_tuner.evaluate.build.sources import refuse, unused_tunables
from tui_tuner.evaluate.results import Build, Failure, FailureKind
from tui_tuner.evaluate.sandbox.launcher import ResourceLimits
from tui_tuner.evaluate.sandbox.process import CommandResult
from tui_tuner.evaluate.sandbox.run import Policy, run_confined
from tui_tuner.problem.adapted_headers import with_adapted_headers
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.headers import include_paths, missing_headers, without_climbing
from tui_tuner.problem.host_code import device_code
from tui_tuner.problem.model import Configuration, Language
from tui_tuner.processes.limits import usable_cores

BUILD_TIMEOUT_S = 60.0

_FORMAT = 1  # of the cache; changes when what is recorded changes
_KILLED = re.compile(r"^(?:[\w.+/-]+: fatal error: Killed signal|nvcc error\s*:.*\bsignal 9\b)", re.MULTILINE)
"""The compiler's own words for it, which no source can put at the beginning of a line."""
_NO_MEMORY = re.compile(r"out of memory|cannot allocate memory|virtual memory exhausted", re.IGNORECASE)
_NO_ROOM = re.compile(r"no space left on device|disk quota exceeded", re.IGNORECASE)
_LEAST_ROOM, _LEAST_MEMORY = 2**24, 2**30


class Builder:
    """Builds candidates with one compiler.

    Args:
        compiler: makes the recipe and reads the log.
        cache: directory of finished builds and of those at work; of this builder alone while it builds.
        jobs: how many compilers run at once; None for one a processor.
        policy: whether building is allowed where the compiler cannot be confined.
        language: of the candidates.
        timeout_s: wall time of one build.
        kept: builds of all runs, to take from and to add to; None for this run's alone.
    """

    def __init__(
        self,
        compiler: Compiler,
        *,
        cache: Path,
        policy: Policy,
        jobs: int | None = None,
        language: Language = "cuda",
        timeout_s: float = BUILD_TIMEOUT_S,
        kept: KeptBuilds | None = None,
    ) -> None:
        self._compiler = compiler
        self._cache = BuildCache(cache)
        self._cache.remove_leftovers()
        self._policy = policy
        self._language = language
        self._timeout_s = timeout_s
        self._kept = kept
        self._slots = asyncio.Semaphore(jobs or usable_cores())
        # A kernel has one text and many configurations; headers may be others in the next run.
        self._with_adapted_headers = lru_cache(maxsize=32)(with_adapted_headers)
        self._sharing = asyncio.Lock()
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._out_of_time: dict[str, Build] = {}
        self._attempts = True
        self._beyond_attempts: set[str] = set()

    async def build(self, candidate: Candidate, configuration: Configuration, options: Sequence[str] = ()) -> Build:
        """The artifact of a configuration, or why there is none; what was built before is not built again.

        Args:
            options: the user's own compiler options; relative include paths mean nothing here.

        Raises:
            SandboxError: the compiler cannot be confined and the policy demands it.
            MachineError: a full disk, no memory or a killed compiler kept it from being built.
        """
        try:
            recipe = await self._recipe(candidate, configuration, options)
        except BuildRefusal as refused:
            return Build(key="", failure=refused.failure)
        key = self._key(candidate, recipe)
        lock = self._locks.setdefault(key, asyncio.Lock())
        async with lock:
            build = self._cache.load(key) or self._out_of_time.get(key)
            if build is None:
                with machine_faults():
                    build = await self._kept_or_new(key, candidate, recipe, options)
            return build if build.failure is None else self._with_lost_headers(build, build.failure, candidate, options)

    def _with_lost_headers(self, build: Build, failure: Failure, candidate: Candidate, options: Sequence[str]) -> Build:
        """A build that failed, with the headers that its source includes and that are nowhere in its reason."""
        is_cuda = failure.kind is FailureKind.COMPILE and self._language == "cuda"
        lost = missing_headers(candidate.source, include_paths(options)) if is_cuda else []
        named = ", ".join(one for one in dict.fromkeys(lost) if one not in failure.message)
        if not named:
            return build
        reason = failure.model_copy(update={"message": f"{failure.message} (not found, and left out: {named})"})
        return build.model_copy(update={"failure": reason})

    async def _recipe(self, candidate: Candidate, configuration: Configuration, options: Sequence[str]) -> Recipe:
        """How to build the configuration; what the source does not use is not defined, so as to be built once."""
        directories = include_paths(options)
        headers: Mapping[str, str] = {}
        if self._language == "cuda":
            source = device_code(candidate.source, directories, candidate.kernel)
            source, headers = self._with_adapted_headers(source, directories, _defined(options))
        else:
            source = without_climbing(candidate.source, directories)
        candidate = candidate.model_copy(update={"source": source})
        failure = refuse(candidate.source, self._language)
        if failure is not None:
            raise BuildRefusal(failure.kind, failure.message)
        recipe = self._with_headers(candidate, configuration, options, headers)
        unused = await asyncio.to_thread(unused_tunables, candidate, configuration, options, recipe.headers)
        if not unused:
            return recipe
        used = {name: value for name, value in configuration.items() if name not in unused}
        return self._with_headers(candidate, used, options, headers)

    def _with_headers(
        self, candidate: Candidate, configuration: Configuration, options: Sequence[str], headers: Mapping[str, str]
    ) -> Recipe:
        """The compiler's recipe, with these headers written beside the source."""
        recipe = self._compiler.recipe(candidate, configuration, options)
        return replace(recipe, files={**headers, **recipe.files}) if headers else recipe

    def _key(self, candidate: Candidate, recipe: Recipe) -> str:
        """Hash of all that determines the artifact; defines, options and architecture stand in the command."""
        content = [_FORMAT, self._compiler.toolchain, candidate.kernel, dict(recipe.files), recipe.command]
        if recipe.attempt:
            content.append(recipe.attempt)
        if recipe.between:
            content.append(recipe.between.command)
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    async def _kept_or_new(self, key: str, candidate: Candidate, recipe: Recipe, options: Sequence[str]) -> Build:
        """A build that an earlier run kept, put among this run's; else a new one, kept for later runs."""
        shared = await self._shared_key(key, recipe, options)
        if self._kept is not None and shared is not None:
            taken = await asyncio.to_thread(self._kept.take, shared)
            if taken is not None and taken.build.key == key:
                return self._cache.store(*taken).model_copy(update={"cached": True})
        async with self._slots:
            build = await self._run(key, candidate, recipe)
        if self._kept is None or shared is None or not is_for_good(build):
            return build
        if shared == await self._shared_key(key, recipe, options):  # else a header was changed meanwhile
            await asyncio.to_thread(self._kept.keep, shared, build)
        return build

    async def _shared_key(self, key: str, recipe: Recipe, options: Sequence[str]) -> str | None:
        """The key among the builds of all runs; None for a build that stays in this run.

        Unconfined, a compiler reads what it likes and could write among the builds that are kept.
        """
        if self._kept is None or not await self._policy.confinement_demanded():
            return None
        return await asyncio.to_thread(self._kept.key, key, recipe, options)

    async def _run(self, key: str, candidate: Candidate, recipe: Recipe) -> Build:
        if recipe.warm:
            self._policy.warm(*recipe.warm)
        spent_ms = 0.0
        if recipe.attempt and self._attempts and candidate.source not in self._beyond_attempts:
            with self._cache.work_directory() as name:
                done = await self._confined(recipe, recipe.attempt, recipe.read, Path(name))
                if done.timed_out or (done.returncode == 0 and Path(name, recipe.artifact).is_file()):
                    return self._outcome(key, candidate, recipe, done, Path(name))
            self._attempts = done.returncode != UNAVAILABLE
            spent_ms = done.milliseconds
        with self._cache.work_directory() as name:
            command, read = await self._command(recipe)
            done = await self._made(recipe, command, read, Path(name))
            done = replace(done, milliseconds=done.milliseconds + spent_ms)
            build = self._outcome(key, candidate, recipe, done, Path(name))
        if spent_ms and build.failure is None:
            self._beyond_attempts.add(candidate.source)
        return build

    async def _made(
        self, recipe: Recipe, command: tuple[str, ...], read: tuple[Path, ...], directory: Path
    ) -> CommandResult:
        """What came of the command, or of what writes the text that it reads."""
        if recipe.between is None:
            return await self._confined(recipe, command, read, directory)
        first = await self._confined(recipe, recipe.between.command, read, directory)
        text = directory / recipe.between.file
        if first.timed_out or first.returncode != 0 or text.is_symlink() or not text.is_file():
            return first
        await asyncio.to_thread(_change, text, recipe.between.change)
        done = await self._confined(recipe, command, read, directory)
        return replace(done, milliseconds=done.milliseconds + first.milliseconds)

    async def _confined(
        self, recipe: Recipe, command: tuple[str, ...], read: tuple[Path, ...], directory: Path
    ) -> CommandResult:
        for file, text in recipe.files.items():
            (directory / file).write_text(text, encoding="utf-8", errors="replace")
        return await run_confined(
            command,
            directory=directory,
            policy=self._policy,
            read=read,
            write=recipe.devices,
            timeout_s=self._timeout_s,
            limits=self._limits(recipe),
        )

    async def _command(self, recipe: Recipe) -> tuple[tuple[str, ...], tuple[Path, ...]]:
        """What to run and what it reads: the quick command where the shared part can be had."""
        if recipe.shared is None:
            return recipe.command, recipe.read
        async with self._sharing:
            is_there = await have_shared_part(recipe.shared, recipe.read, self._policy)
        if not is_there:
            return recipe.command, recipe.read
        return recipe.quick, (*recipe.read, recipe.shared.directory)

    def _limits(self, recipe: Recipe) -> ResourceLimits:
        """A compiler that opens a device maps far more addresses than it uses memory."""
        cpu_s = int(self._timeout_s) + 10
        return ResourceLimits(cpu_s=cpu_s, memory=0) if recipe.devices else ResourceLimits(cpu_s=cpu_s)

    def _outcome(self, key: str, candidate: Candidate, recipe: Recipe, done: CommandResult, directory: Path) -> Build:
        build = Build(key=key, milliseconds=done.milliseconds)
        if done.timed_out:
            message = f"the compiler was stopped after {self._timeout_s:g} s"
            failure = Failure(kind=FailureKind.BUILD_TIMEOUT, message=message)
            self._out_of_time[key] = build.model_copy(update={"failure": failure})  # not among those of later programs
            return self._out_of_time[key]
        artifact = directory / recipe.artifact
        if done.returncode != 0 or artifact.is_symlink() or not artifact.is_file():
            _refuse_machine_faults(done, directory)
            failure = compile_failure(done.output, directory, recipe.read)
            return self._cache.store(build.model_copy(update={"failure": failure}))
        try:
            symbol = self._compiler.symbol(candidate, done.output)
        except BuildRefusal as refused:
            return self._cache.store(build.model_copy(update={"failure": refused.failure}))
        resources = self._compiler.resources(done.output, symbol)
        build = build.model_copy(update={"symbol": symbol, "resources": resources})
        return self._cache.store(build, artifact.read_bytes(), artifact.suffix)


def _change(file: Path, change: Callable[[str], str]) -> None:
    file.write_text(change(file.read_text(encoding="utf-8", errors="replace")), encoding="utf-8")


def _refuse_machine_faults(done: CommandResult, directory: Path) -> None:
    """Raise where a compiler failed for a reason that says nothing about the source.

    What it says of disk and memory counts only where they are short: a source can make it say anything.
    """
    if done.returncode in (-signal.SIGKILL, -signal.SIGTERM) or _KILLED.search(done.output):
        hint = "the system may have run out of memory: end other programs, or build fewer at once"
        raise MachineError("something killed the compiler", hint=hint)
    if _NO_ROOM.search(done.output) and shutil.disk_usage(directory).free < _LEAST_ROOM:
        raise MachineError(f"the disk is full ({directory})", hint="make room")
    if _NO_MEMORY.search(done.output) and _free_memory() < _LEAST_MEMORY:
        raise MachineError("there is no memory left for the compiler", hint="end other programs")


def _free_memory() -> float:
    """What the system says that programs can still have, bytes."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return 1024 * float(line.split()[1])
    return math.inf


async def have_shared_part(part: SharedPart, read: Sequence[Path], policy: Policy) -> bool:
    """Make it if it is missing; whether it is there now.

    Several programs may make it at once: the first that is done is kept.

    Args:
        read: what its commands read.
    """
    if part.directory.is_dir():
        return True
    try:
        part.directory.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        made = Path(tempfile.mkdtemp(dir=part.directory.parent.resolve(), prefix=NEW))
        try:
            return await _made(part, made, read, policy) and _kept(part, made)
        finally:
            shutil.rmtree(made, ignore_errors=True)
    except OSError:  # no home, no room, or not ours: builds are whole, and slower
        return False


async def _made(part: SharedPart, directory: Path, read: Sequence[Path], policy: Policy) -> bool:
    for name, text in part.files.items():
        (directory / name).write_text(text, encoding="utf-8")
    for command in part.commands:
        done = await run_confined(command, directory=directory, policy=policy, read=read)
        if done.returncode != 0:
            return False
    return True


def _kept(part: SharedPart, made: Path) -> bool:
    with suppress(OSError):  # another program was quicker
        made.rename(part.directory)
    return part.directory.is_dir()


def _defined(options: Sequence[str]) -> frozenset[str]:
    """The macros that options define."""
    return frozenset(one[2:].partition("=")[0] for one in options if one.startswith("-D"))
