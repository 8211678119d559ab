"""Problem sizes dealt out to several GPUs, and what they measured put together."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.tensile.sessions.world import SMALL_SPACE
from tests.tensile.stand_in import sample, write_program
from tui_tuner.tensile.document import BenchmarkConfiguration
from tui_tuner.tensile.document.reading import parse_configuration
from tui_tuner.tensile.measure import TensileBench, measure
from tui_tuner.tensile.outcome import RoundOutcome, RunFailure, RunFailureKind
from tui_tuner.tensile.program import Tensile
from tui_tuner.tensile.run_directory import TensileOptions
from tui_tuner.tensile.several import measure_on_all, shares, together

TEXT = f"{SMALL_SPACE}LibraryLogic: {{ScheduleName: aldebaran, ArchitectureName: gfx90a}}\n"
TWO_GROUPS = """\
BenchmarkProblems:
- - {DataType: h, Batched: true}
  - ForkParameters: [{DepthU: [32, 64]}]
    BenchmarkFinalParameters: [{ProblemSizes: [{Exact: [1, 2, 1, 3]}]}]
  - ForkParameters: [{DepthU: [16, 32, 64]}]
    BenchmarkFinalParameters:
    - ProblemSizes: [{Exact: [4, 4, 1, 4]}, {Exact: [5, 5, 1, 5]}, {Exact: [6, 6, 1, 6]}]
    - BiasTypeArgs: [h]
"""


def configuration(text: str) -> BenchmarkConfiguration:
    return parse_configuration(text, Path("gemm.yaml"))


def test_every_gpu_has_all_permutations_and_a_part_of_the_sizes() -> None:
    first, second = shares(configuration(TWO_GROUPS), (0, 3))
    assert (first.device, first.groups, second.device, second.groups) == (0, (0, 1), 3, (1,))
    assert [group.sizes.listed for group in first.configuration.size_groups] == [
        ((1, 2, 1, 3),),
        ((4, 4, 1, 4), (6, 6, 1, 6)),
    ]
    (only,) = second.configuration.size_groups
    assert (only.sizes.listed, only.permutations, only.arguments) == (((5, 5, 1, 5),), 3, 1)
    assert yaml.safe_load(second.configuration.text)["GlobalParameters"]["Device"] == 3


def test_there_are_no_more_gpus_than_sizes() -> None:
    assert [share.device for share in shares(configuration(TWO_GROUPS), range(8))] == [0, 1, 2]


def test_the_sizes_of_the_alternate_format_are_dealt_too() -> None:
    text = "ProblemType: {Batched: true}\nForkParameters:\n- DepthU: [32, 64]\n"
    sizes = "- Exact: [1, 1, 1, 1]\n- Exact: [2, 2, 1, 2]\n"
    both = shares(configuration(text), (0, 1), sizes)
    assert [share.configuration.size_groups[0].sizes.listed for share in both] == [((1, 1, 1, 1),), ((2, 2, 1, 2),)]
    assert [yaml.safe_load(share.sizes or "") for share in both] == [
        [{"Exact": [1, 1, 1, 1]}],
        [{"Exact": [2, 2, 1, 2]}],
    ]


async def test_two_gpus_find_what_one_finds(tmp_path: Path) -> None:
    program = write_program(tmp_path, measured=sample.write_table(tmp_path / "measured.csv"))
    given, bench = configuration(TEXT), TensileBench(Tensile((str(program),), ""))
    heard: list[str] = []
    both = TensileBench(bench.tensile, devices=(0, 1))
    many = await measure_on_all(both, given, tmp_path / "many", heard.append)
    one = await measure(bench, given, tmp_path / "one", heard.append)
    assert (many.failure, many.notes) == (None, [])
    assert many.sizes == one.sizes
    assert many.groups == one.groups
    assert many.effects == one.effects
    assert {line[:6] for line in heard if line.startswith("GPU")} == {"GPU 0:", "GPU 1:"}
    tables = []
    for place in ("one", "many"):
        (file,) = (tmp_path / place / "tensile" / "3_LibraryLogic").glob("*.yaml")
        read = yaml.safe_load(file.read_text())
        tables.append({tuple(size[:4]): (speed, read[5][index]["MIWaveTile"]) for size, (index, speed) in read[7]})
    assert tables[0] == tables[1]


def test_the_failure_of_one_gpu_is_that_of_the_run() -> None:
    given = configuration(TWO_GROUPS)
    failure = RunFailure(kind=RunFailureKind.CRASH, message="it crashed")
    outcomes = [RoundOutcome(seconds=2), RoundOutcome(seconds=1, failure=failure)]
    told = together(given, shares(given, (0, 3)), outcomes)
    assert told.failure is not None
    assert (told.failure.message, told.seconds, len(told.groups)) == ("GPU 3: it crashed", 2, 2)


@pytest.mark.parametrize("devices", ["", "a", "0,", "0 1"])
def test_what_names_no_gpus_is_refused(devices: str) -> None:
    with pytest.raises(ValueError, match="devices"):
        TensileOptions(devices=devices)
