from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.emulator.bench import Bench, change_executors
from tui_tuner.errors import SandboxError
from tui_tuner.evaluate.build.compilers.gnu import CCompiler
from tui_tuner.evaluate.devices.native.code import C_FUNCTION
from tui_tuner.evaluate.devices.native.device import NativeDevice
from tui_tuner.evaluate.sandbox.confinement import abi_version

ADD_ONE = "void add_one(float *x, int n) { for (int i = 0; i < n; i++) x[i] += 1; }"
CONNECT = """
#include <arpa/inet.h>
#include <sys/socket.h>
void reach(int *out, unsigned short port) {
    struct sockaddr_in to = {AF_INET, htons(port), {htonl(INADDR_LOOPBACK)}};
    out[0] = connect(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)&to, sizeof to);
}
"""

pytestmark = pytest.mark.skipif(abi_version() == 0, reason="the operating system has no Landlock")


def bench(directory: Path, *, allow_unconfined: bool = False) -> Bench:
    return Bench(NativeDevice(C_FUNCTION, allow_unconfined=allow_unconfined), CCompiler.find(".c"), directory)


def pretend(monkeypatch: pytest.MonkeyPatch, namespace: bool, landlock: int, tcp_refused: bool) -> None:
    """Let executors confine themselves no further than this."""
    change_executors(
        monkeypatch,
        "from tui_tuner.evaluate.sandbox.confinement import Confinement; "
        f"executor.leave_network = lambda: {namespace}; "
        f"executor.confine = lambda **_: Confinement({landlock}, {tcp_refused})",
    )


@pytest.mark.parametrize(
    ("namespace", "tcp_refused", "refused"), [(False, False, True), (True, False, False), (False, True, False)]
)
def test_a_kernel_runs_only_where_a_namespace_or_landlock_keeps_it_from_the_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, namespace: bool, tcp_refused: bool, refused: bool
) -> None:
    pretend(monkeypatch, namespace, 3, tcp_refused)
    if refused:
        with pytest.raises(SandboxError, match="the network stays within reach"):
            bench(tmp_path).load(ADD_ONE, "add_one")
    else:
        bench(tmp_path).load(ADD_ONE, "add_one")


def test_where_the_user_allows_it_a_kernel_runs_though_nothing_can_confine_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(monkeypatch, False, 0, False)
    free = bench(tmp_path, allow_unconfined=True)
    (out,) = free.run(free.load(ADD_ONE, "add_one"), np.zeros(4, np.float32), np.int32(4))
    assert out.tolist() == [1, 1, 1, 1]


def test_a_c_kernel_cannot_connect_to_a_port_that_answers(tmp_path: Path, open_port: int) -> None:
    confined = bench(tmp_path)
    (out,) = confined.run(confined.load(CONNECT, "reach"), np.zeros(1, np.int32), np.uint16(open_port))
    assert out[0] == -1
