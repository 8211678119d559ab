"""Plans of scripted runs: one with a step of every state, one whose steps are still to come."""

from __future__ import annotations

from tests.tui import scripted
from tests.tui.scripted import ScriptedRun
from tui_tuner.session import events
from tui_tuner.session.events import Event
from tui_tuner.strategies.steps import Step, StepState

ALL_STATES = (
    Step(id=1, title="Measure the kernel as given", state=StepState.DONE),
    Step(id=2, title="Tile through shared memory", state=StepState.ACCEPTED, factor=(1.62, 1.60, 1.64)),
    Step(id=3, title="Vectorised loads", state=StepState.NEUTRAL, factor=(1.00, 0.99, 1.01),
         reason="no gain yet: kept"),
    Step(id=4, title="Double buffering", state=StepState.REJECTED, factor=(0.97, 0.95, 0.99),
         reason="slower: the second buffer halves the blocks a multiprocessor holds"),
    Step(id=5, title="Profile the kernel", state=StepState.SKIPPED, reason="no tuning step: profiling changes nothing"),
    Step(id=6, title="Restructure the loops", state=StepState.BROKEN_DOWN),
    Step(id=9, title="Unroll the inner loop", state=StepState.AWAITING, detail="Keep eight sums in registers."),
    Step(id=10, title="Interchange the loops", state=StepState.RUNNING),
    Step(id=7, title="Launch bounds", state=StepState.VALIDATED),
    Step(id=11, title="Load B as float4 too", by_user=True, detail="B is read along its rows as well."),
    Step(id=8, title="Persistent grid"),
)  # fmt: skip
"""A step of every state in the order of the plan, which is not that of the numbers."""

HELD = {"block_size_x": 256, "tile_size": 64, "use_padding": True}


def whole_plan() -> list[Event]:
    """A plan with every state, one step of the user's, and held tunables."""
    return [
        *scripted.opening(),
        *(events.StepChanged(step=each) for each in sorted(ALL_STATES, key=lambda each: each.id)),
        events.PlanOrdered(order=[each.id for each in ALL_STATES]),
        events.ParametersFrozen(frozen=HELD),
        events.UserSaid(text="B is read along its rows: 128-bit loads should work there too."),
    ]


def to_come(*numbers: int) -> list[Event]:
    return [scripted.step(number, StepState.PROPOSED) for number in numbers]


def planned(*then: scripted.Entry) -> ScriptedRun:
    """Steps 1 to 4, of which the first is accepted and selected and the others are to come."""
    return ScriptedRun(
        [*scripted.opening(), scripted.step(1, StepState.ACCEPTED), *to_come(2, 3, 4), *then], stays=True
    )
