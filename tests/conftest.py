from __future__ import annotations

import asyncio
import gc
import os
import re
import signal
import socket
import ssl
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from itertools import count
from pathlib import Path

import hypothesis
import pytest
import textual.app
import textual.pilot
from _pytest.unraisableexception import gc_collect_iterations_key

from tests import left_open
from tests.idle import until_idle
from tui_tuner.evaluate.devices.probe import DeviceReport, probe_devices

# Examples may take as long as they do: the machine may have other work.
hypothesis.settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("any machine")

gc.set_threshold(100_000, 50, 1000)  # a sixth of the processor time went into looking through what stays anyway

# A shell has what it runs in the background ignore SIGINT, nohup SIGHUP, and so would the programs that tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY", "OLLAMA_API_KEY", "OLLAMA_HOST")


@cache
def devices() -> DeviceReport:
    return asyncio.run(probe_devices())


LONGEST = "test_tutorial.py"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.path.name != LONGEST)  # what begins last would run on while other workers idle
    for item in items:
        if item.get_closest_marker("gpu") and devices().no_cuda:
            item.add_marker(pytest.mark.skip(reason=f"no CUDA GPU can be used here: {devices().no_cuda}"))
        if item.get_closest_marker("opencl") and "0.0" not in devices().opencl_devices:
            reason = devices().opencl_problem or "no OpenCL device 0.0"
            item.add_marker(pytest.mark.skip(reason=reason))


def pytest_configure(config: pytest.Config) -> None:
    config.stash[gc_collect_iterations_key] = 2  # the second finds what finalisers let go; five took seconds a worker


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()


@pytest.fixture
def open_port() -> Iterator[int]:
    """A port of this machine that takes connections."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        socket.create_connection(("127.0.0.1", port), 5).close()
        yield port


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory named as pytest names it, which lists those of all tests before to find a name."""
    base = tmp_path_factory.getbasetemp() / re.sub(r"\W", "_", request.node.name)[:30]
    for number in count():
        path = base.with_name(f"{base.name}{number}")
        with suppress(FileExistsError):
            path.mkdir(mode=0o700)
            break
    return path


@pytest.fixture(scope="session", autouse=True)
def _shared_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What builds have in common is compiled once for all tests, in all workers, and not in the user's cache.

    Where builds of all runs would be kept lies a file: no test finds what another built.
    """
    base = tmp_path_factory.getbasetemp()
    directory = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    ours = directory / "cache" / "tuner-tui"
    ours.mkdir(parents=True, exist_ok=True)
    (ours / "builds").touch()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(directory / "cache"))
        patch.setenv("XDG_STATE_HOME", str(directory / "state"))
        yield


@pytest.fixture(scope="session", autouse=True)
def _no_waiting_for_the_disk() -> Iterator[None]:
    """What a test writes need not outlive the machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield


@pytest.fixture(scope="session", autouse=True)
def _no_certificates() -> Iterator[None]:
    """No test speaks TLS, and each client of a model would read some 150 certificates."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ssl.SSLContext, "load_verify_locations", lambda *_, **__: None)
        yield


@pytest.fixture(scope="session", autouse=True)
def _nothing_is_left_open() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        left_open.watch(patch)
        yield


@pytest.fixture(autouse=True)
def _screens_are_awaited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Textual's pilot waits for what its app has to do, and not for a processor that is not busy."""
    for module in (textual.app, textual.pilot):
        monkeypatch.setattr(module, "wait_for_idle", until_idle)


QUICK_SETTINGS = Path(__file__).parent / "quick_settings.toml"


@pytest.fixture(autouse=True)
def _isolated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No test reads the user's settings or keys, reaches a proxy, or has Python write otherwise than users have it."""
    ours = (name for name in os.environ if name.startswith("TUNER_TUI_") or name.lower().endswith("_proxy"))
    for name in (*KEYS, *ours, "PYTHONUNBUFFERED"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setitem(sys.modules, "keyring", None)  # type: ignore[arg-type]  # as if it were not installed
    monkeypatch.setenv("TUNER_TUI_CONFIG", str(QUICK_SETTINGS))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
