"""The user's settings: one TOML file, every key optional, every mistake named with its line."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import tomli
from platformdirs import user_cache_path, user_data_path
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from tui_tuner.errors import SettingsError
from tui_tuner.llm import ModelSettings
from tui_tuner.problem.toml_file import key_lines, line_of, not_toml
from tui_tuner.resources import APPLICATION, is_named, settings_file, write_whole
from tui_tuner.session_options import SessionOptions
from tui_tuner.subjects import settings_model, subjects_with_settings
from tui_tuner.text import suggestion

if TYPE_CHECKING:
    from tomlkit.items import Table


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


Sanitizer = Literal["memcheck", "racecheck", "initcheck", "synccheck"]


class BuildSettings(_Section):
    """How kernels are built.

    Attributes:
        jobs: builds at once, None for one a core.
        nvcc: path of the CUDA compiler, None to look for it.
        sanitizers: tools that watch what a kernel does to memory before it is accepted; none to leave that out.
        cache_mb: size of the builds that are kept for later runs, MiB; 0 keeps none.
    """

    jobs: int | None = Field(default=None, ge=1)
    nvcc: Path | None = None
    cache_mb: int = Field(default=2048, ge=0)
    sanitizers: list[Sanitizer] = ["memcheck", "racecheck", "initcheck", "synccheck"]

    @property
    def place(self) -> Path:
        """The directory of the builds that are kept."""
        return user_cache_path(APPLICATION) / "builds"


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

    def table(self, subject: str) -> Any:  # noqa: ANN401 (the subject's own model)
        """The settings of a subject; its defaults where nothing is set.

        Raises:
            KeyError: no such subject is registered.
        """
        model = settings_model(subject)
        found = getattr(self, subject, None)
        return found if isinstance(found, model) else model()


def load_settings(file: Path | None = None) -> Settings:
    """Read the settings; the defaults where there is no file.

    Raises:
        SettingsError: the file cannot be read or a key or value in it is wrong.
    """
    file = file or settings_file()
    if not file.exists():
        if is_named(file):
            hint = "write it with `tuner-tui config > FILE`, or unset TUNER_TUI_CONFIG, which names it"
            raise SettingsError("there is no such file of settings", hint=hint, file=file)
        return Settings()
    try:
        text = file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise SettingsError("this is not UTF-8 text", hint="save it as UTF-8", file=file) from error
    except OSError as error:
        raise SettingsError(f"cannot be read: {error.strerror}", file=file) from error
    return _settings_in(text, file)


def _settings_in(text: str, file: Path) -> Settings:
    """The settings of a text that stands in a file, or is to.

    Raises:
        SettingsError: a key or value in it is wrong.
    """
    try:
        content = tomli.loads(text)
        settings = _with_subjects(content).model_validate(content)
    except tomli.TOMLDecodeError as error:
        raise SettingsError(not_toml(error, text), file=file, line=error.lineno) from error
    except ValidationError as error:
        raise _mistake(error, text, file) from error
    _check_strategies(settings, text, file)
    return settings


def save_settings(values: Mapping[str, Any]) -> Path:
    """Put values into the settings file, whose other keys and comments stay; nothing is written that would not load.

    Args:
        values: by the dotted name of the key, as in `session.device`.

    Raises:
        SettingsError: a value cannot be, or the file cannot be read or written.
    """
    import tomlkit

    file = settings_file()
    try:
        document = tomlkit.parse(file.read_text(encoding="utf-8-sig") if file.exists() else "")
        for name, value in values.items():
            *tables, key = name.split(".")
            place: Any = document
            for table in tables:
                place = place.setdefault(table, tomlkit.table())
            place[key] = value
        text = tomlkit.dumps(document)
        _settings_in(text, file)
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, text)
    except (ValueError, TypeError, AttributeError, OSError) as error:
        raise SettingsError(f"cannot be saved: {error}", file=file) from error
    return file


def _with_subjects(content: Mapping[str, Any]) -> type[Settings]:
    """Settings that have the tables of those subjects that the file sets; the others are not even loaded."""
    models = {name: settings_model(name) for name in subjects_with_settings() if name in content}
    tables: dict[str, Any] = {name: (model, model()) for name, model in models.items()}
    return create_model("Settings", __base__=Settings, **tables) if tables else Settings


def _check_strategies(settings: Settings, text: str, file: Path) -> None:
    """Refuse options that a strategy does not have; a file of the user's own is not run for that."""
    for name, options in settings.strategies.items():
        if ".py:" in name:
            continue
        from tui_tuner.strategies.choose import strategy_named

        try:
            strategy_named(name, options)
        except SettingsError as error:
            line = line_of(key_lines(text), ("strategies", name))
            raise SettingsError(error.message, hint=error.hint, file=file, line=line) from error


def _mistake(error: ValidationError, text: str, file: Path) -> SettingsError:
    first = error.errors(include_url=False)[0]
    path = first["loc"]
    message, hint = first["msg"], "`tuner-tui config` prints every key with its value"
    if first["type"] == "extra_forbidden":
        message, hint = "unknown key", suggestion(str(path[-1]), _keys_beside(path), "keys")
    name = ".".join(map(str, path))
    return SettingsError(f"{name}: {message}", hint=hint, file=file, line=line_of(key_lines(text), path))


def _keys_beside(path: tuple[str | int, ...]) -> list[str]:
    """The keys of the table that a key stands in; every section is a table of the file."""
    if len(path) == 1:
        return [*Settings.model_fields, *subjects_with_settings()]
    name = str(path[0])
    section = settings_model(name) if name in subjects_with_settings() else Settings.model_fields[name].annotation
    return [*section.model_fields] if isinstance(section, type) and issubclass(section, BaseModel) else []


def settings_text(settings: Settings) -> str:
    """The settings as TOML, ready to be put into the settings file; keys without a value stand there as comments."""
    import tomlkit

    document = tomlkit.document()
    for name in Settings.model_fields:
        document.add(name, _table(getattr(settings, name)))
    for name in subjects_with_settings():
        document.add(name, _table(settings.table(name)))
    return tomlkit.dumps(document)


def _table(section: BaseModel | Mapping[str, Any]) -> Table:
    import tomlkit

    table = tomlkit.table()
    content = section.model_dump(mode="json") if isinstance(section, BaseModel) else section
    for name, value in sorted(content.items(), key=lambda item: isinstance(item[1], dict)):  # else keys end up in them
        if value is None:
            table.add(tomlkit.comment(f"{name} is not set"))
        else:
            table.add(name, _table(value) if isinstance(value, dict) else tomlkit.item(value))
    return table
