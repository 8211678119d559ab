"""Text that is data (of models, compilers, files) made into content that cannot act as markup."""

from __future__ import annotations

from textual.content import Content
from textual.style import Style

from tui_tuner.text import clean


def plain(text: str, style: str = "") -> Content:
    """The text as it stands, without control characters, in one style."""
    return Content.styled(clean(text), style) if style else Content(clean(text))


def one_line(text: str, style: str = "") -> Content:
    """The text with every run of white space made one blank."""
    return plain(" ".join(clean(text).split()), style)


def clickable(label: str | Content, action: str) -> Content:
    """A label that runs an action when it is clicked.

    Args:
        action: in Textual's notation, as in `screen.pane(2)`; never built from data.
    """
    content = Content(label) if isinstance(label, str) else label
    return content.stylize(Style.from_meta({"@click": action}))
