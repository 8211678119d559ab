"""Numbers as the screen writes them: times in ms, factors, shares, prices, clocks."""

from __future__ import annotations

from tui_tuner.evaluate.devices.kinds import kind_named
from tui_tuner.evaluate.results import DeviceInfo
from tui_tuner.problem.model import Value


def milliseconds(value: float, like: float | None = None) -> str:
    """A time in ms with three to four digits; `like` fixes the decimals, so that an interval matches its median."""
    scale = abs(value if like is None else like)
    for limit, decimals in ((0.01, 5), (1, 4), (10, 3), (100, 2), (1000, 1)):
        if scale < limit:
            return f"{value:.{decimals}f}"
    return f"{value:.0f}"


def interval(low: float, high: float, like: float) -> str:
    """The ends of an interval in ms, written with the decimals of `like`."""
    return f"[{milliseconds(low, like)},{milliseconds(high, like)}]"


def factor(value: float) -> str:
    """A speed-up, as in 1.83x."""
    return f"{value:.2f}x"


def factor_interval(speedup: tuple[float, float, float]) -> str:
    """A speed-up with the ends of its interval, as in 1.62x [1.60,1.64]."""
    ratio, low, high = speedup
    return f"{factor(ratio)} [{low:.2f},{high:.2f}]"


def share(value: float | None) -> str:
    """A share of 0 to 1 in per cent; empty if unknown."""
    return "" if value is None else f"{value:.0%}"


def count(value: int | None) -> str:
    """A whole number; empty if unknown."""
    return "" if value is None else str(value)


def counted(number: int, noun: str) -> str:
    """A number with its noun in the right form, as in "1 token" and "2,341 tokens"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def clock(seconds: float) -> str:
    """Seconds as hours, minutes and seconds, as in 00:12:41."""
    minutes, rest = divmod(max(0, int(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02d}:{minutes:02d}:{rest:02d}"


def cost(dollars: float | None) -> str:
    """A price in US dollars; a question mark if unknown."""
    if dollars is None:
        return "$?"
    return f"${dollars:.4f}" if 0 < dollars < 0.01 else f"${dollars:.2f}"


def time_label(device: DeviceInfo | None) -> str:
    """The unit over a column of times: CPU times and recorded ones say so."""
    return "ms" if device is None else kind_named(device.kind).time_label(device)


def tunable_value(value: Value) -> str:
    """A value of a tunable parameter."""
    return str(int(value)) if isinstance(value, bool) else str(value)
