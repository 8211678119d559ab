"""Numbers that suit what a kernel does with them, where nobody says any."""

from __future__ import annotations

import re

from tui_tuner.problem.signature import KernelSignature
from tui_tuner.problem.syntax import enclosed

_SQUARE = re.compile(r"(?<![\w.\]])([A-Za-z_]\w*(?:\s*\[[^][]*\])?)\s*\*\s*\1(?![\w\[(.])")
CAST = r"(?:\(\s*(?:unsigned\s+)?\w+\s*\)\s*|\(\s*)*"
"""Conversions and parentheses before what is divided by."""
_OF_BITS = r"(?:<<|>>|(?<![&|])[&|^](?![&|]))=?"
"""What shifts a number, or takes its bits."""
_RAISED = r"(?<![\w.])1[uUlL]*\s*<<\s*{}\b"
"""Two to the power of a scalar."""
_STAGE, _LOGARITHM = 3, 10
"""What is taken for such a power: one of several steps, or the logarithm of how many elements there are."""
_SEED = re.compile(r"(?:.*_)?seed", re.IGNORECASE)


def holds_squares(name: str, signature: KernelSignature) -> bool:
    """Whether the kernel adds squares to what an array holds, as the second moments of an optimizer: none is below 0.

    As in `v[i] = b * v[i] + (1 - b) * g * g`, also by a name for what comes there.
    """
    body = signature.body
    element = element_of(name)
    own = "|".join((element, *(rf"\b{one}\b" for one in holding(element, body))))
    for added, text in re.findall(rf"{element}\s*(\+?)=(?!=)\s*([^;]*);", body):
        named = re.fullmatch(rf"{CAST}([A-Za-z_]\w*)[\s)]*", text)
        said = re.findall(rf"\b{named[1]}\s*=(?!=)\s*([^;]*);", body) if named else [text]
        if any(_SQUARE.search(one) and (added or re.search(own, one)) for one in said):
            return True
    return False


def element_of(name: str) -> str:
    """What an element of an array is written like."""
    return rf"\b{re.escape(name or '?')}\s*\[(?:[^][;]|\[[^][;]*\])*\]"


def holding(element: str, body: str) -> list[str]:
    """The variables that are set to an element."""
    found: list[str] = re.findall(rf"\b(\w+)\s*=(?!=)\s*{CAST}{element}[\s)]*;", body)
    return found


_USUAL_FRACTIONS = {
    r"(?i:eps(?:ilon)?|tol(?:erance)?)": "1e-5",
    r"(?i:p|(?:.*_)?(?:prob(?:ability)?|drop(?:out)?(?:_?rate)?)|.*(?:ratio|thresh(?:old)?|fraction))": "0.5",
    r"(?i:dt|delta_?t|time_?step)": "0.01",
    r"(?i:min|low).*|.*(?:_min|Min|_low|Low)": "-2.0",
    r"(?i:max|high).*|.*(?:_max|Max|_high|High)": "2.0",
}


FINER = ("0.001", "0.03")
"""Factors of products whose results are whole numbers of few bits: one of them, or two."""


def usual_fraction(name: str, signature: KernelSignature, finer: int = 0) -> str:
    """What is taken for a scalar that nobody says: less than one for what is taken from one, as `1 - pow(beta, t)`.

    Less than what is taken for others, too, where the kernel takes it from another scalar, as `high - low`.

    Args:
        finer: how often it was found too large.
    """
    if re.search(rf"(?<![\w.])1(?:\.0*)?f?\)?\s*-\s*(?:_*pow\w*\s*\(\s*)?{re.escape(name)}\b", signature.body):
        return "0.9"
    usual = next((number for words, number in _USUAL_FRACTIONS.items() if re.fullmatch(words, name)), None)
    others = [one.name for one in signature.parameters if one.name not in ("", name) and not one.pointer]
    taken = (rf"(?<![\w.>]){re.escape(other)}\s*-\s*{re.escape(name)}\b" for other in others)
    is_less = any(re.search(words, signature.body) for words in taken)
    return usual or (FINER[finer - 1] if finer else "0.5" if is_less else "1.5")


_SWITCH = re.compile(
    r"\bswitch\s*\(\s*(?P<first>[A-Za-z_]\w*)\s*(?:\*\s*(?P<times>[1-9]\d*)\s*\+\s*(?P<last>[A-Za-z_]\w*)\s*)?\)\s*(?=\{)"
)
_CASE = re.compile(r"\bcase\s+(?P<number>\d+)\s*:")


def numbers_of_cases(signature: KernelSignature) -> dict[str, int]:
    """What whole scalars have to be for the case of which the kernel's text says most; none where it asks for none.

    As of `switch (act * 10 + grad) { case 31: ... }`.
    """
    scalars = {one.name for one in signature.parameters if not one.is_array and "int" in (one.dtype or "")}
    found: dict[str, int] = {}
    for one in _SWITCH.finditer(signature.body):
        if not {one["first"], one["last"] or one["first"]} <= scalars:
            continue
        _, *parts = _CASE.split(enclosed(signature.body, one.end()))
        cases = dict(zip(map(int, parts[::2]), parts[1::2], strict=True))
        number = max(cases, key=lambda case: len(cases[case].strip()), default=None)
        if number is not None and one["last"]:
            found[one["first"]], found[one["last"]] = divmod(number, int(one["times"]))
        elif number is not None:
            found[one["first"]] = number
    return found


def is_plain_number(name: str, body: str) -> bool:
    """Whether all that a kernel does with a scalar says that nothing is as long as it.

    As `level` in `if (at[i] == level) at[j] = level + 1;`, `shift` in `key >> shift`, and a seed, by its name.
    """
    if _SEED.fullmatch(name):
        return True
    plain = rf"\b{re.escape(name)}\b"
    if re.search(rf"[-+]\s*\w+\s*[!=]=\s*{plain}", body):  # as of i + 1 == n
        return False
    or_more = rf"{plain}(?:\s*\+\s*1\b)?"
    uses = (
        rf"(?<=[!=]=)\s*\(?\s*{or_more}(?=\s*(?:[);?]|&&|\|\|))",
        rf"(?:[(&|=?:,]|\breturn\b)\s*{or_more}(?=\s*[!=]=)",
        rf"{_OF_BITS}\s*{plain}(?!\s*[-*/%\[.(])",
        rf"(?<![-+*/%<>]\s)(?<![-+*/%<>.]){plain}(?=\s*{_OF_BITS})",
        rf"(?<=\])\s*=(?!=)\s*{or_more}\s*;",
        rf"\batomic\w+\s*\([^;]*,\s*{or_more}\s*(?=[,)])|\bpow[fi]?\s*\([^;()]*,\s*{plain}\s*\)",
    )
    passed_on = rf"\(\s*{plain}(?=\s*,)|,\s*{plain}(?=\s*[,)])"
    left = body
    for use in uses:
        left = re.sub(use, " ", left)
    return left != body and re.search(plain, re.sub(passed_on, " ", left)) is None


def usual_plain_number(name: str, body: str) -> int:
    """What is taken for one: more than 1 where two is raised to it, as in `1 << stage`, or `1 << log_n` elements."""
    if re.search(_RAISED.format(re.escape(name)), body) is None:
        return 1
    return _LOGARITHM if "log" in name.lower() else _STAGE
