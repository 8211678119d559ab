"""How long prompts and replies are in the sessions that are recorded beside the sample kernels."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tui_tuner.journal.reading import read_journal
from tui_tuner.llm.prices import estimate, estimate_messages
from tui_tuner.llm.replay import AnsweredRequest, answered_in
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
    content = read_journal(journal)
    return [_reply(session, content.header["model"], one) for one in answered_in(content.records, journal)]


def _reply(session: str, model: str, answered: AnsweredRequest) -> RecordedReply:
    usage = answered.reply.usage
    return RecordedReply(
        session=session,
        model=model,
        purpose=answered.request.purpose,
        prompt=estimate_messages(answered.request.messages),
        reply=estimate(answered.reply.text),
        told=None if usage.estimated else (usage.input, usage.output),
    )
