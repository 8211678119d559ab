"""What is read out of Tensile's words, as 4.44 prints them too: broken at 80 columns, and last words without a mark.

Its own logs where they are."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.tensile.real import DATA, needs_data
from tui_tuner.tensile.measure import LineCutter, Ration
from tui_tuner.tensile.outcome import RunFailureKind
from tui_tuner.tensile.run_end import RunEnd, run_failure
from tui_tuner.tensile.run_log import GroupLog, LogReader, LogSummary, reason

RULE = "#" * 80
HEAD = f"""
{RULE}
#
#  Tensile v4.44.0
#
{RULE}

# Restoring default globalParameters
# Found HIP version: 6.3.42131-fa1d09cbd
# Detected GPU 1:    gfx90a

{RULE}
# Converting Config to BenchmarkProcess Object
{RULE}

# Filling in Parameters With Defaults
"""
SOLUTIONS = f"""# Convert Parameters to Benchmark Step(s)

{RULE}
# Benchmark Step: Cijk_Alik_Bljk_HSS_H_00 - 00_Final 3.563s
# Num Sizes: 3
# Enumerating Solutions

reject: Assembly GSU half requires VectorWidth >= 2 (for 32-bit CAS)

reject: Kernel Uses 98304 > 65536 bytes of LDS
rejecting solution {""}
Cijk_Alik_Bljk_HSS_H_MT64x64x-1_MI16x16x16x1_SN_1LDSB0_APM1_AAIGTEn1_AAILTEn1_AA
V0_ABV0_ACED0_AF0EM1_AF1EM1

reject: Assembly GSU half requires VectorWidth >= 2 (for 32-bit CAS)

reject: Kernel Uses 131072 > 65536 bytes of LDS
rejecting solution {""}
Cijk_Alik_Bljk_HSS_H_MT64x64x-1_MI16x16x16x1_SN_1LDSB0_APM1_AAIGTEn1_AAILTEn1_AA
V0_ABV0
"""
NOTHING = SOLUTIONS + (
    "# Actual Solutions: 0 / 2 after SolutionStructs\n\nYour parameters resulted in 0 valid solutions.\n"
    "Examine reject and backtrace messages above to see whyand where solutions were \nrejected.\n"
)
BUILT = SOLUTIONS + "# Actual Solutions: 3 / 8 after SolutionStructs\n\n# Actual Solutions: 3 / 3 after KernelWriter\n"
RAN = f"{BUILT}+ ERR=0\n+ [[ 0 -ne 0 ]]\n+ exit 0\nclientExit=0 (PASS) for ['gemm.yaml']\n"
LOGIC = f"{RAN}# Analyzing: Cijk_Alik_Bljk_HSS_H\nTraceback (most recent call last):\n  raise\nKeyError: 'Ideal'\n"
SIZE = (
    "ExactSize [256, 128] doesn't match indices of ProblemType Cijk_Alik_Bljk_HSS_H, \ntotalIndices=4\n",
    "ExactSize [256, 128] doesn't match indices of ProblemType Cijk_Alik_Bljk_HSS_H, totalIndices=4",
)


def read(text: str) -> LogSummary:
    reader = LogReader()
    for line in text.split("\n"):
        reader.feed(line, 1.0)
    return reader.summary(2.0)


def ended(text: str, status: int) -> RunEnd:
    return RunEnd(2.0, status, False, Path("log"), read(text))


UNHEARD = "Words that nobody has heard before, so long that they go on in one more line of \ntext.\n"
LDS = "2 times: Kernel Uses 98304 to 131072 > 65536 bytes of LDS"


@pytest.mark.parametrize(
    ("words", "kind", "message"),
    [
        ("Invalid parameter name: DepthUU\nValid parameters are ['1LDSBuffer', \n'DepthU'].\n", "refused", None),
        ("Invalid parameter value: DepthU = 7000\nRefer to Common.py for more info.\n", "refused", None),
        (SIZE[0], "refused", SIZE[1]),
        (UNHEARD, "refused", UNHEARD.replace("\n", "")),
        (NOTHING, "nothing", f"Tensile rejected every permutation; the commonest reason, {LDS}"),
    ],
)
def test_last_words_without_a_mark_say_why(words: str, kind: str, message: str | None) -> None:
    failure = run_failure(ended(f"{HEAD}{words}exit status 255\n", 255))
    assert failure is not None
    expected = RunFailureKind.REFUSED if kind == "refused" else RunFailureKind.NOTHING_VALID
    assert (failure.kind, failure.message) == (expected, message or words.splitlines()[0])


def test_reasons_keep_their_numbers_and_those_that_differ_become_a_range() -> None:
    (group,) = read(HEAD + BUILT).groups
    assert group.rejected == {
        "Assembly GSU half requires VectorWidth >= 2 (for 32-bit CAS)": 2,
        "Kernel Uses 98304 to 131072 > 65536 bytes of LDS": 2,
    }
    assert (group.name, group.permutations, group.valid, group.built) == ("Cijk_Alik_Bljk_HSS_H_00", 8, 3, 3)


@pytest.mark.parametrize(
    "changed",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\n".join(f"\x1b[31m{line}\x1b[0m" if line else "" for line in text.split("\n")),
        lambda text: f"x.py:3: UserWarning: old\n  import x\n{text}",
    ],
    ids=["windows", "colours", "warnings"],
)
def test_ends_of_lines_colours_and_warnings_change_nothing(changed: Callable[[str], str]) -> None:
    failure = run_failure(ended(changed(f"{HEAD}{SIZE[0]}exit status 255\n"), 255))
    assert failure is not None
    assert failure.message == SIZE[1]
    assert read(changed(HEAD + BUILT)).groups == read(HEAD + BUILT).groups


def test_a_log_that_was_cut_gives_no_step_as_the_reason() -> None:
    failure = run_failure(
        ended(f"{HEAD.partition(RULE)[0]}# Restoring\n\nOverriding CxxCompiler=amdclang++\n\n####", 255)
    )
    assert failure is not None
    assert failure.message == "Tensile ended with status 255, before it made solutions"


def test_what_is_neither_valid_nor_rejected_is_a_duplicate() -> None:
    (group,) = read(HEAD + BUILT).groups
    assert (group.rejections, group.duplicates(tells=False)) == (2, 3)
    silent = GroupLog("", 8, 5, 5)
    assert (silent.duplicates(tells=True), silent.duplicates(tells=False)) == (3, 0)


def test_the_gpu_is_read_from_the_new_line() -> None:
    assert read(HEAD).device == "gfx90a"


def test_a_failure_behind_the_benchmark_takes_no_results_away() -> None:
    end = ended(HEAD + LOGIC, 1)
    assert (end.has_results, run_failure(end), end.broken_logic) == (True, None, "KeyError: 'Ideal'")
    assert ended(HEAD + RAN, 0).broken_logic == ""
    assert not ended(HEAD + BUILT, 1).has_results


ANALYSING = f"{RAN}\n{RULE}\n# Analysing data in 2_BenchmarkData - 18.220s\n{RULE}\n\n# Merging Solutions:\n"
FINISHED = f"{ANALYSING}{{(256, 128): [1, 4743.85]}}\n{RULE}\n# Finish Analysing data to out in 24.6s\n{RULE}\n"


@pytest.mark.parametrize(
    ("text", "status", "timed_out", "broken"),
    [
        (ANALYSING, -11, False, "it was ended by SIGSEGV"),
        (ANALYSING, -9, True, "its time was up after 2 s"),
        (FINISHED, 1, False, ""),
        (FINISHED, -9, True, ""),
    ],
    ids=["signal", "time", "status", "time behind it"],
)
def test_whatever_ends_the_library_logic_takes_no_results_away(
    text: str, status: int, timed_out: bool, broken: str
) -> None:
    end = RunEnd(2.0, status, timed_out, Path("log"), read(HEAD + text))
    assert (end.has_results, run_failure(end), end.broken_logic) == (True, None, broken)


@pytest.mark.parametrize("timed_out", [False, True])
def test_a_run_that_is_ended_between_size_groups_has_no_results(timed_out: bool) -> None:
    end = RunEnd(2.0, -9, timed_out, Path("log"), read(HEAD + RAN))
    assert not end.has_results
    assert run_failure(end) is not None


REFUSED = {
    "badname": "Invalid parameter name: DepthUU",
    "badvalue": "Invalid parameter value: DepthU = 7000",
    "badsize": SIZE[1],
    "badversion": "Config file requires version=99.0.0 is not compatible with current Tensile version=4.44.0",
    "emptylist": "Tensile rejected every permutation; the commonest reason, 4 times: LoopIters need to greater than 0",
}


@needs_data
@pytest.mark.parametrize("name", REFUSED)
def test_every_real_log_of_a_refusal_is_explained_by_its_cause(name: str) -> None:
    text = (DATA / "real-logs" / f"{name}.log").read_text()
    status = re.search(r"^exit status (\d+)", text, re.MULTILINE)
    assert status is not None
    failure = run_failure(ended(text, int(status[1])))
    assert failure is not None
    assert failure.message == REFUSED[name]


@needs_data
@pytest.mark.parametrize("name", ["real-logs/dupe.log", "real-logs/forkmap.log", "real-runs/plain/stdout.log"])
def test_a_real_run_with_results_is_none_of_them(name: str) -> None:
    end = ended((DATA / name).read_text(), 0)
    assert (run_failure(end), end.broken_logic, end.said.collected, end.said.device) == (None, "", True, "gfx90a")
    (group,) = end.said.groups
    assert (group.built, group.duplicates(tells=True)) == (4, 0)
    assert group.rejections == (group.permutations or 0) - 4


LOG = """\
#  Tensile v4.33.0
# Detected local GPU with ISA: gfx90a
# Converting Config to BenchmarkProcess Object
# Benchmark Step: Cijk_Ailk_Bljk_HB_00 - 00_Final 1.000s
# Enumerating Solutions

reject: Kernel Uses 98304 > 65536 bytes of LDS
rejecting solution {'DepthU': 64}

reject: Kernel Uses 131072 > 65536 bytes of LDS
# Actual Solutions: 14 / 16 after SolutionStructs
# Actual Solutions: 12 / 14 after KernelWriter
clientExit=0 (PASS) for config.yaml
# Converting Config to BenchmarkProcess Object
# Benchmark Step: Cijk_Ailk_Bljk_HB_01 - 00_Final 9.000s
# Enumerating Solutions
# Actual Solutions: 4 / 4 after SolutionStructs
"""


def test_phases_groups_counts_and_reasons_of_rejection() -> None:
    reader = LogReader()
    for second, line in enumerate(LOG.splitlines()):
        reader.feed(line, float(second))
    said = reader.summary(20.0)
    assert said.phases == {"preparing": 6.0, "solutions": 7.0, "kernels": 5.0, "client": 1.0, "library": 1.0}
    assert (said.phase, said.device, said.collected) == ("kernels", "gfx90a", False)
    first, second_group = said.groups
    assert (first.name, first.permutations, first.valid, first.built) == ("Cijk_Ailk_Bljk_HB_00", 16, 14, 12)
    assert first.rejected == {"Kernel Uses 98304 to 131072 > 65536 bytes of LDS": 2}
    assert (second_group.permutations, second_group.valid, second_group.built) == (4, 4, None)


def test_the_words_of_newer_and_older_versions_are_read_too() -> None:
    reader = LogReader()
    for line in (
        "# Detected GPU 0 with ISA: gfx942",
        "# Converting Config to BenchmarkProcess Object",
        "# BenchmarkStep: Cijk_Ailk_Bljk_SB_00 - 00_Final 0.1s",
        "# Enumerating Solutions (Parallel)",
        "# Actual Solutions: 3 / 8",
        "# Using cached solution data",
    ):
        reader.feed(line, 0.0)
    said = reader.summary(1.0)
    assert (said.device, said.phase, said.groups[0].name) == ("gfx942", "client", "Cijk_Ailk_Bljk_SB_00")
    assert (said.groups[0].valid, said.groups[0].permutations) == (3, 8)


def test_the_last_exception_and_the_words_before_giving_up() -> None:
    reader = LogReader()
    for line in (
        "Traceback (most recent call last):",
        '  File "a.py", line 1, in <module>',
        "KeyError: 'first'",
        "Traceback (most recent call last):",
        "    raise",
        "RuntimeError: last",
        "Tensile::FATAL: Invalid parameter name: DepthX",
        "Valid parameters are ['1LDSBuffer', ...].",
    ):
        reader.feed(line, 0.0)
    said = reader.summary(0.0)
    assert said.exception == "RuntimeError: last"
    assert said.fatal == "Invalid parameter name: DepthX\nValid parameters are ['1LDSBuffer', ...]."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("totalVgprs 312 not in [0, 256]", "totalVgprs 312 not in [0, 256]"),
        ("\x1b[31mMT128x64 is 0.5 too much ", "MT128x64 is 0.5 too much"),
        ("\x1b[31m  ", "no reason given"),
    ],
)
def test_a_reason_is_safe_to_print(text: str, expected: str) -> None:
    assert reason(text) == expected


def test_bytes_become_lines_whatever_the_chunks() -> None:
    text = "first\r\nsecond µ\r 50%\r100%\nlast".encode()
    for size in (1, 2, 3, 100):
        cutter = LineCutter()
        lines = [line for at in range(0, len(text), size) for line in cutter.feed(text[at : at + size])]
        lines += cutter.feed(b"", last=True)
        assert [line for line in lines if line] == ["first", "second µ", " 50%", "100%", "last"]


def test_a_line_without_an_end_does_not_grow_for_ever() -> None:
    cutter = LineCutter()
    for _ in range(10):
        assert list(cutter.feed(b"x" * 50_000)) == []
    assert [len(line) for line in cutter.feed(b"", last=True)] == [1 << 16]


def test_a_flood_of_lines_is_rationed_cleaned_and_counted() -> None:
    told: list[str] = []
    ration = Ration(told.append)
    for number in range(1000):
        ration.feed(f"\x1b[2J{number} " + "x" * 1000, 0.0)
    ration.feed("later", 10.0)
    ration.end()
    assert len(told) == 102
    assert told[-2:] == ["… 900 more lines in the log", "later"]
    assert told[0].startswith("0 x")
    assert len(told[0]) == 300
