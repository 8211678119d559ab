"""What the user may choose where there is no command line: arguments, else variables of the environment."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from tui_tuner.errors import SettingsError
from tui_tuner.problem.in_python import Written
from tui_tuner.session.options import SessionOptions

STRATEGY = "llm_search"
VARIABLES = {
    "llm": "TUNER_TUI_LLM",
    "search": "TUNER_TUI_SEARCH",
    "max_evaluations": "TUNER_TUI_MAX_EVALS",
    "seed": "TUNER_TUI_SEED",
    "run_dir": "TUNER_TUI_RUN_DIR",
}
"""The variable of each choice."""


@dataclass(frozen=True)
class EmbeddedChoices:
    """Choices; None leaves one to the environment and then to the settings.

    Attributes:
        llm: as of `--llm`; "none" for no model.
        search: method of the search, as of `--search`.
        max_evaluations: configurations evaluated at most.
        seed: of every random choice.
        run_dir: directory of the runs; a kernel with the same arguments finds its run there again and goes on with it.
    """

    llm: str | None = None
    search: str | None = None
    max_evaluations: int | None = None
    seed: int | None = None
    run_dir: str | Path | None = None

    def options(self, settings: SessionOptions) -> SessionOptions:
        """The session's options.

        Raises:
            SettingsError: a value is out of its range.
        """
        chosen = {name: self._value(name) for name in VARIABLES if name != "run_dir"}
        given = {name: value for name, value in chosen.items() if value is not None}
        try:
            return SessionOptions.model_validate({**settings.model_dump(), "strategy": STRATEGY, **given})
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            name = str(first["loc"][0])
            raise SettingsError(f"{name} or {VARIABLES.get(name, name)}: {first['msg'].lower()}") from None

    def place(self, written: Written) -> Path | None:
        """Where the run of a problem is; None for a new place in `tuner-runs`."""
        directory = self._value("run_dir")
        if directory is None:
            return None
        content = f"{written.text}\n{written.problem.source_text}"
        digest = hashlib.sha256(content.encode()).hexdigest()[:8]
        return Path(str(directory)) / f"{written.problem.kernel.name}-{digest}"

    def _value(self, name: str) -> object:
        given: object = getattr(self, name)
        return given if given is not None else os.environ.get(VARIABLES[name]) or None
