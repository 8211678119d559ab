from __future__ import annotations

import json

import pytest

from tests.recorded.caches import FAILED, cache_text, entries, write_cache
from tui_tuner.errors import DeviceError
from tui_tuner.evaluate.recorded import Recording, RecordingEntry
from tui_tuner.evaluate.recorded.reading import read_recording
from tui_tuner.evaluate.results import FailureKind

BEST = {"block_size_x": 128, "tile": 1, "layout": "column"}


def best_of(recording: Recording) -> RecordingEntry:
    return min(recording.timed(), key=lambda entry: entry.time or 0.0)


def test_a_packed_file_says_the_same_as_a_plain_one(tmp_path):
    plain = read_recording(write_cache(tmp_path / "a.json"))
    packed = read_recording(write_cache(tmp_path / "a.json.gz"))
    assert plain.entries == packed.entries
    assert plain.digest == packed.digest
    assert (plain.device, plain.kernel, plain.problem_size) == ("Slow GPU", "scale", (4096, 16))
    assert best_of(plain).configuration == BEST


def test_values_keep_their_types_and_those_that_never_occur_are_no_values(tmp_path):
    cache = {
        "1": {"on": True, "factor": 1.0, "n": 1, "kind": "a", "time": 2.0},
        "2": {"on": False, "factor": 2.5, "n": 2, "kind": "b", "time": 1.0},
    }
    tune_params = {"on": [True, False], "factor": [1.0, 2.5, 4.0], "n": [1, 2, 3], "kind": ["a", "b", "c"]}
    text = cache_text(cache, tune_params=tune_params, tune_params_keys=list(tune_params))
    recording = read_recording(write_cache(tmp_path / "a.json", text))
    assert repr(recording.tunables) == repr(
        {"on": [True, False], "factor": [1.0, 2.5], "n": [1, 2], "kind": ["a", "b"]}
    )
    assert recording.entry({"on": 1, "factor": 1.0, "n": 1, "kind": "a"}) is None
    assert recording.entry({"kind": "a", "n": 1, "factor": 1.0, "on": True}) is recording.entries[0]


@pytest.mark.parametrize("old", [False, True])
def test_failures_are_classified_wherever_their_name_stands(tmp_path, old):
    recording = read_recording(write_cache(tmp_path / "a.json", cache_text(entries(old=old))))
    kinds = {
        (128, 2, "row"): FailureKind.LAUNCH,
        (128, 2, "column"): FailureKind.COMPILE,
        (32, 2, "row"): FailureKind.INVALID,
    }
    assert kinds.keys() == FAILED.keys()
    for values, kind in kinds.items():
        entry = recording.entry(dict(zip(BEST, values, strict=True)))
        assert entry is not None
        assert entry.time is None
        assert entry.failure is not None
        assert entry.failure.kind is kind
        assert FAILED[values] in entry.failure.message
        assert entry.build_ms == 9.5
    assert len(recording.members) == 11  # what was ruled out before it was built is no part of the space


@pytest.mark.parametrize("time", [1e20, None, -1.0, 0, True, "OtherConfig", float("nan")])
def test_what_is_no_time_is_a_failure(tmp_path, time):
    cache = entries()
    cache["32,1,row"]["time"] = time
    recording = read_recording(write_cache(tmp_path / "a.json", cache_text(cache)))
    failure = recording.entries[0].failure
    assert failure is not None
    assert failure.kind is FailureKind.CRASH


def test_a_file_that_is_still_being_written_is_read_to_its_last_whole_line(tmp_path):
    whole = read_recording(write_cache(tmp_path / "whole.json"))
    text = cache_text(closed=False)
    assert read_recording(write_cache(tmp_path / "open.json", text)).entries == whole.entries
    assert read_recording(write_cache(tmp_path / "closed_by_hand.json", text[:-1] + "}}")).entries == whole.entries
    torn = read_recording(write_cache(tmp_path / "torn.json", text[:-20]))
    assert torn.entries == whole.entries[:-1]


def test_a_file_that_grew_is_read_again(tmp_path):
    text = cache_text(closed=False)
    file = write_cache(tmp_path / "a.json", text[: text.rfind("\n")])
    before = read_recording(file)
    assert read_recording(file) is before
    write_cache(file, text)
    assert len(read_recording(file).entries) == len(before.entries) + 1


def test_an_old_header_without_values_or_objective_is_completed_from_the_entries(tmp_path):
    file = write_cache(tmp_path / "old.json", cache_text(objective=None, tune_params=None, device_name=None))
    recording = read_recording(file)
    assert recording.tunables == {"block_size_x": [32, 64, 128], "tile": [1, 2], "layout": ["row", "column"]}
    assert (recording.objective, recording.device) == ("time", "")


def test_another_objective_of_which_less_is_better_takes_the_place_of_the_time(tmp_path):
    cache = {key: {**entry, "energy": 3.0} for key, entry in entries().items() if "time" in entry}
    cache["64,1,row"]["energy"] = 2.5
    recording = read_recording(write_cache(tmp_path / "a.json", cache_text(cache, objective=["energy"])))
    assert best_of(recording).time == 2.5
    assert best_of(recording).samples == ()  # the single launches on file are times


NO_TIMES = {key: {**entry, "time": "RuntimeFailedConfig"} for key, entry in entries().items()}
MIXED = {**entries(), "other": {"block_size_x": 32, "time": 1.0}}
LISTS = {**entries(), "other": {"block_size_x": [1, 2], "tile": 1, "layout": "row", "time": 1.0}}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is not JSON"),
        ("{ not json", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("[1, 2]", "no 'cache'"),
        (json.dumps({"results": []}), "no 'cache'"),
        (cache_text(objective="GFLOP/s"), "'GFLOP/s' cannot be searched for"),
        (cache_text(objective="smell"), "'smell' cannot be searched for: it is not known"),
        (cache_text(objective="smell", objective_higher_is_better=True), "more of it is better"),
        (cache_text(objective=["time", "energy"]), "several objectives"),
        (cache_text(tune_params_keys=[]), "names no tunables"),
        (cache_text(tune_params={"block_size_x": 3}), "are no list"),
        (cache_text(MIXED), "the entry 'other' has no value for 'tile'"),
        (cache_text(LISTS), "the entry 'other' has a value of 'block_size_x' that is no number"),
        (cache_text({"a": 3}), "the entry 'a' is no object"),
        (cache_text(NO_TIMES), "no configuration in it has a time"),
    ],
)
def test_a_file_that_cannot_be_used_says_why_where_and_what_to_do(tmp_path, text, said):
    file = tmp_path / "a.json"
    file.write_text(text, "utf-8")
    with pytest.raises(DeviceError) as caught:
        read_recording(file)
    assert said in caught.value.message
    assert caught.value.file == file
    assert caught.value.hint


@pytest.mark.parametrize("content", [b"\x1f\x8bnot packed", b"\xff\xfe\x00"])
def test_bytes_that_are_no_text_are_told_as_such(tmp_path, content):
    file = tmp_path / "a.json.gz"
    file.write_bytes(content)
    with pytest.raises(DeviceError, match=r"unpacked|UTF-8"):
        read_recording(file)


def test_a_missing_file_and_a_directory_are_told_apart(tmp_path):
    with pytest.raises(DeviceError, match="no such recording"):
        read_recording(tmp_path / "a.json")
    with pytest.raises(DeviceError, match="is a directory"):
        read_recording(tmp_path)
