"""A model provider on loopback that says what a test tells it to, faults included."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal


@dataclass(frozen=True)
class Answer:
    """What to send for one request.

    Attributes:
        pieces: each is sent at once, as one chunk of the body.
        end: clean, or cut without an end, or silent with the connection open, or never ending.
    """

    pieces: tuple[str, ...] = ()
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    end: Literal["clean", "cut", "stall", "endless"] = "clean"


class ModelServer:
    """Answers POST requests from `answers` in order (the last one again and again), GET requests from `pages`."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []
        self.pages: dict[str, Any] = {}
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.disconnected = threading.Event()
        self.closing = threading.Event()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}"

    def __enter__(self) -> ModelServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def next_answer(self) -> Answer:
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    def _handler(outer) -> type[BaseHTTPRequestHandler]:  # noqa: N805
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                page = json.dumps(outer.pages.get(self.path, {})).encode()
                self.send_response(200 if self.path in outer.pages else 404)
                self.send_header("Content-Length", str(len(page)))
                self.send_header("Connection", "close")
                self.end_headers()
                self.wfile.write(page)

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.requests.append(json.loads(body))
                outer.headers.append(dict(self.headers))
                outer.paths.append(self.path)
                self._send(outer.next_answer())

            def _send(self, answer: Answer) -> None:
                self.send_response(answer.status)
                for name, value in {"Content-Type": "text/event-stream", **answer.headers}.items():
                    self.send_header(name, value)
                self.send_header("Transfer-Encoding", "chunked")
                self.send_header("Connection", "close")
                self.end_headers()
                self.close_connection = True
                try:
                    for piece in _all_pieces(answer):
                        self.wfile.write(f"{len(piece.encode()):x}\r\n{piece}\r\n".encode())
                        self.wfile.flush()
                        if answer.end == "endless":
                            outer.closing.wait(0.005)
                    if answer.end == "stall":
                        outer.closing.wait(1000)
                    elif answer.end == "clean":
                        self.wfile.write(b"0\r\n\r\n")
                except OSError:
                    outer.disconnected.set()

            def log_message(self, *_: object) -> None:
                pass

        def _all_pieces(answer: Answer) -> Iterator[str]:
            yield from answer.pieces
            while answer.end == "endless" and not outer.closing.is_set():
                yield answer.pieces[-1]

        return Handler
