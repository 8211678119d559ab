"""Settings: the user's file, over it a project's, over that the environment; and on top of all what a session is told.

Every mistake is named with its place. What holds knows where it comes from. A project's file lies beside its kernels,
which may come from others. What it may set decides how a kernel is searched; what runs a program, reaches a server,
spends money, leaves out the sandbox or is the user's own taste is refused with its line, unless the user trusts the
directory.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from tui_tuner.errors import SettingsError
from tui_tuner.problem.toml_file import KeyPath
from tui_tuner.resources import is_named, project_file, settings_file, write_whole
from tui_tuner.settings.layers import Layer, SettingPlace, layer_of_environment, layer_of_file, layer_of_text, merged
from tui_tuner.settings.models import Settings, validated
from tui_tuner.subjects import subjects_with_settings
from tui_tuner.text import is_utf8

if TYPE_CHECKING:
    from tomlkit.items import Table


__all__ = ["Layered", "Settings", "layered_settings", "load_settings", "save_settings", "settings_text"]


@dataclass(frozen=True)
class Layered:
    """Settings with all that they come from, the weakest first."""

    settings: Settings
    layers: tuple[Layer, ...]

    def origin(self, path: Sequence[str]) -> SettingPlace | None:
        """Where a key is set; None for a default."""
        return next((layer.place(path) for layer in reversed(self.layers) if layer.sets(path)), None)

    def fault(self, message: str, path: KeyPath, hint: str | None) -> SettingsError:
        """A mistake in a key, with the place where it is set."""
        return _fault_in(self.layers, message, path, hint)


def _fault_in(layers: Sequence[Layer], message: str, path: KeyPath, hint: str | None) -> SettingsError:
    setting = next((layer for layer in reversed(layers) if layer.sets([str(part) for part in path])), layers[0])
    return setting.fault(message, path, hint)


def load_settings(file: Path | None = None, *, beside: Path | None = None) -> Settings:
    """Read the settings; the defaults where nothing is set.

    Args:
        file: the user's; None for where it is.
        beside: the kernel that they are for, or its directory, where a project's file may lie; None for none.

    Raises:
        SettingsError: a file cannot be read, a key or value is wrong, or a project sets what it may not.
    """
    return layered_settings(file, beside=beside).settings


def layered_settings(file: Path | None = None, *, beside: Path | None = None, told: Layer | None = None) -> Layered:
    """The settings with all layers that they come from.

    Args:
        told: by the command line, over all others.

    Raises:
        SettingsError: as of `load_settings`.
    """
    own = _own_layer(file or settings_file())
    settings = validated(own.content, own.fault)
    layers = [own, *_project_layers(beside, own, settings), layer_of_environment()]
    for layer in layers[1:]:
        validated(layer.content, layer.fault)
    if told is not None:
        layers.append(told)
    if any(layer.content for layer in layers[1:]):
        settings = validated(merged(layers), partial(_fault_in, layers))
    return Layered(settings, tuple(layers))


def _own_layer(file: Path) -> Layer:
    try:
        is_there = file.exists()
    except OSError as error:
        hint = "let HOME or XDG_CONFIG_HOME name a directory of yours, or TUNER_TUI_CONFIG a file"
        raise SettingsError(f"cannot be looked for: {error.strerror}", hint=hint, file=file) from None
    if is_there:
        return layer_of_file(file)
    if is_named(file):
        hint = "write it with `tuner-tui config > FILE`, or unset TUNER_TUI_CONFIG, which names it"
        raise SettingsError("there is no such file of settings", hint=hint, file=file)
    return Layer({}, {})


def _project_layers(beside: Path | None, own: Layer, settings: Settings) -> list[Layer]:
    """The layer of a project's file, where there is one that is not the user's own."""
    file = None if beside is None else project_file(beside)
    if file is None or not _is_file(file) or file.resolve() == (own.place(()).file or Path()).resolve():
        return []
    layer = _project_layer(file)
    validated(layer.content, layer.fault)
    _check_project(layer, settings.model_dump(), trusted=_is_trusted(file, settings.projects.trusted))
    return [layer]


def _is_file(file: Path) -> bool:
    """Whether there is such a file that may be looked for; whoever reads the kernel beside it says what is wrong."""
    try:
        return file.is_file()
    except OSError:
        return False


def save_settings(values: Mapping[str, Any], project: Path | None = None) -> Path:
    """Put values into a settings file, whose other keys and comments stay; nothing is written that would not load.

    Args:
        values: by the dotted name of the key, as in `session.device`.
        project: the directory whose file is meant; None for the user's.

    Raises:
        SettingsError: a value cannot be, or the file cannot be read or written.
    """
    import tomlkit

    file = settings_file() if project is None else project_file(project)
    if project is not None and not file.parent.is_dir():
        raise SettingsError("there is no such directory", hint="name that of a project", file=project)
    try:
        document = tomlkit.parse(file.read_text(encoding="utf-8-sig") if file.exists() else "")
        for name, value in values.items():
            *tables, key = name.split(".")
            place: Any = document
            for table in tables:
                place = place.setdefault(table, tomlkit.table())
            place[key] = value
        text = tomlkit.dumps(document)
        if not is_utf8(text):
            hint = "a directory needs a name that is" if "projects.trusted" in values else "write it in UTF-8"
            raise SettingsError("what is to be set is not UTF-8 text", hint=hint, file=file)
        layer = layer_of_text(text, file)
        validated(layer.content, layer.fault)
        if project is not None:
            own = load_settings()
            _check_project(layer, own.model_dump(), trusted=_is_trusted(file, own.projects.trusted))
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, text)
    except (ValueError, TypeError, AttributeError, OSError) as error:
        raise SettingsError(f"cannot be saved: {error}", file=file) from error
    return file


Origin = Callable[[Sequence[str]], object]
"""Where a key is set; None for a default."""


def settings_text(settings: Settings, origin: Origin = lambda _: None) -> str:
    """The settings as TOML, ready to be put into the settings file.

    Keys without a value stand there as comments; those that are set have where behind them.
    """
    import tomlkit

    document = tomlkit.document()
    for name in Settings.model_fields:
        document.add(name, _table(getattr(settings, name), (name,), origin))
    for name in subjects_with_settings():
        document.add(name, _table(settings.table(name), (name,), origin))
    return tomlkit.dumps(document)


def _table(section: BaseModel | Mapping[str, Any], path: tuple[str, ...], origin: Origin) -> Table:
    import tomlkit

    table = tomlkit.table()
    content = section.model_dump(mode="json") if isinstance(section, BaseModel) else section
    for name, value in sorted(content.items(), key=lambda item: isinstance(item[1], dict)):  # else keys end up in them
        if value is None:
            table.add(tomlkit.comment(f"{name} is not set"))
        elif isinstance(value, dict):
            table.add(name, _table(value, (*path, name), origin))
        else:
            item = tomlkit.item(value)
            if (place := origin((*path, name))) is not None:
                item.comment(str(place))
            table.add(name, item)
    return table


_Allowed = Callable[[Any, Any], bool]
"""Whether a value may stand in the place of the user's own."""


def _any(value: object, own: object) -> bool:
    return True


def _is_name(value: object, own: object) -> bool:
    """Whether a strategy is named, and not file.py:Class, which would be run."""
    return isinstance(value, str) and re.fullmatch(r"[\w-]+", value) is not None


def _is_here(value: object, own: object) -> bool:
    """A device of this machine."""
    return not str(value).strip().lower().startswith("ray")


def _is_none(value: object, own: object) -> bool:
    return value == "none"


def _is_lower(value: object, own: object) -> bool:
    return own is None or (isinstance(value, int | float) and isinstance(own, int | float) and value <= own)


_ALLOWED: dict[str, dict[str, _Allowed]] = {
    "session": {
        "strategy": _is_name,
        "device": _is_here,
        "llm": _is_none,
        "max_calls": _is_lower,
        "max_cost": _is_lower,
        **dict.fromkeys(
            (
                "strategy_options", "search", "rounds", "require_model", "temperature", "max_evaluations",
                "max_seconds", "reply_seconds", "target", "seed", "delta",
            ),
            _any,
        ),
    },
    "model": dict.fromkeys(("temperature", "context_tokens", "structured", "timeout_s"), _any),
}  # fmt: skip
"""What a project that is not trusted may set; all options of strategies as well."""

_OWN = ("screen", "projects", "log")
"""Tables that no project sets, trusted or not."""
_PATHS = (("session", "strategy"), ("build", "nvcc"), ("memory", "file"))
"""Keys whose relative paths begin at the project's file."""


def _is_trusted(file: Path, trusted: Sequence[Path]) -> bool:
    """Whether a project's file lies in or below one of the directories."""
    directory = file.resolve().parent
    return any(directory.is_relative_to(place.expanduser().resolve()) for place in trusted)


def _project_layer(file: Path) -> Layer:
    """What a project's file sets, its paths made those that they are from here.

    Raises:
        SettingsError: it cannot be read, or is not TOML.
    """
    layer = layer_of_file(file)
    for table, key in _PATHS:
        value = layer.content.get(table, {}).get(key) if isinstance(layer.content.get(table), dict) else None
        if isinstance(value, str) and (key != "strategy" or ".py:" in value):
            layer.content[table][key] = str(file.parent / Path(value).expanduser())
    return layer


def _check_project(layer: Layer, own: Mapping[str, Any], *, trusted: bool) -> None:
    """Whether a project's file may set what it sets.

    Args:
        own: what holds without it, as tables.

    Raises:
        SettingsError: it may not.
    """
    for path, value in layer.leaves():
        table, key = str(path[0]), str(path[1]) if len(path) > 1 else ""
        name = ".".join(map(str, path))
        if table in _OWN:
            raise layer.fault(f"{name}: is for your own settings, not for a project's", path, f"in {settings_file()}")
        if trusted or (table == "strategies" and _is_name(key, None)):
            continue
        mine = own.get(table, {}).get(key)
        allowed = _ALLOWED.get(table, {}).get(key)
        if allowed is None or not allowed(value, mine):
            limit = "" if allowed is not _is_lower else f", only lower it: yours is {mine}"
            directory = shlex.quote(str((layer.place(()).file or Path()).parent))
            hint = f"read the file; if you trust whoever writes it: tuner-tui config trust {directory}"
            raise layer.fault(f"{name}: a project may not set this{limit}", path, hint)
