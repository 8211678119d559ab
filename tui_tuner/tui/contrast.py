"""Colours that can be read and seen: a theme's own where they can be, else as near to them as can be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from textual.color import BLACK, WHITE, Color, ColorParseError

READ, SEEN = 4.5, 3.0
"""Least contrast of text, and of what is only to be seen, as WCAG 2 has them."""
_MARKED, _MARK_STANDS_OUT = 0.12, 1.25
"""How much of the foreground a selected row has in its background; more where that hardly differs from other rows'."""
_STEPS = 20
_GROUNDS = ("background", "surface", "panel")
_TINTED = ("success-muted", "error-muted")
"""Behind changed lines of a diff, which have all colours of code."""
_TEXTS: dict[str, tuple[float, Sequence[str]]] = {
    "foreground": (READ + 0.2, ()),  # which a selected row has more of then
    "text-muted": (READ, ()),
    "foreground-muted": (READ, ()),
    "text-disabled": (SEEN, ()),
    **{f"text-{name}": (READ, _TINTED) for name in ("primary", "secondary", "accent", "success", "error")},
    "text-warning": (READ, (*_TINTED, "warning-muted")),
    "chart": (SEEN, ()),
}
"""Variables that colour text or curves: their least contrast, and what they stand on beside what all of them do."""
_KEYS = "footer-key-foreground", "footer-description-foreground"
_SELECTED, _SELECTED_TEXT = "screen-selection-background", "screen-selection-foreground"
_FRAMES = {"frame": SEEN, "frame-focused": READ}
"""Borders, with no more than background and surface behind them; that of what has the focus stands out from others."""


def readable(variables: Mapping[str, str]) -> dict[str, str]:
    """The variables that have to be other ones to be read; none where the terminal says what colours are."""
    try:
        return _changed(variables)
    except (ColorParseError, KeyError):
        return {}


def _changed(variables: Mapping[str, str]) -> dict[str, str]:
    common = [Color.parse(variables[name]) for name in _GROUNDS]
    if any(ground.ansi is not None or ground.a < 1 for ground in common):
        return {}
    changed = dict[str, str]()
    surface = Color.parse(variables["surface"])
    for name, (least, more) in _TEXTS.items():
        marked = _marked(surface, Color.parse(changed.get("foreground", variables["foreground"])))
        grounds = [*common, marked, *(surface + Color.parse(variables[ground]) for ground in more)]
        changed |= _other(name, variables, grounds, least)
    for name, least in _FRAMES.items():
        changed |= _other(name, variables, common[:2], least)
    below = surface + Color.parse(variables["footer-background"])
    for name in _KEYS:
        changed |= _other(name, variables, [below], READ)
    tinted = _tinted(surface, Color.parse(variables["primary"]), contrast(surface, marked))
    return {**changed, "marked": marked.hex, "marked-text": tinted.hex, **_selected({**variables, **changed}, surface)}


def _marked(surface: Color, foreground: Color) -> Color:
    """Behind a selected row."""
    shares = (_MARKED + step / 50 for step in range(10))
    marked = [surface.blend(foreground, share) for share in shares]
    return next((ground for ground in marked if contrast(surface, ground) >= _MARK_STANDS_OUT), marked[-1])


def _tinted(surface: Color, colour: Color, most: float) -> Color:
    """As much of a colour as stands out no more than so: what can be read on a selected row can be on it."""
    tinted = [surface.blend(colour, step / _STEPS) for step in range(_STEPS + 1)]
    return max((one for one in tinted if contrast(surface, one) <= most), key=tinted.index)


def _selected(variables: Mapping[str, str], surface: Color) -> dict[str, str]:
    """What is dragged over: one ground, and one colour on it, as no ground would do for all colours of code."""
    ground = surface + Color.parse(variables[_SELECTED])
    letters = variables[_SELECTED_TEXT]
    if not Color.parse(letters).a:
        letters = variables["foreground"]
    readable = _other(_SELECTED_TEXT, {_SELECTED_TEXT: letters}, [ground], READ)
    return {_SELECTED: ground.hex, _SELECTED_TEXT: letters, **readable}


def on(text: str, ground: Color) -> Color:
    """A theme's colour on a background; `auto` contrasts with it."""
    if text.startswith("auto"):
        strength = float(text.removeprefix("auto").strip().rstrip("%") or 100) / 100
        return ground.blend(ground.get_contrast_text(1.0), strength)
    name, _, opacity = text.partition(" ")
    colour = Color.parse(name)
    if colour.ansi is not None:
        return colour
    share = float(opacity.rstrip("%")) / 100 if opacity else 1.0
    return ground.blend(colour.with_alpha(1.0), colour.a * share)


def contrast(one: Color, other: Color) -> float:
    """The contrast ratio of WCAG 2, from 1 to 21."""
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: Color) -> float:
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour.normalized
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _other(name: str, variables: Mapping[str, str], grounds: Sequence[Color], least: float) -> dict[str, str]:
    """Another colour for a text, where its own is too near to one of the backgrounds."""

    def stands_out(colour: Color) -> float:
        return min(contrast(colour, ground) for ground in grounds)

    text = variables[name]
    contrasts = {ground: contrast(on(text, ground), ground) for ground in grounds}
    if min(contrasts.values()) >= least:
        return {}
    worst = min(grounds, key=contrasts.__getitem__)
    own, end = on(text, worst), max((WHITE, BLACK), key=stands_out)
    blends = (own.blend(end, step / _STEPS) for step in range(_STEPS + 1))
    return {name: next((one for one in blends if stands_out(one) >= least), end).hex}
