"""The search that Helion calls: a session in a thread chooses, Helion's machinery answers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TypedDict, Unpack

import helion
from helion.autotuner import cache_classes, search_algorithms
from helion.autotuner.base_search import BaseAutotuner, PopulationBasedSearch
from helion.runtime.kernel import BoundKernel

from tui_tuner.problem.load import Written, written_in_python
from tui_tuner.python_kernels.child.helion import HelionSpace, described
from tui_tuner.python_kernels.evaluator import problem_of_description
from tui_tuner.python_kernels.helion_bench import HelionBench, ReasoningProvider
from tui_tuner.python_kernels.messages import gathered
from tui_tuner.python_kernels.session_thread import BatchingEvaluator, EmbeddedChoices, SessionThread
from tui_tuner.settings import Settings, load_settings

NAME = "TunerTuiSearch"
"""What HELION_AUTOTUNER may name once this module is imported."""
FRAMEWORK = f"helion {version('helion')}"


class AutotuneOptions(TypedDict, total=False):
    """What `autotune` takes; see `TunerTuiSearch`."""

    llm: str | None
    search: str | None
    max_evaluations: int | None
    seed: int | None
    run_dir: str | Path | None
    settings: Settings | None


class TunerTuiSearch(PopulationBasedSearch):  # type: ignore[misc]  # Helion is not installed everywhere
    """Tunes a Helion kernel with a session of this program.

    Args:
        kernel: as bound to its arguments.
        args: those arguments.
        llm: the model, as of `--llm`; "none" for a search without one. Else TUNER_TUI_LLM, else the settings.
        search: method of the search, as of `--search`. Else TUNER_TUI_SEARCH.
        max_evaluations: configurations evaluated at most. Else TUNER_TUI_MAX_EVALS.
        seed: of every random choice. Else TUNER_TUI_SEED.
        run_dir: directory of the runs, where an interrupted one is gone on with. Else TUNER_TUI_RUN_DIR.
        settings: instead of the user's settings file.
    """

    def __init__(
        self,
        kernel: BoundKernel,
        args: Sequence[object],
        *,
        llm: str | None = None,
        search: str | None = None,
        max_evaluations: int | None = None,
        seed: int | None = None,
        run_dir: str | Path | None = None,
        settings: Settings | None = None,
    ) -> None:
        super().__init__(kernel, args)
        self._benchmark_provider_cls = ReasoningProvider
        self._choices = EmbeddedChoices(llm, search, max_evaluations, seed, run_dir)
        self._own_settings = settings

    def _autotune(self) -> helion.Config:
        """The best configuration of a session.

        Raises:
            UserError: something that the user must mend; the run can be gone on with.
        """
        settings = self._own_settings or load_settings()
        space = HelionSpace(self.config_spec)
        written = self._written(space)
        evaluator = BatchingEvaluator()
        options, place = self._choices.options(settings.session), self._choices.place(written)
        session = SessionThread(written, options, settings, place, evaluator, self.log)
        bench = HelionBench(self, space, written.problem, FRAMEWORK)
        session.start()
        try:
            while (batch := evaluator.next_batch()) is not None:
                bench.answer(batch)
        finally:
            session.stop()
        best = session.result().best.configuration
        return space.normalized(helion.Config.from_dict(gathered(best)))

    def _written(self, space: HelionSpace) -> Written:
        """The kernel as a problem; its text is the function's, since that is what Helion compiles."""
        kernel = self.kernel.kernel
        description = described(self.kernel, space, kernel.name, self.args)
        file = Path(kernel.fn.__code__.co_filename)
        return written_in_python(problem_of_description(description, file, kernel.kernel_source()))


def autotune(bound_kernel: BoundKernel, args: Sequence[object], **choices: Unpack[AutotuneOptions]) -> BaseAutotuner:
    """An autotuner for `@helion.kernel(autotuner_fn=...)`, behind Helion's cache as its own searches are.

    Args:
        choices: as of `TunerTuiSearch`; fix them with `functools.partial(autotune, llm="none")`.
    """
    search = partial(TunerTuiSearch, bound_kernel, args, **choices)
    cache: type[BaseAutotuner] = cache_classes[bound_kernel.settings.autotune_cache]
    return cache(search(), autotuner_factory=search)


search_algorithms[NAME] = TunerTuiSearch
