"""What layers of PyTorch hold: their weights, as large as what the layer is made with says."""

from __future__ import annotations

import ast
from itertools import groupby

from tui_tuner.problem.draft.script.numbers import extents_in_c
from tui_tuner.problem.draft.script.values import ScriptArray, ScriptValues, called

_MADE_WITH = {
    "Linear": ("in_features", "out_features"),
    "Embedding": ("num_embeddings", "embedding_dim"),
    "GroupNorm": ("num_groups", "num_channels"),
    **dict.fromkeys(("LayerNorm", "RMSNorm"), ("normalized_shape",)),
    **dict.fromkeys(("BatchNorm1d", "BatchNorm2d", "BatchNorm3d"), ("num_features",)),
    **dict.fromkeys(("Conv1d", "Conv2d", "Conv3d"), ("in_channels", "out_channels", "kernel_size")),
}
"""The arguments of each layer, as far as they say a size, in their order."""
_WEIGHTS = {
    "Linear": ("out_features", "in_features"),
    "Conv1d": ("out_channels", "in_channels", "kernel_size"),
    "Conv2d": ("out_channels", "in_channels", "kernel_size", "kernel_size"),
    "Conv3d": ("out_channels", "in_channels", "kernel_size", "kernel_size", "kernel_size"),
    "GroupNorm": ("num_channels",),
}
"""The extents of its weights, the first of which is how many outputs it has; where nothing stands here, as above."""
MEMBERS = frozenset(("weight", "bias", "running_mean", "running_var"))


def weight_of(values: ScriptValues, layer: ast.expr, member: str) -> ScriptArray | None:
    """The weights, or what there is for each output, of a layer; None for what is no layer, or of no known size."""
    made = values.meant(layer)
    if not isinstance(made, ast.Call) or (name := called(made)) not in _MADE_WITH:
        return None
    words = {one.arg: one.value for one in made.keywords}
    given = dict(zip(_MADE_WITH[name], made.args, strict=False)) | words
    if "groups" in words:
        return None
    whole = _WEIGHTS.get(name, _MADE_WITH[name])
    wanted = whole if member == "weight" else whole[:1]
    extents: list[str] = []
    for argument, times in ((one, len([*same])) for one, same in groupby(wanted)):
        found = extents_in_c(values, given.get(argument))
        if found is None:
            return None
        extents += found * (times if len(found) == 1 else 1)
    return ScriptArray(tuple(extents), "float")
