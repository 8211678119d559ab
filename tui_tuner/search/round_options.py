"""The settings of rounds in which a model chooses configurations, as plain data; `rounds` checks their values."""

from __future__ import annotations

from tui_tuner.options import Option

ROUND_OPTIONS = (
    Option("initial_batch_size", 25, "N", "configurations of the first round, its seeds included"),
    Option("refinement_batch_size", 15, "N", "configurations of each later round"),
    Option("max_rounds", 5, "N", "rounds at most"),
    Option("patience", 2, "N", "rounds without an improvement after which they end"),
    Option("min_improvement", 0.01, "FRACTION", "relative gain over two rounds below which they end"),
    Option("target_ms", None, "MS", "time of the kernel at which the rounds end, ms"),
    Option("include_kernel_source", True, "", "whether the model sees the kernel's code"),
    Option("hardware_context", True, "", "whether the model sees the device and its limits"),
    Option(
        "fallback",
        "pattern",
        "random|pattern|error",
        "what chooses in place of a model that fails: pattern takes neighbours of the best",
    ),
    Option("seeds", 3, "N", "configurations measured while the first reply is on its way"),
    Option("local_share", 0.35, "FRACTION", "part of the evaluations left to the local search after"),
)
