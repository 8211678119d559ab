"""Addresses: what may be shown of one, and whether it is this machine."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit


def shown(url: str) -> str:
    """Return the URL without user, password, query and fragment."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def host_of(url: str) -> str:
    """Return host and port of the URL as written."""
    return urlsplit(url).netloc.rpartition("@")[2]


def is_loopback(address: str) -> bool:
    """Whether a URL or `host:port` is this machine."""
    parts = urlsplit(address if "://" in address else f"//{address}")
    host = parts.hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def ollama_url(address: str | None) -> str:
    """Return the URL of an Ollama server from what OLLAMA_HOST may hold, without a final slash."""
    given = (address or "").strip().rstrip("/")
    _scheme, separator, rest = given.partition("://")
    if separator:
        return given
    rest = given or "127.0.0.1"
    if rest.startswith(":"):
        rest = f"127.0.0.1{rest}"
    parts = urlsplit(f"//{rest}")
    host, path = parts.netloc, parts.path
    if parts.port is None:
        host = f"{host}:11434"
    # A server told to listen everywhere is reached here.
    return f"http://{host.replace('0.0.0.0:', '127.0.0.1:')}{path}"
