"""Thoughts that a model writes into its reply, told from its answer."""

from __future__ import annotations

import json
import re

# The spellings that chat clients and inference servers know: DeepSeek's, Qwen's and most fine-tunes', then those of
# ByteDance's Seed, Mistral's Magistral, OpenThinker and Kimi-VL.
_NAMES = "think|thinking|thought|reason|reasoning|seed:think"
_OPEN = re.compile(rf"<(?:{_NAMES})>|\[THINK\]|<\|begin_of_thought\|>|◁think▷", re.IGNORECASE)
_CLOSE = re.compile(rf"</(?:{_NAMES})>|\[/THINK\]|<\|end_of_thought\|>|◁/think▷", re.IGNORECASE)
_WORD = re.compile(r"\S")
_BLOCK = re.compile(r"```.*?\n[ \t]*```[ \t]*(?:\n|\Z)", re.DOTALL)
_DECODER = json.JSONDecoder()


def split_thinking(text: str) -> tuple[str, str]:
    """Split a reply into answer and thoughts, where a model writes its thoughts between tags.

    What follows the last thought is the answer; where nothing follows, what stands before it is.
    A template may have opened the first thought itself: a closing tag alone makes a thought of
    all before it. A thought that never closes takes the rest. Tags inside JSON or a fenced block
    with which the answer begins belong to it. In doubt it is a thought, for a draft must not be
    taken for the answer.
    """
    before: list[str] = []
    answer: list[str] = []
    thoughts: list[str] = []
    at, found = 0, False
    while True:
        at = _begin(text, at)
        end = _end(text, at)
        if end is not None:
            answer.append(text[at:end])
            at = end
            continue
        is_broken = not answer and text.startswith(("{", "```"), at)
        close = None if is_broken else _CLOSE.search(text, at)
        if close is None:
            break
        if _OPEN.search(text, at, close.start()) is None:
            thoughts += [*before, *answer]
            before = []
        else:
            before += answer
        thoughts.append(_OPEN.sub("", text[at : close.start()], count=1))
        answer, at, found = [], close.end(), True
    rest, opened, thought = (text[at:], "", "") if is_broken else _partition(text[at:])
    if not found and not opened:
        return text, ""
    behind = "".join([*answer, rest])
    if behind.strip():
        return behind, "".join([*before, *thoughts, thought])
    return "".join(before), "".join([*thoughts, thought])


def _begin(text: str, at: int) -> int:
    """Return where the next word begins."""
    word = _WORD.search(text, at)
    return len(text) if word is None else word.start()


def _end(text: str, at: int) -> int | None:
    """Return where the JSON object or fenced block ends that begins there; None if there is no whole one."""
    if text.startswith("{", at):
        try:
            return _DECODER.raw_decode(text, at)[1]
        except (ValueError, RecursionError):
            return None
    block = _BLOCK.match(text, at)
    return None if block is None else block.end()


def _partition(text: str) -> tuple[str, str, str]:
    """Split at the first opening tag."""
    tag = _OPEN.search(text)
    return (text, "", "") if tag is None else (text[: tag.start()], tag[0], text[tag.end() :])
