from __future__ import annotations

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tui_tuner.llm.streams import split_thinking
from tui_tuner.llm.structured import json_text

JSON = '{"factor": 4}'
DRAFT = '{"factor": 8}'
BLOCK = f"```json\n{JSON}\n```\n"
SPELLINGS = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<Thought>", "</Thought>"),
    ("<reason>", "</reason>"),
    ("<reasoning>", "</reasoning>"),
    ("<seed:think>", "</seed:think>"),
    ("[THINK]", "[/THINK]"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("◁think▷", "◁/think▷"),
]


@pytest.mark.parametrize(
    ("text", "answer", "thoughts"),
    [
        ("plain", "plain", ""),
        ("<think>a</think>b", "b", "a"),
        (" <think>a</think> <think>b</think>\n{}", "{}", "ab"),
        ("a</think>{}", "{}", "a"),
        ("prose <think>a</think>```json\n{}\n```", "```json\n{}\n```", "prose a"),
        ("<think>never ends", "", "never ends"),
        ('{"x": "<think>a</think>"}', '{"x": "<think>a</think>"}', ""),
        ("```json\n</think>\n```", "```json\n</think>\n```", ""),
    ],
)
def test_thoughts_in_tags_are_split_off_but_never_cut_out_of_an_answer(text: str, answer: str, thoughts: str) -> None:
    assert split_thinking(text) == (answer, thoughts)


@pytest.mark.parametrize(("opening", "closing"), SPELLINGS)
def test_a_thought_in_any_known_spelling_is_split_off(opening: str, closing: str) -> None:
    assert split_thinking(f"{opening}a {DRAFT}{closing}\n{JSON}") == (JSON, f"a {DRAFT}")
    assert split_thinking(f"a {DRAFT}{closing}\n{BLOCK}") == (BLOCK, f"a {DRAFT}")
    assert split_thinking(f"Well. {opening}a {DRAFT}") == ("Well. ", f"a {DRAFT}")


@pytest.mark.parametrize(
    "text",
    [
        f"{BLOCK}no, wrong.</think>",
        f"{DRAFT} is wrong.</think>",
        f"```cuda\nint x;\n```\n{DRAFT}\n</think>",
        f"Draft: {DRAFT}</think>",
    ],
)
def test_a_draft_with_which_a_thought_begins_that_the_template_opened_is_no_answer(text: str) -> None:
    assert split_thinking(f"{text}\n{JSON}")[0] == JSON


def test_a_draft_in_a_thought_behind_the_answer_is_no_answer() -> None:
    later = f"<think>or ```json\n{DRAFT}\n```</think>"

    assert split_thinking(f"{BLOCK}{later}") == (BLOCK, f"or ```json\n{DRAFT}\n```")
    assert split_thinking(f"{JSON}\n{later}") == (JSON, f"or ```json\n{DRAFT}\n```")


def test_of_what_stands_on_both_sides_of_a_thought_the_later_is_the_answer() -> None:
    draft = f"```json\n{DRAFT}\n```\n"

    assert split_thinking(f"{draft}<think>no</think>{JSON}") == (JSON, f"{draft}no")
    assert split_thinking(f"<think>a</think>{draft}<think>no</think>{JSON}") == (JSON, f"{draft}ano")


def test_an_empty_thought_leaves_no_tags_behind() -> None:
    assert split_thinking(f"<think></think>{JSON}") == (JSON, "")


PIECES = st.sampled_from(["<think>", "[THINK]", "```", "```json\n", "\n```\n", "{", "}", '"', DRAFT, "a", " ", "\n"])
THOUGHTS = st.lists(PIECES, max_size=12).map("".join)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(THOUGHTS)
def test_whatever_stands_between_the_tags_is_the_thought(thought: str) -> None:
    assert split_thinking(f"<think>{thought}</think>{JSON}") == (JSON, thought)


@pytest.mark.slow
@settings(max_examples=500, deadline=None)
@given(THOUGHTS)
def test_no_draft_is_ever_read_where_the_template_opened_the_thought(thought: str) -> None:
    try:
        found = json.loads(json_text(split_thinking(f"{thought}</think>{JSON}")[0]))
    except ValueError:
        return
    assert found == json.loads(JSON)


@pytest.mark.parametrize("piece", ["</think>", "<think>", "```\n```\n", "{}", "{", "```", "{}</think>", "{} a"])
def test_a_million_characters_of_tags_and_fences_take_no_time(piece: str) -> None:
    started = time.process_time()

    split_thinking(piece * (1_000_000 // len(piece)))

    assert time.process_time() - started < 5
