from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.recorded.caches import write_cache
from tui_tuner.cli import main


@pytest.fixture
def recordings(tmp_path: Path) -> list[str]:
    return [str(write_cache(tmp_path / name)) for name in ("one.json", "two.json.gz")]


def test_a_table_for_each_data_set_and_their_mean_go_to_standard_output(recordings, capsys):
    arguments = ["--strategies", "random,surrogate", "--repeats", "1", "--evaluations", "9", "--jobs", "1"]
    assert main(["bench-search", *recordings, *arguments]) == 0
    told = capsys.readouterr()
    assert "one: 11 configurations, best 1 ms (recorded)" in told.out
    assert "mean of 2 data sets" in told.out
    assert told.out.count("\n  random") == told.out.count("\n  surrogate") == 3
    assert "[4/4] " in told.err


def test_the_same_as_json_and_the_same_in_several_processes(recordings, capsys):
    arguments = ["bench-search", recordings[0], "--strategies", "surrogate", "--repeats", "2", "--evaluations", "8"]
    found = []
    for jobs in ("1", "2"):
        assert main([*arguments, "--output", "json", "--jobs", jobs]) == 0
        found.append(json.loads(capsys.readouterr().out))
    for result in found:
        (quality,) = result["data"][0]["qualities"]
        del quality["seconds"], result["means"][0]["seconds"]
    assert found[0] == found[1]
    assert found[0]["data"][0]["optimum"] == 1.0
    assert found[0]["data"][0]["qualities"][0]["runs"] == 2
    assert set(found[0]["data"][0]["qualities"][0]["fractions"]) == {"8"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["gone.json"], "there is no file gone.json"),
        (["--strategies", "mels"], "did you mean 'mls'"),
        (["--strategies", "llm"], "needs a model"),
        (["--strategies", ","], "names none"),
    ],
)
def test_a_mistake_is_told_before_anything_runs(recordings, capsys, arguments, said):
    data = [] if arguments[0].startswith("gone") else recordings
    assert main(["bench-search", *data, *arguments]) == 2
    assert said in capsys.readouterr().err


def test_a_file_that_is_no_recording_is_told_before_anything_runs(tmp_path, capsys):
    file = tmp_path / "a.json"
    file.write_text("{}", "utf-8")
    assert main(["bench-search", str(file)]) != 0
    assert "no cache file of kernel_tuner" in capsys.readouterr().err
