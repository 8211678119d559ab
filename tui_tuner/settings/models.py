"""What may be set: a table for each part of the program, every key optional."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, Literal

from platformdirs import user_data_path
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from tui_tuner.errors import SettingsError
from tui_tuner.llm import ModelSettings
from tui_tuner.options import flag_of
from tui_tuner.problem.toml_file import KeyPath
from tui_tuner.resources import APPLICATION, cache_directory
from tui_tuner.session_options import SessionOptions
from tui_tuner.subjects import settings_model, subjects_with_settings
from tui_tuner.text import suggestion

KEYS_ELSEWHERE = "keys come from the environment, as OPENAI_API_KEY, or from the keyring, and from no file"


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ScreenSettings(_Section):
    """How the screen looks and which keys it takes.

    Attributes:
        theme: name of a theme, None for the default.
        keys: key by the id of a binding, as the help panel lists them.
        bell: when a question rings: where the terminal tells that it is not looked at, always, or never.
        notify: whether the desktop is to tell that a question waits, where the terminal can (OSC 9, 777).
    """

    theme: str | None = None
    bell: Literal["unfocused", "always", "never"] = "unfocused"
    notify: bool = True
    keys: dict[str, str] = {}


Sanitizer = Literal["memcheck", "racecheck", "warpcheck", "initcheck", "synccheck", "ordercheck"]


class BuildSettings(_Section):
    """How kernels are built.

    Attributes:
        jobs: builds at once, None for one a core of those that affinity and a container leave.
        nvcc: path of the CUDA compiler, which then builds everything; None to look for it, and for NVRTC.
        cache_mb: size of the builds that are kept for later runs, MiB; 0 keeps none.
        sanitizers: tools that watch what a kernel does to memory before it is accepted; none to leave that out.
        profile: whether the best kernels are profiled for the model, where nvdisasm or ncu is there.
    """

    jobs: int | None = Field(default=None, ge=1)
    nvcc: Path | None = None
    cache_mb: int = Field(default=2048, ge=0)
    profile: bool = True
    sanitizers: list[Sanitizer] = ["memcheck", "racecheck", "warpcheck", "initcheck", "synccheck", "ordercheck"]

    @property
    def place(self) -> Path:
        """The directory of the builds that are kept."""
        return cache_directory("builds")


class MemorySettings(_Section):
    """What is kept for later sessions.

    Attributes:
        enabled: whether sessions are remembered and offered to later ones.
        file: where, None for `memory.sqlite3` in the platform's directory for data.
    """

    enabled: bool = False
    file: Path | None = None

    @property
    def place(self) -> Path:
        """The file of the memory and of cached replies."""
        return user_data_path(APPLICATION) / "memory.sqlite3" if self.file is None else self.file.expanduser()


class LogSettings(_Section):
    """What is written into the program's log.

    Attributes:
        level: of the least that is written; `off` for nothing.
    """

    level: Literal["debug", "info", "warning", "error", "off"] = "info"


class ProjectSettings(_Section):
    """Which projects are trusted: their files may set everything.

    Attributes:
        trusted: directories; what is below them is trusted as well.
    """

    trusted: tuple[Path, ...] = ()


class Settings(_Section):
    """All settings of kernels; a subject beside them has a table of its own, see `table`.

    Attributes:
        strategies: options of each strategy, by its name, as in `[strategies.autonomous]`.
    """

    session: SessionOptions = SessionOptions()
    strategies: dict[str, dict[str, Any]] = {}
    model: ModelSettings = ModelSettings()
    memory: MemorySettings = MemorySettings()
    build: BuildSettings = BuildSettings()
    screen: ScreenSettings = ScreenSettings()
    log: LogSettings = LogSettings()
    projects: ProjectSettings = ProjectSettings()

    def table(self, subject: str) -> Any:  # noqa: ANN401 (the subject's own model)
        """The settings of a subject; its defaults where nothing is set.

        Raises:
            KeyError: no such subject is registered.
        """
        model = settings_model(subject)
        found = getattr(self, subject, None)
        return found if isinstance(found, model) else model()


Fault = Callable[[str, KeyPath, str | None], SettingsError]
"""Makes the error for a key: from the message, the path of the key and a hint."""


def validated(content: Mapping[str, Any], fault: Fault) -> Settings:
    """The settings of tables.

    Raises:
        SettingsError: a key or value is wrong.
    """
    try:
        settings = with_subjects(content).model_validate(content)
    except ValidationError as error:
        raise _mistake(error, fault) from error
    _check_strategies(settings, fault)
    return settings


def with_subjects(named: Collection[str]) -> type[Settings]:
    """Settings that have the tables of those subjects that are named; the others are not even loaded."""
    models = {name: settings_model(name) for name in subjects_with_settings() if name in named}
    tables: dict[str, Any] = {name: (model, model()) for name, model in models.items()}
    return create_model("Settings", __base__=Settings, **tables) if tables else Settings


def _check_strategies(settings: Settings, fault: Fault) -> None:
    """Refuse options that a strategy does not have; a file of the user's own is not run for that."""
    for name, options in settings.strategies.items():
        from tui_tuner.strategies.choose import names_file, strategy_named

        if names_file(name):
            continue

        try:
            strategy_named(name, options)
        except SettingsError as error:
            raise fault(error.message, ("strategies", name), error.hint) from error


def _mistake(error: ValidationError, fault: Fault) -> SettingsError:
    first = error.errors(include_url=False)[0]
    path = first["loc"]
    message, hint = first["msg"], "`tuner-tui config` prints every key with its value"
    match first["type"]:
        case "extra_forbidden":
            message, hint = "unknown key", _hint_for(path)
        case "string_pattern_mismatch" if path[-1] == "base_url":
            message, hint = "no address of a server", "as in: http://127.0.0.1:8000/v1"
        case "int_parsing" | "float_parsing":
            seconds = ", in seconds" if str(path[-1]).endswith(("_s", "_seconds")) else ""
            hint = f"write the number alone, without a unit{seconds}"
    return fault(f"{'.'.join(map(str, path))}: {message}", path, hint)


def _hint_for(unknown: KeyPath) -> str:
    """Where a key stands that is in no table, known by its name or that of its flag; else the nearest beside it."""
    word = str(unknown[-1]).replace("_", "-")
    if word.endswith("api-key"):
        return KEYS_ELSEWHERE
    beside = _keys_beside(unknown)
    if flags := [key for key in beside if word == flag_of(key).removeprefix("--")]:
        return f"did you mean '{flags[0]}'?"
    if len(unknown) == 1:
        for section in Settings.model_fields:
            for key in _keys_beside((section, "")):
                if word in (key.replace("_", "-"), flag_of(key).removeprefix("--")):
                    return f"did you mean '{section}.{key}'?"
    return suggestion(str(unknown[-1]), beside, "keys")


def _keys_beside(path: KeyPath) -> list[str]:
    """The keys of the table that a key stands in; every section is a table of the file."""
    if len(path) == 1:
        return [*Settings.model_fields, *subjects_with_settings()]
    name = str(path[0])
    section = settings_model(name) if name in subjects_with_settings() else Settings.model_fields[name].annotation
    return [*section.model_fields] if isinstance(section, type) and issubclass(section, BaseModel) else []
