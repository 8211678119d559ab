"""Helion's kernels, and its ConfigSpec as flat tunables. All that is private in Helion 1.4.0 stands here.

With a flat grid, for one, the options of the persistent loop mean nothing: without these restrictions most of a space
would be the same few kernels under many names.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from itertools import permutations

import helion
import torch
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
from helion.exc import InvalidConfig
from helion.runtime import default_launcher
from helion.runtime.kernel import BoundKernel, Kernel
from triton.runtime.jit import JITFunction

from tui_tuner.evaluate.results import FailureKind
from tui_tuner.problem.expressions import evaluate
from tui_tuner.problem.languages import Value
from tui_tuner.problem.model import Configuration
from tui_tuner.python_kernels import KernelDescription, Rewritten
from tui_tuner.python_kernels.child.kernel import (
    Arguments,
    JitLaunch,
    KernelFault,
    ReadyKernel,
    ReportLaunch,
    TunableKernel,
    compile_fault,
    sizes_of,
    tensors_of,
)
from tui_tuner.python_kernels.flat import element_name, gathered, is_element_name, plain_values


class _Extracted(Exception):
    """Carries a launch out of Helion's host code instead of making it."""

    def __init__(self, launch: JitLaunch) -> None:
        super().__init__()
        self.launch = launch


class ReadyHelionKernel(ReadyKernel):
    """Host code that Helion generated for one configuration."""

    def __init__(self, bound: BoundKernel, config: helion.Config) -> None:
        self.key = repr(config)
        self.as_written = repr(helion.Config.from_dict({k: v for k, v in config.config.items() if v != []}))
        self._run = bound.compile_config(config, allow_print=False)

    def jit_launches(self, arguments: Arguments) -> list[JitLaunch]:
        """The first launch of the host code; others are compiled when they are first made."""
        try:
            self._run(*arguments, _launcher=_extract)
        except _Extracted as extracted:
            return [extracted.launch]
        return []

    def launch(self, arguments: Arguments, report: ReportLaunch) -> list[torch.Tensor]:
        """Run the host code; the tensors that it returns."""
        return tensors_of(self._run(*arguments, _launcher=partial(_launch, report)))


class HelionKernel(TunableKernel):
    """A `@helion.kernel`, bound to its arguments."""

    def __init__(self, kernel: Kernel, name: str, arguments: Arguments) -> None:
        self.framework = f"helion {version('helion')}"
        self.name = name
        self._kernel = kernel
        self._arguments = arguments
        self._bound = kernel.bind(kernel.normalize_args(*arguments))
        self._space = HelionSpace(self._bound.config_spec)

    def describe(self) -> KernelDescription:
        """The ConfigSpec, flat."""
        return described(self._bound, self._space, self.name, self._arguments)

    def ready(self, configuration: Configuration, rewritten: Rewritten | None = None) -> ReadyKernel:
        """The kernel in a configuration, as Helion normalizes it; what is not named has its default."""
        if rewritten is not None:
            raise KernelFault(FailureKind.REFUSED, "kernels of Helion are not rewritten")
        try:
            config = self._space.normalized(helion.Config.from_dict(gathered(configuration)))
            return ReadyHelionKernel(self._bound, config)
        except (InvalidConfig, KeyError) as error:
            raise KernelFault(FailureKind.INVALID, f"Helion refuses it: {error}".partition("\n")[0]) from None
        except Exception as error:
            raise compile_fault(error, "") from None


def described(bound: BoundKernel, space: HelionSpace, name: str, arguments: Sequence[object]) -> KernelDescription:
    """A bound kernel's search space; configurations of the decorator come before those of the compiler."""
    spec = bound.config_spec
    known: list[helion.Config] = [*list(bound.configs), spec.default_config(), *list(spec.compiler_seed_configs)]
    default, *seeds = (space.flat(space.normalized(config)) for config in known)
    named = dict(zip(inspect.signature(bound.kernel.fn).parameters, arguments, strict=False))
    return KernelDescription(
        framework=f"helion {version('helion')}",
        name=name,
        tunables=space.tunables(default, *seeds),
        defaults=default,
        seeds=[seed for seed in seeds if seed != default],
        restrictions=[*space.restrictions(), *idle_restrictions(space, default)],
        sizes=sizes_of(named),
    )


def kernels_in(members: dict[str, object]) -> dict[str, object]:
    """The Helion kernels among a module's members."""
    return {name: member for name, member in members.items() if isinstance(member, Kernel)}


def _extract(function: JITFunction, _grid: object, *arguments: object, **options: object) -> None:
    options.setdefault("launch_cooperative_grid", False)  # as Helion's own launcher: options are part of a build's key
    if options.get("ptx_options") is None:
        options.pop("ptx_options", None)
    raise _Extracted(JitLaunch(function, arguments, options))


def _launch(
    report: ReportLaunch, function: object, grid: Sequence[int], *arguments: object, **options: object
) -> object:
    compiled = default_launcher(function, grid, *arguments, **options)
    report(compiled, grid)
    return compiled


MOST_VALUES = 64
"""Values of one whole number; of a longer range the powers of two and the ends are taken."""
MOST_ORDERS = 5
"""Loops whose every order is tried; of more, each order that swaps two."""
_SYMBOL = re.compile(r"\bu\d+\b")


@dataclass(frozen=True)
class TunableField:
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

    def _values(self, slot: TunableField, known: Sequence[Value]) -> list[Value]:
        values = plain_values(slot.values)
        new = [value for value in dict.fromkeys(known) if value not in values]
        return sorted(values + new) if new and all(type(v) in (int, float) for v in values) else values + new

    def _plain(self, slot: TunableField, value: object) -> Value:
        if value is None and None not in slot.values:  # a reduction in one go, which Helion writes flat as its extent
            value = slot.values[-1]
        if value in slot.values:
            return plain_values(slot.values)[slot.values.index(value)]
        (plain,) = plain_values([value])
        return plain


def _slots(spec: ConfigSpec) -> Iterator[TunableField]:
    for key, field in spec._flat_fields().items():
        fragments = _fragments(spec, field)
        if isinstance(field, BlockIdSequence | ListOf):
            yield from (TunableField(key, place, values(f), f.default()) for place, f in enumerate(fragments))
        elif is_element_name(key):
            raise ValueError(f"the tunable '{key}' reads like an element of a list: give it another name")
        else:
            yield from (TunableField(key, None, values(f), f.default()) for f in fragments)


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


def _element(slot: TunableField, config: helion.Config) -> object:
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


_SWITCHES = ("pid_type",)
"""Fields beside which others may mean nothing."""


def idle_restrictions(space: HelionSpace, default: Configuration) -> list[str]:
    """Restrictions that hold a field at its default where Helion ignores it; `default` satisfies all of them."""
    tunables = space.tunables(default)
    return [
        f"{switch} != {value!r} or {name} == {default[name]!r}"
        for switch in _SWITCHES
        if switch in tunables
        for name, values in tunables.items()
        if name != switch
        for value in _idle_at(space, default, switch, name, values)
    ]


def _idle_at(
    space: HelionSpace, default: Configuration, switch: str, name: str, values: list[Value]
) -> Iterator[Value]:
    """The values of the switch at which a field is ignored, if there are others at which it is not."""
    others = [value for value in values if value != default[name]]
    choices = space.tunables(default)[switch]
    ignored = [c for c in choices if others and all(_is_ignored(space, default, switch, c, name, o) for o in others)]
    if len(ignored) < len(choices):
        yield from ignored


def _is_ignored(
    space: HelionSpace, default: Configuration, switch: str, choice: Value, name: str, value: Value
) -> bool:
    flat = {**default, switch: choice, name: value}
    try:
        normalized = space.flat(space.normalized(helion.Config.from_dict(gathered(flat))))
    except InvalidConfig:
        return False
    return normalized[switch] == choice and normalized[name] == default[name]
