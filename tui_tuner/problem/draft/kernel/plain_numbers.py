"""Whole scalars that are no sizes: the kernel asks what they are, stores them, or takes their bits."""

from __future__ import annotations

import re

_OF_BITS = r"(?:<<|>>|(?<![&|])[&|^](?![&|]))=?"
_RAISED = r"(?<![\w.])1[uUlL]*\s*<<\s*{}\b"
_STAGE, _LOGARITHM = 3, 10
_SEED = re.compile(r"(?:.*_)?seed", re.IGNORECASE)


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
