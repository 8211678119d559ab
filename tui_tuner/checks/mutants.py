"""Known cheats and faults put into a kernel on purpose, one at a time: what the tests do not notice, they would accept.

A fault is an edit of the text at a node of its syntax tree. It says nothing of what the kernel computes, so that some
change nothing: a barrier may be needless, a bound may divide anyway. The machine tells.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice

from tree_sitter import Node

from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.expressions import evaluate
from tui_tuner.problem.inputs import test_sizes
from tui_tuner.problem.model import Problem
from tui_tuner.problem.syntax import code_only, declared_name, functions, parse_code


class Fault(StrEnum):
    """What is wrong with a mutant, in words."""

    TAIL = "the last elements are left out"
    GUARD = "a bounds check is left out"
    BRANCH = "a branch is never taken"
    STORE = "a store is left out"
    SKIP = "a loop skips every other element"
    LARGE = "half of a loop is left out at the timed size only"
    BARRIER = "a barrier is left out"
    ATOMIC = "an atomic update is a plain one"
    PRECISION = "numbers are cut to fewer bits"
    MAXIMUM = "a maximum is left out"
    SIZE = "one size is taken for another"


@dataclass(frozen=True)
class Mutant:
    """A kernel with one fault.

    Attributes:
        line: of the kernel's file, counted from 1.
        was: the text there.
        now: the text in its place.
    """

    fault: Fault
    line: int
    was: str
    now: str
    candidate: Candidate

    @property
    def place(self) -> str:
        """Where the fault is, and what it is there."""
        return f"line {self.line}: {_short(self.was)} -> {_short(self.now)}"


@dataclass(frozen=True)
class _Edit:
    start: int
    end: int
    text: str
    helper: str = ""


@dataclass(frozen=True)
class _Kernel:
    """The text with what an edit may ask of it.

    Attributes:
        code: the source without comments, byte for byte as long.
        functions: bodies of the kernel and of the functions of the file that it calls.
        most_tested: of each scalar argument that is larger at the timed size than at any test, what it is there.
    """

    problem: Problem
    code: str
    functions: list[Node]
    most_tested: dict[str, int]

    def text(self, node: Node) -> str:
        return self.code[node.start_byte : node.end_byte]

    def nodes(self, *types: str) -> Iterator[Node]:
        """All nodes of some types, in the order of the text."""
        for function in self.functions:
            yield from _below(function, types)


def mutants(given: Candidate, problem: Problem, most: int) -> list[Mutant]:
    """At most so many faulty versions of a kernel: of each fault one, then of each another.

    Args:
        problem: with the sizes that are timed and the tests in force.
    """
    kernel = _read(given, problem)
    found = [[(fault, edit) for edit in _edits(fault, kernel)] for fault in Fault]
    longest = max(map(len, found))
    in_turns = (each[place] for place in range(longest) for each in found if place < len(each))
    return [_mutant(given, fault, edit) for fault, edit in islice(in_turns, most)]


def _mutant(given: Candidate, fault: Fault, edit: _Edit) -> Mutant:
    source = given.source
    was, line = source[edit.start : edit.end], source.count("\n", 0, edit.start) + 1
    changed = f"{edit.helper}{source[: edit.start]}{edit.text}{source[edit.end :]}"
    candidate = given.model_copy(update={"source": changed, "title": f"{fault}, line {line}"})
    return Mutant(fault, line, was, edit.text, candidate)


def _read(given: Candidate, problem: Problem) -> _Kernel:
    code = re.sub(r"[^\x00-\x7f]", "_", code_only(given.source))
    root = parse_code(code, problem.language)
    name = given.kernel.partition("<")[0].rpartition("::")[2]
    kernel = next(node for node in functions(root, code, problem.language) if _name(node, code) == name)
    return _Kernel(problem, code, _with_called(root, kernel, code), _most_tested(problem))


def _most_tested(problem: Problem) -> dict[str, int]:
    *tests, timed = test_sizes(problem)
    values = {a.name: a.value for a in problem.arguments if isinstance(a.value, str)}
    most = {name: max((int(evaluate(value, sizes)) for sizes in tests), default=0) for name, value in values.items()}
    return {name: most[name] for name, value in values.items() if 0 < most[name] < int(evaluate(value, timed))}


def _with_called(root: Node, kernel: Node, code: str) -> list[Node]:
    """A kernel and the functions of the file that it calls, in the order of the text."""
    known = {_name(node, code): node for node in _below(root, ("function_definition",)) if node != kernel}
    reached, pending = [kernel], [kernel]
    while pending:
        words = {code[node.start_byte : node.end_byte] for node in _below(pending.pop(), ("identifier",))}
        called = [known.pop(word) for word in words & known.keys()]
        reached += called
        pending += called
    return sorted(reached, key=lambda node: node.start_byte)


def _name(function: Node, code: str) -> str:
    declarator = function.child_by_field_name("declarator")
    name = None if declarator is None else declared_name(declarator)
    return "" if name is None else code[name.start_byte : name.end_byte]


def _below(node: Node, types: Iterable[str]) -> Iterator[Node]:
    pending = [node]
    while pending:
        node = pending.pop()
        if node.type in types:
            yield node
        pending.extend(reversed(node.children))


def _field(node: Node, name: str) -> Node:
    found = node.child_by_field_name(name)
    if found is None:
        raise LookupError(name)
    return found


def _edits(fault: Fault, kernel: _Kernel) -> Iterator[_Edit]:
    """All places of a fault; a node that the grammar read as something odd is none."""
    places, edit = _RULES[fault]
    for node in kernel.nodes(*places):
        try:
            changed = edit(node, kernel)
        except LookupError:
            continue
        if changed is not None:
            yield changed


def _bound(node: Node, kernel: _Kernel) -> Node | None:
    """The right side of a comparison with what is no plain number, in a condition."""
    right = _field(node, "right")
    if kernel.text(_field(node, "operator")) not in ("<", ">=") or right.type == "number_literal":
        return None
    return right


def _tail(node: Node, kernel: _Kernel) -> _Edit | None:
    """None where that changes nothing: a real number, or the threads of a block, which eight nearly always divides."""
    bound = _bound(node, kernel)
    if bound is None or kernel.text(bound) in _real_names(kernel) or _THREADS.match(kernel.text(bound)):
        return None
    return _replaced(bound, f"({kernel.text(bound)}) / 8 * 8")


_THREADS = re.compile(r"blockDim\b|get_local_size\b|warpSize\b")


def _large(node: Node, kernel: _Kernel) -> _Edit | None:
    condition = _field(node, "condition")
    bound = _bound(condition, kernel) if condition.type == "binary_expression" else None
    most = None if bound is None else kernel.most_tested.get(kernel.text(bound))
    if bound is None or most is None:
        return None
    name = kernel.text(bound)
    return _replaced(bound, f"({name} > {most} ? {name} / 2 : {name})")


def _condition(node: Node) -> tuple[Node, bool]:
    """The condition of an `if` without its parentheses, and whether what follows leaves the function."""
    wrapped = _field(node, "condition")
    inner = wrapped.child_by_field_name("value") or wrapped.named_children[0]
    body = _field(node, "consequence")
    first = body.named_children[0] if body.type == "compound_statement" and body.named_children else body
    return inner, first.type in ("return_statement", "continue_statement", "break_statement")


def _guard(node: Node, kernel: _Kernel) -> _Edit | None:
    condition, leaves = _condition(node)
    return _replaced(condition, "0" if leaves else "1") if re.search("[<>]", kernel.text(condition)) else None


def _branch(node: Node, _: _Kernel) -> _Edit | None:
    condition, leaves = _condition(node)
    return None if leaves else _replaced(condition, "0")


def _store(node: Node, kernel: _Kernel) -> _Edit | None:
    if not node.named_children or node.named_children[0].type != "assignment_expression":
        return None
    stored = _field(node.named_children[0], "left").type in ("subscript_expression", "pointer_expression")
    return _replaced(node, ";") if stored else None


def _skip(node: Node, kernel: _Kernel) -> _Edit | None:
    update = _field(node, "update")
    if update.type == "update_expression":
        counter = kernel.text(_field(update, "argument"))
        return _replaced(update, f"{counter} {kernel.text(_field(update, 'operator'))[0]}= 2")
    if update.type == "assignment_expression" and kernel.text(_field(update, "operator")) in ("+=", "-="):
        step = _field(update, "right")
        return _replaced(step, f"2 * ({kernel.text(step)})")
    return None


_BARRIERS = re.compile(r"(?:__syncthreads|__syncwarp|barrier|work_group_barrier|\w+\s*\.\s*sync)\s*\(")


def _barrier(node: Node, kernel: _Kernel) -> _Edit | None:
    return _replaced(node, "((void)0)") if _BARRIERS.match(kernel.text(node)) else None


def _call(node: Node, kernel: _Kernel) -> tuple[str, list[Node]]:
    return kernel.text(_field(node, "function")), _field(node, "arguments").named_children


def _atomic(node: Node, kernel: _Kernel) -> _Edit | None:
    name, given = _call(node, kernel)
    if name in ("atomicAdd", "atomic_add") and len(given) == 2:
        return _replaced(node, f"(*({kernel.text(given[0])}) += ({kernel.text(given[1])}))")
    return None


def _maximum(node: Node, kernel: _Kernel) -> _Edit | None:
    name, given = _call(node, kernel)
    if name in ("fmaxf", "fmax", "max", "std::max") and len(given) == 2:
        return _replaced(node, f"({kernel.text(given[0])})")
    return None


_CUT = {
    "float": "float tuner_cut(float v) { union { float f; unsigned u; } c; c.f = v; c.u &= ~0xffffu; return c.f; }",
    "double": "double tuner_cut(double v) { return (double)(float)v; }",
}
_LINKAGE = {"cuda": "static __device__ ", "opencl": "", "c": "static "}


def _precision(node: Node, kernel: _Kernel) -> _Edit | None:
    left, right = _field(node, "left"), _field(node, "right")
    if kernel.text(_field(node, "operator")) not in ("=", "+=") or right.type == "number_literal":
        return None
    base = next(_below(left, ("identifier",)), None)
    dtype = None if base is None else _real_names(kernel).get(kernel.text(base))
    if dtype is None:
        return None
    helper = _LINKAGE[kernel.problem.language] + _CUT[dtype] + "\n"
    return _Edit(right.start_byte, right.end_byte, f"tuner_cut({kernel.text(right)})", helper)


def _real_names(kernel: _Kernel) -> dict[str, str]:
    """Variables and arrays of floating-point numbers, by name."""
    names: dict[str, str] = {}
    for node in kernel.nodes("declaration", "parameter_declaration"):
        dtype = kernel.text(_field(node, "type"))
        if dtype in _CUT:
            names |= {kernel.text(declared_name(each)): dtype for each in node.children_by_field_name("declarator")}
    return names


def _size(node: Node, kernel: _Kernel) -> _Edit | None:
    """A size in the place of the next one."""
    sizes = kernel.problem.sizes
    values = [a.name for a in kernel.problem.arguments if isinstance(a.value, str) and a.value in sizes]
    name = kernel.text(node)
    inside = node.parent is not None and node.parent.type != "parameter_declaration"
    if name not in values or len(values) < 2 or not inside:
        return None
    return _replaced(node, values[(values.index(name) + 1) % len(values)])


def _replaced(node: Node, text: str) -> _Edit:
    return _Edit(node.start_byte, node.end_byte, text)


def _short(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= 40 else f"{words[:39]}…"


_Rule = tuple[tuple[str, ...], Callable[[Node, _Kernel], _Edit | None]]
_RULES: dict[Fault, _Rule] = {
    Fault.TAIL: (("binary_expression",), _tail),
    Fault.GUARD: (("if_statement",), _guard),
    Fault.BRANCH: (("if_statement",), _branch),
    Fault.STORE: (("expression_statement",), _store),
    Fault.SKIP: (("for_statement",), _skip),
    Fault.LARGE: (("for_statement",), _large),
    Fault.BARRIER: (("call_expression",), _barrier),
    Fault.ATOMIC: (("call_expression",), _atomic),
    Fault.PRECISION: (("assignment_expression",), _precision),
    Fault.MAXIMUM: (("call_expression",), _maximum),
    Fault.SIZE: (("identifier",), _size),
}
