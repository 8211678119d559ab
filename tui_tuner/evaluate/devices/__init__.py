"""Devices, as the runner process drives them.

Here: `__constant__` variables that launches fill: their names in built code, and what they must hold.
"""

from __future__ import annotations


def constant_mismatch(name: str, there: int | None, needed: int) -> str | None:
    """Why so many bytes cannot be put into constant memory of a name, which has others or is not there."""
    if there is None:
        return f"the launch fills the __constant__ variable '{name}', which the built kernel does not have"
    if there < needed:
        return f"the __constant__ variable '{name}' has {there} bytes, and the launch fills it with {needed}"
    return None


def constant_symbols(name: str) -> tuple[str, ...]:
    """The names that a variable of a kernel's file may have once it is built: its own, and that of a `static` one.

    Args:
        name: with the namespaces around it in the file, which a rewritten kernel may have left out.
    """
    *around, own = name.split("::")
    plain, spaces = f"{len(own)}{own}", "".join(f"{len(one)}{one}" for one in around)
    nested = (f"_ZN{spaces}{plain}E", f"_ZN{spaces}L{plain}E") if around else ()
    return own, f"_ZL{plain}", *nested
