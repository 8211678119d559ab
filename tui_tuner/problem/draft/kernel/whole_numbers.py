"""What a kernel does with whole numbers of an array: it searches them by halves, divides by them, counts their bits."""

from __future__ import annotations

import re

from tui_tuner.problem.draft.kernel.guesses import BEFORE_ELEMENT, aliases_of
from tui_tuner.problem.draft.kernel.usual_numbers import CAST, element_of, holding
from tui_tuner.problem.signature import KernelSignature
from tui_tuner.problem.syntax import enclosed

_OF_LANES = r"ballot|match_a|activemask"
"""What makes bits of the lanes of a warp, and not of numbers."""
_COUNTS_BITS = re.compile(r"\b(?:__(?:popc|clz|ffs|brev)(?:ll)?|popcount|clz|ctz)\s*\(")


def searched_by_halves(signature: KernelSignature) -> set[str]:
    """The arrays whose element in the middle of what is left a kernel reads, as in `if (x[mid] < v) low = mid + 1;`.

    The middle is half of a sum, or of a difference, that is moved to one of the ends, or beside it.
    """
    arrays = (one.name for one in signature.parameters if one.is_array and one.name)
    return {name for name in arrays if re.search(_in_the_middle(name, signature.body), signature.body)}


def sought_in(signature: KernelSignature) -> dict[str, str]:
    """The arrays whose elements a kernel looks for, also by a name for one, with the array in which it does so."""
    body, found = signature.body, dict[str, str]()
    arrays = {one.name for one in signature.parameters if one.is_array and one.name}
    for searched in searched_by_halves(signature):
        for name in re.findall(rf"{_in_the_middle(searched, body)}\s*(?:[<>=!]=|[<>])\s*(\w+)\b", body):
            held = re.findall(rf"\b{name}\s*=(?!=)\s*{BEFORE_ELEMENT}(\w+)\s*\[", body)
            found |= dict.fromkeys(arrays & {name, *held} - {searched}, searched)
    return found


def is_divided_by(name: str, signature: KernelSignature) -> bool:
    """Whether the kernel divides by an element of an array, or by a variable that holds one, and nowhere asks for 0.

    Such are counts of something, and none of them is 0.
    """
    body = signature.body
    element = element_of(name)
    held = holding(element, body)
    divisors = "|".join((element, *(rf"\b{re.escape(one)}\b(?!\s*[\[(.])" for one in held)))
    if re.search(rf"[/%]=?\s*{CAST}(?:{divisors})(?!\s*[+*])", body) is None:
        return False
    return re.search(rf"(?:{divisors})\s*(?:[!=]=|>)\s*0|\b(?:max|fmaxf?)\s*\([^;]*(?:{divisors})", body) is None


def has_bits_counted(name: str, signature: KernelSignature) -> bool:
    """Whether the kernel counts or turns the bits of an array's elements, so that all of them matter, not just the low.

    As in `__popc(words[i] & mask)`, also by variables for what comes there, and by pointers into the array.
    """
    body = signature.body
    taken = [enclosed(body, call.end() - 1) for call in _COUNTS_BITS.finditer(body)]
    own = {name, *aliases_of(name, body)}
    elements = "|".join(map(element_of, own))
    held = re.findall(rf"\b(\w+)\s*=(?!=)(?![^;]*{_OF_LANES})[^;=]*(?:{elements})", body)
    found = "|".join((elements, *(rf"\b{re.escape(one)}\b" for one in held)))
    return any(re.search(found, one) for one in taken if not re.search(_OF_LANES, one))


def is_counted_in(name: str, signature: KernelSignature) -> bool:
    """Whether the kernel adds up elements of an array and asks how many they were, as `alive == 3` of living cells."""
    body, element = signature.body, element_of(name)
    sums = re.findall(rf"\b(\w+)\s*\+=\s*{CAST}{element}", body)
    sums += re.findall(rf"\b(\w+)\s*=(?!=)\s*{CAST}{element}\s*\+\s*{CAST}{element}", body)
    counts = sums + re.findall(rf"\b(\w+)\s*=(?!=)\s*\w+\s*\([^;]*\b{re.escape(name or '?')}\b", body) if sums else []
    return any(re.search(rf"(?<![\w.>]){one}\s*==\s*[1-8]\b", body) for one in counts)


def _in_the_middle(array: str, body: str) -> str:
    """The pattern of an array's element in the middle."""
    halves = re.findall(r"\b(\w+)\s*=(?!=)[^;=]*[-+][^;=]*(?:/\s*2|>>\s*1)\b[^;=]*;", body)
    middle = "|".join(one for one in halves if re.search(rf"(?<!=)=\s*{one}\s*(?:[-+]\s*1\s*)?;", body)) or "(?!)"
    return rf"\b{re.escape(array)}\s*\[\s*(?:{middle})\s*\]"
