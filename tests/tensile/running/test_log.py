"""What is read out of Tensile's words."""

from __future__ import annotations

import pytest

from tui_tuner.tensile.measure import LineCutter, Ration
from tui_tuner.tensile.run_log import LogReader, reason

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
