"""Cheats, faults and honest tricks on the emulator: the right verdict on each, for the right reason.

All functions of a file of the corpus are built at once. Each is preceded by the verdict that it must get.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import pytest

from benchmarks.trust import CORPUS, variants
from tests.emulator.bench import exports
from tests.slow import slow_but_for
from tui_tuner.errors import MachineError
from tui_tuner.evaluate.build.compilers.emulator import LAUNCH, EmulatorCompiler
from tui_tuner.evaluate.devices.kinds import kind_named
from tui_tuner.evaluate.devices.native.code import EMULATED
from tui_tuner.evaluate.devices.native.device import NativeDevice
from tui_tuner.evaluate.local import PAUSES_S
from tui_tuner.evaluate.measure.timing import CPU_PATIENCE
from tui_tuner.evaluate.programs import launch_shapes
from tui_tuner.evaluate.results import Comparison, FailureKind
from tui_tuner.evaluate.runner.protocol import EvaluationAnswer, Executable, LaunchShape
from tui_tuner.evaluate.runner.workbench import Workbench
from tui_tuner.problem.candidate import baseline
from tui_tuner.problem.load import load_problem

QUICK = replace(CPU_PATIENCE, samples=6, most_samples=6, warmup_s=0.0, limit_s=0.01, pairs=4, most_pairs=4)
DELTA = 0.01
MOST_COMPARISONS = 20
FOR_TOOLS = "race or wrong result"
"""Expected of what shows by luck only: no tool watches here, but in benchmarks/trust.py they all do."""


def expected_of(name: str) -> dict[str, str]:
    """The functions of a file, each with the verdict that is expected."""
    return variants((CORPUS / f"{name}.cu").read_text(), EMULATED.kind)


Outcome = TypeVar("Outcome", EvaluationAnswer, Comparison)


def as_a_session(attempt: Callable[[], Outcome]) -> Outcome:
    """An outcome, again where the time cannot be true, of either kernel: the machine may have been busy elsewhere."""
    for _ in PAUSES_S:
        with suppress(MachineError):  # the kernel as given, which was right before
            outcome = attempt()
            if outcome.failure is None or outcome.failure.kind is not FailureKind.IMPLAUSIBLE:
                return outcome
    return attempt()


@dataclass(frozen=True)
class Family:
    """A kernel as given and its variants, in one artifact."""

    bench: Workbench
    artifact: Path
    shapes: list[LaunchShape]
    left_out: list[str]

    def executable(self, name: str) -> Executable:
        return Executable(artifact=str(self.artifact), symbol=f"{name}_launch", shapes=self.shapes)

    def verdict(self, name: str, expected: str = "accepted") -> str:
        """What a candidate comes to: accepted, or why not; who must not be is compared until it gains, or is found."""
        outcome = as_a_session(lambda: self.bench.evaluate(self.executable(name), None))
        if outcome.failure is not None:
            return outcome.failure.in_words
        for _ in range(1 if expected == "accepted" else MOST_COMPARISONS):
            comparison = as_a_session(
                lambda: (
                    self.bench.compare(self.executable("given"), self.executable(name), DELTA, thorough=True).comparison
                )
            )
            if comparison.failure is not None:
                return comparison.failure.in_words
            if comparison.low > 1 + DELTA:
                break
        return "accepted"


def built_runtime(directory: Path) -> Path:
    shared = EmulatorCompiler.find().recipe(baseline(load_problem(CORPUS / "sum.toml")), {}, []).shared
    assert shared is not None
    for file, text in shared.files.items():
        (directory / file).write_text(text)
    for command in shared.commands:
        subprocess.run(command, cwd=directory, check=True)
    return directory


def family(name: str, directory: Path, runtime: Path) -> Family:
    problem = kind_named(EMULATED.kind).sized(load_problem(CORPUS / f"{name}.toml"))
    names = ["given", *expected_of(name)]
    recipe = EmulatorCompiler.find().recipe(baseline(problem), {}, [])
    for file, text in recipe.files.items():
        more = exports(names) if file == LAUNCH else ""
        (directory / file).write_text(text + more)
    assert recipe.shared is not None
    command = [word.replace(str(recipe.shared.directory), str(runtime)) for word in recipe.quick]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    device = NativeDevice(EMULATED)
    shapes = launch_shapes(baseline(problem), {}, problem, device.info)
    assert isinstance(shapes, list)
    bench = Workbench(device, problem, lambda *_: None)
    bench._patience = QUICK
    made = Family(bench, directory / recipe.artifact, shapes, [])
    prepared = bench.prepare(made.executable("given"))
    assert prepared.failure is None, prepared.failure
    made.left_out.extend(prepared.left_out)
    return made


FAMILIES = sorted(path.stem for path in CORPUS.glob("*.cu"))
QUICKEST = (
    "candidates",
    "cholesky",
    "compressed",
    "gradient",
    "group_norm",
    "less_one",
    "look_back",
    "median",
    "quantise",
    "scattered",
    "sparse",
    "transposition",
)

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")


@pytest.fixture(scope="session")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The emulator's runtime and headers, compiled once for all families."""
    return built_runtime(tmp_path_factory.mktemp("runtime"))


@pytest.mark.parametrize("name", slow_but_for(QUICKEST, FAMILIES))
def test_every_cheat_is_caught_for_the_right_reason_and_nothing_honest_refused(
    name: str, tmp_path: Path, runtime: Path
) -> None:
    made = family(name, tmp_path, runtime)
    told = {variant: verdict for variant, verdict in expected_of(name).items() if verdict != FOR_TOOLS}
    expected = told | {"given": "accepted"}
    verdicts = {variant: made.verdict(variant, verdict) for variant, verdict in expected.items()}
    assert {
        variant: found
        for variant, found in verdicts.items()
        if not found.startswith(tuple(expected[variant].split(" or ")))
    } == {}


def test_the_corpus_holds_enough_of_either() -> None:
    verdicts = [verdict for name in FAMILIES for verdict in expected_of(name).values()]
    assert sum(verdict != "accepted" for verdict in verdicts) >= 171
    assert verdicts.count("accepted") >= 68


def test_a_verdict_of_one_device_is_expected_there_alone() -> None:
    source = """
// expect: accepted
__global__ void everywhere(float *y) {}
// expect on emulator: race or wrong result
__global__ void __launch_bounds__(64) there(float *y) {}
"""
    assert variants(source, "cuda:0") == {"everywhere": "accepted"}
    assert variants(source, "emulator:1") == {"everywhere": "accepted", "there": "race or wrong result"}
