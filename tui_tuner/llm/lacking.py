"""What a reply lacks that is no answer, and what its user can do about it: cut, declined, or without a word."""

from __future__ import annotations

from tui_tuner.llm import Reply, Stop
from tui_tuner.text import in_line

_REACHED = 0.95
"""From so much of the limit on it is the limit that cut a reply: not every server counts alike."""
_SHOWN = 200  # characters
_ANOTHER = "name another model, with --llm or m"


def lacking(reply: Reply) -> str:
    """What is wrong with a reply that is no answer, as in "was cut"; empty where it is one."""
    match reply.stop:
        case Stop.LENGTH:
            return "was cut"
        case Stop.REFUSED:
            return "was declined"
    if reply.text.strip():
        return ""
    return "is nothing but thoughts" if reply.thinking.strip() else "is empty"


def way_out(reply: Reply, max_tokens: int) -> str:
    """What its user can do about a reply that is no answer; empty where it is one.

    Args:
        max_tokens: the limit of the reply.
    """
    match reply.stop:
        case Stop.LENGTH:
            return _longer(reply, max_tokens)
        case Stop.REFUSED:
            said = in_line(reply.text)[:_SHOWN]
            return f"{_ANOTHER}{f'. It said: {said}' if said else ''}"
    return f'structured = "text" under [model] may bring an answer, or {_ANOTHER}' if lacking(reply) else ""


def _longer(reply: Reply, max_tokens: int) -> str:
    thoughts = ", and all went into thoughts" if reply.thinking.strip() and not reply.text.strip() else ""
    if reply.usage.output >= _REACHED * max_tokens:
        higher = f"raise it, as with `tuner-tui config set model.max_tokens {2 * max_tokens}`"
        return f"max_tokens under [model] allows {max_tokens}, thoughts included{thoughts}; {higher}"
    full = f"max_tokens under [model] allows {max_tokens}{thoughts}, so the context is full"
    return f"{full}; raise context_tokens under [model] for Ollama, what the server allows elsewhere, or {_ANOTHER}"
