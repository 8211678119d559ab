"""What people are told of a call that came to nothing, in the words of real providers."""

from __future__ import annotations

import pytest

from tui_tuner.llm.errors import Service, status_fault

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
