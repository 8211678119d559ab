"""A first problem file for a kernel, guessed from its signature and commented for the user to correct."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from tui_tuner.errors import ProblemError
from tui_tuner.problem.conditionals import active_source, asked_around
from tui_tuner.problem.draft.amendments import NO_AMENDMENTS, Amendments
from tui_tuner.problem.draft.constants import constants_of_kernel
from tui_tuner.problem.draft.drafted_launch import NO_LAUNCH, DraftedLaunch, TunedSpace
from tui_tuner.problem.draft.host.build_options import (
    BuildOptions,
    build_options,
    options_of_scripts,
    standard_needed,
)
from tui_tuner.problem.draft.host.program import HostProgram
from tui_tuner.problem.draft.kernel.device_words import text_of_headers
from tui_tuner.problem.draft.kernel.files import known_language, source_of, text_of
from tui_tuner.problem.draft.kernel.guesses import extents_around, with_named_members
from tui_tuner.problem.draft.kernel.includer import built_after, stated_before
from tui_tuner.problem.draft.kernel.order import appended
from tui_tuner.problem.draft.kernel.own_numbers import with_limits_as_numbers
from tui_tuner.problem.draft.kernel.parts import parts_of
from tui_tuner.problem.draft.kernel.reach import reached_by
from tui_tuner.problem.draft.kernel.refusals import refuse_unusable
from tui_tuner.problem.draft.kernel.understood import template_arguments, understood
from tui_tuner.problem.draft.launch.drafting import drafted_launch
from tui_tuner.problem.draft.launch.in_comments import commented_launch
from tui_tuner.problem.draft.launch.named_numbers import with_named_numbers
from tui_tuner.problem.draft.launch.own_launch import block_of_template, own_block, shapes_of_rows, with_blocks_of_rows
from tui_tuner.problem.draft.proposed_facts import ProposedFacts, completed
from tui_tuner.problem.draft.sizes.counts import is_toy, sizes_of_toys
from tui_tuner.problem.draft.sizes.drafted import drafted_sizes
from tui_tuner.problem.draft.text.draft import Draft
from tui_tuner.problem.draft.text.lines import lines_of
from tui_tuner.problem.languages import COMPILED_LANGUAGES
from tui_tuner.problem.model import Language
from tui_tuner.problem.signature import KernelSignature, find_kernel, find_kernels
from tui_tuner.problem.syntax import code_only

NO_MACROS: Mapping[str, str] = {}


def scaffold(
    source_path: Path,
    kernel: str | None,
    amendments: Amendments = NO_AMENDMENTS,
    host: Path | None = None,
    facts: ProposedFacts | None = None,
) -> str:
    """The text of a problem file for a kernel; it loads as it is.

    Args:
        source_path: the kernel's file.
        kernel: which kernel, where the file has several.
        amendments: what running an earlier draft said.
        host: another file with the host's code, where it does not stand in the kernel's.
        facts: what a model proposes where the rules are not certain.

    Raises:
        ProblemError: the file cannot be read, holds no kernel that can be launched, or several and none is named.
    """
    given = _given(source_path, host, {} if facts is None else facts.macros)
    name, signature, read = _launched(given, kernel, stated_too=amendments.stated_too)
    launched = read is not None and bool(read.line)
    refuse_unusable(signature, source_path, given.code, given.language, launched=launched)
    if read is None or not read.line:
        tuned = () if read is None else read.defaults.keys()
        signature = with_limits_as_numbers(with_named_members(signature), given.code, tuned)
    else:
        read = with_named_numbers(read, signature)
    if facts is not None and read is not None and not amendments.as_host:
        read = _left_to_model(_with_fixed_block(read, facts), signature)
    launch = completed(read, facts)
    if launch is not None and facts is not None:
        launch = _with_tuned_block(launch, {name: facts.macros[name] for name in given.built.proposed})
    if COMPILED_LANGUAGES[given.language].has_blocks:
        launch = with_blocks_of_rows(launch, signature)
    sizes = {} if launch is None else {**launch.sizes, **launch.defaults}
    reached = reached_by(with_limits_as_numbers(signature, given.code, sizes.keys()), launch)
    said = (launch or NO_LAUNCH).without_supposed(reached)
    is_of_text = launch is not None and (launch.comment_line or "problem_size" not in (read or NO_LAUNCH).keys)
    guessed = shapes_of_rows(signature) if is_of_text else {}
    spread = replace(said, shapes={**guessed, **reached, **said.shapes})
    has_emulator = COMPILED_LANGUAGES[given.language].has_emulator
    draft = Draft(
        file=source_path,
        source=given.source,
        language=given.language,
        signature=signature,
        name=name,
        read=read or NO_LAUNCH,
        launch=said,
        is_launched=launch is not None,
        sizes=drafted_sizes(spread, signature, amendments, has_emulator=has_emulator),
        amendments=amendments,
        facts=facts or ProposedFacts(),
        constants=constants_of_kernel(
            f"{given.source}\n{given.host}",
            source_path,
            name,
            given.language,
            {one.name for one in signature.constants},
        ),
        options=[*given.built.without(said.tunables), *given.standard],
        supposed_macros=given.built.supposed,
        proposed_macros=given.built.proposed,
        reached=reached,
        parts=parts_of(signature, f"{given.code}\n{code_only(given.host)}"),
        appended=appended(signature),
    )
    return "\n".join(lines_of(draft)) + "\n"


def _with_fixed_block(read: DraftedLaunch, facts: ProposedFacts) -> DraftedLaunch:
    """The launch without a block that is macros of a model, where that says itself what the block has to be."""
    if "block_size" not in facts.keys or not read.tunables or read.tunables.keys() - facts.macros.keys():
        return read
    keys = {key: value for key, value in read.keys.items() if key != "block_size"}
    return replace(read, keys=keys, tunables={}, defaults={})


def _with_tuned_block(launch: DraftedLaunch, macros: Mapping[str, str]) -> DraftedLaunch:
    """The launch with the macros of a model tuned that it names for the block."""
    named = {one for one in launch.keys.get("block_size", ()) if macros.get(one, "").isdecimal()}
    defaults = {name: int(macros[name]) for name in sorted(named)}
    tunables = {name: extents_around(number) for name, number in defaults.items()}
    return replace(launch, tunables={**tunables, **launch.tunables}, defaults={**defaults, **launch.defaults})


def _left_to_model(read: DraftedLaunch, signature: KernelSignature) -> DraftedLaunch:
    """What the host says; where it launches a toy that the rules can make no larger, nothing of threads and sizes."""
    if not read.line or not read.keys or not is_toy(read) or sizes_of_toys(read, signature):
        return read
    return replace(read, keys={}, sizes=dict.fromkeys(read.sizes), of_block=frozenset())


def launched_first(source_path: Path, kernels: Sequence[str], host: Path | None) -> Sequence[str]:
    """Kernels of a file, those that another file with the host's code names before those that it does not."""
    if host is None:
        return kernels
    words = {*re.findall(r"\w+", _given(source_path, host).host)}
    return sorted(kernels, key=lambda name: name not in words)


@dataclass(frozen=True)
class _Given:
    """What a draft is read from.

    Attributes:
        source: the kernel's, without branches that a build with the host's options leaves out.
        host: code of another file.
        built: what the host builds the kernel with.
        spaces: what a host's script has kernel_tuner vary, by the kernel's name.
        stated: what the host's file states before it includes the kernel's.
        lines: of each line of the host's code that of the script that it stands for; of any other host nothing.
    """

    file: Path
    language: Language
    source: str
    host: str
    built: BuildOptions
    spaces: Mapping[str, TunedSpace]
    stated: str = ""
    lines: Sequence[int] = ()

    @property
    def standard(self) -> Sequence[str]:
        """The option for the C++ that the kernel is written in, where its host names none."""
        is_named = any("-std=" in one for one in self.built.flags)
        return standard_needed(self.code) if self.language == "cuda" and not is_named else ()

    @cached_property
    def code(self) -> str:
        """That of the source and of its headers, without comments, behind what its includer states before it."""
        own = f"{code_only(self.source)}\n{text_of_headers(self.source, self.file, self.built.macros)}"
        proposed = [f"\n#define {name} {self.built.macros[name].value}" for name in sorted(self.built.proposed)]
        own += "".join(proposed)  # behind it, so that its lines stay what they are
        return f"{self.stated}\n{own}" if self.stated else own


def _given(file: Path, host: Path | None, proposed: Mapping[str, str] = NO_MACROS) -> _Given:
    language, source = known_language(file), source_of(file)
    code = text_of(host, "name the file that launches the kernel") if host else ""
    if host is not None and language == "cuda" and (stated := stated_before(host, file)):
        own = f"{code_only(source)}\n{text_of_headers(source, file, ())}"
        built = BuildOptions(built_after(stated, own)).with_proposed(proposed)
        return _Given(file, language, active_source(source, built.macros), code, built, {}, stated)
    spaces: Mapping[str, TunedSpace] = {}
    lines: Sequence[int] = ()
    options: Sequence[str] = ()
    if host is not None and host.suffix == ".py":
        from tui_tuner.problem.draft.script.in_c import host_in_c  # few sessions have a script

        code, spaces, lines, options = host_in_c(code, language, source)
    options = list(dict.fromkeys([*options, *(one for space in spaces.values() for one in space.options)]))
    built = build_options(source, code) if language == "opencl" else options_of_scripts(options)
    built = built.with_proposed(proposed).with_supposed(_asked_around_kernels(source, language))
    return _Given(file, language, active_source(source, built.macros), code, built, spaces, lines=lines)


def _asked_around_kernels(source: str, language: Language) -> frozenset[str]:
    """The macros that a build has to define for each of the kernels of a source, as where all is below `#ifdef GPU`."""
    asked = [asked_around(source, one.line) for one in find_kernels(source, language)]
    return asked[0].intersection(*asked[1:]) if asked else frozenset()


def _launched(
    given: _Given, kernel: str | None, *, stated_too: bool
) -> tuple[str, KernelSignature, DraftedLaunch | None]:
    """The kernel with arguments of its template, its signature, and what the host's code says of its launch."""

    def launch(signature: KernelSignature) -> DraftedLaunch | None:
        if not COMPILED_LANGUAGES[given.language].has_blocks:
            return None
        proposed = {name: given.built.macros[name] for name in given.built.proposed}
        stated = given.built.macros if given.stated else proposed
        found = drafted_launch(
            given.source, signature, given.file, given.language, given.host, stated_too=stated_too, included_with=stated
        )
        is_of_script = found is not None and given.lines and found.is_of_host
        return replace(found, line=given.lines[found.line - 1]) if found and is_of_script else found

    name = _chosen_name(given, kernel)
    try:
        found = find_kernel(given.source, given.language, name)
    except ProblemError as error:
        raise ProblemError(error.message, hint=error.hint, file=given.file) from None
    signature = understood(found, given.source, given.code, given.language, name.removeprefix(found.name))
    read = launch(signature)
    is_named = kernel in (None, signature.name)
    is_launched = read is not None
    if read is None and COMPILED_LANGUAGES[given.language].has_blocks:
        program, template = HostProgram(given.code), name.removeprefix(signature.name) if is_named else ""
        read = commented_launch(given.source, signature, given.file, given.language)
        read = read or block_of_template(signature, program, template) or own_block(signature, program)
    if read is not None and read.template and is_named:
        name = signature.name + read.template
        typed = find_kernel(given.source, given.language, name)
        is_open = is_launched and typed.parameters != signature.parameters
        if is_open:  # types that the template leaves open are the host's
            signature = understood(typed, given.source, given.code, given.language, read.template)
            read = launch(signature)
    if (space := given.spaces.get(signature.name)) is not None:
        from tui_tuner.problem.draft.script.tuned_space import with_space

        read = with_space(read, space, given.source, given.language)
    return name, signature, read


def _chosen_name(given: _Given, kernel: str | None) -> str:
    """The kernel's name with arguments for its template parameters."""
    found = {signature.name: signature for signature in find_kernels(given.source, given.language)}
    if kernel is None and len(found) > 1:
        hint = f"choose one with --kernel NAME: {', '.join(found)}"
        raise ProblemError(f"there are {len(found)} kernels in this file", hint=hint, file=given.file)
    name = next(iter(found), "") if kernel is None else kernel
    return name + template_arguments(found[name], given.source) if name in found else name
