"""A host program in Python, for kernel_tuner or PyOpenCL, as the C that does the same, to be read like any other.

The script is never run: what its text alone does not say is left out.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress

from tui_tuner.problem.draft.drafted_launch import TunedSpace
from tui_tuner.problem.draft.kernel.misplaced import parsed_script
from tui_tuner.problem.draft.script.arithmetic import UNKNOWN
from tui_tuner.problem.draft.script.formulas import as_lambda
from tui_tuner.problem.draft.script.tuned_space import tuned_space
from tui_tuner.problem.draft.script.values import ScriptArray, ScriptValues, called
from tui_tuner.problem.model import Language
from tui_tuner.problem.signature import find_kernels

_PARAMETERS = ("kernel_name", "kernel_source", "problem_size", "arguments", "tune_params", "grid_div_x", "grid_div_y")
"""Of `tune_kernel`, in its order."""
_SIMPLE_STATEMENTS = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return)
_UNREADABLE = (LookupError, RecursionError, TypeError, ValueError)
_OUTSIDE = re.compile(r"\bargv\b|\bargs?\.\w|\binput\(|\bgetOption|\benviron\b")


def host_in_c(script: str, language: Language, source: str) -> tuple[str, dict[str, TunedSpace]]:
    """A script as a host in C, and what it has kernel_tuner vary, by the kernel's name.

    Args:
        source: of the kernels.
    """
    kernels = [one.name for one in find_kernels(source, language)]
    read = _Script(script, language, kernels)
    if read.spaces and not read.passes_numbers:  # its kernels have their sizes in their text
        read = _Script(script, language, kernels, as_numbers=True)
    return read.code, read.spaces


def _statements(tree: ast.Module) -> Iterator[ast.stmt]:
    """The statements of a script that do something, in the order of its text, those of its functions among them."""
    simple = (node for node in ast.walk(tree) if isinstance(node, _SIMPLE_STATEMENTS))
    yield from sorted(simple, key=lambda node: (node.lineno, node.col_offset))


def _usual_values(tree: ast.Module) -> Iterator[tuple[ast.Name, ast.expr]]:
    """The arguments of a script's functions that have a value where none is given."""
    for function in (one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef)):
        given = [*function.args.posonlyargs, *function.args.args]
        for argument, value in zip(given[::-1], function.args.defaults[::-1], strict=False):
            yield ast.Name(argument.arg, lineno=function.lineno), value


def _built_with(options: str) -> str:
    return f'clBuildProgram(program, 1, &device, "{options.replace(chr(34), "")}", NULL, NULL);'


class _Script:
    """What a script says of the launches of these kernels.

    Attributes:
        code: the same in C; each statement in the line in which the script has it.
        spaces: what kernel_tuner is to vary, by the kernel's name.
        passes_numbers: whether a kernel is given a number.
    """

    def __init__(self, text: str, language: Language, kernels: Sequence[str], *, as_numbers: bool = False) -> None:
        self._language, self._kernels = language, kernels
        self._values, self._handles = ScriptValues(as_numbers=as_numbers), dict[str, str]()
        self._passed, self._lines = dict[str, list[str]](), [""] * (text.count("\n") + 2)
        self.spaces: dict[str, TunedSpace] = {}
        self.passes_numbers = False
        tree = parsed_script(text)
        for function in (one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef)):
            with suppress(*_UNREADABLE):
                if (returns := as_lambda(function)) is not None:
                    self._values.assigned[function.name] = returns
        for name, value in _usual_values(tree):
            with suppress(*_UNREADABLE):
                self._assign(name, value)
        for statement in _statements(tree):
            with suppress(*_UNREADABLE):  # what cannot be read says nothing
                self._read(statement)
        self._lines[0] = f"int main(int argc, char **argv) {{ {self._lines[0]}"
        self.code = "\n".join(self._lines) + "}\n"

    def _emit(self, line: int, text: str) -> None:
        self._lines[line - 1] += f"{text} "

    def _read(self, statement: ast.stmt) -> None:
        match statement:
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)) if len(targets) == len(
                values
            ):
                for target, value in zip(targets, values, strict=True):
                    self._assign(target, value)
            case ast.Assign(targets=[target], value=value) | ast.AnnAssign(target=target, value=ast.expr() as value):
                self._assign(target, value)
            case ast.AugAssign(target=ast.Name() as target, op=ast.Add(), value=value):
                self._grow(target, value)
        for call in (one for one in ast.walk(statement) if isinstance(one, ast.Call)):
            self._call(call)

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        values = self._values
        if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
            table = values.value(target.value)
            key = values.value(target.slice)
            if isinstance(table, dict) and isinstance(key, str):
                values.known[target.value.id] = {**table, key: values.value(value)}
        if not isinstance(target, ast.Name):
            return
        values.known.pop(target.id, None)
        name, handle = target.id, self._handle(value)
        if handle is not None:
            self._handles[name] = handle
        elif (made := self._buffer(value) or values.array(value)) is not None:
            values.arrays[name] = made
            self._emit(target.lineno, self._memory(name, made))
        elif (number := self._number(value)) is not None:
            self._emit(target.lineno, number.replace("NAME", name))
        values.assigned[name] = value

    def _grow(self, target: ast.Name, more: ast.expr) -> None:
        """Adds items to the list that a name stands for."""
        before = self._values.assigned.get(target.id)
        if isinstance(before, ast.List | ast.BinOp) and isinstance(self._values.value(before), list):
            self._values.assigned[target.id] = ast.BinOp(before, ast.Add(), more)

    def _number(self, value: ast.expr) -> str | None:
        """The declaration of a number; one from outside is that of an argument of the program."""
        found = self._values.value(value)
        if found is UNKNOWN and _OUTSIDE.search(ast.unparse(value)):
            return "int NAME = atoi(argv[1]);"
        text = self._values.in_c(value)
        if text is None or isinstance(found, str | bool) or not isinstance(found, int | float):
            return None
        return f"{'int' if isinstance(found, int) else 'float'} NAME = {text};"

    def _memory(self, name: str, made: ScriptArray) -> str:
        if self._language == "opencl":
            return f"cl_mem {name} = clCreateBuffer(context, 0, {made.size}, NULL, NULL);"
        return f"void *{name}; cudaMalloc(&{name}, {made.size});"

    def _buffer(self, value: ast.expr) -> ScriptArray | None:
        """The memory of a `cl.Buffer`, as large as an array of the host's, or of so many bytes."""
        if not isinstance(value, ast.Call) or called(value) != "Buffer":
            return None
        words = {word.arg: word.value for word in value.keywords}
        if "hostbuf" in words:
            return self._values.array(words["hostbuf"])
        size = words.get("size") or (value.args[2] if len(value.args) > 2 else None)
        if isinstance(size, ast.Attribute) and size.attr == "nbytes":
            return self._values.array(size.value)
        text = None if size is None else self._values.in_c(size)
        return None if text is None else ScriptArray((text,), "char")

    def _handle(self, value: ast.expr) -> str | None:
        """The kernel's name where a value is a handle of it: `program.scale`, `cl.Kernel(program, "scale")`."""
        if isinstance(value, ast.Call) and called(value) == "Kernel" and len(value.args) == 2:
            name = self._values.value(value.args[1])
            return name if isinstance(name, str) else None
        return value.attr if isinstance(value, ast.Attribute) and value.attr in self._kernels else None

    def _call(self, call: ast.Call) -> None:
        name, given = called(call), call.args
        if name == "tune_kernel":
            self._tune(call)
        elif name in ("append", "extend") and isinstance(call.func, ast.Attribute):
            if isinstance(call.func.value, ast.Name):
                self._grow(call.func.value, ast.List(given) if name == "append" else given[0])
        elif name == "add_argument":
            self._values.add_argument(call)
        elif name == "build":
            self._build(call)
        elif (
            name == "set_args" and isinstance(call.func, ast.Attribute) and (handle := self._launched(call.func.value))
        ):
            self._passed[handle] = self._operands(given, call.lineno)
        elif name == "enqueue_nd_range_kernel" and len(given) >= 4 and (handle := self._launched(given[1])):
            self._launch(handle, given[2], given[3], self._passed.get(handle, []), call.lineno)
        elif len(given) >= 3 and self._language == "opencl" and (handle := self._launched(call.func)):
            self._launch(handle, given[1], given[2], self._operands(given[3:], call.lineno), call.lineno)

    def _launched(self, node: ast.expr) -> str | None:
        if isinstance(node, ast.Name) and node.id in self._handles:
            return self._handles[node.id]
        return self._handle(node)

    def _build(self, call: ast.Call) -> None:
        """The options of a build, whose numbers are those of the script."""
        given = [*call.args[:1], *(word.value for word in call.keywords if word.arg == "options")]
        for node in [self._values.meant(one) for one in given]:
            parts = node.elts if isinstance(node, ast.List | ast.Tuple) else [node]
            text = " ".join(filter(None, map(self._text, parts)))
            if text:
                self._emit(call.lineno, _built_with(text))

    def _text(self, node: ast.expr) -> str:
        """A text with its numbers put in; nothing where it is not known."""
        if isinstance(node, ast.JoinedStr):
            parts = [
                self._values.value(one.value if isinstance(one, ast.FormattedValue) else one) for one in node.values
            ]
            return "" if UNKNOWN in parts else "".join(map(str, parts))
        text = self._values.value(node)
        return text if isinstance(text, str) and "\n" not in text else ""

    def _operands(self, given: Sequence[ast.expr], line: int) -> list[str]:
        return [self._operand(node, line, place) for place, node in enumerate(given)]

    def _operand(self, node: ast.expr, line: int, place: int) -> str:
        """What is passed, as C writes it; nothing for what is not known."""
        values = self._values
        node = node.value if isinstance(node, ast.Attribute) and node.attr == "data" else node
        if isinstance(node, ast.Name) and node.id in values.arrays:
            return node.id
        if isinstance(node, ast.Call) and called(node) == "LocalMemory" and node.args:
            return f"Local({values.in_c(node.args[0]) or ''})"
        if (made := values.array(node)) is not None:
            self._emit(line, self._memory(name := f"unnamed_{line}_{place}", made))
            return name
        text = values.in_c(node) or ""
        self.passes_numbers |= text != ""
        return text[1:-1] if text.startswith("(") else text

    def _launch(self, kernel: str, items: ast.expr, group: ast.expr, passed: Sequence[str], line: int) -> None:
        found, own = self._values.extents(items), self._values.extents(group) or []
        if found is None:
            return
        self._emit(line, " ".join(self._enqueued(kernel, found, own, passed)))

    def _enqueued(
        self, kernel: str, items: Sequence[str], group: Sequence[str], passed: Sequence[str]
    ) -> Iterator[str]:
        if self._language != "opencl":
            given = [one or f"unsaid_{place}" for place, one in enumerate(passed)]
            yield f"{kernel}<<<dim3({', '.join(items)}), 1>>>({', '.join(given)});"
            return
        handle = f"handle_of_{kernel}"
        yield f'cl_kernel {handle} = clCreateKernel(program, "{kernel}", NULL);'
        for index, one in enumerate(passed):
            is_local = one.startswith("Local(")
            size, value = (one[len("Local(") : -1], "NULL") if is_local else ("8", one)
            yield f"clSetKernelArg({handle}, {index}, {size}, {value});" if one else ""
        sizes = {"items": items, "group": group}
        yield from (f"size_t {name}_{handle}[] = {{{', '.join(axes)}}};" for name, axes in sizes.items() if axes)
        own = f"group_{handle}" if group else "NULL"
        yield f"clEnqueueNDRangeKernel(queue, {handle}, {len(items)}, NULL, items_{handle}, {own}, 0, NULL, NULL);"

    def _tune(self, call: ast.Call) -> None:
        """A call of kernel_tuner: the launch, and what it is to vary."""
        words = dict(zip(_PARAMETERS, call.args, strict=False)) | {
            one.arg: one.value for one in call.keywords if one.arg
        }
        known = self._values.value(words["kernel_name"]) if "kernel_name" in words else UNKNOWN
        name = known if isinstance(known, str) else ""
        bare = name.partition("<")[0].strip()
        if bare not in self._kernels or bare in self.spaces:  # later calls mostly tune on from what came of the first
            return
        given = self._values.items(words["arguments"]) if "arguments" in words else []
        passed = self._operands(given, call.lineno)
        self._constants(words.get("cmem_args"), call.lineno)
        counted = words.get("problem_size", ast.Constant(None))
        is_function = isinstance(self._values.meant(counted), ast.Lambda)
        items = [] if is_function else self._values.extents(counted) or []
        space = tuned_space(self._values, words, items, call.lineno)
        if space is not None:
            self.spaces[bare] = space
            if self._language == "opencl" and space.options:
                self._emit(call.lineno, _built_with(" ".join(space.options)))
        if space is not None and "problem_size" in space.keys:  # as many as a tunable says
            items = ["1"] * len(space.keys["problem_size"])
        if items:
            self._emit(call.lineno, " ".join(self._enqueued(name, items, [], passed)))

    def _constants(self, node: ast.expr | None, line: int) -> None:
        table = None if node is None else self._values.meant(node)
        for key, value in zip(table.keys, table.values, strict=True) if isinstance(table, ast.Dict) else ():
            name = None if key is None else self._values.value(key)
            if isinstance(name, str) and (made := self._values.array(value)):
                self._emit(line, f"cudaMemcpyToSymbol({name}, {self._operand(value, line, 99)}, {made.size});")
