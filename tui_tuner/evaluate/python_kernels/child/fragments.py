"""Helion's ConfigSpec as the values of flat tunables, and back. Private names of Helion 1.4.0."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

import helion
from helion.autotuner.block_id_sequence import BlockIdSequence
from helion.autotuner.config_fragment import (
    BaseIntegerFragment,
    BooleanFragment,
    ConfigSpecFragment,
    EnumFragment,
    ListOf,
    NumThreadsFragment,
    PermutationFragment,
    PowerOfTwoFragment,
)
from helion.autotuner.config_spec import ConfigSpec, TensorNumelConstraint

from tui_tuner.evaluate.python_kernels.names import element_name, is_element_name, plain_values
from tui_tuner.problem.expressions import evaluate
from tui_tuner.problem.model import Configuration
from tui_tuner.problem.table import Value

MOST_VALUES = 64
"""Of one whole number; of a longer range the powers of two and the ends are taken."""
MOST_ORDERS = 5
"""Loops whose every order is tried; of more, each order that swaps two."""
_SYMBOL = re.compile(r"\bu\d+\b")


@dataclass(frozen=True)
class Slot:
    """One tunable: the field of the configuration, its place there, and the values it may have.

    Attributes:
        place: in the field's list; None where the field is one value.
    """

    key: str
    place: int | None
    values: list[object]
    default: object

    @property
    def name(self) -> str:
        """Of the tunable."""
        return self.key if self.place is None else element_name(self.key, self.place)


class HelionSpace:
    """The search space of one bound kernel."""

    def __init__(self, spec: ConfigSpec) -> None:
        self._spec = spec
        self.slots = list(_slots(spec))

    def normalized(self, config: helion.Config) -> helion.Config:
        """The configuration as Helion would run it: completed, and repaired where that can be.

        Raises:
            InvalidConfig: it cannot be repaired.
        """
        fields = {**self._spec.default_config().config, **config.config}
        self._spec.normalize(fields, _fix_invalid=True)
        return helion.Config.from_dict(fields)

    def flat(self, config: helion.Config) -> Configuration:
        """The configuration as values of the tunables."""
        return {slot.name: self._plain(slot, _element(slot, config)) for slot in self.slots}

    def tunables(self, *known: Configuration) -> dict[str, list[Value]]:
        """The values of each tunable, those of known configurations among them."""
        return {slot.name: self._values(slot, [c[slot.name] for c in known]) for slot in self.slots}

    def restrictions(self) -> list[str]:
        """The largest tiles that Triton takes, over the tunables; only products of block sizes are told."""
        told = (_product_limit(self._spec, constraint) for constraint in self._spec.tensor_numel_constraints)
        largest = {slot.name: slot.values[-1] for slot in self.slots if slot.key == "block_sizes"}
        return [text for text in dict.fromkeys(told) if text and not evaluate(text, largest)]

    def _values(self, slot: Slot, known: Sequence[Value]) -> list[Value]:
        values = plain_values(slot.values)
        new = [value for value in dict.fromkeys(known) if value not in values]
        return sorted(values + new) if new and all(type(v) in (int, float) for v in values) else values + new

    def _plain(self, slot: Slot, value: object) -> Value:
        if value is None and None not in slot.values:  # a reduction in one go, which Helion writes flat as its extent
            value = slot.values[-1]
        if value in slot.values:
            return plain_values(slot.values)[slot.values.index(value)]
        (plain,) = plain_values([value])
        return plain


def _slots(spec: ConfigSpec) -> Iterator[Slot]:
    for key, field in spec._flat_fields().items():
        fragments = _fragments(spec, field)
        if isinstance(field, BlockIdSequence | ListOf):
            yield from (Slot(key, place, values(f), f.default()) for place, f in enumerate(fragments))
        elif is_element_name(key):
            raise ValueError(f"the tunable '{key}' reads like an element of a list: give it another name")
        else:
            yield from (Slot(key, None, values(f), f.default()) for f in fragments)


def _fragments(spec: ConfigSpec, field: BlockIdSequence | ConfigSpecFragment) -> list[ConfigSpecFragment]:
    found: list[ConfigSpecFragment] = []

    def collect(fragment: ConfigSpecFragment) -> object:
        found.append(fragment)
        return fragment.default()

    field._flat_config(spec, collect)
    return [f.inner for f in found for _ in range(f.length)] if isinstance(field, ListOf) else found


def values(fragment: ConfigSpecFragment) -> list[object]:
    """All values of a fragment that Helion's own search would try."""
    match fragment:
        case EnumFragment():
            return list(dict.fromkeys([fragment.default(), *fragment._active_choices()]))
        case BooleanFragment():
            return [False, True]
        case PermutationFragment():
            return _orders(fragment)
        case NumThreadsFragment():
            return [0, *_powers(1, fragment.high)]
        case PowerOfTwoFragment():
            return list(_powers(fragment.low, fragment.high))
        case BaseIntegerFragment():
            return _range(fragment.low, fragment.high, fragment.default())
    return [fragment.default()]


def _orders(fragment: PermutationFragment) -> list[object]:
    if fragment.length <= MOST_ORDERS:
        return [list(order) for order in permutations(range(fragment.length))]
    return [fragment.default(), *fragment.pattern_neighbors(fragment.default())]


def _powers(low: int, high: int) -> Iterator[object]:
    return (2**exponent for exponent in range(low.bit_length() - 1, high.bit_length()))


def _range(low: int, high: int, default: int) -> list[object]:
    if high - low < MOST_VALUES:
        return list(range(low, high + 1))
    return [value for value in range(low, high + 1) if value in (low, default, high) or value & (value - 1) == 0]


def _element(slot: Slot, config: helion.Config) -> object:
    field = config.config.get(slot.key, slot.default)
    if slot.place is None or not isinstance(field, list):
        return field
    return field[slot.place] if slot.place < len(field) else slot.default


def _product_limit(spec: ConfigSpec, constraint: TensorNumelConstraint) -> str | None:
    """A limit of Helion's on a tile as an expression over block sizes; None where it is of another form."""
    symbols = sorted(set(_SYMBOL.findall(constraint.expr_str)), key=lambda symbol: int(symbol[1:]))
    if len(symbols) != len(constraint.block_indices) or not re.fullmatch(r"[u\d* <=]+", constraint.expr_str):
        return None
    names = {s: element_name("block_sizes", i) for s, i in zip(symbols, constraint.block_indices, strict=True)}
    text = _SYMBOL.sub(lambda found: names[found[0]], constraint.expr_str)
    return text if len(spec.block_sizes) > max(constraint.block_indices) else None
