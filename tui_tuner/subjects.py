"""What sessions are about and the kernels of other rooms, joined here and only here; a text that is shown and edited.

A subject or a room names its parts as `module:name`, so that none of them is loaded before it is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self, runtime_checkable

if TYPE_CHECKING:
    from pydantic import BaseModel


def loaded(place: str) -> Any:  # noqa: ANN401  # whatever stands there
    """What stands at `module:name`."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


class Command(NamedTuple):
    """A command of the command line.

    Attributes:
        name: as it is typed.
        help: a sentence on what it does.
        adder: `module:function` that gives the command's parser its options and, as the default of `command`, what
            carries it out with the parsed arguments and returns the exit code.
    """

    name: str
    help: str
    adder: str


class ResumeOption(NamedTuple):
    """An option of `tuner-tui resume` that only the runs of one subject take: a path.

    Attributes:
        name: of the option without its dashes, and of the argument that the subject's `resume` takes.
    """

    name: str
    metavar: str
    help: str


class Subject(NamedTuple):
    """One kind of thing that sessions are about.

    Attributes:
        name: the `kind` in the headers of its journals; a journal without one is a kernel's.
        screen: a class, `tui_tuner.tui.subject.SubjectView`.
        story: a class, `tui_tuner.headless.SubjectStory`.
        resume: `(path, changes of the options, settings, own options by name) -> tui_tuner.app.showing.SessionSetup`.
        replay: `(path) -> SessionSetup`.
        source: a class, a `Source` that pydantic can read again from how it was written.
        title: what its file is, with the article.
        what_comes: what its first command does with a file of its own, for whoever has no runs yet.
        suffixes: of files that are probably its own, and no kernels.
        is_own: `(file) -> whether it is one of its own`, from its first lines and with no part of the room loaded.
        ignores: choices of the start screen, by name, that its first command does not take.
        pane: title of the pane that shows its source.
        modelless: what becomes of its sessions where there is no model, in a word or two.
        settings: the model of its table in the settings, which has the subject's name; empty where there is none.
        options: the same as plain data, a sequence of `tui_tuner.options.Option`.
        findings: `(settings) -> what this machine has for it, in one line`; empty where there is nothing to tell.
        missing: `(settings) -> what its sessions need and this machine does not have, in one line`; empty for nothing.
        events: a sequence of those that only its sessions have; empty where there are none.
        commands: those that it adds to the command line; the first one begins its sessions.
        resume_options: what its runs take on a resume.
    """

    name: str
    screen: str
    story: str
    resume: str
    replay: str
    source: str
    title: str = ""
    what_comes: str = ""
    suffixes: tuple[str, ...] = ()
    is_own: str = ""
    ignores: tuple[str, ...] = ()
    pane: str = ""
    modelless: str = ""
    settings: str = ""
    options: str = ""
    findings: str = ""
    missing: str = ""
    events: str = ""
    commands: tuple[Command, ...] = ()
    resume_options: tuple[ResumeOption, ...] = ()


KERNEL = Subject(
    name="kernel",
    screen="tui_tuner.tui.kernel_view:KernelView",
    story="tui_tuner.story:KernelStory",
    resume="tui_tuner.app.sessions:resumed_session",
    replay="tui_tuner.app.sessions:replayed_session",
    source="tui_tuner.problem.candidate:Candidate",
    title="a kernel",
    what_comes="Enter tunes the kernel: what is proposed is built in a sandbox, checked against a reference and timed"
    " in turns with the best so far. You are asked before each step, and q leaves at any time. The kernel's file stays"
    " as it is; the result lies in tuner-runs/.",
    pane="Kernel",
    modelless="search",
)
"""What every session is about whose journal names nothing else."""

_ROOMS: tuple[str, ...] = (
    "tui_tuner.tensile:TENSILE",
)  # fmt: skip
"""Where the other subjects stand; what is named there imports none of its parts."""


@cache
def subjects() -> dict[str, Subject]:
    """The other subjects by name."""
    return {subject.name: subject for subject in map(loaded, _ROOMS)}


def subjects_with_settings() -> dict[str, Subject]:
    """The subjects that have a table in the settings, by its name."""
    return {name: subject for name, subject in subjects().items() if subject.settings}


def subject_of(header: Mapping[str, Any]) -> Subject:
    """What the run of a journal with this header is about."""
    kind = header.get("kind")
    return subjects().get(kind, KERNEL) if isinstance(kind, str) else KERNEL


def settings_model(name: str) -> type[BaseModel]:
    """The model of a subject's table in the settings.

    Raises:
        KeyError: no such subject is registered.
    """
    model: type[BaseModel] = loaded(subjects()[name].settings)
    return model


class KernelRoom(NamedTuple):
    """Kernels of one language that this program neither compiles nor launches itself.

    Attributes:
        language: of their problems.
        suffix: of their files, which may hold several kernels, named as in `kernel.py:NAME`.
        problem: `(file, kernel or None, device, script that launches it or None) -> tui_tuner.problem.load.Written`.
        check_device: `(device)`; raises a DeviceError for one that they do not run on.
        evaluator: `(problem, tui_tuner.evaluate.site.LocalOptions) -> tui_tuner.evaluate.evaluator.Evaluator`.
    """

    language: str
    suffix: str
    problem: str
    check_device: str
    evaluator: str


KERNEL_ROOMS: tuple[KernelRoom, ...] = (
    KernelRoom(
        language="python",
        suffix=".py",
        problem="tui_tuner.python_kernels.from_file:problem_in",
        check_device="tui_tuner.python_kernels.from_file:visible_gpu",
        evaluator="tui_tuner.python_kernels.evaluator:evaluator_for",
    ),
)


def room_for_language(language: str) -> KernelRoom | None:
    """The room whose kernels are in a language; None for those that this program compiles."""
    return next((room for room in KERNEL_ROOMS if room.language == language), None)


def room_for_file(file: Path) -> KernelRoom | None:
    """The room whose kernels a file holds."""
    return next((room for room in KERNEL_ROOMS if room.suffix == file.suffix), None)


_COMPILED = (".cu", ".cuh", ".h", ".hpp", ".inl", ".cl", ".c", ".cpp")
"""Endings of kernels that are compiled; the package of problems, which knows more of them, is not loaded here."""


def split_name(kernel: Path) -> tuple[Path, str | None]:
    """File and kernel of `kernel.cu:NAME` or `kernel.py:NAME`; no kernel where none is named."""
    stem, colon, name = kernel.name.rpartition(":")
    known = Path(stem).suffix in _COMPILED or room_for_file(Path(stem)) is not None
    if colon and name.isidentifier() and known:
        return kernel.with_name(stem), name
    return kernel, None


@runtime_checkable
class Source(Protocol):
    """What steps, events and the screen know of a text that is proposed, shown and edited."""

    @property
    def id(self) -> str:
        """Names this text, its title aside."""

    @property
    def source(self) -> str:
        """The whole text."""

    @property
    def title(self) -> str:
        """A few words for people."""

    def edited(self, source: str) -> Self:
        """This source with the text as the user left it."""
