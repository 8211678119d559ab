"""The settings of a Tensile session as plain data; `options` checks their values."""

from __future__ import annotations

from tui_tuner.options import Option

LEAST_LIMIT = 256
"""A configuration may grow to so many permutations, however small it is as given."""

TENSILE_OPTIONS = (
    Option("max_rounds", 6, "N", "rounds of edits at most"),
    Option("patience", 2, "N", "rounds without a gain after which they end"),
    Option("min_gain", 0.01, "FRACTION", "gain of a round that counts, relative, mean of all sizes"),
    Option(
        "max_permutations",
        None,
        "N",
        "permutations that the configuration may have at most; by default what it has as given, "
        f"or {LEAST_LIMIT} where that is less",
    ),
    Option("max_measured", None, "N", "permutations measured in all at most, the first run included"),
    Option("measure_given", True, "", "whether the configuration as given is measured before the first edit"),
    Option("repeats", 3, "N", "runs in which the first winners and the best are compared"),
    Option("max_run_seconds", None, "SECONDS", "time of one run of Tensile at most, s"),
    Option("gpu", None, "GPU", "the GPU, as in gfx90a or MI210, for the facts that a prompt has"),
    Option("tensile", None, "PATH", "Tensile's program or directory; by default that of PATH"),
    Option(
        "knowledge",
        None,
        "DIR",
        "directory with more terms, GPUs and valid values; by default beside the settings",
    ),
)
