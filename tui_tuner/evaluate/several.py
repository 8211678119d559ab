"""Devices side by side: a runner each, a request to whichever is free, all times on the scale of the first.

The kernel as given is timed on each device. The times of one that is a little faster or slower than the first are
scaled by that factor, and one that is so by much is left out. That is a correction and no proof: it holds for kernels
that are bound by the same thing. So two kernels that are compared always run on one device, one after the other.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tui_tuner.errors import DeviceError, MachineError, UserError
from tui_tuner.evaluate.results import DeviceInfo, Failure, FailureKind, Timing
from tui_tuner.evaluate.runner.protocol import (
    BESIDE_CHALLENGER,
    ComparisonAnswer,
    DeviceAnswer,
    EvaluationAnswer,
    EvaluationRequest,
    Executable,
    OpenRequest,
    PreparationRequest,
    RunnerAnswer,
    RunnerRequest,
)
from tui_tuner.evaluate.runner.supervisor import RunnerDied
from tui_tuner.evaluate.site import OtherPlace, Place, PlaceLost, expected


@dataclass(frozen=True)
class Deviation:
    """How far the time of the kernel as given may be from that on the first device, relative.

    Attributes:
        alike: up to this, times are taken as they are.
        most: above this, the device is left out.
    """

    alike: float
    most: float


OF_GPUS = Deviation(alike=0.01, most=0.1)
OF_CPUS = Deviation(alike=0.1, most=0.5)
"""Other programs make the times of a CPU scatter."""
REPEATS = 3
"""How often the kernel as given is timed on a device that seems to deviate, and on the first; the fastest counts."""
MOST_LOST = 2
"""After a request has cost so many places, the candidate is to blame."""


@dataclass(frozen=True)
class MeasuringPlace:
    """A place that takes part.

    Attributes:
        title: the device as the user names it.
        factor: what its times are multiplied by.
    """

    place: Place
    title: str
    factor: float = 1.0


@dataclass
class Places:
    """One device or several; where one is expected, the first stands for all.

    Args:
        first: the place of the first device.
        log: where what the drivers say is written.
    """

    first: Place
    log: Path
    _members: list[MeasuringPlace] = field(default_factory=list)
    _others: list[MeasuringPlace] = field(default_factory=list)
    _opened: list[RunnerRequest] = field(default_factory=list)
    _given: tuple[Executable, Timing] | None = None
    _free: asyncio.Queue[MeasuringPlace | None] = field(default_factory=asyncio.Queue)
    _news: list[str] = field(default_factory=list)
    _fastest_ms: float = math.inf
    _end: Exception | None = None

    @property
    def doing(self) -> str:
        """What the first is at."""
        return self.first.doing

    @property
    def titles(self) -> list[str]:
        """The devices that take part, as the user names them."""
        return [member.title for member in self._members]

    def news(self) -> list[str]:
        """What happened to devices since this was asked last, a line each."""
        told, self._news = self._news, []
        return told + [text for place in self._all() for text in place.news()]

    async def take(self, device: str, request: OpenRequest) -> DeviceAnswer:
        """Take the first device.

        Args:
            request: for one device; which is filled in.

        Raises:
            UserError: it cannot be used.
        """
        return await self._take(self.first, request, device)

    async def take_others(
        self,
        title: str,
        others: Sequence[OtherPlace],
        request: OpenRequest,
        opened: DeviceAnswer,
        *,
        named: bool,
    ) -> list[str]:
        """Take the others, which do not take part before `join`; the first does from now on.

        Args:
            title: of the first device.
            opened: what is known of it.
            named: whether the user named each of them, so that one that cannot be used is an error.

        Returns:
            A line for each that is left out.

        Raises:
            UserError: one that was named cannot be used, or is another model than the first.
        """
        self._add(MeasuringPlace(self.first, title))
        taking = (self._take(one.place, request, one.device) for one in others)
        taken = dict(zip(others, await asyncio.gather(*taking, return_exceptions=not named), strict=True))
        devices = {one.title: answer.device for one, answer in taken.items() if isinstance(answer, DeviceAnswer)}
        if named:
            _refuse_other_models({title: opened.device, **devices})
        said: list[str] = []
        for one, answer in taken.items():
            why = str(answer) if isinstance(answer, BaseException) else _other_model(answer.device, opened.device)
            if why:
                said.append(f"{one.title} is left out: {why}")
                await one.place.close()
            else:
                self._others.append(MeasuringPlace(one.place, one.title))
        return said

    async def _take(self, place: Place, request: OpenRequest, name: str) -> DeviceAnswer:
        try:
            return expected(DeviceAnswer, await place.open(request.model_copy(update={"device": name})))
        except RunnerDied as died:
            hint = f"what its driver says is in {self.log}"
            raise DeviceError(f"the device cannot be used: {died.failure.message}", hint=hint) from died

    async def open(self, request: RunnerRequest) -> RunnerAnswer:
        """Ask the first, and of all that join later and of all that follow a crash the same."""
        answer = await self.first.open(request)
        if getattr(answer, "failure", None) is None:
            self._opened.append(request)
            if isinstance(request, PreparationRequest) and isinstance(answer, EvaluationAnswer) and answer.timing:
                self._given = request.baseline, answer.timing
        return answer

    async def join(self) -> list[str]:
        """Let the others take part that do the kernel as given right and in about the same time.

        Returns:
            A line for each whose times are scaled or that is left out.
        """
        others, self._others = self._others, []
        outcomes = await asyncio.gather(*(self._prepared(one.place) for one in others))
        said: list[str] = []
        for one, outcome in zip(others, outcomes, strict=True):
            if isinstance(outcome, Timing):
                said += await self._calibrated(one, outcome)
            else:
                said.append(f"{one.title} is left out: {outcome}")
                await one.place.close()
        return said

    async def _prepared(self, place: Place) -> Timing | str:
        """The time of the kernel as given on a place that is brought to the state of the first, or why not."""
        timing: Timing | str = "the kernel as given has no time there"
        try:
            for request in self._opened:
                answer = await place.open(request)
                if isinstance(answer, EvaluationAnswer):
                    timing = answer.timing or (answer.failure.in_words if answer.failure else timing)
        except RunnerDied as died:
            return died.failure.in_words
        except (PlaceLost, UserError) as error:
            return str(error)
        return timing

    async def _calibrated(self, one: MeasuringPlace, timing: Timing) -> list[str]:
        """Let a place take part, if it is near enough to the first; what is to be said of it."""
        if self._given is None:
            raise RuntimeError("the first device has not timed the kernel as given")
        baseline, first = self._given
        limits = OF_CPUS if timing.cpu else OF_GPUS
        times = [(first, timing)]
        while abs(_factor(times) - 1) > limits.alike and len(times) < REPEATS:
            again = [await _timed_again(place, baseline) for place in (self.first, one.place)]
            times.append((again[0] or first, again[1] or timing))
        factor = _factor(times)
        said = f"{one.title} takes {1 / factor:.3f} times as long as {self._members[0].title} for the kernel as given"
        if abs(factor - 1) > limits.most:
            await one.place.close()
            return [f"{one.title} is left out: {said}"]
        alike = abs(factor - 1) <= limits.alike
        self._add(replace(one, factor=1.0 if alike else factor))
        return [] if alike else [f"{said}: its times are divided by that"]

    def _add(self, member: MeasuringPlace) -> None:
        self._members.append(member)
        self._free.put_nowait(member)

    async def ask(self, request: RunnerRequest) -> RunnerAnswer:
        """Ask whichever is free first; each does one thing at a time.

        What a place was doing when it was lost, and what one cannot do since its device does not come back, goes to
        another.

        Raises:
            UserError: the runner says that the user must mend something.
            RunnerDied: the request ended the runner; the next request gets a fresh one.
            DeviceError: no device is left.
        """
        lost = 0
        while True:
            member = await self._free.get()
            if member is None:
                self._free.put_nowait(None)  # for the next one that waits
                raise self._end or DeviceError("no device is left")
            try:
                answer = await member.place.ask(self._addressed(request, member.factor))
            except (DeviceError, PlaceLost) as error:
                self._leave_out(member, error)
                lost += isinstance(error, PlaceLost)
                if lost >= MOST_LOST:
                    message = f"{lost} devices were lost with it: {error}"
                    raise RunnerDied(Failure(kind=FailureKind.CRASH, message=message)) from error
            except BaseException:
                self._free.put_nowait(member)
                raise
            else:
                answer = _scaled_answer(answer, member.factor)
                if isinstance(answer, EvaluationAnswer) and answer.timing:
                    self._fastest_ms = min(self._fastest_ms, answer.timing.median)
                self._free.put_nowait(member)
                await asyncio.sleep(0)  # whoever waits asks before this answer is worked on: the device does not idle
                return answer

    def _addressed(self, request: RunnerRequest, factor: float) -> RunnerRequest:
        """A request on a device's scale, with the shortest time known by now: it may have waited for the device."""
        if isinstance(request, EvaluationRequest) and request.best_ms is not None:
            return request.model_copy(update={"best_ms": min(request.best_ms, self._fastest_ms) / factor})
        return request

    def _leave_out(self, member: MeasuringPlace, error: DeviceError | PlaceLost) -> None:
        """Go on without a place; where it was the last, everybody who waits is told."""
        self._members.remove(member)
        if self._members:
            self._news.append(f"{member.title} is left out from now on: {error}")
            return
        hint = "look at the machines, then `tuner-tui resume` the run"
        self._end = error if isinstance(error, DeviceError) else DeviceError(str(error), hint=hint)
        self._free.put_nowait(None)

    async def close(self) -> None:
        """End all runners."""
        await asyncio.gather(*(place.close() for place in self._all()))

    def _all(self) -> list[Place]:
        return [self.first, *(one.place for one in (*self._members, *self._others) if one.place is not self.first)]


def _refuse_other_models(devices: dict[str, DeviceInfo]) -> None:
    """Refuse devices of several models.

    Raises:
        DeviceError: one is not.
    """
    (first, device), *others = devices.items()
    for title, other in others:
        if why := _other_model(other, device):
            alike = [name for name, one in devices.items() if not _other_model(one, device)]
            places = ",".join(name.partition(":")[2] for name in alike)
            hint = f"name devices of one model, as in --device {device.kind}:{places}"
            raise DeviceError(f"{title} cannot be beside {first}: {why}", hint=hint)


def _other_model(device: DeviceInfo, first: DeviceInfo) -> str:
    """Says that a device is of another model than the first; empty where it is of the same."""
    if _model(device) == _model(first):
        return ""
    return f"it is {_model(device)}, the first is {_model(first)}, and times of two models cannot be compared"


def _model(device: DeviceInfo) -> str:
    return f"{device.name} {device.architecture}".strip()


async def _timed_again(place: Place, baseline: Executable) -> Timing | None:
    try:
        answer = await place.ask(EvaluationRequest(executable=baseline))
    except (RunnerDied, PlaceLost):
        return None
    return answer.timing if isinstance(answer, EvaluationAnswer) else None


def _factor(times: Sequence[tuple[Timing, Timing]]) -> float:
    """The fastest time on the first device over the fastest on another."""
    return min(first.median for first, _ in times) / min(other.median for _, other in times)


def _scaled_answer(answer: RunnerAnswer, factor: float) -> RunnerAnswer:
    """An answer on the scale of the first device; ratios stay as they are."""
    if isinstance(answer, EvaluationAnswer):
        return answer.model_copy(update={"timing": _scaled(answer.timing, factor)})
    if isinstance(answer, ComparisonAnswer):
        both = answer.comparison
        times = {"incumbent": _scaled(both.incumbent, factor), "challenger": _scaled(both.challenger, factor)}
        return answer.model_copy(update={"comparison": both.model_copy(update=times)})
    return answer


def _scaled(timing: Timing | None, factor: float) -> Timing | None:
    ends = ("median", "low", "high", *(("warm",) if timing and timing.warm is not None else ()))
    return timing and timing.model_copy(update={name: getattr(timing, name) * factor for name in ends})


def of_the_challenger(died: RunnerDied) -> Failure:
    """Why a runner died that compared.

    Raises:
        MachineError: not of the challenger.
    """
    if died.failure.message.startswith(BESIDE_CHALLENGER):
        raise MachineError(died.failure.message) from died
    return died.failure
