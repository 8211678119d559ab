"""The program between us and a compiler: runs it confined and ends as it ends. Standard library only.

Arguments: `strict` (end where confinement cannot be had), `parent=PID`, `limits=CPU,MEMORY,FILE,DESCRIPTORS`,
`read=PATH` and `write=PATH` as often as needed, `--`, the command.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, NoReturn

from tui_tuner.evaluate.sandbox.landlock import Confinement, confine
from tui_tuner.evaluate.sandbox.limits import ResourceLimits, apply_limits
from tui_tuner.evaluate.sandbox.namespace import leave_network, leave_network_and_processes
from tui_tuner.evaluate.sandbox.offspring import run_as_child
from tui_tuner.processes.parent import NOT_STARTED, die_with_parent

if TYPE_CHECKING:
    from collections.abc import Sequence

UNCONFINED = 125
"""Exit status: confinement was demanded and is not available."""
REPORT = "TUNER_CONFINEMENT"
"""Environment variable that tells the command how it is confined: Landlock ABI, then the network's state."""


def main(arguments: list[str]) -> NoReturn:
    """Run the command in a confined child and end as it ends; nothing that it started outlives this process."""
    end = arguments.index("--")
    options, command = arguments[:end], arguments[end + 1 :]
    parent = _values(options, "parent=")[0]
    die_with_parent(int(parent))
    processes = leave_network_and_processes()
    namespace = processes or leave_network()
    apply_limits(ResourceLimits(*map(int, _values(options, "limits=")[0].split(","))))
    try:
        run_as_child(lambda: _become(command, options, namespace), namespace=processes)
    except OSError as error:
        _end(NOT_STARTED, f"{command[0]}: {error.strerror}")


def _become(command: list[str], options: Sequence[str], namespace: bool) -> NoReturn:
    """Confine this process and put the command in its place."""
    try:
        confinement = confine(read=_values(options, "read="), write=_values(options, "write="))
    except OSError as error:
        _end(UNCONFINED, str(error))
    if "strict" in options and not (confinement.abi and (namespace or confinement.tcp_refused)):
        _end(UNCONFINED, "neither Landlock nor a network namespace can be had")
    os.environ[REPORT] = f"{confinement.abi} {_network(confinement, namespace)}"
    try:
        os.execv(command[0], command)  # noqa: S606 - no shell is wanted
    except OSError as error:
        _end(NOT_STARTED, f"{command[0]}: {error.strerror}")


def is_confined() -> bool:
    """Whether a launcher confined this process: files and network out of reach of all its threads."""
    abi, network = os.environ.get(REPORT, "0 open").split(" ")
    return abi != "0" and network != "open"


def _values(options: Sequence[str], prefix: str) -> list[str]:
    return [option.removeprefix(prefix) for option in options if option.startswith(prefix)]


def _network(confinement: Confinement, namespace: bool) -> str:
    if namespace:
        return "namespace"
    return "tcp" if confinement.tcp_refused else "open"


def _end(status: int, message: str) -> NoReturn:
    sys.stderr.write(f"sandbox: {message}\n")
    raise SystemExit(status)
