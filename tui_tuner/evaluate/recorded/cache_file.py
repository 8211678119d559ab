"""The text of a kernel_tuner cache file as a JSON object, whether it is packed, closed or still being written."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tui_tuner.errors import DeviceError

ENDINGS = (".json", ".json.gz")
"""How the names of cache files end."""
_PACKED = b"\x1f\x8b"
_NO_CACHE = "give a cache file of kernel_tuner, as tune_kernel(..., cache=FILE) writes it; it may be packed with gzip"


def is_cache_name(file: Path) -> bool:
    """Whether a file is called like a cache file, and like no kernel."""
    return file.name.lower().endswith(ENDINGS)


def stem_of(file: Path) -> str:
    """The name of a cache file without its endings, as in "conv" of conv.json.gz."""
    name = file.name.removesuffix(".gz")
    return name.removesuffix(".json") or name


def check_file(file: Path) -> None:
    """Whether there is a file; what is in it is another matter.

    Raises:
        DeviceError: there is none.
    """
    if not file.is_file():
        what = "is a directory" if file.is_dir() else "there is no such recording"
        raise DeviceError(what, hint=_NO_CACHE, file=file)


def read_bytes(file: Path) -> bytes:
    """The content of a file, unpacked.

    Raises:
        DeviceError: it cannot be read.
    """
    check_file(file)
    try:
        content = file.read_bytes()
        return gzip.decompress(content) if content.startswith(_PACKED) else content
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        hint = "the file is cut or damaged: fetch or pack it again"
        raise DeviceError(f"it cannot be unpacked: {error}", hint=hint, file=file) from None
    except OSError as error:
        raise DeviceError(f"it cannot be read: {error.strerror}", file=file) from None


def parse(content: bytes, file: Path) -> dict[str, Any]:
    """The object in a file, the brackets that kernel_tuner adds at the end of a run supplied.

    Args:
        file: the name that errors give.

    Raises:
        DeviceError: it is no JSON object with a `cache`.
    """
    try:
        text = content.decode("utf-8").strip()
    except UnicodeDecodeError:
        raise DeviceError("this is not UTF-8 text", hint=_NO_CACHE, file=file) from None
    found = _loaded(text, file)
    if not isinstance(found, dict) or not isinstance(found.get("cache"), dict):
        raise DeviceError("this is no cache file of kernel_tuner: it has no 'cache'", hint=_NO_CACHE, file=file)
    return found


def _loaded(text: str, file: Path) -> object:
    """The first reading of the text that is JSON; the error is that of the text as it is."""
    fault: json.JSONDecodeError | None = None
    for reading in _readings(text):
        try:
            return json.loads(reading)
        except json.JSONDecodeError as error:
            fault = fault or error
        except RecursionError:
            break
    message, line = ("its brackets are nested too deeply", None) if fault is None else (fault.msg.lower(), fault.lineno)
    raise DeviceError(f"this is not JSON: {message}", hint=_NO_CACHE, file=file, line=line)


def _readings(text: str) -> Iterator[str]:
    """As it is; closed; and closed behind the last whole line, where a killed run cut the one after it."""
    yield text
    yield text.rstrip(",") + "}}"
    yield text[: text.rfind("\n") + 1].rstrip().rstrip(",") + "}}"
