"""How many elements a tensor has, where the host multiplies its extents in a loop."""

from __future__ import annotations

import re

from tui_tuner.problem.draft.host.functions import function_at, functions_in

_MULTIPLIED = re.compile(
    r"\b(?P<all>\w+)\s*=\s*1\s*;\s*for\s*\(\s*\w+\s+(?P<axis>\w+)\s*=\s*0\s*;\s*(?P=axis)\s*<\s*\w+(?:\.(?:dim|ndimension)"
    r"\(\))?\s*;\s*(?:\+\+\s*(?P=axis)|(?P=axis)\s*\+\+)\s*\)\s*(?P<brace>\{)?\s*"
    r"(?P=all)\s*\*=\s*(?P<tensor>\w+)\.size\(\s*(?P=axis)\s*\)\s*;(?(brace)\s*\})"
)
"""As `int n = 1; for (int i = 0; i < x.dim(); i++) n *= x.size(i);`."""


def with_products_of_extents(code: str) -> str:
    """Code in which such a loop is the product of the extents that the function names, or `x.numel()`."""
    functions = functions_in(code) if _MULTIPLIED.search(code) else []

    def said(found: re.Match[str]) -> str:
        function = function_at(functions, found.start())
        text = code[function.start : function.end] if function else ""
        asked = {int(one) for one in re.findall(rf"\b{found['tensor']}\.size\(\s*(\d)\s*\)", text)}
        is_whole = asked and sorted(asked) == [*range(len(asked))]
        extents = [f"{found['tensor']}.size({at})" for at in sorted(asked)] if is_whole else []
        product = " * ".join(extents) or f"{found['tensor']}.numel()"
        return f"{found['all']} = {product};" + "\n" * found[0].count("\n")

    return _MULTIPLIED.sub(said, code)
