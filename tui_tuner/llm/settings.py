"""The user's settings of the language model."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from tui_tuner.llm.ways import Structured


class ModelSettings(BaseModel):
    """Settings of the model; none of them is a key, since keys come from the environment only.

    Attributes:
        model: the model's name at its provider; None: a default, or the largest that Ollama has.
        base_url: another server that speaks the provider's API; None: the provider's own.
        temperature: None: the provider's default, which some models insist on.
        context_tokens: what prompt and reply may have together, for Ollama; rounded up to a power of two.
        max_tokens: limit of one reply.
        structured: how a typed reply is asked for; `auto` takes the strictest way that the server takes.
        timeout_s: wall-clock limit of one call with its retries, seconds.
        cache_replies: whether complete replies are kept and given again to the same prompt.
        command: the program for the `command` provider, with its arguments.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str | None = None
    base_url: str | None = Field(default=None, pattern=r"^https?://\S+$")
    temperature: float | None = Field(default=None, ge=0, le=2)
    context_tokens: int = Field(default=32768, ge=2048, le=2**20)
    max_tokens: int = Field(default=16384, ge=256)
    structured: Structured = "auto"
    timeout_s: float = Field(default=900.0, gt=0)
    cache_replies: bool = False
    command: str | None = None
