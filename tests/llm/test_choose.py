from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tests.llm.server import ModelServer
from tests.llm.wires import ANTHROPIC, REQUEST
from tui_tuner.app.choosing import model_of
from tui_tuner.errors import ModelError, SettingsError
from tui_tuner.llm import ModelSettings, is_loopback, ollama_url, shown
from tui_tuner.llm import choose as module
from tui_tuner.llm.choose import SPECS, _needed_key, choose
from tui_tuner.llm.streams import complete
from tui_tuner.session_options import SessionOptions
from tui_tuner.settings import Settings

KEY = "sk-test-0123456789abcdefghij"
TAGS = {
    "models": [
        {"name": "small:latest", "size": 1_000},
        {"name": "big:70b", "size": 70_000},
        {"name": "nomic-embed-text:latest", "size": 900_000},
        {"name": "huge:480b-cloud", "size": 999_999},
    ]
}


@pytest.fixture
def ollama(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> ModelServer:
    server.pages["/api/tags"] = TAGS
    monkeypatch.setenv("OLLAMA_HOST", server.url)
    return server


async def name_of(spec: str, **settings: Any) -> str | None:
    backend = await choose(spec, ModelSettings(**settings))
    if backend is None:
        return None
    assert KEY not in repr(backend)
    await backend.aclose()
    return backend.name


async def test_auto_prefers_a_running_ollama_and_its_largest_model_that_chats_here(
    ollama: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)

    assert await name_of("auto") == "ollama:big:70b"


async def test_auto_takes_the_configured_model_where_it_is_served(
    ollama: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for provider in ("ANTHROPIC", "OPENAI", "OPENROUTER"):
        monkeypatch.setenv(f"{provider}_API_KEY", KEY)

    assert await name_of("auto", model="small") == "ollama:small"
    assert await name_of("auto", model="claude-opus-5-5") == "anthropic:claude-opus-5-5"
    assert await name_of("auto", model="gpt-4.1") == "openai:gpt-4.1"
    assert await name_of("auto", model="qwen/qwen3-coder") == "openrouter:qwen/qwen3-coder"


@pytest.mark.parametrize("provider", ["anthropic", "openai", "openrouter"])
async def test_auto_falls_back_to_the_provider_whose_key_is_set(provider: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"{provider.upper()}_API_KEY", f" {KEY}\n")

    assert str(await name_of("auto")).startswith(f"{provider}:")


async def test_auto_without_anything_gives_nothing_and_the_reason_of_each_provider() -> None:
    reasons: list[str] = []

    assert await choose("auto", ModelSettings(), reasons.append) is None
    assert [reason.partition(":")[0] for reason in reasons] == ["ollama", "anthropic", "openai", "openrouter"]
    assert "127.0.0.1:9" in reasons[0]
    assert "ANTHROPIC_API_KEY is not set" in reasons[1]


@pytest.mark.parametrize("page", [{"models": [{"size": 1}]}, {"hello": 1}, [], {"models": []}])
async def test_a_server_that_is_not_ollama_or_has_no_model_is_passed_over(server: ModelServer, page: Any) -> None:
    server.pages["/api/tags"] = page

    with pytest.raises(ModelError):
        await choose("ollama", ModelSettings(base_url=server.url))


async def test_none_is_no_model() -> None:
    assert await name_of("none") is None


async def test_a_model_that_ollama_lacks_is_named_with_the_nearest_and_how_to_get_it(ollama: ModelServer) -> None:
    with pytest.raises(ModelError) as caught:
        await choose("ollama:big:7b", ModelSettings())

    assert "did you mean 'big:70b'?" in str(caught.value)
    assert "ollama pull big:7b" in str(caught.value)


async def test_the_spec_wins_over_the_configured_model(ollama: ModelServer) -> None:
    assert await name_of("ollama:small", model="big:70b") == "ollama:small"
    assert await name_of("ollama", model="small") == "ollama:small"


async def test_a_server_of_ones_own_needs_a_model_and_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    url = "http://localhost:8000/v1"

    assert await name_of("openai:qwen", base_url=url) == "openai:qwen@localhost:8000"
    with pytest.raises(ModelError, match="which model"):
        await choose("openai", ModelSettings(base_url=url))
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    assert await name_of("openai:qwen") == "openai:qwen@localhost:8000"


async def test_a_provider_without_its_key_is_refused_and_says_which_variable() -> None:
    with pytest.raises(ModelError, match="OPENROUTER_API_KEY is not set"):
        await choose("openrouter", ModelSettings())


async def test_a_command_comes_from_the_spec_or_the_settings() -> None:
    assert await name_of(f"command:{sys.executable} -c 'print(1)'") == f"command:{Path(sys.executable).name}"
    assert await name_of("command", command="cat -") == "command:cat"


@pytest.mark.parametrize(
    ("spec", "error", "words"),
    [
        ("opnai", SettingsError, "did you mean 'openai'?"),
        ("", SettingsError, "There are: auto, none, ollama"),
        ("auto:x", SettingsError, "takes nothing"),
        ("command", SettingsError, "which program"),
        ("command:'unclosed", SettingsError, "cannot be read"),
        ("command:no-such-program-anywhere -x", ModelError, "no program 'no-such-program-anywhere'"),
        (f"command:{__file__} -x", ModelError, "may not be run as a program"),
        ("replay", SettingsError, "which recording"),
        ("replay:/nowhere/session.jsonl", ModelError, "/nowhere/session.jsonl"),
    ],
)
async def test_a_bad_spec_says_what_would_be_right(spec: str, error: type[Exception], words: str) -> None:
    with pytest.raises(error) as caught:
        await choose(spec, ModelSettings())

    assert words in str(caught.value)


@pytest.mark.parametrize("address", ["127.0.0.1:port", "127.0.0.1:99999", "[::1", "http://[::bad", "http://h:port"])
async def test_an_address_that_is_none_is_the_users_to_mend(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", address)

    with pytest.raises(SettingsError, match="OLLAMA_HOST"):
        await choose("ollama", ModelSettings())


async def test_a_base_url_without_a_provider_is_not_silently_ignored() -> None:
    with pytest.raises(SettingsError, match="base_url"):
        await choose("auto", ModelSettings(base_url="http://localhost:1"))


def test_every_spec_is_understood() -> None:
    providers = [module.parse_spec(spec.partition("[")[0])[0] for spec in SPECS]

    assert len(set(providers)) == len(SPECS)


@pytest.mark.parametrize(
    "wrong",
    [
        {"modle": "x"},
        {"base_url": "localhost:1"},
        {"context_tokens": 100},
        {"temperature": 3.0},
        {"timeout_s": 0},
        {"structured": "json"},
    ],
)
def test_wrong_settings_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ModelSettings(**wrong)


@pytest.mark.parametrize(
    ("address", "url"),
    [
        (None, "http://127.0.0.1:11434"),
        ("", "http://127.0.0.1:11434"),
        ("10.0.0.5", "http://10.0.0.5:11434"),
        ("0.0.0.0:8080", "http://127.0.0.1:8080"),
        (":8080", "http://127.0.0.1:8080"),
        ("gpu-box:8080/", "http://gpu-box:8080"),
        ("[::1]", "http://[::1]:11434"),
        ("https://ollama.example/base/", "https://ollama.example/base"),
    ],
)
def test_what_ollama_host_may_hold_becomes_a_url(address: str | None, url: str) -> None:
    assert ollama_url(address) == url


def test_a_shown_address_has_no_user_password_or_query() -> None:
    assert shown("https://me:secret@host:1/v1?key=x#y") == "https://host:1/v1"


def test_this_machine_is_known_by_all_its_names() -> None:
    assert all(map(is_loopback, ["localhost:1", "http://127.0.0.1", "127.8.0.1", "[::1]:80", "a.localhost"]))
    assert not any(map(is_loopback, ["http://localhost.evil.com", "10.0.0.1", "", "http://example.com/localhost"]))


@pytest.mark.slow
def test_choosing_imports_no_provider_before_it_is_chosen() -> None:
    code = (
        "import sys, asyncio\n"
        "from tui_tuner.llm.choose import choose\n"
        "from tui_tuner.llm import ModelSettings\n"
        "heavy = {'openai', 'anthropic', 'ollama', 'httpx', 'httpx2', 'textual', 'rich'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
        "import tui_tuner.llm.ollama, tui_tuner.llm.openai, tui_tuner.llm.anthropic, tui_tuner.llm.replay\n"
        "tui_tuner.llm.ollama.OllamaBackend('m', 'http://localhost:1', ModelSettings())\n"
        "assert not {'openai', 'anthropic', 'httpx2'} & set(sys.modules)\n"
    )

    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert result.returncode == 0, result.stderr


async def test_the_session_may_give_a_command_more_time_for_a_reply_than_the_settings():
    options = SessionOptions(llm="command:cat", reply_seconds=1234.0)
    backend, _ = await model_of(options, Settings())
    assert backend is not None
    assert backend._policy.limit_s == 1234.0
    await backend.aclose()


class Keyring:
    """The package `keyring`, with one key or a fault."""

    def __init__(self, kept: dict[tuple[str, str], str] | None) -> None:
        self._kept = kept

    def get_password(self, service: str, name: str) -> str | None:
        if self._kept is None:
            raise RuntimeError("it is locked")
        return self._kept.get((service, name))


async def test_a_key_that_is_not_in_the_environment_may_be_in_the_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keyring", Keyring({("tuner-tui", "anthropic"): " sk-kept\n"}))
    assert await _needed_key("anthropic") == "sk-kept"
    with pytest.raises(ModelError, match="OPENAI_API_KEY is not set, and the keyring has none") as raised:
        await _needed_key("openai")
    assert raised.value.hint == "export it, or put it into the keyring: keyring set tuner-tui openai"
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-named")
    assert await _needed_key("anthropic") == "sk-named"
    monkeypatch.setitem(sys.modules, "keyring", Keyring(None))
    with pytest.raises(ModelError, match="the keyring cannot be read: it is locked"):
        await _needed_key("openai")


async def test_a_keyring_that_is_not_installed_is_said() -> None:
    with pytest.raises(ModelError) as raised:
        await _needed_key("openai")
    assert "pip install 'tuner-tui[keyring]'" in str(raised.value)


async def test_a_key_of_the_keyring_is_sent_to_no_other_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keyring", Keyring({("tuner-tui", "openai"): "sk-kept"}))
    made = []
    monkeypatch.setattr("tui_tuner.llm.openai.OpenAIBackend", lambda *given: made.append(given))
    await choose("openai:m", ModelSettings(base_url="http://127.0.0.1:9/v1"))
    await choose("openai:m", ModelSettings())
    assert [given[1] for given in made] == [None, "sk-kept"]


@pytest.mark.parametrize("key", ["sk-half\nhalf", "\u201csk-half\u201d", '"sk-half"', "sk half"])
@pytest.mark.parametrize("provider", ["openai", "anthropic"])
async def test_a_key_that_fits_into_no_request_is_refused_and_not_shown(
    provider: str, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"{provider.upper()}_API_KEY", key)

    with pytest.raises(ModelError, match=f"{provider.upper()}_API_KEY holds a line break, a blank, ") as caught:
        await choose(f"{provider}:m", ModelSettings())

    assert "half" not in str(caught.value)


@pytest.mark.parametrize(
    "address", ["gate.example/v1", "http://gate.example:80x0/v1", "http://gate\n.example", "http://"]
)
@pytest.mark.parametrize("provider", ["openai", "anthropic"])
async def test_what_is_no_address_is_told_where_it_is_set(
    provider: str, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"{provider.upper()}_API_KEY", "k")
    monkeypatch.setenv(f"{provider.upper()}_BASE_URL", address)

    with pytest.raises(SettingsError, match=f"{provider.upper()}_BASE_URL is no address of a server"):
        await choose(f"{provider}:m", ModelSettings())


@pytest.mark.parametrize("proxy", ["socks://127.0.0.1:9", "socks5://127.0.0.1:9"])
@pytest.mark.parametrize("spec", ["openai:m", "anthropic:m", "ollama:m"])
async def test_a_proxy_that_no_client_can_use_is_told(spec: str, proxy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, "k")
    monkeypatch.setenv("OLLAMA_HOST", "http://gpu.invalid:11434")
    monkeypatch.setenv("ALL_PROXY", proxy)
    monkeypatch.setitem(sys.modules, "socksio", None)

    with pytest.raises(ModelError) as caught:
        await choose(spec, ModelSettings())

    assert "ALL_PROXY" in (caught.value.hint or "")


async def test_the_path_that_a_client_adds_itself_may_stand_in_the_address(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    server.answers, server.pages = [ANTHROPIC.good("ok")], {"/api/tags": {"models": [{"name": "m", "size": 1}]}}

    for spec, path in (("anthropic:m", "/v1/"), ("ollama:m", "/v1")):
        backend = await choose(spec, ModelSettings(base_url=f"{server.url}{path}"))
        assert backend is not None
        if spec == "anthropic:m":
            await complete(backend, REQUEST)
        await backend.aclose()

    assert server.paths == ["/v1/messages"]


async def test_an_ollama_elsewhere_is_to_be_started_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "http://gpu.invalid:11434")

    with pytest.raises(ModelError, match=r"no Ollama answers at http://gpu\.invalid:11434 \(Connect") as caught:
        await choose("ollama:m", ModelSettings())

    assert caught.value.hint == "start it there with: OLLAMA_HOST=0.0.0.0 ollama serve"
