"""A document as blocks, written as Markdown or as one HTML file that needs nothing beside itself."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from tui_tuner.text import clean, flattened


@dataclass(frozen=True)
class Heading:
    """A heading of the second level."""

    text: str


@dataclass(frozen=True)
class Paragraph:
    """A paragraph of words."""

    text: str


@dataclass(frozen=True)
class FactList:
    """A list of facts, a line each."""

    facts: Sequence[str]


@dataclass(frozen=True)
class Table:
    """Rows below a head."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class CodeBlock:
    """A text as it is, folded away below its title.

    Attributes:
        language: as code blocks name it; "diff" is coloured.
    """

    title: str
    text: str
    language: str


@dataclass(frozen=True)
class Plot:
    """A picture with what it shows; Markdown has only the words.

    Attributes:
        svg: an `<svg>` element of our own making.
    """

    caption: str
    svg: str


Block = Heading | Paragraph | FactList | Table | CodeBlock | Plot


def as_markdown(title: str, blocks: Sequence[Block]) -> str:
    """The document for a pull request: pictures left out, long texts folded away."""
    return "\n\n".join([f"# {_plain(title)}", *filter(None, map(_markdown, blocks))]) + "\n"


def _markdown(block: Block) -> str:
    match block:
        case Heading():
            return f"## {_plain(block.text)}"
        case Paragraph():
            return _plain(block.text)
        case FactList():
            return "\n".join(f"- {_plain(fact)}" for fact in block.facts)
        case Table():
            lines = [f"| {' | '.join(map(_plain, row))} |" for row in (block.head, *block.rows)]
            lines.insert(1, f"|{'---|' * len(block.head)}")
            return "\n".join(lines)
        case CodeBlock():
            text = clean(block.text).rstrip("\n")
            fence = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", text)), 3)
            summary = f"<details><summary>{_escaped(block.title)}</summary>"
            return f"{summary}\n\n{fence}{block.language}\n{text}\n{fence}\n\n</details>"
    return ""


def _plain(text: str) -> str:
    """Words that Markdown takes for nothing but words: no link, mention, markup or cell of a table."""
    return re.sub(r"([\\`*_{}\[\]#|!~])", r"\\\1", _escaped(text))


def _escaped(text: str) -> str:
    """Words that HTML takes for nothing but words, and that mention nobody."""
    return escape(flattened(text), quote=False).replace("@", "@\u200b")


def as_html(title: str, blocks: Sequence[Block]) -> str:
    """The document as one file: no script, nothing loaded from anywhere, which its own policy holds it to."""
    body = "\n".join(map(_html, blocks))
    return _PAGE.format(title=escape(flattened(title)), style=_STYLE, body=body)


def _html(block: Block) -> str:
    match block:
        case Heading():
            return f"<h2>{escape(flattened(block.text))}</h2>"
        case Paragraph():
            return f"<p>{escape(flattened(block.text))}</p>"
        case FactList():
            return f"<ul>{''.join(f'<li>{escape(flattened(fact))}</li>' for fact in block.facts)}</ul>"
        case Table():
            head = "".join(f"<th>{escape(flattened(cell))}</th>" for cell in block.head)
            rows = "".join(
                f"<tr>{''.join(f'<td>{escape(flattened(cell))}</td>' for cell in row)}</tr>" for row in block.rows
            )
            return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
        case CodeBlock():
            lines = clean(block.text).rstrip("\n").split("\n")
            text = "\n".join(_coloured(line) if block.language == "diff" else escape(line) for line in lines)
            return f"<details><summary>{escape(flattened(block.title))}</summary><pre>{text}</pre></details>"
        case Plot():
            return f"<figure>{block.svg}<figcaption>{escape(flattened(block.caption))}</figcaption></figure>"


def _coloured(line: str) -> str:
    kind = {"+": "ins", "-": "del"}.get(line[:1])
    return f"<{kind}>{escape(line)}</{kind}>" if kind else escape(line)


_STYLE = """\
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2.2rem; }
table { border-collapse: collapse; font-size: .9rem; } .wide { overflow-x: auto; margin: 1rem 0; }
ul { font-size: .9rem; padding-left: 1.2rem; } td { min-width: 3rem; } td:last-child { min-width: 9rem; }
th, td { text-align: left; vertical-align: top; padding: .3rem .8rem .3rem 0; border-bottom: 1px solid #8885; }
figure { margin: 1rem 0; padding: .5rem; background: #fff; color: #222; border: 1px solid #8885; border-radius: 6px; }
figure svg { width: 100%; height: auto; } figcaption { font-size: .85rem; padding: 0 .5rem .3rem; }
details { margin: .4rem 0; } summary { cursor: pointer; }
pre { overflow-x: auto; padding: .8rem; background: #8881; border-radius: 6px; font-size: .85rem; line-height: 1.35; }
ins, del { text-decoration: none; display: inline-block; min-width: 100%; }
ins { background: #2a72; } del { background: #c332; }
"""
_PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
<h1>{title}</h1>
{body}
</body>
</html>
"""
