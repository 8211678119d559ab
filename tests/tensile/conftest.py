"""The stand-in is run out of a process that has loaded it; the command line inside that of the tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.end_to_end.program import Ended
from tests.tensile.stand_in.warm import WarmStart
from tui_tuner.cli import main

TuneHere = Callable[..., Ended]
"""The command line inside this process."""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> TuneHere:
    """Calls the command line inside this process, in a directory of its own; PATH has nothing but its `bin`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))

    def call(*arguments: object) -> Ended:
        try:
            code = int(main([str(argument) for argument in arguments]))
        except SystemExit as exit_:  # argparse leaves in this way
            code = int(exit_.code or 0)
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return Ended(code, out, err)

    return call


@pytest.fixture(scope="session")
def warm() -> Iterator[WarmStart]:
    made = WarmStart()
    yield made
    made.close()


@pytest.fixture(autouse=True)
def _warm_stand_in(warm: WarmStart, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tui_tuner.tensile.measure.start", warm.start)
