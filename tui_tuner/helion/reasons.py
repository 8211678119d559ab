"""Helion's own benchmark, with the reasons of failures, which its results leave out. Private names of Helion 1.4.0."""

from __future__ import annotations

import math
from collections.abc import Callable

from helion import Config
from helion.autotuner.benchmark_job import AccuracyCheckResult
from helion.autotuner.benchmark_provider import BenchmarkResult, LocalBenchmarkProvider
from helion.autotuner.precompile_future import PrecompileFuture

from tui_tuner.evaluate.python_kernels.child.faults import compile_fault, failure, launch_fault, telling_line
from tui_tuner.evaluate.results import Failure, FailureKind
from tui_tuner.text import clean

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
