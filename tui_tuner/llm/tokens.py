"""How many tokens a text has, without the model's tokenizer."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tui_tuner.llm.base import Message

_CHARACTERS_A_TOKEN = 3  # cautious: English and code have about four
_MOST_CHARACTERS_A_TOKEN = 6
_TOKENS_A_MESSAGE = 8  # role markers of the chat template


def estimate(text: str) -> int:
    """Return about how many tokens the text has, rather too many than too few."""
    # Scripts that take several bytes a character take up to a token for each.
    wide = sum(character > "\u07ff" for character in text)
    return wide + -(-(len(text) - wide) // _CHARACTERS_A_TOKEN)


def estimate_messages(messages: Iterable[Message]) -> int:
    """Return about how many tokens a conversation has, rather too many than too few."""
    return sum(estimate(message.content) + _TOKENS_A_MESSAGE for message in messages)


def fewest(messages: Iterable[Message]) -> int:
    """Return a number of tokens that the conversation surely exceeds."""
    # Tokenizers merge runs of blanks, so indentation counts once.
    return sum(len(re.sub(r"\s+", " ", message.content)) // _MOST_CHARACTERS_A_TOKEN for message in messages)
