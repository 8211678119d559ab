"""Shows the scripted session in the terminal it is started in, and prints what was decided."""

from __future__ import annotations

from tests.tui import scripted
from tui_tuner.tui.app import TunerApp


def main() -> None:
    run = scripted.ScriptedRun(
        [
            *scripted.awaiting(),
            scripted.events.SessionFinished(status="no_improvement", reason="done", evaluations=1, model_calls=1),
        ]
    )
    status = TunerApp(run).run()
    for decision in run.decisions:
        print("decided", decision.action, (decision.source or "").splitlines()[-1:])  # noqa: T201  # read by the test
    print("status", status)  # noqa: T201  # read by the test


if __name__ == "__main__":
    main()
