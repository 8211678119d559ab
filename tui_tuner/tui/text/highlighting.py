"""Colours of kernel source: tree-sitter for text areas, Pygments' names for the diff."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

import tree_sitter_c
import tree_sitter_cpp
import tree_sitter_cuda
import tree_sitter_python
from rich.style import Style
from rich.text import Text
from textual.color import Color, ColorParseError
from textual.content import Content
from textual.document._syntax_aware_document import SyntaxAwareDocument
from textual.widgets import TextArea
from textual.widgets.text_area import TextAreaTheme
from tree_sitter import Language as Grammar
from tree_sitter import Query

from tui_tuner.tui.contrast import on

_MEMORY_SPACES = """
["__shared__" "__constant__" "__restrict__" "__grid_constant__"] @keyword.modifier
"""

_OPENCL_WORDS = r"""
((identifier) @keyword.modifier
  (#match? @keyword.modifier "^(__)?(kernel|global|local|constant|private|restrict|read_only|write_only)$"))
((type_identifier) @keyword.modifier
  (#match? @keyword.modifier "^(__)?(kernel|global|local|constant|private|restrict|read_only|write_only)$"))
((identifier) @type
  (#match? @type "^(void|half|(u?(char|short|int|long)|float|double)(2|3|4|8|16)?)$"))
"""

_STYLES = {
    "comment": ("text-muted", "italic"),
    "keyword": ("text-accent", ""),
    "keyword.modifier": ("text-accent", "bold"),
    "type": ("text-secondary", "bold"),
    "function": ("text-primary", "bold"),
    "function.special": ("text-primary", ""),
    "number": ("text-warning", ""),
    "constant": ("text-warning", ""),
    "string": ("text-success", ""),
    "label": ("text-error", ""),
    "variable.builtin": ("text-accent", "italic"),
}

PYGMENTS_NAMES = {"cuda": "cuda", "opencl": "c", "c": "cpp", "python": "python", "yaml": "yaml"}
"""The lexer for each language of a source."""
PLAIN = ""
"""The language of a text that is none of a kernel."""
YAML = "yaml"
_WITHOUT_GRAMMAR = frozenset({PLAIN, YAML})
_OF_YAML = {re.compile(r"^[\s-]*([^\s#:][^#:]*)(?=:)"): "type", re.compile(r"(?:^|\s)(#.*)"): "comment"}
"""What is coloured in a line of YAML, which has no grammar here, with the names of the styles."""


def coloured(lines: Sequence[str], language: str) -> list[Content] | None:
    """Each line in colour; None where the highlighter does not keep the lines.

    Args:
        language: of Pygments.
    """
    from textual.highlight import highlight  # 50 ms, which the first paint does not need

    found = highlight("\n".join(lines), language=language).split("\n", allow_blank=True)[: len(lines)]
    return list(found) if [line.plain for line in found] == [*lines] else None


@cache
def _grammar(language: str) -> tuple[Grammar, str]:
    """Grammar and query of a problem's language; the CUDA query builds on C's and C++'s without naming them."""
    c, cpp = tree_sitter_c.HIGHLIGHTS_QUERY, tree_sitter_cpp.HIGHLIGHTS_QUERY
    if language == "cuda":
        own = (files("tree_sitter_cuda") / "queries" / "highlights.scm").read_text()
        return Grammar(tree_sitter_cuda.language()), c + cpp + own + _MEMORY_SPACES
    if language == "opencl":
        return Grammar(tree_sitter_c.language()), c + _OPENCL_WORDS
    if language == "python":
        return Grammar(tree_sitter_python.language()), tree_sitter_python.HIGHLIGHTS_QUERY
    return Grammar(tree_sitter_cpp.language()), c + cpp


@cache
def _compiled(grammar: Grammar, query: str) -> Query:
    return Query(grammar, query)


def _known_query(document: SyntaxAwareDocument, query: str) -> Query:
    return _compiled(document.language, query)


SyntaxAwareDocument.prepare_query = _known_query  # type: ignore[method-assign,assignment]
"""Textual 8.2 compiles the query, tens of ms, anew for every text that is loaded."""


def _theme(name: str, variables: dict[str, str]) -> TextAreaTheme:
    styles = {capture: style_of(variables, *words) for capture, words in _STYLES.items()}
    return TextAreaTheme(name, syntax_styles=styles)


def style_of(variables: dict[str, str], variable: str, attributes: str = "") -> Style:
    """What a theme's variable looks like in a text area; without colour where the theme's cannot be read.

    Args:
        attributes: `bold`, `italic`, both or neither.
    """
    try:
        colour = on(variables[variable], Color.parse(variables["surface"])).rich_color
    except (KeyError, ColorParseError):
        colour = None
    return Style(color=colour, bold="bold" in attributes or None, italic="italic" in attributes or None)


def apply_language(area: TextArea, language: str) -> None:
    """Highlight a text area as cuda, opencl, c or python; a language without a grammar stays plain."""
    if language in _WITHOUT_GRAMMAR:
        area.language = None
    elif area.language != language:
        grammar, query = _grammar(language)
        # Also where Textual has one of this name: it may lack its grammar.
        area.register_language(language, grammar, query)
        area.language = language


def colour_yaml(line: Text, variables: dict[str, str]) -> None:
    """Colour a key and a comment of a line."""
    for pattern, name in _OF_YAML.items():
        if found := pattern.search(line.plain):
            line.stylize(style_of(variables, *_STYLES[name]), *found.span(1))


def apply_theme(area: TextArea) -> None:
    """Give a text area colours derived from the app's present theme."""
    name = f"kernel-{area.app.theme}"
    if name not in area.available_themes:
        area.register_theme(_theme(name, area.app.theme_variables))
    area.theme = name
