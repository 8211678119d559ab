"""A script as the C that does the same, which is read like any other host, and the kernels that it has as texts.

The script is never run: what its text alone does not say is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tui_tuner.errors import ProblemError
from tui_tuner.problem.draft.drafted_launch import TunedSpace
from tui_tuner.problem.draft.kernel.misplaced import KernelInScript, kernel_in_script, says_launch
from tui_tuner.problem.draft.script.script_host import ScriptHost
from tui_tuner.problem.draft.script.texts import joined
from tui_tuner.problem.model import Language


class HostInC(NamedTuple):
    """A script as a host in C.

    Attributes:
        spaces: what it has kernel_tuner vary, by the kernel's name.
        lines: of each line of the code that of the script.
        options: that the kernels are built with, as far as they are taken over.
    """

    code: str
    spaces: dict[str, TunedSpace]
    lines: Sequence[int] = ()
    options: Sequence[str] = ()


def host_in_c(script: str, language: Language, source: str) -> HostInC:
    """A script as a host in C.

    Args:
        source: of the kernels.
    """
    read = ScriptHost(script, language, source)
    if read.spaces and not read.passes_numbers:  # its kernels have their sizes in their text
        read = ScriptHost(script, language, source, as_numbers=True)
    return HostInC(read.host.code, read.spaces, read.host.lines, read.builds.options)


def kernels_in_script(file: Path, script: str) -> KernelInScript | None:
    """The kernels that a script has as texts, as one; None where there are none.

    Raises:
        ProblemError: a text is put together of what the script's text does not say, or two have the same names.
    """
    builds = ScriptHost(script, "cuda", "").builds
    of_cuda = [text for text in builds.texts if "__global__" in text]
    texts = of_cuda or [*builds.texts]
    if not texts:
        found = kernel_in_script(script)
        if found is None and builds.unread:
            [(unread, line), *_] = builds.unread.items()
            own = file.with_suffix(".cu")
            hint = f"write that text as it is built into {own.name}, its numbers as #define, and run: tuner-tui {own}"
            message = f"the kernel's text is put together of {unread}, which is not known without running the script"
            raise ProblemError(message, hint=f"{hint} --host {file}", file=file, line=line)
        return found
    whole, twice = joined(texts)
    if twice:
        own = file.with_suffix(".cu")
        hint = f"write the text to be tuned into {own.name}, and run: tuner-tui {own} --host {file}"
        raise ProblemError(f"{len(texts)} texts of this script declare {twice}", hint=hint, file=file)
    return KernelInScript(whole, ".cu" if of_cuda else ".cl", says_launch(script))
