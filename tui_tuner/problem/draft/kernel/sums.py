"""Sums of products of sizes, as how far an index goes at most."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

Sum = Counter[tuple[str, ...]]
"""Products of names, by their sorted factors, and how often each is added."""
_PART = re.compile(r"\((\w+) // (\d+)\)")


class Unbounded(Exception):
    """Nothing says how far it goes."""


def holds(one: Sum, other: Sum) -> bool:
    """Whether one is as large as another at all sizes, which are 1 at least."""
    more = {key: one[key] - other[key] for key in {**one, **other}}
    number = more.pop((), 0)
    return all(count >= 0 for count in more.values()) and number + sum(more.values()) >= 0


def largest_of(found: Sequence[Sum]) -> Sum:
    """The one that is as large as any other at all sizes.

    Raises:
        Unbounded: there is none.
    """
    largest = next((one for one in found if all(holds(one, other) for other in found)), None)
    if largest is None:
        raise Unbounded
    return largest


def of_whole_rows(terms: Sum) -> Sum:
    """That up to the end of the last row, where rows lie further apart than they are long.

    As `(height - 1) * stride + width` elements are no more than `height * stride`, and `(n - 1) * 9 + 7` no more than
    `n * 9`.
    """
    if (found := rows_in(terms)) is None:
        margin = -terms.get((), 0)
        is_in_row = margin > 0 and all(by > margin for key, by in terms.items() if key)
        return Sum({key: by for key, by in terms.items() if key}) if is_in_row else terms
    length = found[1]
    return Sum({key: by for key, by in terms.items() if by > 0 and key != (length,)})  # a margin left out is less


def rows_in(terms: Sum) -> tuple[str, str] | None:
    """The size by which rows lie apart, and that which says how long they are, as stride and width there."""
    products = [key for key, by in terms.items() if len(key) > 1 and by > 0]
    apart = [key for key, by in terms.items() if len(key) == 1 and by == -1 and any(key[0] in one for one in products)]
    length = next((key for key, by in terms.items() if len(key) == 1 and by == 1), None)
    return None if len(apart) != 1 or length is None else (apart[0][0], length[0])


def added(one: Sum, other: Sum) -> Sum:
    """What two come to together, with a size for its halves."""
    found = Sum()
    for key in {**one, **other}:
        count = one[key] + other[key]
        whole, by = _made_whole(key, count) if count > 0 else (key, count)
        found[tuple(sorted(whole))] += by
    return Sum({key: count for key, count in found.items() if count})


def plus(one: Sum, number: int) -> Sum:
    """That with a number more."""
    return added(one, Sum({(): number}))


def times(one: Sum, other: Sum) -> Sum:
    """What two come to, multiplied."""
    found = Sum()
    for factors, count in one.items():
        for others, more in other.items():
            whole, by = _made_whole((*factors, *others), count * more)
            found[tuple(sorted(whole))] += by
    return Sum({key: count for key, count in found.items() if count})


def _made_whole(factors: Sequence[str], count: int) -> tuple[Sequence[str], int]:
    """A product with a size for so many times its parts, as of `n / 4 * 4`, which is no more."""
    for place, one in enumerate(factors):
        part = _PART.fullmatch(one)
        if part is not None and count % int(part[2]) == 0:
            return (*factors[:place], part[1], *factors[place + 1 :]), count // int(part[2])
    return factors, count


def parts_of(terms: Sum, size: Sum) -> Sum:
    """How many parts of a size it takes: what is multiplied by it without it, else what is rounded up."""
    if not size or min(size.values()) <= 0:
        raise Unbounded
    [(divisors, by), *others] = size.items()
    if not others and all(
        count % by == 0 and not Counter(divisors) - Counter(factors) for factors, count in terms.items()
    ):
        left = {tuple(sorted((Counter(factors) - Counter(divisors)).elements())): factors for factors in terms}
        return Sum({key: terms[factors] // by for key, factors in left.items()})
    return Sum({(f"ceil_div({text_of(terms)}, {text_of(size)})",): 1})


def text_of(terms: Sum) -> str:
    """As an expression; of one that may be below zero, or is none, the text is no extent."""
    if not terms or any(count < 0 for count in terms.values()):
        raise Unbounded
    texts = (" * ".join([*([str(count)] if count > 1 or not key else []), *key]) for key, count in terms.items())
    return " + ".join(texts)
