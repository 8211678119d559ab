"""Which models an Ollama server has."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches

import httpx

from tui_tuner.errors import ModelError
from tui_tuner.llm.hosts import is_loopback, shown

_PROBE_S = 2.0
_NOT_FOR_CHAT = ("embed", "bert", "rerank")


@dataclass(frozen=True)
class InstalledModel:
    """A model that the server holds; `size` in bytes."""

    name: str
    size: int


async def installed_models(url: str) -> list[InstalledModel]:
    """Ask the server for its models.

    Raises:
        ModelError: it does not answer, or not as Ollama does.
    """
    try:
        async with httpx.AsyncClient(timeout=_PROBE_S, trust_env=not is_loopback(url)) as client:
            answer = await client.get(f"{url}/api/tags")
            answer.raise_for_status()
            return [InstalledModel(str(model["name"]), int(model["size"])) for model in answer.json()["models"]]
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, KeyError, TypeError) as error:
        raise ModelError(
            f"no Ollama answers at {shown(url)} ({type(error).__name__})", hint="start it with: ollama serve"
        ) from None


def pick(models: list[InstalledModel], wanted: str | None) -> str:
    """Return the model to use: the wanted one, else the largest that can chat and runs here.

    Raises:
        ModelError: there is none.
    """
    if wanted is not None:
        return _wanted(models, wanted)
    suitable = [model for model in models if _suits(model.name)]
    if not suitable:
        raise ModelError("Ollama has no model to chat with", hint="get one, as with: ollama pull qwen3-coder")
    return max(suitable, key=lambda model: model.size).name


def _wanted(models: list[InstalledModel], wanted: str) -> str:
    names = [model.name for model in models]
    if wanted in names or f"{wanted}:latest" in names:
        return wanted
    near = get_close_matches(wanted, names, n=1)
    meant = f"did you mean '{near[0]}'? Otherwise " if near else ""
    raise ModelError(f"Ollama has no model '{wanted}'", hint=f"{meant}get it with: ollama pull {wanted}")


def _suits(name: str) -> bool:
    return not name.endswith("cloud") and not any(word in name.lower() for word in _NOT_FOR_CHAT)
