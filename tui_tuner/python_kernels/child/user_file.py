"""The user's file, loaded as Python loads it, and what it says of its kernels.

    arguments()        the kernel's arguments, a tuple (or a dictionary by name, for Triton); or ARGUMENTS. Without them
                       the launches say them that the file makes when it is run (`seen`)
    reference(*args)   optional: what is right, a tensor or several
    grid(meta)         Triton only: the grid, as in `kernel[grid](...)`
    CONFIGS            Triton only: the list of configurations, where the kernel has no @triton.autotune

In a file with several kernels each of these may be one kernel's own: `arguments_NAME`, `reference_NAME`, and so on.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType

import torch

from tui_tuner.errors import ProblemError
from tui_tuner.problem.toml_file import read_text
from tui_tuner.python_kernels.child.kernel import Arguments
from tui_tuner.text import suggestion


class UserFile:
    """A loaded file.

    Args:
        host: a script that launches its kernels, and imports them where it stands.

    Attributes:
        module_name: what imports call it, as "package.kernels.softmax".

    Raises:
        ProblemError: it cannot be loaded.
    """

    def __init__(self, file: Path, host: Path | None = None) -> None:
        self.file = file
        folder, self.module_name = placed(file, host)
        for each in (folder, *([] if host is None else [host.parent])):
            sys.path.insert(0, str(each))  # its imports work as in `python kernel.py`, or in the script's
        self.module = self._loaded()

    def _loaded(self) -> ModuleType:
        try:
            return _module_of(self.file, self.module_name)
        except ProblemError:
            raise
        except ImportError as error:
            hint = "install what it imports; for Helion: pip install 'tuner-tui[helion]'"
            if "relative import" in str(error):
                hint = "it is a part of a package: put it in its place there, or name a script above that: --host FILE"
            raise self.error(error, "cannot be loaded", hint=hint) from None
        except Exception as error:
            raise self.error(error, "cannot be loaded") from None

    def error(self, error: Exception, what: str, *, hint: str | None = None) -> ProblemError:
        """An exception of the file's code, with the line it comes from."""
        return error_of_file(self.file, error, what, hint=hint)

    @property
    def says_arguments(self) -> bool:
        """Whether it has arguments, of one of its kernels at least."""
        return any(name.partition("_")[0] in ("arguments", "ARGUMENTS") for name in vars(self.module))

    def member(self, name: str, kernel: str) -> object | None:
        """What the file calls `name_kernel`, else `name`; None where it has neither."""
        return getattr(self.module, f"{name}_{kernel}", getattr(self.module, name, None))

    def arguments(self, kernel: str, seed: int) -> Arguments | dict[str, object]:
        """Arguments made afresh, from a seed where the file leaves that to torch.

        Raises:
            ProblemError: there are none.
        """
        made = self.member("arguments", kernel)
        if made is None:
            made = self.member("ARGUMENTS", kernel)
        if made is None:
            hint = f"write `def arguments_{kernel}():` that returns a tuple of the tensors and values to tune with"
            raise ProblemError(f"says nothing about the arguments of '{kernel}'", hint=hint, file=self.file)
        if callable(made):
            torch.manual_seed(seed)
            made = self.call(made, "arguments() fails")
        if isinstance(made, dict):
            return made
        return tuple(made) if isinstance(made, tuple | list) else (made,)

    def reference(self, kernel: str, arguments: Arguments) -> object | None:
        """What `reference(*arguments)` gives; None without one."""
        function = self.member("reference", kernel)
        return self.call(lambda: function(*arguments), "reference() fails") if callable(function) else None

    def call(self, function: Callable[[], object], failing: str) -> object:
        """The result of code of the file.

        Raises:
            ProblemError: it raises.
        """
        try:
            return function()
        except Exception as error:
            raise self.error(error, failing) from None

    def chosen(self, kernels: Mapping[str, object], wanted: str | None) -> str:
        """The name of the kernel to tune.

        Raises:
            ProblemError: there is none, or several and no name.
        """
        if wanted is not None:
            if wanted in kernels:
                return wanted
            raise ProblemError(f"has no kernel '{wanted}'", hint=suggestion(wanted, kernels, "kernels"), file=self.file)
        if len(kernels) == 1:
            return next(iter(kernels))
        if kernels:
            hint = f"name one of them, as in {self.file.name}:{next(iter(kernels))}"
            raise ProblemError(f"has several kernels: {', '.join(kernels)}", hint=hint, file=self.file)
        hint = "decorate one with @helion.kernel, or with @triton.autotune over @triton.jit"
        raise ProblemError("has no kernel that can be tuned", hint=hint, file=self.file)


def placed(file: Path, host: Path | None) -> tuple[Path, str]:
    """The folder from which a file is imported, and what it is called from there: it may be part of a package.

    One with relative imports whose folders have no `__init__.py` is imported from where the script stands.
    """
    folder = file.parent
    while (folder / "__init__.py").is_file():
        folder = folder.parent
    if folder == file.parent and host is not None and host.parent in file.parents and _RELATIVE.search(read_text(file)):
        folder = host.parent
    parts = file.relative_to(folder).with_suffix("").parts
    return folder, ".".join(parts if parts[-1] != "__init__" else parts[:-1])


_RELATIVE = re.compile(r"^\s*from \.", re.MULTILINE)


def _module_of(file: Path, name: str) -> ModuleType:
    """The file as a module, once its package is loaded; alone where that cannot be and the file does not need it.

    Raises:
        Exception: whatever it raises when it is loaded.
    """
    if package := name.rpartition(".")[0]:
        try:
            importlib.import_module(package)
        except ImportError:
            if _RELATIVE.search(read_text(file)):
                raise
            sys.path.insert(0, str(file.parent))
            name = file.stem
        known = sys.modules.get(name)  # the package imports it itself
        if known is not None and Path(known.__file__ or "").resolve() == file.resolve():
            return known
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ProblemError("cannot be loaded as a Python module", file=file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def error_of_file(file: Path, error: Exception, what: str, *, hint: str | None = None) -> ProblemError:
    """An exception of a file's code, with the line it comes from."""
    frames = traceback.extract_tb(error.__traceback__)
    line = next((frame.lineno for frame in reversed(frames) if Path(frame.filename) == file), None)
    if isinstance(error, SyntaxError):
        line = error.lineno
    reason = f"{type(error).__name__}: {error}".strip().partition("\n")[0]
    return ProblemError(f"{what}: {reason}", hint=hint, file=file, line=line)
