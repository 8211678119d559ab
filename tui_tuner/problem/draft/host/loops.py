"""Numbers that loops of the host count with."""

from __future__ import annotations

from tui_tuner.problem.draft.host.program import HostProgram
from tui_tuner.problem.draft.host.statements import halfway

_MOST_STEPS = 12


def halfway_of(program: HostProgram, name: str, place: int) -> tuple[str, int] | None:
    """The number halfway through the loop that a name, or what it is set to or given for, goes through."""
    for _ in range(_MOST_STEPS):
        if (text := halfway(program.code, name, place)) is not None:
            return text, place
        function, meaning = program.function_at(place), program.meaning(name, place)
        if function is None or meaning is None or not (name in function.parameters or meaning[0].isidentifier()):
            break
        name, place = meaning
    return None
