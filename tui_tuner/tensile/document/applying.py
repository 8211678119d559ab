"""Carrying out an edit on the text of a configuration, and proving that it did what it says and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tui_tuner.errors import ProblemError
from tui_tuner.tensile.document.configuration import Configuration
from tui_tuner.tensile.document.editor import Editor
from tui_tuner.tensile.document.edits import Edit, EditRefused
from tui_tuner.tensile.document.meaning import content, expected
from tui_tuner.tensile.document.reading import group_nodes, parse_configuration
from tui_tuner.tensile.document.splices import Immovable, Splice, spliced
from tui_tuner.tensile.document.yaml_text import compose


def apply_edit(configuration: Configuration, edit: Edit) -> Configuration:
    """The configuration after an edit. What the edit means is not judged here, see `judging`.

    Raises:
        EditRefused: the file has nothing that it could act on, or is written in a way that forbids it.
    """
    root = compose(configuration.text, configuration.file)
    problem, _, _, node = group_nodes(root)[edit.size_group]
    text = configuration.text
    try:
        for splice in _in_reverse(Editor(text, root, node, problem).splices(edit)):
            text = spliced(text, splice)
        edited = parse_configuration(text, configuration.file)
    except Immovable as error:
        raise EditRefused(f"the file does not allow it in this place: {error}") from error
    except ProblemError as error:
        raise EditRefused(f"the file could not be read any more: {error.message}") from error
    if configuration.alternate:
        edited = _with_sizes(edited, configuration)
    _check_nothing_else(configuration, edited, edit)
    return edited


def _in_reverse(splices: Sequence[Splice]) -> list[Splice]:
    """From the end of the text to its beginning, so that none moves the place of another."""
    return sorted(splices, reverse=True)


def _with_sizes(edited: Configuration, before: Configuration) -> Configuration:
    """The sizes of the alternate format, which are in a file of their own."""
    groups = [
        replace(after, sizes=old.sizes) for after, old in zip(edited.size_groups, before.size_groups, strict=True)
    ]
    return replace(edited, size_groups=tuple(groups))


def _check_nothing_else(before: Configuration, after: Configuration, edit: Edit) -> None:
    """Whether the text says exactly what the edit means.

    Raises:
        EditRefused: it does not; the layout of the file is one that this program cannot edit.
    """
    wanted = list(before.size_groups)
    wanted[edit.size_group] = expected(wanted[edit.size_group], edit)
    for one, other in zip(wanted, after.size_groups, strict=True):
        if content(one) != content(other) or before.global_parameters != after.global_parameters:
            raise EditRefused("the file is written in a way in which this edit cannot be made safely")
