"""Types of arguments that no problem file can fill, and what to write instead."""

from __future__ import annotations

import re

from tui_tuner.problem.c_types import type_words

NO_NUMBERS = ("__nv_fp8_e8m0", "__nv_fp6_e2m3", "__nv_fp6_e3m2", "__nv_fp4_e2m1")
"""Types of numbers that no problem file has."""
OF_THE_DEVICE = {
    r"cudaTextureObject_t|cudaSurfaceObject_t|texture|CUtexObject|CUsurfObject": (
        "which only a host can make",
        "read from an array instead, as in: const float *image, int width, with image[y * width + x] for tex2D() "
        "and image[i] for tex1Dfetch()",
    ),
    r"curandState\w*|curandGenerator_t": (
        "whose states only cuRAND makes",
        "make the state inside the kernel, by curand_init(), or pass an array of numbers that the host has drawn",
    ),
    r"image\w+_t|sampler_t": ("which only a host can make", "use an array instead, as in: image[y * width + x]"),
    r"(?:Generic)?PackedTensorAccessor\w*|TensorAccessor\w*|TensorInfo": (
        "which only PyTorch makes of a tensor",
        "pass x.data_ptr<T>() of that tensor as an array, and its extents as numbers, as in: const float *x, int rows, "
        "int columns, with x[i * columns + j] for x[i][j], rows for x.size(0), and x for x.data",
    ),
    r"CUtensorMap": ("which only a host can make", "take the array itself, and make the map in the kernel"),
}
"""Types that no problem file can fill: why not, and what to write instead."""


def why_unfillable(type_text: str) -> tuple[str, str] | None:
    """Why an argument of a type, whatever its namespace and template arguments, cannot be filled, and what to write."""
    words = [*(type_words(type_text) or [""])[:1], *re.findall(r"\w+", type_text.partition("<")[0])[-1:]]
    return next((said for kinds, said in OF_THE_DEVICE.items() if any(re.fullmatch(kinds, one) for one in words)), None)
