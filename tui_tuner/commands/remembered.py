"""What a session may use of the memory, and the model with its replies cached, as the user chose."""

from __future__ import annotations

from tui_tuner.llm.base import Backend
from tui_tuner.llm.recording import answered_in
from tui_tuner.llm.reply_cache import CachedBackend
from tui_tuner.memory.database import Database
from tui_tuner.memory.memory import Memory
from tui_tuner.memory.replies import KeptReplies
from tui_tuner.session.options import SessionOptions
from tui_tuner.session.run_directory import RunDirectory
from tui_tuner.settings import Settings

_OF_A_REPLY = {"temperature", "context_tokens", "structured", "base_url", "command"}
"""Settings of the model that a reply depends on."""


def decided(options: SessionOptions, settings: Settings) -> SessionOptions:
    """The options with what the settings say of the memory, for the journal: a resume does the same."""
    memory = settings.memory.enabled if options.memory is None else options.memory
    cache = settings.model.cache_replies if options.cache_replies is None else options.cache_replies
    return options.model_copy(update={"memory": memory, "cache_replies": cache})


def memory_of(options: SessionOptions, settings: Settings) -> Memory | None:
    """What a session may use of the memory; None where it is off."""
    sessions, replies = bool(options.memory), bool(options.cache_replies)
    return Memory(Database(settings.memory.place), sessions, replies) if sessions or replies else None


def cached(backend: Backend | None, run: RunDirectory, settings: Settings) -> Backend | None:
    """The model, with its replies kept where the user wants that.

    Raises:
        ModelError: a call in the run's journal cannot be read.
    """
    if backend is None or not run.options.cache_replies:
        return backend
    of_a_reply: dict[str, object] = settings.model.model_dump(mode="json", include=_OF_A_REPLY)
    if run.options.temperature is not None:
        of_a_reply["temperature"] = run.options.temperature
    past = answered_in(run.journal.records, run.journal.path)
    answered = [(one.request.purpose, one.request.messages) for one in past]
    return CachedBackend(backend, KeptReplies(Database(settings.memory.place)), of_a_reply, answered)
