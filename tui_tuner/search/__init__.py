"""The search methods on offer, the settings of the rounds in which a model chooses, and a space as plain numbers.

The numbers are all that the process of a search sees of a space. The default method is the strongest on three
exhaustively measured spaces (a convolution on an A100, dedispersion on an MI250X, a matrix multiply on an RTX 3090):
with 85 evaluations the surrogate reaches 0.95 of the optimum, the best of kernel_tuner 1.5.0 0.89, random sampling
0.77 (20 seeds). All figures and what is left out stand in docs/search.md.
"""

from __future__ import annotations

import difflib
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from tui_tuner.errors import SettingsError
from tui_tuner.options import Option
from tui_tuner.problem.languages import Configuration, Value
from tui_tuner.problem.tunables import exact, exact_key


@dataclass(frozen=True)
class Method:
    """A search strategy: our own, or one of kernel_tuner.

    Attributes:
        name: kernel_tuner's own, for its strategies.
        takes_start: whether kernel_tuner lets it begin at a given configuration (`x0`).
        options: where they differ from kernel_tuner's own.
    """

    name: str
    takes_start: bool = True
    options: Mapping[str, str | int | float] = field(default_factory=dict)


BRUTE_FORCE = "brute_force"
SURROGATE = "surrogate"
DEFAULT_METHOD = SURROGATE

_METHODS = (
    Method(BRUTE_FORCE),
    Method(SURROGATE),
    Method("random_sample", takes_start=False),
    Method("hybrid_vndx", takes_start=False),
    Method("adaptive_tabu_greywolf", takes_start=False),
    Method(
        "bayes_opt",
        takes_start=False,
        options={"method": "multi-fast"},  # its own default, multi-ultrafast, decides by the clock
    ),
    Method("genetic_algorithm"),
    Method("diff_evo"),
    Method("pso"),
    Method("firefly_algorithm"),
    Method("simulated_annealing"),
    Method("dual_annealing"),
    Method("basinhopping"),
    Method("minimize"),
    Method("mls"),
    Method("greedy_mls"),
    Method("ordered_greedy_mls"),
    Method("greedy_ils"),
)
METHODS: dict[str, Method] = {method.name: method for method in _METHODS}


def method_named(name: str) -> Method:
    """The method of this name.

    Raises:
        SettingsError: there is none; names the nearest and lists all.
    """
    if name in METHODS:
        return METHODS[name]
    near = difflib.get_close_matches(name, METHODS, n=1)
    question = f"; did you mean '{near[0]}'?" if near else ""
    raise SettingsError(f"unknown search method '{name}'{question}", hint=f"methods: {', '.join(METHODS)}")


def method_for(name: str, valid: int, max_evaluations: int) -> Method:
    """The method to use for a space of so many valid configurations: all of them where the budget allows.

    Raises:
        SettingsError: there is no method of that name.
    """
    method = method_named(name)
    return METHODS[BRUTE_FORCE] if valid <= max_evaluations else method


LLM, HYBRID = "llm", "hybrid"
MODEL_METHODS = {
    LLM: f"a model chooses, round by round; {DEFAULT_METHOD} has what its rounds leave",
    HYBRID: f"a model and {DEFAULT_METHOD} share every batch by what each has brought",
}
"""Methods that need a model, beside those of `METHODS`."""


@dataclass(frozen=True)
class Methods:
    """What searches.

    Attributes:
        rounds: whether a model chooses first.
        local: the method without a model that comes after, or alone; None for none.
    """

    rounds: bool
    local: str | None


def methods_of(name: str) -> Methods:
    """What a method that the user named means."""
    match name:
        case "llm":
            return Methods(rounds=True, local=None)
        case "hybrid":
            return Methods(rounds=True, local=DEFAULT_METHOD)
    return Methods(rounds=False, local=name)


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
    Option("local_share", 0.35, "FRACTION", "part of a batch, or after rounds of all, that the search has at least"),
)
"""The settings of rounds in which a model chooses configurations, as plain data; `session_options` checks them."""


TunableNumber = int | float


@dataclass(frozen=True)
class NumberedSpace:
    """Valid configurations by their position, and as points with one number a tunable.

    Attributes:
        configurations: the valid ones, each once.
        points: the same as numbers; tunables that have one valid value are left out.
        axes: the numbers that occur of each tunable left, ascending.
    """

    configurations: tuple[Configuration, ...]
    points: tuple[tuple[TunableNumber, ...], ...]
    axes: dict[str, list[TunableNumber]]

    def position(self, configuration: Configuration | None) -> int | None:
        """Where a configuration stands among the valid ones; None where it does not."""
        return None if configuration is None else self._positions.get(exact_key(configuration))

    @cached_property
    def _positions(self) -> dict[Hashable, int]:
        return {exact_key(valid): position for position, valid in enumerate(self.configurations)}


def numbered(tunables: Mapping[str, Sequence[Value]], valid: Iterable[Configuration]) -> NumberedSpace:
    """Number the valid configurations of tunables with these values.

    Numbers stand for themselves; values of a tunable that has anything else (text, truth values)
    are numbered in their given order, since a search compares and interpolates numbers only.
    """
    configurations = tuple({exact_key(one): one for one in valid}.values())
    axes: dict[str, list[TunableNumber]] = {}
    columns: list[list[TunableNumber]] = []
    for name, values in tunables.items():
        numbers = _numbers(values)
        column = [numbers[exact(configuration[name])] for configuration in configurations]
        if len(occurring := sorted(set(column))) > 1:
            axes[name] = occurring
            columns.append(column)
    return NumberedSpace(configurations, tuple(zip(*columns, strict=True)), axes)


def _numbers(values: Sequence[Value]) -> dict[Hashable, TunableNumber]:
    numeric = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    if len(set(numeric)) == len(values):
        return {exact(value): value for value in numeric}
    return {exact: position for position, exact in enumerate(dict.fromkeys(map(exact, values)))}
