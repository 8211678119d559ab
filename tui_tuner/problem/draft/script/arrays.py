"""The arrays that expressions of a script make: of NumPy, CuPy, PyCUDA, PyOpenCL and PyTorch, which name them alike."""

from __future__ import annotations

import ast
from dataclasses import replace

from tui_tuner.problem.draft.script.arithmetic import element_named
from tui_tuner.problem.draft.script.layers import MEMBERS, weight_of
from tui_tuner.problem.draft.script.numbers import extents_in_c, in_c
from tui_tuner.problem.draft.script.values import ELEMENT, ScriptArray, ScriptValues, called

_ALIKE = frozenset(("zeros_like", "ones_like", "empty_like", "full_like", "rand_like", "randn_like", "mem_alloc_like"))
_OF_TENSOR = frozenset(("cuda", "cpu", "contiguous", "detach", "clone", "requires_grad_", "numpy"))
_SAME = frozenset(
    ("ravel", "flatten", "copy", "transpose", "ascontiguousarray", "array", "asarray", "to_device", "get", "to_gpu")
).union(
    ("asnumpy", "asfortranarray", "tensor", "from_numpy", "as_tensor", "Parameter", "In", "Out", "InOut"), _OF_TENSOR
)
"""Functions whose result has the elements of what they are given."""
_EACH = frozenset(
    ("relu", "gelu", "sigmoid", "tanh", "softmax", "exp", "log", "sqrt", "abs", "sin", "cos", "square", "float_power")
)
"""Those that compute each element anew."""
_WHOLE = frozenset(("randint", "integers", "arange"))
_OF_SIZE = frozenset(("normal", "uniform", "randint", "integers"))
"""Those whose extents are their last argument, or `size`."""
_OF_EXTENTS = frozenset(("rand", "randn"))
"""Those whose extents are an argument each."""
_FILLED = frozenset(("zeros", "ones", "empty", "full"))
_PINNED = frozenset(("pagelocked_empty", "pagelocked_zeros", "managed_empty", "managed_zeros"))
_MADE = frozenset(("random", "random_sample", "standard_normal", "linspace", "eye", "identity")).union(
    _FILLED, _PINNED, _WHOLE, _OF_SIZE, _OF_EXTENTS
)
"""Functions that make an array of so many elements."""
_OF_TORCH = {"float": "float", "half": "half", "double": "double", "int": "int32_t", "long": "long long"}
"""What a tensor's own functions of these names make its elements."""
_CHANGED = frozenset(("astype", "type", "to", "reshape", "view", *_OF_TORCH))
_OWN_MEMORY = ("T", "data", "gpudata", "ptr", "device_ptr")
_USUAL_POINTS = 50
"""Of `linspace`."""


def array_of(values: ScriptValues, node: ast.expr) -> ScriptArray | None:
    """The array that an expression makes; None where it makes none whose size is known."""
    made: ScriptArray | None = None
    match node:
        case ast.Name(id=name):
            made = values.arrays.get(name)
        case ast.Attribute(value=inner, attr=attr) if attr in _OWN_MEMORY:
            made = array_of(values, inner)
        case ast.Attribute(value=layer, attr=attr) if attr in MEMBERS:
            made = weight_of(values, layer, attr)
        case ast.BinOp() | ast.UnaryOp():
            parts = [one for one in ast.iter_child_nodes(node) if isinstance(one, ast.expr)]
            found = next((found for one in parts if (found := array_of(values, one))), None)
            made = found and replace(found, is_zero=False)
        case ast.Call(func=ast.Attribute(value=inner, attr=attr)) if attr in _CHANGED:
            made = _changed(values, node, array_of(values, inner))
        case ast.Call() if called(node) in _SAME | _ALIKE | _EACH:
            made = _like(values, node)
        case ast.Call() if called(node) in _MADE:
            made = _made(values, node)
        case ast.Call() if called(node) in ("Buffer", "mem_alloc"):
            made = _taken(values, node)
    return made


def _taken(values: ScriptValues, call: ast.Call) -> ScriptArray | None:
    """Memory that is as large as an array, or of so many bytes."""
    words = {word.arg: word.value for word in call.keywords}
    if "hostbuf" in words:
        return array_of(values, words["hostbuf"])
    at = 2 if called(call) == "Buffer" else 0
    size = words.get("size") or (call.args[at] if len(call.args) > at else None)
    if isinstance(size, ast.Attribute) and size.attr == "nbytes":
        made = array_of(values, size.value)
        return made and replace(made, is_zero=False)
    text = None if size is None else in_c(values, size)
    return None if text is None else ScriptArray((text,), "char")


def _changed(values: ScriptValues, call: ast.Call, made: ScriptArray | None) -> ScriptArray | None:
    """An array with another type of elements, or other extents."""
    name, given = called(call), call.args
    words = {word.arg: word.value for word in call.keywords}
    if name in ("reshape", "view") and given:
        extents = extents_in_c(values, ast.Tuple(given) if len(given) > 1 else given[0])
        is_whole = extents and "-1" not in extents
        return replace(made or ScriptArray((), ELEMENT), extents=tuple(extents)) if extents and is_whole else made
    if made is None:
        return None
    if name in _OF_TORCH:
        return replace(made, element=_OF_TORCH[name])
    return _as(values, made, words.get("dtype") or _type_among(values, given))


def _listed(given: object) -> ScriptArray | None:
    """An array of numbers that are written out, in rows too."""
    extents: list[str] = []
    while isinstance(given, list) and given:
        extents.append(str(len(given)))
        given = given[0]
    is_number = extents and isinstance(given, int | float)
    return ScriptArray(tuple(extents), "double" if isinstance(given, float) else "long long") if is_number else None


def _as(values: ScriptValues, made: ScriptArray | None, dtype: ast.expr | None) -> ScriptArray | None:
    element = _element(values, dtype, made.element) if made else ""
    return replace(made, element=element) if made and element else None


def _like(values: ScriptValues, call: ast.Call) -> ScriptArray | None:
    """An array that is made of another, as by `zeros_like`, `.ravel()` or `to_device(queue, x)`."""
    name, given = called(call), [one for one in call.args if not _is_type(values, one)]
    if name == "to_device" and len(given) > 1:
        given = given[1:]
    is_own = name in _OF_TENSOR and isinstance(call.func, ast.Attribute)
    of = call.func.value if isinstance(call.func, ast.Attribute) and (is_own or not given) else given[0]
    words = {word.arg: word.value for word in call.keywords}
    given_array = array_of(values, of) or _listed(values.value(of))
    made = _as(values, given_array, words.get("dtype") or _type_among(values, call.args))
    return replace(made, is_zero=name == "zeros_like") if made and name in (*_ALIKE, *_EACH, "Out") else made


def _made(values: ScriptValues, call: ast.Call) -> ScriptArray | None:
    name, words = called(call), {word.arg: word.value for word in call.keywords}
    module = ast.unparse(call.func).partition(".")[0]
    is_single = module in ("torch", "curandom", "curand")
    usual = "long long" if name in _WHOLE else "float" if is_single else "double"
    element = _element(values, words.get("dtype") or _type_among(values, call.args), usual)
    given = [one for one in call.args if not _is_type(values, one) and not _is_queue(one)]
    extents = extents_in_c(values, _shape(values, name, given, words, is_torch=module == "torch"))
    return ScriptArray(tuple(extents), element, is_zero=name.endswith("zeros")) if extents and element else None


def _shape(
    values: ScriptValues, name: str, given: list[ast.expr], words: dict[str | None, ast.expr], *, is_torch: bool
) -> ast.expr | None:
    """The extents that a function is given."""
    if name == "linspace":
        return words.get("num") or (given[2] if len(given) > 2 else ast.Constant(_USUAL_POINTS))
    if (shape := words.get("size") or words.get("shape")) is not None or not (given or "stop" in words):
        return shape
    if name in ("eye", "identity"):
        return ast.Tuple([given[0], given[0]])
    if name == "arange":
        given += [words[key] for key in ("start", "stop", "step") if key in words]
        given = given[1:] if len(given) == 2 and values.value(given[0]) == 0 else given
        return given[0] if len(given) == 1 else _between(values, given)
    is_several = (name in _OF_EXTENTS or (is_torch and name != "full")) and name not in _OF_SIZE
    if is_several and not isinstance(values.meant(given[0]), ast.Tuple | ast.List):
        return ast.Tuple(given)
    return given[-1] if name in _OF_SIZE else given[0]


def _between(values: ScriptValues, given: list[ast.expr]) -> ast.expr | None:
    """How many whole numbers lie between two, where that is a number."""
    numbers = [number for one in given if isinstance(number := values.value(one), int)]
    is_known = len(numbers) == len(given) and numbers[2:] != [0]
    return ast.Constant(len(range(*numbers))) if is_known else None


def _is_type(values: ScriptValues, node: ast.expr) -> bool:
    return _element(values, node, "") != ""


def _type_among(values: ScriptValues, given: list[ast.expr]) -> ast.expr | None:
    return next((one for one in given if _is_type(values, one)), None)


def _element(values: ScriptValues, node: ast.expr | None, otherwise: str) -> str:
    node = None if node is None else values.meant(node)
    match node:
        case None:
            return otherwise
        case ast.Attribute(value=ast.Name(id=name), attr="dtype") if name in values.arrays:
            return values.arrays[name].element
        case ast.Attribute(attr=name) | ast.Name(id=name) | ast.Constant(value=str(name)):
            return element_named(name) or ""
    return ""


def _is_queue(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("queue", "q", "cq", "ctx", "context", "command_queue")


def array_behind(values: ScriptValues, node: ast.expr) -> ScriptArray | None:
    """An array whose size comes from outside, as far as the script asks for it: `x.size`, `rows, width = x.shape`."""
    for _ in range(8):
        match values.meant(node):
            case ast.Call(func=ast.Attribute(value=inner, attr="astype" | "reshape")):
                node = inner
            case ast.Call(args=given) as call if called(call) in _SAME | _ALIKE:
                of_call = call.func.value if isinstance(call.func, ast.Attribute) else call
                node = given[0] if given else of_call
            case ast.Name(id=name):
                asked = ScriptArray((f"{name}.numel()",), ELEMENT) if name in values.asked else None
                return values.arrays.get(name) or asked
            case _:
                return None
    return None
