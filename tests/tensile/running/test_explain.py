"""Every way in which a run of the stand-in ends, in words."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tensile.clocks import OwnTime
from tests.tensile.stand_in import sample, write_program
from tui_tuner.tensile.measure import run_tensile
from tui_tuner.tensile.outcome import RunFailureKind
from tui_tuner.tensile.program import Tensile
from tui_tuner.tensile.result_tables import ResultsError
from tui_tuner.tensile.results import read_results
from tui_tuner.tensile.run_end import RunEnd, run_failure

NOTHING = "Tensile rejected every permutation"
CASES = [
    ("crash", RunFailureKind.CRASH, "Tensile was ended by SIGSEGV, while the kernels ran"),
    ("client_crash", RunFailureKind.CRASH, "the benchmark client was ended by SIGSEGV"),
    ("fatal=Invalid parameter value: DepthU = 7", RunFailureKind.REFUSED, "Invalid parameter value: DepthU = 7"),
    ("exception", RunFailureKind.CRASH, "Tensile ended by a Python exception: RuntimeError: something broke"),
    ("no_compiler", RunFailureKind.REFUSED, "Tensile does not find amdclang++; is ROCm installed, ROCM_PATH set?"),
    ("no_gpu", RunFailureKind.REFUSED, "Tensile finds no AMD GPU that it supports"),
    ("reject_all", RunFailureKind.NOTHING_VALID, f"{NOTHING}; the commonest reason, 16 times: everything"),
]


async def run(tmp_path: Path, fault: str, limit_s: float = 100.0, layout: str = "4.33") -> RunEnd:
    table = sample.write_table(tmp_path / "measured.csv")
    program = write_program(tmp_path / "bin", measured=table, fault=fault, layout=layout)
    config = tmp_path / "config.yaml"
    config.write_text(sample.configuration())
    tensile = Tensile((str(program),), "")
    clock = OwnTime(program.with_name("hangs")).clock
    return await run_tensile(tensile, config, tmp_path / "out", limit_s=limit_s, on_line=lambda _: None, clock=clock)


@pytest.mark.parametrize("layout", ["4.33", "4.44"])
@pytest.mark.parametrize(("fault", "kind", "message"), CASES)
async def test_an_end_without_results_is_explained(
    tmp_path: Path, fault: str, kind: RunFailureKind, message: str, layout: str
) -> None:
    ended = await run(tmp_path, fault, layout=layout)
    failure = run_failure(ended)
    assert failure is not None
    assert (failure.kind, failure.message) == (kind, message)
    assert failure.detail
    assert not ended.has_results


async def test_a_run_that_takes_too_long_says_where_it_was(tmp_path: Path) -> None:
    failure = run_failure(await run(tmp_path, "hang", limit_s=1.5))
    assert failure is not None
    assert (failure.kind, failure.message) == (
        RunFailureKind.TIMEOUT,
        "Tensile was ended after 2 s, while the kernels ran",
    )


@pytest.mark.parametrize("fault", ["some_failed", "all_failed"])
async def test_failed_validations_are_results_though_the_status_is_that_of_a_failure(
    tmp_path: Path, fault: str
) -> None:
    ended = await run(tmp_path, fault)
    assert (ended.returncode, run_failure(ended)) == (1, None)
    (group,) = read_results(tmp_path / "out")
    assert all(row.failed for row in group.rows)
    assert all((row.winner is None) == (fault == "all_failed") for row in group.rows)


@pytest.mark.parametrize("fault", ["malformed", "truncated_csv", "truncated_yaml", "binary"])
async def test_a_run_that_ends_well_may_leave_files_that_cannot_be_understood(tmp_path: Path, fault: str) -> None:
    assert run_failure(await run(tmp_path, fault)) is None
    with pytest.raises(ResultsError):
        read_results(tmp_path / "out")
