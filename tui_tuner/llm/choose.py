"""From `--llm` and the settings to a back end. No provider's package is imported before it is chosen."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import shutil
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from urllib.parse import urlsplit

from tui_tuner.errors import ModelError, SettingsError
from tui_tuner.llm import Backend, ModelSettings, ollama_url, shown
from tui_tuner.log import hide
from tui_tuner.resources import APPLICATION

SPECS = (
    "auto",
    "none",
    "ollama[:MODEL]",
    "openai[:MODEL]",
    "openrouter[:MODEL]",
    "anthropic[:MODEL]",
    "command[:PROGRAM]",
    "replay:FILE",
)
"""All forms that `choose` understands."""

_PROVIDERS = tuple(spec.partition("[")[0].partition(":")[0] for spec in SPECS)
_AUTO_ORDER = ("ollama", "anthropic", "openai", "openrouter")
_DEFAULT_MODELS = {
    "anthropic": "claude-sonnet-5-5",
    "openai": "gpt-6.1-sol",
    "openrouter": "anthropic/claude-sonnet-5.5",
}


async def choose(spec: str, settings: ModelSettings, tell: Callable[[str], None] | None = None) -> Backend | None:
    """Return the back end that the user asked for, ready to stream.

    Args:
        spec: one of SPECS; `auto` takes a running Ollama, else the first provider with a key.
        tell: called for each provider that `auto` passes over, with the reason.

    Returns:
        None for `none`, and for `auto` where no provider can be used.

    Raises:
        SettingsError: the spec or the settings are wrong.
        ModelError: the provider asked for cannot be used.
    """
    provider, detail = parse_spec(spec)
    match provider:
        case "none":
            return None
        case "auto":
            return await _auto(settings, tell or (lambda _: None))
        case "command":
            return _command(detail or settings.command, settings)
        case "replay":
            return _replay(detail)
    return await _served(provider, detail or settings.model, settings)


def parse_spec(spec: str) -> tuple[str, str | None]:
    """Split a spec into provider and detail: a model, a program or a file.

    Raises:
        SettingsError: there is no such provider, or it takes no detail.
    """
    provider, _, detail = spec.strip().partition(":")
    if provider not in _PROVIDERS:
        near = get_close_matches(provider.lower(), _PROVIDERS, n=1)
        meant = f"did you mean '{near[0]}'? " if near else ""
        raise SettingsError(f"there is no model provider '{provider}'", hint=f"{meant}There are: {', '.join(SPECS)}")
    if detail and provider in ("auto", "none"):
        raise SettingsError(f"'{provider}' takes nothing behind it", hint=f"There are: {', '.join(SPECS)}")
    return provider, detail or None


async def _auto(settings: ModelSettings, tell: Callable[[str], None]) -> Backend | None:
    if settings.base_url is not None:
        raise SettingsError(
            "base_url is set, but not for which provider", hint="name it, as in: --llm openai, or --llm ollama"
        )
    for provider in _AUTO_ORDER:
        try:
            _check_serves(provider, settings.model)
            return await _served(provider, settings.model, settings)
        except ModelError as error:
            tell(f"{provider}: {error.message}")
    return None


def _check_serves(provider: str, model: str | None) -> None:
    """Refuse a model whose name tells that it is another provider's."""
    if model is None or provider == "ollama":
        return
    serves = {"anthropic": model.startswith("claude"), "openrouter": "/" in model}
    if not serves.get(provider, not any(serves.values())):
        raise ModelError(f"does not serve '{model}'")


async def _served(provider: str, model: str | None, settings: ModelSettings) -> Backend:
    try:
        match provider:
            case "ollama":
                return await _ollama(model, settings)
            case "anthropic":
                return await _anthropic(model, settings)
        return await _openai(provider, model, settings)
    except (ImportError, ValueError, OSError) as error:  # what a client says of a proxy or certificates it cannot use
        hint = "look at the variables HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and SSL_CERT_FILE"
        raise ModelError(f"the way to {provider} is set up wrongly: {error}", hint=hint) from None


def _address(settings: ModelSettings, variable: str) -> str | None:
    """The URL of the user's own server, from the settings or a variable; None where there is none.

    Raises:
        SettingsError: it is no URL.
    """
    name, given = ("base_url", settings.base_url) if settings.base_url else (variable, os.environ.get(variable, ""))
    url = given.strip()
    try:
        parts = urlsplit(url)
        is_url = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0 and url.isprintable()
    except ValueError:
        is_url = False
    if url and not is_url:
        raise SettingsError(f"{name} is no address of a server", hint="as in: http://127.0.0.1:8000/v1")
    return url or None


async def _ollama(model: str | None, settings: ModelSettings) -> Backend:
    from tui_tuner.llm.ollama import OllamaBackend, installed_models, pick

    address = settings.base_url or os.environ.get("OLLAMA_HOST")
    try:
        url = ollama_url(address)
    except ValueError as error:
        raise SettingsError(f"OLLAMA_HOST is no address: {error}", hint="as in: 127.0.0.1:11434") from None
    return OllamaBackend(pick(await installed_models(url), model), url, settings)


async def _anthropic(model: str | None, settings: ModelSettings) -> Backend:
    from tui_tuner.llm.anthropic import AnthropicBackend

    url = _address(settings, "ANTHROPIC_BASE_URL")
    if url is not None:
        url = url.rstrip("/").removesuffix("/v1")  # which the client puts there itself
    return AnthropicBackend(model or _DEFAULT_MODELS["anthropic"], await _needed_key("anthropic"), settings, url)


async def _openai(provider: str, model: str | None, settings: ModelSettings) -> Backend:
    from tui_tuner.llm.openai import OPENAI, OPENROUTER, Dialect, OpenAIBackend

    own = OPENAI if provider == "openai" else OPENROUTER
    elsewhere = _address(settings, "OPENAI_BASE_URL" if provider == "openai" else "")
    if elsewhere is None or elsewhere.rstrip("/") == own.base_url:
        return OpenAIBackend(model or _DEFAULT_MODELS[provider], await _needed_key(provider), settings, own)
    if model is None:
        raise ModelError(f"which model of {shown(elsewhere)}?", hint=f"name it, as in: --llm {provider}:MODEL")
    return OpenAIBackend(model, _key(provider), settings, Dialect(provider, elsewhere))


def _key(provider: str) -> str | None:
    name = f"{provider.upper()}_API_KEY"
    return _checked(os.environ.get(name, ""), name) or None


def _checked(key: str, where: str) -> str:
    """The key, which goes into a line of its own of a request.

    Raises:
        ModelError: it cannot, and what says so later would show it.
    """
    key = key.strip()
    if re.search(r"[^!-~]|^['\"]|['\"]$", key):
        fault = "a line break, a blank, a quotation mark or another sign that is in no key"
        raise ModelError(f"{where} holds {fault}", hint="set the key alone, as the provider shows it")
    return key


async def _needed_key(provider: str) -> str:
    """The key for the provider's own server: from the environment, else from the keyring of the system."""
    named = _key(provider)
    return await asyncio.to_thread(_key_in_keyring, provider) if named is None else named


def _key_in_keyring(provider: str) -> str:
    missing = f"{provider.upper()}_API_KEY is not set"
    try:
        import keyring
    except ImportError:
        hint = "export it; to keep it in the keyring of this system instead: pip install 'tuner-tui[keyring]'"
        raise ModelError(missing, hint=hint) from None
    try:
        kept = keyring.get_password(APPLICATION, provider) or ""
    except Exception as error:  # whatever the keyring of this system raises
        raise ModelError(f"{missing}, and the keyring cannot be read: {error}", hint="export it") from None
    key = _checked(kept, f"the keyring's {APPLICATION} {provider}")
    if not key:
        hint = f"export it, or put it into the keyring: keyring set {APPLICATION} {provider}"
        raise ModelError(f"{missing}, and the keyring has none for {APPLICATION} {provider}", hint=hint)
    hide(key)
    return key


def _command(line: str | None, settings: ModelSettings) -> Backend:
    from tui_tuner.llm.command import CommandBackend

    try:
        argv = shlex.split(line or "")
    except ValueError as error:
        raise SettingsError(f"the command cannot be read: {error}") from None
    if not argv:
        raise SettingsError("which program?", hint="name it, as in: --llm 'command:llm -m MODEL'")
    if shutil.which(argv[0]) is None:
        if Path(argv[0]).is_file():
            raise ModelError(
                f"'{argv[0]}' may not be run as a program", hint=f"allow it: chmod +x {shlex.quote(argv[0])}"
            )
        raise ModelError(f"there is no program '{argv[0]}'")
    return CommandBackend(argv, settings.timeout_s, fenced=settings.structured == "fenced")


def _replay(file: str | None) -> Backend:
    from tui_tuner.llm.replay import ReplayBackend

    if file is None:
        raise SettingsError("which recording?", hint="name it, as in: --llm replay:FILE")
    return ReplayBackend(Path(file).expanduser())
