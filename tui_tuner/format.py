"""Times, factors, counts, money and durations in words, for the screen, lines without one, reports and prompts alike.

The screen sets numbers in columns and fixes their decimals; lines and prompts name a number alone, with as many digits
as tell it. Where they differ on purpose each has a function of its own here, and its description says which. The words
of prompts are part of the keys of recorded sessions: what a function for prompts returns never changes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence


def milliseconds(value: float, like: float | None = None) -> str:
    """The screen's time in ms with three to four digits; `like` fixes the decimals: an interval matches its median."""
    scale = abs(value if like is None else like)
    for limit, decimals in ((0.01, 5), (1, 4), (10, 3), (100, 2), (1000, 1)):
        if scale < limit:
            return f"{value:.{decimals}f}"
    return f"{value:.0f}"


def interval(low: float, high: float, like: float) -> str:
    """The screen's ends of an interval in ms, with the decimals of `like`, as in [0.9981,1.0042]."""
    return f"[{milliseconds(low, like)},{milliseconds(high, like)}]"


def time_words(value: float, unit: str = "ms") -> str:
    """A time in lines and prompts with four significant digits, as in 0.0899 ms."""
    return f"{value:.4g} {unit}"


def interval_words(low: float, high: float) -> str:
    """The ends of an interval of times in lines and prompts, as in [0.8943, 0.9021]."""
    return f"[{low:.4g}, {high:.4g}]"


def time_unit(*, cpu: bool) -> str:
    """The unit of a launch's time: that of a CPU says so."""
    return "CPU ms" if cpu else "ms"


def factor(value: float) -> str:
    """A speed-up, as in 1.83x."""
    return f"{value:.2f}x"


def factor_interval(speedup: tuple[float, float, float]) -> str:
    """The screen's speed-up with the ends of its interval, as in 1.62x [1.60,1.64]; without what one time has not."""
    return _between(speedup, ",")


def factor_in_lines(speedup: tuple[float, float, float]) -> str:
    """A speed-up in lines without a screen, as in 1.62x [1.60, 1.64]; without what one time has not."""
    return _between(speedup, ", ")


def _between(speedup: tuple[float, float, float], comma: str) -> str:
    ratio, low, high = speedup
    return factor(ratio) if low == high else f"{factor(ratio)} [{low:.2f}{comma}{high:.2f}]"


def factor_in_prompts(speedup: tuple[float, float, float]) -> str:
    """A speed-up in prompts and of remembered sessions, with three significant digits, as in 1.62x [1.6, 1.64]."""
    ratio, low, high = speedup
    return f"{ratio:.3g}x [{low:.3g}, {high:.3g}]"


def share(value: float | None) -> str:
    """A share of 0 to 1 in per cent; empty if unknown."""
    return "" if value is None else f"{value:.0%}"


def roofline_words(value: float | None, decimals: int = 0) -> str:
    """A share of 0 to 1 as what follows a time, as in ", 61% of the roofline"; empty if unknown."""
    return "" if value is None else f", {value:.{decimals}%} of the roofline"


def warm_words(value: float | None, unit: str = "ms") -> str:
    """A time with warm caches as what follows another time, as in ", 0.0712 ms with warm caches"; empty if unknown."""
    return "" if value is None else f", {time_words(value, unit)} with warm caches"


def count(value: int | None) -> str:
    """A whole number in a cell; empty if unknown."""
    return "" if value is None else str(value)


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun in the right form, as in "1 token" and "2,341 tokens"."""
    return f"{number:,} {_form(number, noun, plural)}"


def counted_in_lines(number: int, noun: str, plural: str = "") -> str:
    """A number of things without commas, as lines without a screen and notes write it: "2341 evaluations"."""
    return f"{number} {_form(number, noun, plural)}"


def _form(number: int, noun: str, plural: str) -> str:
    return noun if number == 1 else plural or f"{noun}s"


def timer(seconds: float) -> str:
    """The screen's time since something began, as in 06:12, or 1:06:12 from an hour on."""
    minutes, rest = divmod(max(0, int(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes:02d}:{rest:02d}"


def brief_duration(seconds: float) -> str:
    """A limit of time as it is given on the command line: 90s, 10m, 1h30m."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    parts = ((hours, "h"), (minutes, "m"), (rest, "s"))
    return "".join(f"{number}{unit}" for number, unit in parts if number) or "0s"


def thousands(number: int) -> str:
    """A number of which only the size counts: 870, 3.1k, 24k."""
    if number < 1000:
        return str(number)
    return f"{number / 1000:.1f}k" if number < 10_000 else f"{number // 1000}k"


def clock_in_lines(seconds: float) -> str:
    """Time passed before a line without a screen, where the minutes go on after an hour, as in [72:41]."""
    minutes, rest = divmod(int(seconds), 60)
    return f"[{minutes:02d}:{rest:02d}]"


def duration(seconds: float) -> str:
    """How long something took as people say it: 0.4 s, 84 s, 12 min, 3 h 5 min."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 600:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"


def time_is_up_words(seconds: float) -> str:
    """Why nothing more is done once the time that was allowed, seconds, is over."""
    return f"the time is up ({seconds:.0f} s)"


def cost(dollars: float | None) -> str:
    """The screen's price in US dollars."""
    if dollars is None:
        return "price unknown"
    return f"${dollars:.4f}" if 0 < dollars < 0.01 else f"${dollars:.2f}"


def cost_behind(dollars: float | None) -> str:
    """The same behind what it was paid for, as in ", $0.31"; empty where nothing was paid."""
    return "" if dollars == 0 else f", {cost(dollars)}"


def cost_in_lines(dollars: float | None) -> str:
    """A price as what follows in a line without a screen, as in ", 0.0162 $"; empty if it cost nothing."""
    if dollars is None:
        return ", price unknown"
    return f", {dollars:.4f} $" if dollars else ""


def dollar_words(dollars: float) -> str:
    """A price in a sentence, as in 0.31 $."""
    return f"{dollars:.2f} $"


def tunable_value(value: object) -> str:
    """A value of a tunable parameter as the screen writes it: truth values are 1 and 0."""
    return str(int(value)) if isinstance(value, bool) else str(value)


def configuration_words(
    configuration: Mapping[str, object], *, between: str = ", ", nothing: str = "no tunables"
) -> str:
    """Names with their values in lines and prompts, as in "block_size_x=64, tile=4"; `nothing` where there are none."""
    return between.join(f"{name}={value}" for name, value in configuration.items()) or nothing


def assigned_words(values: Mapping[str, object]) -> str:
    """Names with their values as they are written in a file, as in "n = 1024, m = 3"."""
    return ", ".join(f"{name} = {value}" for name, value in values.items())


def first_of(names: Sequence[str], most: int = 3) -> str:
    """The first of several, and how many more there are, as in "a, b, c and 4 more"."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def in_columns(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """The rows of a table as lines, each column as wide as its widest cell."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def seconds_of(text: str) -> float:
    """A time as people write it, as in 90, 90s, 20m, 2h.

    Raises:
        ValueError: it is none.
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smh]?)", text)
    if match is None:
        raise ValueError(f"'{text}' is no time; write 90s, 20m or 2h")
    return float(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[match[2]]


LIMITS: dict[str, Callable[[str], float]] = {
    "max_evaluations": int,
    "max_calls": int,
    "max_seconds": seconds_of,
    "max_cost": float,
}
"""What a session may spend, with how each is read as people type it; ValueError of what is none."""
