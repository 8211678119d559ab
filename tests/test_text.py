from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_tuner.text import clean, in_line, redact


@pytest.mark.parametrize(
    ("dirty", "expected"),
    [
        ("\x1b[31merror\x1b[0m", "error"),
        ("\x1b]8;;http://evil\x1b\\link\x1b]8;;\x07", "link"),
        ("\x1b]52;c;cm0gLXJm\x07done", "done"),
        ("\x1bPq#0\x1b\\after", "after"),
        ("\x9b2Jafter", "after"),
        ("\x1b(0box", "box"),
    ],
)
def test_complete_escape_sequences_are_removed(dirty: str, expected: str) -> None:
    assert clean(dirty) == expected


def test_an_unterminated_sequence_swallows_nothing_and_its_escape_becomes_visible() -> None:
    assert clean("\x1b]0;title never ends\nint x;") == "␛]0;title never ends\nint x;"


def test_removing_one_sequence_cannot_assemble_another() -> None:
    assert "\x1b" not in clean("\x1b\x1b[0m[31mred")


def test_control_bidi_and_zero_width_characters_become_visible() -> None:
    assert clean("a\x07b\x7fc\x85d") == "a␇b␡c<U+0085>d"
    assert clean("if (admin\u202e) //") == "if (admin<U+202E>) //"
    assert clean("sum\u200b\ufeff\u2066\U000e0041") == "sum<U+200B><U+FEFF><U+2066><U+E0041>"
    assert clean("\ud800") == "\ufffd"


def test_tabs_lines_and_ordinary_unicode_stay_and_carriage_returns_do_not() -> None:
    assert clean("\tµs → naïve\r\nend\rx") == "\tµs → naïve\nend␍x"


@given(st.text(st.characters(categories=None)) | st.text("\x1b[]0;m\x07\\P\x9b\n"))
def test_cleaned_text_holds_nothing_invisible_and_cleaning_again_changes_nothing(text: str) -> None:
    cleaned = clean(text)

    kept = [character for character in cleaned if character not in "\t\n"]
    assert not {unicodedata.category(character) for character in kept} & {"Cc", "Cf", "Cs", "Zl", "Zp"}
    assert clean(cleaned) == cleaned


def test_directories_become_placeholders_with_the_longest_match_first() -> None:
    directories = {Path("/home/ada"): "~", Path("/home/ada/run/build"): "BUILD"}

    text = "-I/home/ada/include /home/ada/run/build/k.cu:3 in /home/ada. /home/adam/x"

    assert redact(text, directories) == "-I~/include BUILD/k.cu:3 in ~. /home/adam/x"


def test_the_root_directory_is_never_replaced() -> None:
    assert redact("/usr/include/a.h", {Path("/"): "ROOT"}) == "/usr/include/a.h"


@pytest.mark.parametrize(
    "key",
    [
        "sk-ant-api03-AbCdEfGhIjKlMnOpQr",
        "sk-or-v1-0123456789abcdef0123",
        "ghp_0123456789abcdefghijABCDEFGHIJ",
        "hf_abcdefghijklmnopqrstuv",
        "AKIAIOSFODNN7EXAMPLE",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.sig",
        "nvapi-0123456789abcdefghijkl",
    ],
)
def test_strings_that_look_like_keys_are_masked(key: str) -> None:
    assert redact(f"refused: {key}, sorry") == "refused: [key], sorry"


def test_environment_assignments_bearer_headers_and_given_secrets_are_masked() -> None:
    assert redact("OPENAI_API_KEY=hunter2hunter2 make") == "OPENAI_API_KEY=[key] make"
    assert redact("Authorization: Bearer abc.def-ghi") == "Authorization: Bearer [key]"
    assert redact("echo plain-but-secret", secrets=["plain-but-secret"]) == "echo [key]"


@pytest.mark.parametrize(
    ("told", "line"),
    [
        ("nobody answers\n  start the model", "nobody answers; start the model"),
        ("the program failed:\n\n  no such file.\n  try another", "the program failed: no such file. try another"),
        ("one  line", "one line"),
        ("", ""),
    ],
)
def test_a_hint_is_set_off_from_what_went_wrong(told: str, line: str) -> None:
    assert in_line(told) == line


def test_kernel_source_is_left_alone() -> None:
    source = "__global__ void f(float *a, int task_token) { int token = a[0]; a[token] = 1; } // risk-free"

    assert redact(source) == source
