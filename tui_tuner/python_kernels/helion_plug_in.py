"""The search that Helion calls: a session in a thread chooses, Helion's machinery answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TypedDict, Unpack

import helion
from helion import Config
from helion.autotuner import cache_classes, search_algorithms
from helion.autotuner.base_search import BaseAutotuner, PopulationBasedSearch
from helion.autotuner.benchmark_job import AccuracyCheckResult
from helion.autotuner.benchmark_provider import BenchmarkResult, LocalBenchmarkProvider, _clone_args
from helion.autotuner.precompile_future import PrecompileFuture
from helion.exc import InvalidConfig
from helion.runtime.kernel import BoundKernel

from tui_tuner.errors import ProblemError
from tui_tuner.evaluate.evaluator import MachineReport
from tui_tuner.evaluate.measure.timing import Patience, TimeLaunches, interleaved
from tui_tuner.evaluate.results import Comparison, Evaluation, Failure, FailureKind, Timing
from tui_tuner.problem.candidate import Candidate, baseline
from tui_tuner.problem.load import Written, written_in_python
from tui_tuner.problem.model import Configuration, Problem
from tui_tuner.python_kernels.child.bench import EventTimer
from tui_tuner.python_kernels.child.helion import HelionSpace, described
from tui_tuner.python_kernels.child.kernel import compile_fault, failure, launch_fault, telling_line
from tui_tuner.python_kernels.child.loading import device_info
from tui_tuner.python_kernels.flat import gathered
from tui_tuner.python_kernels.from_file import problem_of_description
from tui_tuner.python_kernels.session_thread import (
    BatchingEvaluator,
    EmbeddedChoices,
    EmbeddedComparison,
    EmbeddedEvaluation,
    EmbeddedRequest,
    EmbeddedStart,
    SessionThread,
)
from tui_tuner.settings import Settings, load_settings
from tui_tuner.text import clean

NAME = "TunerTuiSearch"
"""What HELION_AUTOTUNER may name once this module is imported."""
FRAMEWORK = f"helion {version('helion')}"
SANDBOX = "none: Helion's processes for builds and for timing"


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
        llm: the model, as of `--llm`; "none" for a search without one. Else that of the settings.
        search: method of the search, as of `--search`. Else that of the settings.
        max_evaluations: configurations evaluated at most. Else as the settings say.
        seed: of every random choice. Else that of the settings.
        run_dir: directory of the runs, where an interrupted one is gone on with. Else TUNER_TUI_RUN_DIR.
        settings: instead of the user's settings, of which variables as TUNER_TUI_LLM are a part.
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


class HelionBench:
    """Builds, checks and times with the machinery of one Helion search.

    Args:
        framework: name and version of Helion.
    """

    def __init__(self, search: PopulationBasedSearch, space: HelionSpace, problem: Problem, framework: str) -> None:
        self._search = search
        self._space = space
        self._problem = problem
        self._framework = framework
        self._known: dict[str, BenchmarkResult | Failure] = {}
        self._timer: EventTimer | None = None

    def answer(self, batch: Sequence[EmbeddedRequest]) -> None:
        """Answer all that a batch asks for; an exception goes to those who wait, and on."""
        try:
            evaluations = [asked for asked in batch if isinstance(asked, EmbeddedEvaluation)]
            for one, evaluation in zip(evaluations, self._evaluations(evaluations), strict=True):
                one.answer.set_result(evaluation)
            for asked in batch:
                if isinstance(asked, EmbeddedStart):
                    asked.answer.set_result(self._started())
                elif isinstance(asked, EmbeddedComparison):
                    asked.answer.set_result(self._comparison(asked))
        except BaseException as error:
            for asked in batch:
                if not asked.answer.done():
                    asked.answer.set_exception(error)
            if not isinstance(error, ProblemError):
                raise

    def _started(self) -> MachineReport:
        candidate = baseline(self._problem)
        asked = EmbeddedEvaluation(candidate, candidate.default_configuration)
        (given,) = self._evaluations([asked])
        if given.failure is not None:
            message = f"the default configuration fails: {given.failure.kind}, {given.failure.message}"
            raise ProblemError(message, hint="Helion's own search would fail as well: look at the kernel")
        return MachineReport(device=device_info(self._framework), sandbox=SANDBOX, note="", given=given)

    def _evaluations(self, asked: Sequence[EmbeddedEvaluation]) -> list[Evaluation]:
        configs = [self._normalized(one.configuration) for one in asked]
        new = {repr(c): c for c in configs if isinstance(c, helion.Config) and repr(c) not in self._known}
        self._measure(new)
        return [
            self._evaluation(one.candidate, one.configuration, config)
            for one, config in zip(asked, configs, strict=True)
        ]

    def _normalized(self, configuration: Configuration) -> helion.Config | Failure:
        try:
            return self._space.normalized(helion.Config.from_dict(gathered(configuration)))
        except (InvalidConfig, KeyError) as error:
            message = f"Helion refuses it: {error}".partition("\n")[0]
            return Failure(kind=FailureKind.INVALID, message=message)

    def _measure(self, configs: dict[str, helion.Config]) -> None:
        """Generate code, build in parallel, check and time in turn; the results are kept."""
        usable: list[helion.Config] = []
        for key, config in configs.items():
            try:
                self._search.kernel.compile_config(config, allow_print=False)
            except Exception as error:  # Helion's batch would end with it if it were the last
                self._known[key] = failure(compile_fault(error, ""))
            else:
                usable.append(config)
        for result in self._search.benchmark_batch(usable, desc="tuner-tui") if usable else []:
            self._known[repr(result.config)] = result

    def _evaluation(self, candidate: Candidate, configuration: Configuration, config: object) -> Evaluation:
        outcome = config if isinstance(config, Failure) else self._known[repr(config)]
        if isinstance(outcome, Failure):
            return Evaluation(candidate=candidate.id, configuration=configuration, failure=outcome)
        build_ms = 1000 * (outcome.compile_time or 0.0)
        if not math.isfinite(outcome.perf):
            provider = self._search.benchmark_provider
            unknown = Failure(kind=FailureKind.LAUNCH, message=outcome.status)
            why = provider.failure_of(outcome) if isinstance(provider, ReasoningProvider) else unknown
            return Evaluation(candidate=candidate.id, configuration=configuration, failure=why, build_ms=build_ms)
        # Helion tells the median only: there is no interval.
        timing = Timing(median=outcome.perf, low=outcome.perf, high=outcome.perf, samples=1)
        return Evaluation(
            candidate=candidate.id,
            configuration=configuration,
            timing=timing,
            build_ms=build_ms,
            as_written=repr(outcome.config),
        )

    def _comparison(self, asked: EmbeddedComparison) -> Comparison:
        """Both interleaved, in this process, as Helion measures its finalists."""
        try:
            old, new = self._launches(asked.incumbent), self._launches(asked.challenger)
            pairs = interleaved(old, new, Patience(), asked.delta)
        except Exception as error:
            fault = launch_fault(error)
            return Comparison.failed(failure(fault))
        return pairs.comparison(cpu=False)

    def _launches(self, configuration: Configuration) -> TimeLaunches:
        config = self._space.normalized(helion.Config.from_dict(gathered(configuration)))
        run: Callable[..., object] = self._search.kernel.compile_config(config, allow_print=False)
        arguments = self._search.args
        written = self._search.benchmark_provider.mutated_arg_indices
        if written:
            group = self._search.kernel.env.process_group_name
            arguments = _clone_args(arguments, group, idx_to_clone=written)
        self._timer = self._timer or EventTimer()
        return self._timer.launches(lambda: None, lambda: run(*arguments))


CompiledConfig = Callable[..., object]


class ReasoningProvider(LocalBenchmarkProvider):  # type: ignore[misc]  # Helion is not installed everywhere
    """Builds in processes of its own and times in a worker, as Helion does, and remembers why something failed."""

    def __init__(self, *arguments: object, **options: object) -> None:
        self._builds: dict[str, PrecompileFuture] = {}
        self._failures: dict[str, Failure] = {}
        self._last: Failure | None = None
        super().__init__(*arguments, **options)

    def failure_of(self, result: BenchmarkResult) -> Failure:
        """Why a configuration has no time."""
        known = self._failures.get(repr(result.config))
        if known is not None:
            return known
        build = self._builds.get(repr(result.config))
        if result.status == "timeout":
            return Failure(kind=FailureKind.BUILD_TIMEOUT, message="the compiler was not done in time")
        error = None if build is None else build.remote_error
        if error is not None:
            fault = compile_fault(error.to_exception(), error.captured_output or "")
            return failure(fault)
        return Failure(kind=FailureKind.COMPILE, message="it does not compile; Helion's fork does not say why")

    def _create_precompile_future(self, config: Config, fn: CompiledConfig) -> PrecompileFuture:
        future = super()._create_precompile_future(config, fn)
        self._builds[repr(config)] = future
        return future

    def _benchmark_function(self, config: Config, fn: CompiledConfig) -> float:
        self._last = None
        wrong = self._autotune_metrics.num_accuracy_failures
        milliseconds = float(super()._benchmark_function(config, fn))
        if not math.isfinite(milliseconds):
            self._failures[repr(config)] = self._reason(wrong)
        return milliseconds

    def _reason(self, wrong_before: int) -> Failure:
        if self._last is not None:
            return self._last
        if self._autotune_metrics.num_accuracy_failures > wrong_before:
            return Failure(kind=FailureKind.WRONG_RESULT, message="it differs from the default configuration")
        if self._last_benchmark_failure_status == "timeout":
            return Failure(kind=FailureKind.TIMEOUT, message="no end in time")
        return Failure(kind=FailureKind.LAUNCH, message="Helion's worker does not say why")

    def _run_subprocess_benchmark_job(self, fn: CompiledConfig, *, warmup: int, rep: int) -> float | None:
        try:
            latency: float | None = super()._run_subprocess_benchmark_job(fn, warmup=warmup, rep=rep)
        except Exception as error:
            self._last = self._of_worker(error)
            raise
        return latency

    def _run_subprocess_accuracy_check_job(self, fn: CompiledConfig) -> AccuracyCheckResult | None:
        try:
            result: AccuracyCheckResult | None = super()._run_subprocess_accuracy_check_job(fn)
        except Exception as error:
            self._last = self._of_worker(error)
            raise
        if result is not None and not result.ok:
            said = telling_line(clean(result.message), "it differs from the default configuration")
            self._last = Failure(kind=FailureKind.WRONG_RESULT, message=said)
        return result

    def _of_worker(self, error: Exception) -> Failure:
        if type(error).__name__ == "BenchmarkTimeout":
            return Failure(kind=FailureKind.TIMEOUT, message=clean(str(error)))
        return failure(launch_fault(error))


search_algorithms[NAME] = TunerTuiSearch
