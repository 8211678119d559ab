"""Cheats, faults and honest tricks on the emulator: the right verdict on each, for the right reason."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.trust.judge import CORPUS, FOR_TOOLS, built_runtime, variants

FAMILIES = sorted(path.stem for path in CORPUS.glob("*.cu"))

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")


@pytest.fixture(scope="session")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The emulator's runtime and headers, compiled once for all families."""
    return built_runtime(tmp_path_factory.mktemp("runtime"))


@pytest.mark.parametrize("name", FAMILIES)
def test_every_cheat_is_caught_for_the_right_reason_and_nothing_honest_refused(
    name: str, tmp_path: Path, runtime: Path
) -> None:
    command = [sys.executable, "-m", "tests.trust.judge", name, str(tmp_path), str(runtime)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    verdicts: dict[str, tuple[str, str]] = json.loads(done.stdout)
    assert verdicts.keys() == {"given", *(variant for verdict, variant in variants(name) if verdict != FOR_TOOLS)}
    assert {
        variant: found
        for variant, (expected, found) in verdicts.items()
        if not found.startswith(tuple(expected.split(" or ")))
    } == {}


def test_the_corpus_holds_enough_of_either() -> None:
    verdicts = [verdict for name in FAMILIES for verdict, _ in variants(name)]
    assert sum(verdict != "accepted" for verdict in verdicts) >= 146
    assert verdicts.count("accepted") >= 54
