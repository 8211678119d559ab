"""How long prompts and replies are in the sessions that are recorded beside the sample kernels."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tui_tuner.llm.base import Message
from tui_tuner.llm.tokens import estimate, estimate_messages
from tui_tuner.resources import samples_directory


@dataclass(frozen=True)
class RecordedReply:
    """One call of a model.

    Attributes:
        session: the folder of its journal.
        prompt: tokens of the whole conversation, an estimate.
        reply: tokens of the reply without its reasoning, an estimate.
        told: tokens of prompt and reply as the provider counted them; None where it did not.
    """

    session: str
    model: str
    purpose: str
    prompt: int
    reply: int
    told: tuple[int, int] | None


def recorded_replies() -> list[RecordedReply]:
    """Every reply of every recorded session, in their order."""
    samples = samples_directory()
    journals = {path.parent.name: path for path in sorted(samples.glob("recorded/*/journal.jsonl"))}
    tensile = samples / "tensile" / "recorded" / "journal.jsonl"
    journals |= {"tensile": tensile} if tensile.exists() else {}
    return [reply for session, journal in journals.items() for reply in _replies(session, journal)]


def _replies(session: str, journal: Path) -> list[RecordedReply]:
    header, *records = map(json.loads, journal.read_text(encoding="utf-8").splitlines())
    asked = [record for record in records if record["kind"] == "ask" and "text" in record["result"]]
    return [_reply(session, header["model"], record["content"], record["result"]) for record in asked]


def _reply(session: str, model: str, content: dict[str, Any], result: dict[str, Any]) -> RecordedReply:
    usage = result["usage"]
    return RecordedReply(
        session=session,
        model=model,
        purpose=content["purpose"],
        prompt=estimate_messages(Message(**message) for message in content["messages"]),
        reply=estimate(result["text"]),
        told=None if usage["estimated"] else (usage["input"], usage["output"]),
    )
