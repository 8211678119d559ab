"""A host program in Python, for kernel_tuner, CuPy, PyCUDA, PyOpenCL or PyTorch, statement by statement."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from tui_tuner.problem.draft.drafted_launch import TunedSpace
from tui_tuner.problem.draft.kernel.misplaced import parsed_script
from tui_tuner.problem.draft.script.arithmetic import UNKNOWN
from tui_tuner.problem.draft.script.arrays import array_behind, array_of
from tui_tuner.problem.draft.script.builds import ScriptBuilds
from tui_tuner.problem.draft.script.formulas import as_lambda
from tui_tuner.problem.draft.script.host_text import UNREAD, HostText
from tui_tuner.problem.draft.script.launches import ScriptLaunch, ScriptLaunches
from tui_tuner.problem.draft.script.numbers import extents_in_c, in_c
from tui_tuner.problem.draft.script.order import ScriptOrder
from tui_tuner.problem.draft.script.texts import KernelText
from tui_tuner.problem.draft.script.tuned_space import tuned_space
from tui_tuner.problem.draft.script.values import ELEMENT, ScriptArray, ScriptValues, called, mentions
from tui_tuner.problem.model import Language
from tui_tuner.problem.signature import find_kernels

_TUNES = {"tune_kernel": "tune_params", "run_kernel": "params"}
"""Functions of kernel_tuner, with what they call the values of tunables; the second runs one configuration."""
_PARAMETERS = ("kernel_name", "kernel_source", "problem_size", "arguments", "tune_params", "grid_div_x", "grid_div_y")
"""Of both, in their order."""
_UNREADABLE = (LookupError, RecursionError, TypeError, ValueError)
_OUTSIDE = re.compile(r"\bargv\b|\bargs?\.\w|\binput\(|\bgetOption|\benviron\b")
_OF_TENSORS = re.compile(r"\b(?P<name>\w+)\s*\([^(){};]*\b(?:torch|at)\s*::\s*Tensor\b[^(){};]*\)\s*\{")
_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]", re.MULTILINE)
_ON_DEVICE = frozenset(("In", "Out", "InOut", "cuda", "contiguous", "detach", "to"))


class ScriptHost:
    """What a script says of the launches of kernels.

    Args:
        source: of the kernels.
        as_numbers: whether sizes are written as numbers, and not by their names.

    Attributes:
        host: the same in C.
        spaces: what kernel_tuner is to vary, by the kernel's name.
        builds: what it builds.
        passes_numbers: whether a kernel is given a whole number, or one that is not known.
    """

    def __init__(self, text: str, language: Language, source: str, *, as_numbers: bool = False) -> None:
        self._language, self._kernels = language, [one.name for one in find_kernels(source, language)]
        self._tensors = {one["name"] for one in _OF_TENSORS.finditer(source)} - {*self._kernels}
        self._macros = {*_MACRO.findall(source)}
        self._values = ScriptValues(as_numbers=as_numbers)
        self._launches = ScriptLaunches(self._values, language, self._kernels)
        self.host = HostText(language, of_torch=bool(self._tensors))
        self.spaces: dict[str, TunedSpace] = {}
        self.builds = ScriptBuilds(self._values)
        self.passes_numbers = False
        self._lost = set[str]()
        self._only_run = set[str]()
        tree = parsed_script(text)
        for function in (one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef)):
            with suppress(*_UNREADABLE):
                if (returns := as_lambda(function)) is not None:
                    self._values.assigned[function.name] = returns
        for statement in ScriptOrder(tree, self._values.value).statements():
            with suppress(*_UNREADABLE):  # what cannot be read says nothing
                self._read(statement)

    def _read(self, statement: ast.stmt) -> None:
        line = statement.lineno
        match statement:
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=value):
                self._unpack(targets, value, line)
            case ast.Assign(targets=[target], value=value) | ast.AnnAssign(target=target, value=ast.expr() as value):
                if not self._is_from_outside(target, value):
                    self._assign(target, value, line)
            case ast.AugAssign(target=ast.Name(id=name) as target, op=operation, value=value):
                if not isinstance(operation, ast.Add) or not self._grow(target, value):
                    self._assign(target, ast.BinOp(ast.Name(name), operation, value), line)
        for call in (one for one in ast.walk(statement) if isinstance(one, ast.Call)):
            self._call(call, line)

    def _unpack(self, targets: Sequence[ast.expr], value: ast.expr, line: int) -> None:
        """Several names at once: of a list what is in it, of an array's shape its extents."""
        values, meant = self._values, self._values.meant(value)
        names = [one.id for one in targets if isinstance(one, ast.Name)]
        match meant:
            case ast.Tuple(elts=items) | ast.List(elts=items):
                given = [(one, array_of(values, one), values.value(one)) for one in items]
                for target, (one, made, known) in zip(targets, given, strict=False):
                    is_other = mentions(one, names)
                    is_known = is_other and isinstance(known, int | float | str)
                    self._assign(target, ast.Constant(known) if is_known else one, line, made if is_other else None)  # type: ignore[arg-type]
            case (
                ast.Attribute(value=ast.Name() as array, attr="shape")
                | ast.Call(func=ast.Attribute(value=ast.Name() as array, attr="size"), args=[])
            ) if len(names) == len(targets):
                made = array_of(values, array) or array_behind(values, array)
                for name, extent in zip(names, made.extents if made else (), strict=False):
                    if extent != name:
                        self.host.add_number(line, name, extent)
                if made is None:
                    values.arrays[array.id] = ScriptArray(tuple(names), ELEMENT)
                for name in names:
                    values.forget(name)
            case _ if isinstance(listed := values.value(value), list) and len(listed) == len(targets):
                for target, known in zip(targets, listed, strict=True):
                    if isinstance(known, int | float | str):
                        self._assign(target, ast.Constant(known), line)

    def _assign(self, target: ast.expr, value: ast.expr, line: int, made: ScriptArray | None = None) -> None:
        values = self._values
        if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
            table = values.value(target.value)
            key = values.value(target.slice)
            if isinstance(table, dict) and isinstance(key, str):
                values.known[target.value.id] = {**table, key: values.value(value)}
        if not isinstance(target, ast.Name) or (isinstance(value, ast.Name) and value.id == target.id):
            return
        name, is_anew = target.id, mentions(value, [target.id])
        if is_anew and isinstance(found := values.value(value), int | float | str):
            value = ast.Constant(found)
        values.known.pop(name, None)
        made = made or array_of(values, value)
        if self._launches.keeps(name, value):
            return
        if made is not None:
            values.arrays[name] = made
            self._lost.discard(name)
            self.host.add_memory(line, name, made)
        elif values.arrays.pop(name, None) is not None:
            self._lost.add(name)
        if made is None and (number := self._number(value)) is not None:
            self.host.add_number(line, name, number)
        if not mentions(value, [name]):
            values.assigned[name] = value

    def _is_from_outside(self, target: ast.expr, value: ast.expr) -> bool:
        """Whether a number that has a usual value is set to what nobody knows, as by an option of the program."""
        before, found = self._values.value(target), self._values.value(value)
        is_number = isinstance(before, int | float) and not isinstance(before, bool) and before != 0
        if not is_number or found is not UNKNOWN or array_of(self._values, value) is not None:
            return False
        return not self.host.knows(in_c(self._values, value) or "")

    def _grow(self, target: ast.Name, more: ast.expr) -> bool:
        """Adds items to the list that a name stands for; False where it stands for none."""
        before = self._values.assigned.get(target.id)
        is_list = isinstance(before, ast.List | ast.BinOp) and isinstance(self._values.value(before), list)
        if before is not None and is_list:
            self._values.assigned[target.id] = ast.BinOp(before, ast.Add(), more)
        return is_list

    def _number(self, value: ast.expr) -> str | None:
        """A number as C writes it; one from outside is that of an argument of the program."""
        found = self._values.value(value)
        if found is UNKNOWN and _OUTSIDE.search(ast.unparse(value)):
            return "atoi(argv[1])"
        text = in_c(self._values, value)
        is_number = isinstance(found, int | float) and not isinstance(found, bool)
        if text is None or (found is not UNKNOWN and not is_number):
            return None
        return text

    def _call(self, call: ast.Call, line: int) -> None:
        values, given = self._values, call.args
        function = values.meant(call.func)
        name = function.attr if isinstance(function, ast.Attribute) else called(call)
        if (built := self.builds.read(name, call, line)) is not None:
            self._name_macros(built, line)
        if name in _TUNES:
            self._tune(call, line, name)
        elif name in ("append", "extend") and isinstance(call.func, ast.Attribute):
            if isinstance(call.func.value, ast.Name):
                self._grow(call.func.value, ast.List(given) if name == "append" else given[0])
        elif name == "add_argument":
            if (argument := values.add_argument(call)) is not None and (number := self._number(values.usual[argument])):
                self.host.add_number(line, argument, number)
        elif name == "build":
            self._build(call, line)
        elif name in ("memcpy_htod", "memcpy_dtoh") and len(given) > 1:
            self._copy(given, line, is_to_device=name == "memcpy_htod")
        elif name in self._tensors:
            self.host.add_call(line, name, self._passed(given, line))
        if (launch := self._launches.read(call)) is not None:
            self._launch(launch, line)

    def _name_macros(self, built: KernelText, line: int) -> None:
        """Lets names of the script stand for macros of the kernels' text that have their numbers."""
        for name, macro in built.named.items():
            if macro in self._macros:
                self.host.state_number(line, name, macro)

    def _copy(self, given: Sequence[ast.expr], line: int, *, is_to_device: bool) -> None:
        """Lets memory of the device be like an array that is copied to it or from it, where nothing else says that."""
        device, host = given[:2] if is_to_device else given[1::-1]
        made, values = array_of(self._values, host), self._values
        if not isinstance(device, ast.Name) or made is None:
            return
        if device.id not in values.arrays or (is_to_device and made.is_zero):
            values.arrays[device.id] = replace(made, is_zero=made.is_zero and is_to_device)
            self.host.add_memory(line, device.id, values.arrays[device.id])

    def _build(self, call: ast.Call, line: int) -> None:
        """The options of a build, whose numbers are those of the script."""
        given = [*call.args[:1], *(word.value for word in call.keywords if word.arg == "options")]
        for node in [self._values.meant(one) for one in given]:
            parts = node.elts if isinstance(node, ast.List | ast.Tuple) else [node]
            text = " ".join(filter(None, map(self._text, parts)))
            if text:
                self.host.add_build(line, text)

    def _text(self, node: ast.expr) -> str:
        """A text with its numbers put in; nothing where it is not known."""
        if isinstance(node, ast.JoinedStr):
            parts = [
                self._values.value(one.value if isinstance(one, ast.FormattedValue) else one) for one in node.values
            ]
            return "" if UNKNOWN in parts else "".join(map(str, parts))
        text = self._values.value(node)
        return text if isinstance(text, str) and "\n" not in text else ""

    def _passed(self, given: Sequence[ast.expr], line: int) -> list[str]:
        """What is passed, as C writes it, each nothing where it is not known."""
        return [self._operand(node, line, place) for place, node in enumerate(given)]

    def _operand(self, node: ast.expr, line: int, place: int) -> str:
        """What is passed, as C writes it; nothing for what is not known."""
        values, own = self._values, _own_array(node)
        if own in values.arrays or own in self._lost:
            return own if own in values.arrays else ""
        if isinstance(node, ast.Call) and called(node) == "LocalMemory" and node.args:
            return f"Local({in_c(values, node.args[0]) or ''})"
        made = array_of(values, node)
        if made is None and in_c(values, node) in (None, own):
            made = array_behind(values, node)
        if made is not None:
            self.host.add_memory(line, name := own or f"unnamed_{line}_{place}", made)
            return name
        text = in_c(values, node) or ""
        self.passes_numbers |= text != "" and not isinstance(values.value(node), float)
        return text[1:-1] if text.startswith("(") else text

    def _launch(self, launch: ScriptLaunch, line: int) -> None:
        passed = self._passed(launch.passed, line)
        grid = extents_in_c(self._values, launch.grid)
        block = None if launch.block is None else extents_in_c(self._values, launch.block)
        if self._language != "opencl":
            grid, block = self._each(launch.grid), self._each(launch.block)
        shared = "" if launch.shared is None else in_c(self._values, launch.shared) or UNREAD
        offset = extents_in_c(self._values, launch.offset) or []
        if grid is not None:
            self.host.add_launch(line, launch.kernel, grid, block or [], passed, shared, offset)

    def _each(self, node: ast.expr | None) -> list[str]:
        """The axes of a grid or a block of CUDA, of which not all need be known."""
        meant = None if node is None else self._values.meant(node)
        if meant is None or isinstance(meant, ast.Name):  # a name for all of them at once
            return [UNREAD] if meant else []
        known = extents_in_c(self._values, meant)
        return known or [in_c(self._values, one) or UNREAD for one in self._values.items(meant)]

    def _tune(self, call: ast.Call, line: int, function: str) -> None:
        """A call of kernel_tuner: the launch, and what it is to vary."""
        words = dict(zip(_PARAMETERS, call.args, strict=False)) | {
            "tune_params" if one.arg == _TUNES[function] else one.arg: one.value for one in call.keywords if one.arg
        }
        known = self._values.value(words["kernel_name"]) if "kernel_name" in words else UNKNOWN
        name = known if isinstance(known, str) else ""
        bare = name.partition("<")[0].strip()
        is_known = bare in self.spaces and (function == "run_kernel" or bare not in self._only_run)
        if bare not in self._kernels or is_known:  # later calls mostly tune on from what came of the first
            return
        given = self._values.items(words["arguments"]) if "arguments" in words else []
        passed = self._passed(given, line)
        self._constants(words.get("cmem_args"), line)
        counted = words.get("problem_size", ast.Constant(None))
        is_function = isinstance(self._values.meant(counted), ast.Lambda)
        items = [] if is_function else extents_in_c(self._values, counted) or []
        space = tuned_space(self._values, words, items, line)
        if space is not None:
            self.spaces[bare] = space
            (self._only_run.add if function == "run_kernel" else self._only_run.discard)(bare)
            if self._language == "opencl" and space.options:
                self.host.add_build(line, " ".join(space.options))
        if space is not None and "problem_size" in space.keys:  # as many as a tunable says
            items = ["1"] * len(space.keys["problem_size"])
        if items:
            self.host.add_launch(line, name, items, [], passed, "")

    def _constants(self, node: ast.expr | None, line: int) -> None:
        table = None if node is None else self._values.meant(node)
        for key, value in zip(table.keys, table.values, strict=True) if isinstance(table, ast.Dict) else ():
            name = None if key is None else self._values.value(key)
            if isinstance(name, str) and (made := array_of(self._values, value)):
                self.host.add(line, f"cudaMemcpyToSymbol({name}, {self._operand(value, line, 99)}, {made.size});")


def _own_array(node: ast.expr) -> str:
    """The name of an array that is passed as it is, or as memory of the device: `x`, `x.gpudata`, `drv.In(x)`."""
    match node:
        case ast.Name(id=name) | ast.Attribute(value=ast.Name(id=name), attr="data" | "gpudata" | "ptr"):
            return name
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name))) | ast.Call(args=[ast.Name(id=name)]) if (
            called(node) in _ON_DEVICE
        ):
            return node.args[0].id if node.args and isinstance(node.args[0], ast.Name) else name
    return ""
