"""What a kernel lacks that cannot be built, whatever its draft says: a header, a macro, what a host states first."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tui_tuner.errors import ProblemError
from tui_tuner.problem.draft.kernel.files import text_of
from tui_tuner.problem.draft.kernel.includer import lacking, stated_before
from tui_tuner.problem.headers import comes_with_cuda, include_paths, is_of_host_library, missing_headers
from tui_tuner.problem.load import Written

_UNKNOWN = re.compile(
    r"['\u2018](\w+)['\u2019] (?:was not declared|does not name a type|has not been declared)"
    r"|identifier \"(\w+)\" is undef|undeclared identifier '(\w+)'"
)


class Unbuildable(ProblemError):
    """What a kernel needs to be built is not there, whatever its draft or anybody who read it says."""


@dataclass(frozen=True)
class Lacking:
    """A kernel that was not built.

    Attributes:
        line: where it stands in its file.
        init: the command that writes its draft.
        where: it was to be built for, in words.
    """

    file: Path
    line: int
    kernel: str
    init: str
    where: str

    def refuse(self, written: Written, host: Path | None, reason: str) -> None:
        """Say what is not there, where that is why it was not built.

        Args:
            reason: what the compiler says.

        Raises:
            Unbuildable: something is not.
            ProblemError: a macro is not, which somebody who reads the kernel may state.
        """
        kernel = written.problem.kernel
        lost = re.findall(r"(\S+): No such file or directory", reason)
        if lost and all(map(comes_with_cuda, lost)):  # which a GPU's own compiler has
            return
        lost += missing_headers(written.problem.source_text, include_paths(kernel.compiler_options))
        unknown = next((name for one in _UNKNOWN.findall(reason) for name in one if name), None)
        if lost and (unknown or "No such file" in reason):
            said = f": {unknown} is not known" if unknown else ""
            message = f"{self.kernel}() does not build{said}; not found: {', '.join(dict.fromkeys(lost))}"
            raise self._unbuildable(message, self._for_headers(lost))
        said_by_host = host is not None and re.search(rf"-D\s*{unknown}\b", text_of(host))
        is_macro = written.problem.language == "opencl" and (unknown or "").isupper()  # no device would build it
        if unknown and (said_by_host or is_macro):
            where = f", which {host.name} builds it with (-D{unknown})" if host and said_by_host else ""
            given = f'compiler_options = ["-D{unknown}=..."]'
            hint = f"write the draft with: {self.init}, and give its value in [kernel]: {given}"
            message = f"{self.kernel}() does not build: {unknown} is not known{where}"
            raise ProblemError(message, hint=hint, file=self.file, line=self.line)
        if unknown and host is not None and lacking(stated_before(host, self.file), unknown):
            before = f"which {host.name} states before it includes {self.file.name}"
            hint = f"write the draft with: {self.init}, and start again: move it into {self.file.name}, "
            hint += "or into a header that both include"
            raise self._unbuildable(f"{self.kernel}() does not build: {unknown} is not known, {before}", hint)

    def _unbuildable(self, message: str, hint: str) -> Unbuildable:
        return Unbuildable(message, hint=hint, file=self.file, line=self.line)

    def _for_headers(self, lost: Sequence[str]) -> str:
        """What to do about headers that the kernel needs and that are nowhere, in words."""
        if any(one.startswith("hip/") for one in lost):
            as_cuda = "write what it takes of HIP as CUDA has it, as threadIdx.x for hipThreadIdx_x"
            return f"{as_cuda}, and leave that header out"
        if all(map(is_of_host_library, lost)):
            return (
                f"{self.where} has no such library: use a CUDA GPU, or keep the header and what needs it "
                "from these builds, by #ifndef kernel_tuner and #endif around them"
            )
        return (
            f"put the header beside the kernel; or write the draft with: {self.init}, "
            'and name the header\'s directory in [kernel]: compiler_options = ["-I/its/directory"]'
        )
