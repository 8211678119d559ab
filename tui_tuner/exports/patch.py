"""The tuned kernel as a patch against the user's files: the kernel's, and the problem file where that must follow."""

from __future__ import annotations

import difflib
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import tomlkit
from tomlkit.items import Table
from tree_sitter import Node

from tui_tuner.errors import ProblemError
from tui_tuner.exports import ToldRun
from tui_tuner.problem.host_code import device_code, has_host_code
from tui_tuner.problem.languages import COMPILED_LANGUAGES
from tui_tuner.problem.model import Language
from tui_tuner.problem.syntax import code_only, declared_name, parse_code, spaces
from tui_tuner.report import best_text, launch_table
from tui_tuner.resources import write_whole

_BOM = "\ufeff"


@dataclass(frozen=True)
class Change:
    """A file of the user's before and after.

    Attributes:
        file: where it is.
        name: how the patch calls it: its path from the directory of the problem file.
        before: None where the file is new.
    """

    file: Path
    name: str
    before: str | None
    after: str

    @property
    def patch(self) -> str:
        """The change as `git apply` and `patch -p1` take it; empty where there is none."""
        before, after = (self.before or "").splitlines(keepends=True), self.after.splitlines(keepends=True)
        origin = "/dev/null" if self.before is None else f"a/{self.name}"
        lines = difflib.unified_diff(before, after, origin, f"b/{self.name}")
        return "".join(_ended(line) for line in lines)


def _ended(line: str) -> str:
    return line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def file_changes(told: ToldRun) -> list[Change]:
    """What has to change in the user's files so that they hold the tuned kernel; a drafted problem becomes a file.

    Raises:
        ProblemError: a file is not what it was when the run began, or its kernel is in no file.
    """
    problem = told.run.problem
    kernel = _changed(problem.directory, problem.kernel.source, problem.source_text, _tuned_source(told))
    if not problem.is_compiled:
        return [kernel]
    table = Path(Path(told.run.journal.header["problem_file"]).name)  # paths are relative to where it is
    tuned = _tuned_problem(told)
    if not (problem.directory / table).exists():
        return [kernel, Change(problem.directory / table, table.as_posix(), None, tuned)]
    return [kernel, _changed(problem.directory, table, told.run.problem_text, tuned)]


def _tuned_source(told: ToldRun) -> str:
    problem, best = told.run.problem, told.best
    tuned = best_text(problem, best, told.outcome)
    if not problem.is_compiled:
        if best.source != problem.source_text:
            return tuned
        message = "the kernel's file stays as it is: only its configuration is tuned"
        raise ProblemError(message, hint="`tuner-tui best RUN --as configuration` prints it")
    if COMPILED_LANGUAGES[problem.language].kernel_mark is None:
        return tuned
    return _with_host_code(problem.source_text, tuned, best.source, best.kernel, problem.language)


def _tuned_problem(told: ToldRun) -> str:
    """The problem file with the launch and the search space of the tuned kernel, which begins at the best."""
    candidate, document = told.best, tomlkit.parse(told.run.problem_text)
    document["kernel"]["name"] = candidate.kernel
    if candidate.id != told.outcome.baseline.candidate:
        document["launch"] = launch_table(candidate.launch)
        document["tunables"] = _table(candidate.tunables)
        document["search"] = _table({"restrictions": candidate.restrictions})
    document["defaults"] = _table(told.outcome.best.configuration)
    return tomlkit.dumps(document)


def _table(content: Mapping[str, object]) -> Table:
    table = tomlkit.table()
    table.update({**content})
    return table


def _changed(directory: Path, name: Path, known: str, after: str) -> Change:
    """The change of a file, with its own line ends and byte order mark.

    Raises:
        ProblemError: the file is not what it was.
    """
    file = directory / name
    try:
        before = file.read_bytes().decode("utf-8")
    except OSError as error:
        hint = "`tuner-tui best RUN` prints the tuned kernel as a whole"
        raise ProblemError(f"cannot be read: {error.strerror}", hint=hint, file=file) from None
    except UnicodeDecodeError:
        raise ProblemError("this is not UTF-8 text", file=file) from None
    if before.removeprefix(_BOM).replace("\r\n", "\n") != known:
        hint = "`tuner-tui best RUN` prints the tuned kernel as a whole"
        raise ProblemError("the file is not what it was when the run began", hint=hint, file=file)
    if "\r\n" in before:
        after = after.replace("\n", "\r\n")
    return Change(file, name.as_posix(), before, _BOM + after if before.startswith(_BOM) else after)


def patch_text(told: ToldRun) -> str:
    """The whole patch, to be applied in the directory of the problem file.

    Raises:
        ProblemError: as of `changes`.
    """
    return "".join(change.patch for change in file_changes(told))


def apply_patch(told: ToldRun) -> Iterator[str]:
    """Write the changes; a line for each file.

    Raises:
        ProblemError: as of `changes`, or a file cannot be written.
    """
    for change in file_changes(told):
        try:
            if change.patch:
                write_whole(change.file, change.after)
                yield f"wrote {os.path.relpath(change.file)}"
        except OSError as error:
            raise ProblemError(f"cannot be written: {error.strerror}", file=change.file) from None


_HINT = "paste it by hand: `tuner-tui best RUN` prints it, `--as header` how it is launched"
_NOTE = "// The host's code below is as it was: where it launches the kernel, grid and block are yours to change.\n"
_DEFINED = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)
_BLOCKS = (
    "template_declaration",
    "linkage_spec",
    "declaration_list",
    "namespace_definition",
    "preproc_if",
    "preproc_el",
)
Item = tuple[int, int, list[str]]
"""Where it begins and ends, and the names that it defines."""


def _with_host_code(original: str, tuned: str, source: str, kernel: str, language: Language) -> str:
    """The text of the patched file.

    Args:
        tuned: what takes the kernel's place: the values as macros, and the source.
        source: the tuned source alone.

    Raises:
        ProblemError: the file has host code that cannot be kept in a place that surely compiles.
    """
    code = code_only(original)
    if not has_host_code(code) or has_host_code(code_only(source)):
        return tuned
    new = code_only(tuned)
    replaced = Counter(name for item in _items(new, language) for name in item[2])
    gone = [item for item in _items(code, language) if any(name in replaced for name in item[2])]
    counted = Counter(name for item in gone for name in item[2])
    if re.split("::", kernel.partition("<")[0])[-1] not in counted:
        raise _cannot("where the kernel stands in it is not clear")
    if lost := counted - replaced:
        raise _cannot(f"the tuned source does not have all of {', '.join(sorted(lost))}")
    if clashing := _clashing(code, gone, new):
        raise _cannot(f"a macro of one is a name in the other: {', '.join(sorted(clashing))}")
    patched = _put_in(original, gone, tuned)
    if lost := _host_lines(original) - Counter(patched.splitlines()):
        raise _cannot(f"the tuned source has a name of its line `{min(lost).strip()}`")
    return patched


def _clashing(code: str, gone: Sequence[Item], new: str) -> set[str]:
    """Macros of what stays that what is new would read as such, and the other way round."""
    kept, constants = code, set[str]()
    for start, end, names in gone:
        text = code[start:end]
        kept = kept[:start] + spaces(text) + kept[end:]
        constants.update(names if "#" in text or re.search(r"\b(?:const|constexpr)\b", text) else ())
    words, new_words = ({*re.findall(r"\w+", text)} for text in (kept, new))
    own = {*_DEFINED.findall(new)} - constants
    of_variables = {name for _, _, names in gone for name in names} & own
    return own & words | of_variables | {*_DEFINED.findall(kept)} & new_words


def _host_lines(original: str) -> Counter[str]:
    """The lines that a build leaves out, without those of headers."""
    pairs = zip(original.splitlines(), device_code(original).splitlines(), strict=True)
    return Counter(line for line, left in pairs if line.strip() and not left.strip())


def _put_in(original: str, gone: Sequence[Item], tuned: str) -> str:
    """The original with the tuned text where the first of what it replaces was."""
    for index, (start, end, _) in reversed([*enumerate(gone)]):
        put = _NOTE + tuned.rstrip("\n") + "\n" if index == 0 else ""
        original = original[:start] + put + original[end:].removeprefix("\n")
    return original


def _cannot(why: str) -> ProblemError:
    return ProblemError(f"the file has host code that a patch cannot keep: {why}", hint=_HINT)


def _items(code: str, language: Language) -> list[Item]:
    """What a file has at its top, blocks of directives and namespaces as a whole."""
    items: list[Item] = []
    behind = 0
    for node in parse_code(code, language).children:
        if node.type == "ERROR":
            raise _cannot(f"`{code[node.start_byte : node.end_byte].strip().splitlines()[0]}` is not understood")
        qualified = code[behind : node.end_byte]  # qualifiers that the grammar does not know are no part of the node
        start, behind = node.end_byte - len(qualified.lstrip()), node.end_byte
        if code[start:behind] == ";" and items:  # of the structure before it
            items[-1] = (items[-1][0], behind, items[-1][2])
        else:
            items.append((start, behind, _names(node)))
    return items


def _names(node: Node) -> list[str]:
    """What a definition, or a structure, an alias or a macro, is called."""
    if node.type.startswith(_BLOCKS):
        return [name for inner in node.named_children for name in _names(inner)]
    if node.type in ("preproc_def", "preproc_function_def", "alias_declaration"):
        return _text(node.child_by_field_name("name"))
    names = []
    if node.type.endswith("_specifier") and node.child_by_field_name("body") is not None:
        names += _text(node.child_by_field_name("name"))
    if node.type in ("function_definition", "declaration", "type_definition"):
        for inner in node.children_by_field_name("declarator"):
            name = declared_name(inner)
            is_function = name.parent is not None and name.parent.type == "function_declarator"
            if node.type != "declaration" or not is_function:  # a prototype defines nothing
                names += _text(name)
        kind = node.child_by_field_name("type")
        names += [] if kind is None or node.type == "function_definition" else _names(kind)
    return names


def _text(node: Node | None) -> list[str]:
    return [] if node is None or node.text is None else [node.text.decode()]
