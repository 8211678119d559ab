"""Replies of a model as they arrive: fields, code that stands in for itself, text that is cut anywhere."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st
from textual.content import Content

from tests.tui import scripted
from tui_tuner.tui.panes.cards import completed, reply_content
from tui_tuner.tui.text.markdown import markdown_text


def test_long_code_in_a_reply_becomes_one_line_also_while_it_streams() -> None:
    whole = reply_content(scripted.REPLY, "").plain
    assert "▸ kernel, 22 lines → pane 1" in whole
    assert "__global__" not in whole
    assert "__global__" not in reply_content(scripted.REPLY[:-200], None).plain


def test_short_code_in_a_reply_stays() -> None:
    assert "x = 1;" in reply_content("so\n```c\nx = 1;\n```\n", None).plain


def test_a_structured_reply_is_shown_as_its_fields_while_it_arrives() -> None:
    reply = '{"rationale": "wider loads", "source": "int a;\\nint b;\\nint c;\\nint d;\\n"}'
    assert reply_content(reply, None).plain == "wider loads\n▸ kernel, 4 lines → pane 1"
    assert reply_content(reply, "int a;\nint x;\n").plain == "wider loads\n▸ kernel +3 -1 → pane 1"
    assert reply_content(reply[:23], None).plain == "wider lo"
    assert reply_content(reply[:3], None).plain == "a structured reply, 3 characters"


def test_code_in_a_block_before_the_json_is_the_kernel_of_the_reply() -> None:
    reply = '```cuda\nint a;\nint b;\nint c;\nint d;\n```\n{"summary": "wider loads", "tunables": []}'
    assert reply_content(reply, None).plain == "wider loads\n▸ kernel, 4 lines → pane 1"
    assert reply_content(reply, "int a;\nint x;\n").plain == "wider loads\n▸ kernel +3 -1 → pane 1"
    assert reply_content(reply[:40], None).plain.strip() == "▸ kernel, 4 lines → pane 1"


def test_functions_in_python_are_told_by_their_lines_and_not_held_against_the_whole_file() -> None:
    code = "@triton.jit\ndef scale(y, x):\n    value = tl.load(x)\n    tl.store(y, value)\n"
    reply = json.dumps({"summary": "one pass", "code": code, "grid": ["ceil_div(n, BLOCK)"]})
    told = reply_content(reply, f"import triton\n\n{code}\n\nscale[(1,)](y, x)\n").plain
    assert told.split("\n")[:2] == ["one pass", "▸ kernel, 4 lines → pane 1"]
    assert "tl.load" not in told


def test_a_plan_is_a_numbered_list_and_what_is_empty_has_no_name() -> None:
    steps = [{"title": "Tiles", "description": "through shared memory", "enabling": True}, {"title": "Unroll"}]
    text = json.dumps({"summary": "", "steps": steps, "remarks": None, "valid": True})
    assert reply_content(text, None).plain.split("\n") == [
        "1. Tiles through shared memory enabling true", "2. Unroll", "valid  true",
    ]  # fmt: skip


@given(st.text(max_size=60))
def test_no_reply_breaks_the_reader(text: str) -> None:
    reply_content("{" + text, None)
    markdown_text(text)


def test_completed_closes_strings_lists_and_objects() -> None:
    assert completed('{"a": ["x\\') == '{"a": ["x"]}'


def test_markup_of_the_screen_in_a_reply_is_only_text() -> None:
    content = markdown_text("[b]a[i] = b[/x]")
    assert content.plain == "[b]a[i] = b[/x]"
    assert content.spans == Content("x").spans


def test_steps_that_are_not_worth_doing_are_told_by_their_names() -> None:
    skips = [{"step": "unroll", "already_done": True, "reason": "The compiler does it."}]
    reply = json.dumps({"reason": "Nothing is combined.", "further": skips})
    assert reply_content(reply, "").plain == (
        "Nothing is combined.\nfurther\n1. unroll The compiler does it. already_done true"
    )
