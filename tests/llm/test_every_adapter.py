from __future__ import annotations

import asyncio
import json
import socket
import socketserver
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

import pytest

from tests.llm.fakes import retries
from tests.llm.server import Answer, ModelServer
from tests.llm.wires import ANTHROPIC, INPUT, KEY, OPENAI, OUTPUT, QUICK, REQUEST, SCHEMA, WIRES, Wire
from tui_tuner.errors import ModelError
from tui_tuner.llm import Backend, Stop
from tui_tuner.llm.errors import (
    BrokenOff,
    ContextTooLong,
    KeyRefused,
    ModelTimedOut,
    RateLimited,
    RequestRefused,
    ServerFault,
    TransportError,
    Unreachable,
)
from tui_tuner.llm.ollama import installed_models
from tui_tuner.llm.streams import BackoffPolicy, Pace, RetryingBackend, complete

GOOD = '{"factor": 4}'


@pytest.fixture(params=WIRES, ids=lambda wire: wire.name)
def wire(request: pytest.FixtureRequest) -> Wire:
    chosen: Wire = request.param
    return chosen


@pytest.fixture
async def backend(wire: Wire, server: ModelServer) -> AsyncIterator[Backend]:
    made = wire.make(server.url, QUICK)
    yield made
    await made.aclose()


async def fault(backend: Backend) -> TransportError:
    with pytest.raises(TransportError) as caught:
        await complete(backend, REQUEST)
    return caught.value


async def test_a_streamed_reply_arrives_in_pieces_with_its_usage(
    wire: Wire, server: ModelServer, backend: Backend
) -> None:
    server.answers = [wire.good('{"fac', 'tor"', ": 4}")]
    pieces: list[str] = []

    reply = await complete(backend, REQUEST, lambda chunk: pieces.append(chunk.text))

    assert reply.text == GOOD
    assert reply.stop is Stop.COMPLETE
    assert (reply.usage.input, reply.usage.output, reply.usage.estimated) == (INPUT, OUTPUT, False)
    assert [piece for piece in pieces if piece] == ['{"fac', 'tor"', ": 4}"]


async def test_the_schema_and_the_reply_limit_are_part_of_the_request(
    wire: Wire, server: ModelServer, backend: Backend
) -> None:
    server.answers = [wire.good(GOOD)]

    await complete(backend, REQUEST)

    sent = json.dumps(server.requests[0])
    assert json.dumps(SCHEMA) in sent
    assert str(REQUEST.max_tokens) in sent


async def test_characters_split_between_network_packets_survive(
    wire: Wire, server: ModelServer, backend: Backend
) -> None:
    server.answers = [wire.good("µ → ", "naïve 🚀")]

    assert (await complete(backend, REQUEST)).text == "µ → naïve 🚀"


async def test_a_reply_cut_at_its_limit_says_so(wire: Wire, server: ModelServer, backend: Backend) -> None:
    server.answers = [wire.good('{"fac', stop=wire.length)]

    assert (await complete(backend, REQUEST)).stop is Stop.LENGTH


async def test_too_many_requests_are_tried_again_after_the_time_asked_for(
    wire: Wire, server: ModelServer, backend: Backend, caplog: pytest.LogCaptureFixture
) -> None:
    server.answers = [Answer(('{"error": "slow down"}',), 429, {"retry-after": "0.2"}), wire.good(GOOD)]

    assert (await complete(RetryingBackend(backend, BackoffPolicy(base_s=0.001)), REQUEST)).text == GOOD
    pauses = [told["pause_s"] for told in retries(caplog)]
    # The Ollama client does not hand out the headers of a refusal.
    assert len(pauses) == 1
    assert pauses[0] == pytest.approx(0.2) or wire.name == "ollama"


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (401, '{"error": {"message": "bad key"}}', KeyRefused),
        (404, '{"error": {"message": "no such model"}}', RequestRefused),
        (307, "", RequestRefused),
        (400, '{"error": {"message": "prompt is too long: 9 > 8"}}', ContextTooLong),
        (413, '{"error": {"message": "big"}}', ContextTooLong),
        (429, '{"error": {"message": "wait"}}', RateLimited),
        (429, '{"error": {"message": "", "code": "insufficient_quota"}}', KeyRefused),
        (500, "<html>oops</html>", ServerFault),
        (529, '{"error": {"message": "overloaded"}}', ServerFault),
    ],
)
async def test_each_refusal_has_its_own_error_with_status_and_endpoint(
    server: ModelServer, backend: Backend, status: int, body: str, expected: type[TransportError]
) -> None:
    server.answers = [Answer((body,), status, {"location": "http://127.0.0.1:9/elsewhere"})]

    error = await fault(backend)

    assert type(error) is expected
    assert error.status == status
    assert error.endpoint.startswith(server.url)
    assert len(server.requests) == 1


async def test_the_key_is_in_no_error_and_no_repr_even_if_the_server_echoes_it(
    wire: Wire, server: ModelServer, backend: Backend
) -> None:
    server.answers = [Answer((json.dumps({"error": {"message": f"Incorrect API key provided: {KEY}"}}),), 401)]

    error = await fault(backend)

    shown = f"{error} {error!r} {error.body} {backend!r} {vars(error)}"
    assert KEY not in shown
    assert "[key]" in error.body
    assert error.__cause__ is None


async def test_a_refused_connection_is_unreachable(wire: Wire) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    backend = wire.make(f"http://127.0.0.1:{port}", QUICK)

    error = await fault(backend)
    await backend.aclose()

    assert type(error) is Unreachable
    assert error.retryable


async def test_silence_before_the_first_word_times_out(wire: Wire, server: ModelServer) -> None:
    server.answers = [Answer(end="stall")]
    backend = wire.make(server.url, Pace(0.2, 100))

    assert type(await fault(backend)) is ModelTimedOut
    await backend.aclose()


async def test_silence_in_the_middle_of_a_reply_times_out_and_books_what_arrived(
    wire: Wire, server: ModelServer
) -> None:
    for between_s in (0.3, 3, 30):  # a busy machine may be silent for a while too
        server.answers = [wire.broken("I would", "stall")]
        backend = wire.make(server.url, Pace(100, between_s))
        error = await fault(backend)
        await backend.aclose()
        if error.usage is not None and error.usage.output > 0:
            break

    assert type(error) is ModelTimedOut
    assert error.usage is not None
    assert error.usage.estimated
    assert error.usage.output > 0


@pytest.mark.parametrize("end", ["cut", "clean"])
async def test_a_stream_that_ends_without_a_stop_reason_broke_off(
    wire: Wire, server: ModelServer, backend: Backend, end: str
) -> None:
    server.answers = [wire.broken("I would", end)]

    assert type(await fault(backend)) is BrokenOff


async def test_an_unknown_stop_reason_is_not_taken_for_a_complete_reply(
    wire: Wire, server: ModelServer, backend: Backend
) -> None:
    server.answers = [wire.good(GOOD, stop="pause_turn")]

    assert type(await fault(backend)) is BrokenOff


async def test_half_a_line_of_the_stream_broke_off(wire: Wire, server: ModelServer, backend: Backend) -> None:
    server.answers = [Answer((*wire.start, wire.words("I would"), 'data: {"message": {"con\n\n'))]

    assert type(await fault(backend)) is BrokenOff


async def test_an_error_object_inside_the_stream_is_the_servers_fault(
    wire: Wire, server: ModelServer, backend: Backend
) -> None:
    server.answers = [Answer((*wire.start, wire.words("I would"), wire.error))]

    assert type(await fault(backend)) is ServerFault


async def test_nothing_is_tried_again_after_the_first_words(wire: Wire, server: ModelServer, backend: Backend) -> None:
    server.answers = [wire.broken("I would", "cut"), wire.good(GOOD)]

    error = await fault(RetryingBackend(backend, BackoffPolicy(base_s=0.001)))

    assert type(error) is BrokenOff
    assert len(server.requests) == 1


async def test_cancelling_closes_the_connection(wire: Wire, server: ModelServer, backend: Backend) -> None:
    server.answers = [wire.broken("and on ", "endless")]
    begun = asyncio.Event()
    task = asyncio.create_task(complete(backend, REQUEST, lambda _: begun.set()))
    await asyncio.wait_for(begun.wait(), 100)

    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.to_thread(server.disconnected.wait, 5)


@pytest.mark.parametrize("wire", [ANTHROPIC, OPENAI], indirect=True, ids=lambda wire: wire.name)
@pytest.mark.parametrize("kind", ["text/html; charset=utf-8", "application/json"])
async def test_a_page_in_the_place_of_a_stream_is_told_as_one_and_not_asked_for_again(
    server: ModelServer, backend: Backend, kind: str
) -> None:
    server.answers = [Answer(("<html>\n<title>Log in</title>\n</html>\n",), 200, {"Content-Type": kind})]

    error = await fault(RetryingBackend(backend, BackoffPolicy(base_s=0.001)))

    assert f"no stream of words came, but {kind}; is this the address of its API?" in str(error)
    assert len(server.requests) == 1


@contextmanager
def raw(said: bytes) -> Iterator[str]:
    """A server that says this to whatever it hears, and hangs up."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.recv(2**16)
            self.request.sendall(said)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as running:
        threading.Thread(target=running.serve_forever, args=(0.01,), daemon=True).start()
        yield f"127.0.0.1:{running.server_address[1]}"
        running.shutdown()


def refusing(words: bytes) -> bytes:
    return b"HTTP/1.1 400 Bad Request\r\nContent-Length: %d\r\n\r\n%b" % (len(words), words)


HUNG_UP = "the server hung up; does it speak TLS, so that its address is https:// instead of http://?"
TLS = "TLS is spoken there; is the address https:// instead of http://?"
NO_TLS = "no TLS is spoken there; is the address http:// instead of https://?"


@pytest.mark.parametrize(
    ("scheme", "said", "told"),
    [
        ("http", b"\x15\x03\x03\x00\x02\x02\x46", HUNG_UP),
        ("http", b"", HUNG_UP),
        ("http", refusing(b"The plain HTTP request was sent to HTTPS port"), TLS),
        ("http", refusing(b"Client sent an HTTP request to an HTTPS server."), TLS),
        ("https", refusing(b""), NO_TLS),
    ],
    ids=["alert", "end", "nginx", "go", "plain"],
)
async def test_the_wrong_one_of_http_and_https_is_told_as_such(wire: Wire, scheme: str, said: bytes, told: str) -> None:
    with raw(said) as place:
        backend = wire.make(f"{scheme}://{place}", QUICK)
        error = await fault(backend)
        await backend.aclose()
    assert told in str(error)


@pytest.mark.parametrize(("scheme", "said"), [("http", b""), ("https", refusing(b""))])
async def test_the_wrong_one_of_http_and_https_is_told_of_ollama_too(scheme: str, said: bytes) -> None:
    with raw(said) as place, pytest.raises(ModelError) as caught:
        await installed_models(f"{scheme}://{place}")
    assert "http" in (caught.value.hint or "")
