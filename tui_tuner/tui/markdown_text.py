"""The little Markdown that models write, as one styled text; anything else stays as it stands."""

from __future__ import annotations

import re

from textual.content import Content

from tui_tuner.text import clean

_INLINE = re.compile(r"`([^`\n]+)`|\*\*([^*\n]+)\*\*")
_HEADING = re.compile(r"#{1,6}\s+(.*)")
_BULLET = re.compile(r"(\s*)[-*]\s+(.*)")


def _inline(line: str) -> Content:
    parts: list[Content] = []
    end = 0
    for match in _INLINE.finditer(line):
        code, strong = match.groups()
        parts.append(Content(line[end : match.start()]))
        parts.append(Content.styled(code, "$text-accent") if code else Content.styled(strong, "bold"))
        end = match.end()
    return Content("").join([*parts, Content(line[end:])])


def _line(line: str) -> Content:
    if heading := _HEADING.fullmatch(line):
        return Content.styled(heading.group(1), "bold")
    if bullet := _BULLET.fullmatch(line):
        return Content(f"{bullet.group(1)}• ") + _inline(bullet.group(2))
    if line.startswith("▸ "):
        return Content.styled(line, "$text-primary")
    return _inline(line)


def markdown_text(text: str) -> Content:
    """Headings, bullets, `code` and **strong** words styled; code fences as plain lines; blank lines once."""
    lines: list[Content] = []
    fenced = False
    for line in clean(text).strip().expandtabs(4).split("\n"):
        if line.startswith("```"):
            fenced = not fenced
        elif fenced:
            lines.append(Content.styled(f"  {line}", "$text-accent"))
        elif line.strip() or (lines and lines[-1]):
            lines.append(_line(line))
    return Content("\n").join(lines)
