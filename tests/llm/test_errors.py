"""What people are told of a call that came to nothing, in the words of real providers."""

from __future__ import annotations

import pytest

from tui_tuner.llm.errors import ContextTooLong, NoWay, Service, connection_fault, status_fault

SITE = Service("openai", "https://gate.example/v1", ("secret-key",))


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (
            '{"error": {"message": "The model `gpt-9` does not exist.", "code": "model_not_found"}}',
            "The model `gpt-9` does not exist.",
        ),
        (
            '{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}, "request_id": "1"}',
            "Overloaded",
        ),
        (
            '{"object": "error", "message": "The model `m` does not exist.", "code": 404}',
            "The model `m` does not exist.",
        ),
        ('[{"error": {"code": 400, "message": "API key not valid.", "status": "X"}}]', "API key not valid."),
        ('{"error": "model \\"m\\" not found, try pulling it first"}', 'model "m" not found, try pulling it first'),
        ('{"detail": "Not Found"}', "Not Found"),
        (
            '{"error": {"message": "Provider returned error", "code": 429, '
            '"metadata": {"raw": "{\\"error\\": {\\"message\\": \\"m is rate-limited upstream\\"}}"}}}',
            "Provider returned error: m is rate-limited upstream",
        ),
        (
            "<!DOCTYPE html>\n<html><head>\n<title>502 Bad\nGateway</title>\n</head><body><h1>x</h1></body></html>",
            "502 Bad Gateway",
        ),
        ('{"error": {"message": "not secret-key"}}', "not [key]"),
        # What has no words of its own for people is shown as it came.
        ('{"detail": [{"loc": ["body"], "msg": "Required"}]}', '{"detail": [{"loc": ["body"], "msg": "Required"}]}'),
        ('{"error": {"code": 1}}', '{"error": {"code": 1}}'),
        ("upstream connect error", "upstream connect error"),
        ("[" * 100_000, "[" * 300),
    ],
)
def test_what_a_provider_says_is_told_in_its_words_for_people(body: str, told: str) -> None:
    error = status_fault(SITE, 500, body)

    assert error.body == told
    assert str(error) == f"openai: the server failed (https://gate.example/v1, status 500): {told}"


def test_how_long_a_provider_asks_to_wait_is_told() -> None:
    error = status_fault(SITE, 429, '{"error": {"message": "daily limit"}}', {"retry-after": "7200"})

    assert str(error).startswith("openai: too many requests, it asks to wait 2 h 0 min (https://gate.example/v1, ")


BARE = Service("openai", "http://gate.example:8000", ())


@pytest.mark.parametrize(
    ("service", "status", "told"),
    [
        (SITE, 401, "the key was refused; is OPENAI_API_KEY the right one?"),
        (BARE, 401, "a key is wanted; set OPENAI_API_KEY"),
        (SITE, 402, "the key or the account was refused"),
        (SITE, 404, "there is no such model or address"),
        (BARE, 404, "there is no such model or address, which mostly ends in /v1"),
        (SITE, 407, "the proxy wants to know who you are, as in HTTPS_PROXY=http://USER:PASSWORD@HOST:PORT"),
        (
            SITE,
            413,
            "the prompt is too long for the model; lower max_tokens under [model], or name a model with more context",
        ),
        (SITE, 400, "the request was refused"),
    ],
)
def test_a_refusal_names_the_way_out(service: Service, status: int, told: str) -> None:
    assert status_fault(service, status, "").reason == told


@pytest.mark.parametrize(
    "said",
    [
        "input length and `max_tokens` exceed context limit: 190000 + 16384 > 200000, decrease input length",
        "This model's maximum prompt length is 131072 but the request contains 200000 tokens.",
        "The input token count (2000000) exceeds the maximum number of tokens allowed (1048576).",
    ],
)
def test_each_provider_says_in_its_own_words_that_a_prompt_is_too_long(said: str) -> None:
    assert type(status_fault(SITE, 400, said)) is ContextTooLong


class ConnectError(Exception):
    """Named as those of HTTP libraries."""


class ProxyError(Exception):
    """Named as those of HTTP libraries."""


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (
            ConnectError("[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate"),
            "SSL_CERT_FILE",
        ),
        (ConnectError("[SSL: WRONG_VERSION_NUMBER] wrong version number"), "http:// instead of https://"),
        (ProxyError("407 Proxy Authentication Required"), "HTTPS_PROXY=http://USER:PASSWORD@HOST:PORT"),
    ],
)
def test_what_no_further_try_can_connect_names_the_way_out(error: Exception, told: str) -> None:
    fault = connection_fault(SITE, error)

    assert type(fault) is NoWay
    assert told in str(fault)
    assert not fault.retryable


@pytest.mark.parametrize(
    ("service", "told"),
    [
        (SITE, "is the address right, and the network up?"),
        (Service("openai", "http://[::1]:1"), "is the server running?"),
    ],
)
def test_a_connection_that_cannot_be_made_says_what_to_look_at(service: Service, told: str) -> None:
    fault = connection_fault(service, ConnectError("[Errno -2] Name or service not known"))
    assert fault is not None
    assert fault.reason == f"no connection; {told}"


def test_a_reply_that_is_no_text_is_told_as_such() -> None:
    fault = connection_fault(SITE, UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"))
    assert fault is not None
    assert fault.reason == "the reply is not UTF-8 text"
