"""Length-prefixed JSON over a socket between the evaluator and its runner. No pickle: data only."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from typing import Any

HEADER = struct.Struct("!I")
MAX_BYTES = 64 * 2**20


class ChannelClosed(Exception):
    """The other side is gone."""


def encode(message: dict[str, Any]) -> bytes:
    """One frame: four bytes of length, then the JSON text."""
    body = json.dumps(message, allow_nan=True).encode()
    return HEADER.pack(len(body)) + body


def _length(header: bytes) -> int:
    (length,) = HEADER.unpack(header)
    if length > MAX_BYTES:
        raise ChannelClosed(f"a frame of {length} bytes is more than the {MAX_BYTES} allowed")
    return int(length)


def _decode(body: bytes) -> dict[str, Any]:
    message = json.loads(body)
    if not isinstance(message, dict):
        raise ChannelClosed("a frame that is no JSON object")
    return message


def send(connection: socket.socket, message: dict[str, Any]) -> None:
    """Send one frame, blocking."""
    connection.sendall(encode(message))


def receive(connection: socket.socket) -> dict[str, Any]:
    """Wait for one frame, blocking.

    Raises:
        ChannelClosed: the other side closed.
    """
    return _decode(_exactly(connection, _length(_exactly(connection, HEADER.size))))


def _exactly(connection: socket.socket, count: int) -> bytes:
    received = bytearray()
    while len(received) < count:
        piece = connection.recv(min(count - len(received), 2**16))
        if not piece:
            raise ChannelClosed("the connection was closed")
        received += piece
    return bytes(received)


async def receive_async(reader: asyncio.StreamReader) -> dict[str, Any]:
    """Wait for one frame.

    Raises:
        ChannelClosed: the other side closed.
    """
    try:
        header = await reader.readexactly(HEADER.size)
        return _decode(await reader.readexactly(_length(header)))
    except (asyncio.IncompleteReadError, ConnectionError) as error:
        raise ChannelClosed("the connection was closed") from error
