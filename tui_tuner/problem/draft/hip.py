"""Host code in HIP, read as CUDA's: its kernels are written alike, and its launches say the same in another way."""

from __future__ import annotations

import re

from tui_tuner.problem.syntax import closing, split_list, unwrapped

_RUNTIME = re.compile(r"\bhip(?=(?:Malloc|Memcpy|Memset|Free|Device|Get|Occupancy|Launch(?:Cooperative)?Kernel\b)\w*)")
_LAUNCH = re.compile(r"\bhipLaunchKernelGGL\s*\(")
_OF_TEMPLATE = re.compile(r"^HIP_KERNEL_NAME\s*(?=\()")


def in_cuda(text: str) -> str:
    """Host code with the names that CUDA has for HIP's, each line where it was."""
    text = _RUNTIME.sub("cuda", text)
    for found in reversed([*_LAUNCH.finditer(text)]):
        end = closing(text, found.end() - 1, "()")
        given = split_list(text[found.end() : end - 1])
        if len(given) < 5:
            continue
        kernel = unwrapped(_OF_TEMPLATE.sub("", given[0]))
        launch = f"{kernel}<<<{', '.join(given[1:5])}>>>({', '.join(given[5:])})"
        lost = text.count("\n", found.start(), end) - launch.count("\n")
        text = text[: found.start()] + launch + "\n" * lost + text[end:]
    return text
