"""What a drafted problem takes for granted, told in lines: each setting with how sure it is and from where."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import groupby, islice
from pathlib import Path

from tui_tuner.app.first_draft import init_command
from tui_tuner.errors import ProblemError
from tui_tuner.problem.draft.kernel.misplaced import says_launch
from tui_tuner.problem.load import Written
from tui_tuner.problem.syntax import code_only
from tui_tuner.problem.toml_file import read_text

_FEW = 2
"""So many settings alike are each told."""
_MOST_SCRIPTS = 100
"""And files of hosts, that are looked through beside a kernel's file."""
_OF_HOSTS = (".cu", ".cuh", ".cpp", ".cc", ".cxx", ".h", ".hpp")
_NUMBER = re.compile(r"\[?\d+\]?$")
_NUMBER_OF_NAME = re.compile(r"(?<=_)\d+$")


def assumptions(written: Written, another: str = "") -> Iterator[str]:
    """What a drafted problem takes for granted, how sure that is and from where, and how to correct it.

    Nothing for a problem that somebody wrote; of a kernel in Python what its process says.

    Args:
        another: the command that takes another kernel of the file; that of a session, if empty.
    """
    if not written.is_drafted:
        yield from written.doubts
        return
    problem, kernel = written.problem, written.problem.kernel
    marks = _marks(written.text)

    def listed(title: str, subject: str, entries: Mapping[str, str]) -> str:
        """Settings in one line, those of like numbered names as one, each with where it is from.

        Args:
            subject: table of the settings; of arguments their key.
        """

        def likeness(entry: tuple[str, str]) -> tuple[str, str, str]:
            name, value = entry
            mark = marks.get((subject, name)) or marks.get((name, subject))
            return _NUMBER.sub("", name), _NUMBER_OF_NAME.sub("", value), f" ({mark})" if mark else ""

        told = (_together([*alike], mark) for (_, _, mark), alike in groupby(entries.items(), likeness))
        return f"  {title:11} {', '.join(told)}"

    command = init_command(kernel.source, kernel.name.partition("<")[0], written.host)
    yield f"no {written.file.name} beside it: drafted the problem of {kernel.name}; to correct it: {command}"
    if written.alternatives:
        others = ", ".join(written.alternatives)
        another = another or f"tuner-tui {kernel.source}:NAME"
        yield f"  kernel      {kernel.name} of several; for another: {another}, as in {others}"
    if (script := _script_beside(written)) is not None:
        what = "tunes" if "tune_kernel(" in read_text(script) else "launches"
        yield f"  script      {script.name} {what} it; to take over what it says: --host {script}"
    if (host := _host_beside(written)) is not None:
        yield f"  host        {host.name} launches it; to take over what it says: --host {host}"
    launch = problem.launch.model_dump(exclude_defaults=True)
    told = [
        ("launch", "launch", {key: f" = {value}" for key, value in launch.items()}),
        ("sizes", "sizes", {name: f" = {size}" for name, size in problem.sizes.items()}),
    ]
    for title, chosen in (("outputs", True), ("inputs", False)):
        arrays = [one for one in problem.arguments if one.shape is not None and one.output is chosen]
        shapes = {one.name: f" {one.dtype}[{', '.join(map(str, one.shape or []))}]" for one in arrays}
        told.append((title, "shape", shapes))
    compared = {one.name: f" by {one.compare}" for one in problem.arguments if one.compare}
    told.append(("compared", "compare", compared))
    plain = {one.name: f" = {one.value}" for one in problem.arguments if one.value is not None}
    told.append(("scalars", "value", plain))
    told.append(("local", "local", {one.name: f" {one.dtype}[{one.local}]" for one in problem.arguments if one.local}))
    held = [(one.name, member) for one in problem.arguments if one.shape is None for member in one.members or ()]
    told.append(("structures", "value", {f"{name}.{member.name}": f" = {member.value}" for name, member in held}))
    yield from (listed(*line) for line in told if line[2])
    left = re.findall(r"^# not taken over: (.*)", written.text, re.MULTILINE)
    yield from (f"  {'not taken':11} {one}" for one in left)
    yield from (f"  {'tried' if position == 0 else 'but':11} {doubt}" for position, doubt in enumerate(written.doubts))
    yield from (f"  {'model':11} {one}" for one in written.of_model)


def _script_beside(written: Written) -> Path | None:
    """A script that names the kernel's file and launches its kernels, where no host's code was given."""
    if written.host is not None:
        return None
    named = re.compile(rf"""["'/]{re.escape(Path(written.problem.kernel.source).name)}["']""")
    for script in islice(sorted(written.file.parent.glob("*.py")), _MOST_SCRIPTS):
        with suppress(ProblemError):  # what cannot be read is no such script
            text = read_text(script)
            if says_launch(text) and named.search(text):
                return script
    return None


def _host_beside(written: Written) -> Path | None:
    """A file that launches the kernel, where no host's code was given and the kernel's own file does not."""
    if written.host is not None or "# as the host launches it" in written.text:
        return None
    kernel = re.escape(written.problem.kernel.name.partition("<")[0])
    launch = re.compile(rf"\b{kernel}\s*(?:<[^<>;]*>)?\s*<<<")
    own = written.file.parent / written.problem.kernel.source
    beside = sorted(one for one in written.file.parent.iterdir() if one.suffix in _OF_HOSTS and one != own)
    for file in islice(beside, _MOST_SCRIPTS):
        with suppress(ProblemError):  # what cannot be read is none
            if launch.search(code_only(read_text(file))):
                return file
    return None


def _marks(text: str) -> dict[tuple[str, str], str]:
    """What a draft's text says behind its lines of where each is from, by table, or argument, and key."""
    found: dict[tuple[str, str], str] = {}
    table = subject = of_table = ""
    for line in text.splitlines():
        words, _, mark = line.partition("  # ")
        mark = re.sub(r"[:,]? check$", "", mark)
        if head := re.match(r"\[+(\w+)\]+", words):
            table = subject = head[1]
            of_table = mark if table == "launch" else ""
        elif setting := re.match(r"(\w+) = (.*)", words):
            if (table, setting[1]) == ("arguments", "name"):
                subject = setting[2].strip('"')
            found[subject, setting[1]] = mark or of_table
    return found


def _together(entries: Sequence[tuple[str, str]], mark: str) -> str:
    """Settings whose names differ in a number, as in "x_0 to x_7 float32[n]" and "x[0] = x_0 to x[7] = x_7"."""
    if len(entries) <= _FEW:
        return ", ".join(f"{name}{value}{mark}" for name, value in entries)
    (first, begins), (last, ends) = entries[0], entries[-1]
    return f"{first}{'' if begins == ends else begins} to {last}{ends}{mark}"
