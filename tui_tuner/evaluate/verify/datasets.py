"""Inputs with their expected results: what a launch is checked against."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tui_tuner.errors import ProblemError
from tui_tuner.evaluate.devices.base import KernelArgument
from tui_tuner.evaluate.devices.faults import DeviceFault, of_another
from tui_tuner.evaluate.in_pieces import magnitude
from tui_tuner.evaluate.tolerance import (
    FLOOR_CAP,
    MARGIN,
    TIMED_MARGIN,
    Bound,
    Mismatch,
    OwnError,
    bound,
    compare,
    loosest,
    own_error,
)
from tui_tuner.evaluate.verify import LaunchData
from tui_tuner.evaluate.verify.drafts import Draft, Drafts
from tui_tuner.evaluate.verify.output_sizes import OutputSizes, SizeOf
from tui_tuner.evaluate.verify.rounding import is_coarse, nudged_arguments
from tui_tuner.evaluate.verify.soundness import (
    ConstantByChance,
    LeftOut,
    refuse_degenerate,
    refuse_unwritten,
    refuse_weak,
)
from tui_tuner.problem.dtypes import dtype_named, is_floating
from tui_tuner.problem.expressions import evaluate
from tui_tuner.problem.inputs import label_of
from tui_tuner.problem.textures import MOVED, SCALES, Texture

REDRAWS = 20
"""How often the data of a test are drawn at most whose small output is constant: chance must not end a session."""
EXACT_NEEDS = 256
"""Elements that must all be exact, for the kernel as given to be: some are by chance."""
_AGAIN = 4
_ROUNDED = (Texture.EQUAL, Texture.MOSTLY_EQUAL, *MOVED)
"""Textures whose numbers leave nothing of each other, but for rounding, or more of it than noise does, as exponents."""

_OF_GIVEN = of_another("the kernel as given")
RunBaseline = Callable[[list[KernelArgument], int, str], dict[int, np.ndarray]]
"""Runs the kernel as given on arguments at a test's index, with a label in words; the outputs by argument index."""


@dataclass
class _OwnErrors:
    """Largest relative errors of the kernel as given by texture, and how many elements were looked at."""

    relative: dict[Texture, float] = field(default_factory=dict)
    elements: int = 0

    def note(self, texture: Texture, error: OwnError, elements: int) -> None:
        self.relative[texture] = max(self.relative.get(texture, 0.0), error.relative)
        self.elements += elements

    @property
    def is_exact(self) -> bool:
        """Whether it has none, and not by chance: it chooses among numbers, or makes them of whole ones."""
        return self.elements >= EXACT_NEEDS and not any(self.relative.values())

    def of(self, texture: Texture) -> OwnError:
        """That of the texture, and of noise where no test has the texture."""
        return OwnError(0.0, self.relative.get(texture, self.relative.get(Texture.NOISE, 0.0)))


class DataSets:
    """Makes data sets of drafts; the kernel as given sets the allowed error.

    Args:
        draws: how often the data of a test are drawn before it is given up.

    Attributes:
        left_out: a line for each test and texture at which the kernel as given fails, so that none is checked there.
    """

    def __init__(self, drafts: Drafts, run_baseline: RunBaseline, *, draws: int = 1) -> None:
        self._drafts = drafts
        self._problem = drafts.problem
        self._run_baseline = run_baseline
        self._draws = draws
        self._own = _OwnErrors()
        self._sizes = OutputSizes()
        self._known: set[int] = set()
        self.left_out: list[str] = []
        self._told = 0

    def make(self, index: int, textures: Sequence[Texture] = ()) -> list[LaunchData]:
        """Fresh data for one test, or for the timed size at the last index: noise, and those of the textures
        that change something and that the kernel as given can do.

        Raises:
            ProblemError: the kernel as given fails its own reference, leaves elements unwritten, or the check of
                noise could not fail.
            DeviceFault: the kernel as given fails while it runs.
            MachineError: so it does, and did not before: no candidate is to blame.
        """
        make = _OF_GIVEN(self._made) if index in self._known else self._made
        made = make(index, textures)
        self._known.add(index)
        return made

    def _made(self, index: int, textures: Sequence[Texture]) -> list[LaunchData]:
        drawn = 1
        while True:
            noise, *others = self._drafts.take(index, textures)
            try:
                data = self._drawn(index, noise)
            except ProblemError as error:
                if drawn >= max(self._draws, REDRAWS if isinstance(error, ConstantByChance) else 1):
                    raise
                drawn += 1
            else:
                return [data, *filter(None, (self._textured(data, other) for other in others))]

    def again(self, noise: LaunchData, texture: Texture) -> list[LaunchData]:
        """The same launch with a texture: none where it changes nothing, or the kernel as given cannot do it."""
        made = _OF_GIVEN(self._textured)(noise, self._drafts.again(noise.arguments, noise.index, texture))
        return [] if made is None else [made]

    def asked(self, data: LaunchData, noise: LaunchData) -> list[LaunchData] | None:
        """The same launch as the reference has it; none where the kernel as given cannot do what is no noise.

        Otherwise the kernel as given says what to expect, and its error is not known: it may have lost in a long sum,
        longer than those of the tests, what others keep.

        Returns:
            None where the reference was asked of it, or cannot be.
        """
        by_name = None if data.is_certain else self._drafts.asked(data.index, data.arguments)
        if by_name is None:
            return None
        sizes_of = self._sizes.of(data.texture, noise)
        asked = self._judged(data, by_name, self._drafts.at(data.index).sizes, sizes_of, is_doubted=True)
        try:
            if data.texture is not Texture.NOISE:
                self._leave_out_wrong(data.expected, asked)
        except LeftOut as left_out:
            self.note_left_out(data.label, str(left_out))
            return []
        return [asked]

    def _leave_out_wrong(self, outputs: Mapping[int, np.ndarray], data: LaunchData) -> None:
        for i, expected in data.expected.items():
            if (mismatch := compare(outputs[i], expected, data.bounds[i])[1]) is not None:
                raise LeftOut(f"{self._problem.arguments[i].name}{mismatch}")

    def _drawn(self, index: int, draft: Draft) -> LaunchData:
        at = self._drafts.at(index)
        label = label_of(at.sizes, self._drafts.test(index).inputs)
        arguments = draft.arguments() or []
        outputs = self._run_baseline(arguments, index, label)
        refuse_unwritten(
            self._problem, label, arguments, outputs, lambda again: self._run_baseline(again, index, label)
        )
        drawn = LaunchData(index, label, arguments, outputs, {})
        data = self._judged(drawn, draft.expected(), at.sizes, self._sizes.of_noise(index, outputs))
        if not self._sizes.knows(index, outputs):
            data = self._widened(data, data)
        self._sizes.note(index, data.expected)
        refuse_weak(self._problem, data.label, data.arguments, data.expected, data.bounds)
        return data

    def _textured(self, noise: LaunchData, draft: Draft) -> LaunchData | None:
        """None where it changes no argument, or the kernel as given cannot do it."""
        sizes = self._drafts.at(noise.index).sizes
        reason, texture = "", draft.texture
        for again in (False, True) if texture in SCALES else (False,):
            one = self._drafts.again(noise.arguments, noise.index, texture, first_only=True) if again else draft
            arguments = one.arguments()
            if arguments is None:
                return None
            try:
                return self._with_texture(noise, one, arguments, sizes)
            except LeftOut as left_out:
                reason = reason or str(left_out)
        self.note_left_out(f"{noise.label}, inputs with {texture}", reason)
        return None

    def newly_left_out(self) -> list[str]:
        """The lines of `left_out` that this has not returned before."""
        told, self._told = self._told, len(self.left_out)
        return self.left_out[told:]

    def note_left_out(self, label: str, reason: str) -> None:
        """Keep that, and why, nothing is checked at a test with a texture."""
        if not any(line.startswith(f"{label}: ") for line in self.left_out):
            self.left_out.append(f"{label}: {reason}")

    def _with_texture(
        self, noise: LaunchData, draft: Draft, arguments: list[KernelArgument], sizes: Mapping[str, int]
    ) -> LaunchData:
        texture = draft.texture
        label = f"{noise.label}, inputs with {texture}"
        try:
            outputs = self._run_baseline(arguments, noise.index, label)
            drawn = LaunchData(noise.index, label, arguments, outputs, {}, texture)
            data = self._judged(drawn, draft.expected(), sizes, self._sizes.of(texture, noise))
            for _ in range(_AGAIN if texture is Texture.NAN else 0):  # what becomes of it may be chance
                self._leave_out_wrong(self._run_baseline(arguments, noise.index, label), data)
            if texture in _ROUNDED or self._sizes.may_cancel(data.expected, noise):
                data = self._widened(data, noise)
        except ProblemError as error:
            raise LeftOut(error.message) from None
        except DeviceFault as fault:
            if fault.fatal:  # all that is on the device is lost
                raise fault.at(label) from fault
            raise LeftOut(f"{fault.kind}: {fault.message}") from None
        for i, expected in data.expected.items():
            name = self._problem.arguments[i].name
            refuse_degenerate(name, texture, expected, computed=self._problem.reference is None)
        self._leave_out_wrong(outputs, data)
        return data

    def _widened(self, data: LaunchData, noise: LaunchData) -> LaunchData:
        """Allowing as much as outputs move where inputs are off by a unit in the last place, as far as 1 %.

        What is left of equal numbers is rounding, and of others in a sum by chance. Raises `LeftOut` where it makes
        another result, but not by chance. A unit of few bits moves right results as far: a reference is given one of
        single precision, else it tells what moves much further.
        """
        if self._problem.tolerance.is_declared or self._own.is_exact:
            return data
        arguments, unit = nudged_arguments(data.arguments, 0, refined=data.is_certain)
        by_name = self._drafts.asked(data.index, arguments) if data.is_certain else None
        moved = self._run_baseline(arguments, data.index, data.label) if by_name is None else self._numbered(by_name)
        bounds = dict(data.bounds)
        for i, expected in data.expected.items():
            if is_floating(expected.dtype):
                away = np.abs(moved[i] - expected)
                size = max(magnitude(expected), magnitude(noise.expected[i]))
                allowed = MARGIN * float(away.max(initial=0.0, where=np.isfinite(away)))
                if allowed > size * (MARGIN**2 * unit if is_coarse(unit) else FLOOR_CAP):
                    if data.texture not in _ROUNDED:
                        continue
                    raise LeftOut(f"{self._problem.arguments[i].name} is made of rounding")
                if not is_coarse(unit):
                    bounds[i] = replace(bounds[i], absolute=max(bounds[i].absolute, allowed))
        return replace(data, bounds=bounds)

    def _judged(
        self,
        data: LaunchData,
        by_name: Mapping[str, np.ndarray] | None,
        sizes: Mapping[str, int],
        sizes_of: Mapping[int, SizeOf | None],
        *,
        is_doubted: bool = False,
    ) -> LaunchData:
        """What to expect, and what is allowed; the data come with what the kernel as given computed.

        Args:
            by_name: what the reference says, if it was asked.
            is_doubted: whether the kernel as given may be wrong.
        """
        outputs = data.expected
        is_noise = data.texture is Texture.NOISE
        if by_name is None:
            bounds = {i: self._scaled_bound(data, i, sizes, sizes_of[i]) for i in outputs}
            return replace(data, bounds={i: replace(one, rarely=is_noise) for i, one in bounds.items()})
        expected = self._numbered(by_name)
        errors = self._own_errors(data, expected, sizes, is_doubted=is_doubted or self._drafts.in_doubt)
        bounds = {i: self._bound(i, expected[i], sizes, errors[i], MARGIN, sizes_of[i]) for i in outputs}
        bounds = {i: replace(one, rarely=is_noise) for i, one in bounds.items()}
        return replace(data, expected=expected, bounds=bounds, is_certain=True)

    def _numbered(self, by_name: Mapping[str, np.ndarray]) -> dict[int, np.ndarray]:
        """Outputs by argument index."""
        return {i: by_name[one.name] for i, one in enumerate(self._problem.arguments) if one.output}

    def _own_errors(
        self, data: LaunchData, expected: Mapping[int, np.ndarray], sizes: Mapping[str, int], *, is_doubted: bool
    ) -> dict[int, OwnError]:
        """Those of the kernel as given, which the data hold, beside the reference."""
        errors = {i: own_error(output, expected[i]) for i, output in data.expected.items()}
        for i, output in data.expected.items():
            whole = Bound(float(self._problem.tolerance.integers), 0.0)
            allowed = loosest(expected[i], output.dtype) if is_floating(output.dtype) else whole
            is_fine = is_floating(output.dtype) and errors[i].is_within(allowed)
            judges = not (is_fine or self._problem.tolerance.is_declared or is_doubted)
            if judges and (mismatch := compare(output, expected[i], allowed)[1]) is not None:
                raise self._wrong_baseline(i, mismatch, sizes)
            if is_floating(output.dtype):
                self._own.note(data.texture, errors[i], output.size)
        return errors

    def _scaled_bound(self, data: LaunchData, index: int, sizes: Mapping[str, int], size_of: SizeOf | None) -> Bound:
        """Where the kernel as given is the reference: from the error that it had at the tests, if they could tell."""
        expected = data.expected[index]
        if self._problem.reference is None or not is_floating(expected.dtype):
            return self._bound(index, expected, sizes, None, MARGIN, size_of)
        size = (size_of or magnitude)(expected)
        own = self._own.of(data.texture).scaled_to(size)
        return self._bound(index, expected, sizes, own, TIMED_MARGIN, lambda _: size)

    def _wrong_baseline(self, index: int, mismatch: Mismatch, sizes: Mapping[str, int]) -> ProblemError:
        name = self._problem.arguments[index].name
        return ProblemError(
            f"the kernel as given does not match its reference at {label_of(sizes)}: {name}{mismatch}",
            hint="correct the kernel, [launch], [[arguments]] or the reference; or set [tolerance]",
        )

    def _bound(
        self,
        index: int,
        expected: np.ndarray,
        sizes: Mapping[str, int],
        own: OwnError | None,
        margin: float,
        size_of: SizeOf | None,
    ) -> Bound:
        dtype = dtype_named(self._problem.arguments[index].dtype)
        size = None if size_of is None or not is_floating(dtype) else size_of(expected)
        size = 0.0 if self._own.is_exact else size  # each element is one of the inputs, or made of whole numbers
        operations = self._operations(expected, sizes)
        return bound(expected, dtype, operations, self._problem.tolerance, own, margin, size)

    def _operations(self, expected: np.ndarray, sizes: Mapping[str, int]) -> float:
        work = self._problem.work
        if self._own.is_exact:
            return 1.0
        if work is None or not work.flops:
            return 1024.0
        return float(evaluate(work.flops, sizes)) / max(1, expected.size)
