"""What a file instantiates of a kernel's template, as by `template __global__ void k<float, 256>(float *, int);`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tui_tuner.problem.draft.host.program import HostProgram
from tui_tuner.problem.signature import KernelSignature
from tui_tuner.problem.syntax import name_in, split_list

_RESTRICT = re.compile(r"\b__restrict(?:__)?\b|\brestrict\b")


def instantiated(signature: KernelSignature, code: str) -> list[str]:
    """The arguments of the first instance that code asks for, in the order of the template; empty where it asks none.

    Types that it leaves out are those of the arguments that it lists; from one that nothing says on there are none.
    """
    program = HostProgram(code)
    listed = r"\(([^;{}]*)\)\s*;"
    asked = rf"\btemplate\s+(?!<)[^;{{}}]*?\b{re.escape(signature.name)}\s*(?:<((?:[^<>]|<[^<>]*>)*)>\s*)?{listed}"
    found = re.search(asked, program.code)
    if found is None:
        return []
    given = split_list(found[1] or "")
    for parameter in signature.template[len(given) :]:
        kind = _deduced(name_in(parameter), signature, split_list(found[2]))
        if not kind:
            break
        given.append(kind)
    return [program.templates.argument(one, found.start()) or one for one in given]


def _deduced(name: str, signature: KernelSignature, listed: Sequence[str]) -> str:
    """The type that stands for a parameter of the template where arguments are listed; empty where none says it."""
    for parameter, text in zip(signature.parameters, listed, strict=False):
        parts = re.findall(r"\w+|[*&]", _RESTRICT.sub("", parameter.type_text))
        if parts.count(name) == 1:
            words = (r"([\w:]+(?:\s+[\w:]+)*?)" if one == name else re.escape(one) for one in parts)
            said = re.fullmatch(r"\s*".join(words) + r"\s*\w*", _RESTRICT.sub("", text).strip())
            if said is not None:
                return said[1]
    return ""
