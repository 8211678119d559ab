"""The user's Python file: loaded, and what it offers by convention.

    arguments()        the kernel's arguments, a tuple (or a dictionary by name, for Triton); or ARGUMENTS
    reference(*args)   optional: what is right, a tensor or several
    grid(meta)         Triton only: the grid, as in `kernel[grid](...)`
    CONFIGS            Triton only: the list of configurations, where the kernel has no @triton.autotune

In a file with several kernels each of these may be one kernel's own: `arguments_NAME`, `reference_NAME`, and so on.
"""

from __future__ import annotations

import importlib.util
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import torch

from tui_tuner.errors import ProblemError
from tui_tuner.evaluate.python_kernels.child.kernel import Arguments
from tui_tuner.problem.nearest import suggestion


class UserFile:
    """A loaded file.

    Raises:
        ProblemError: it cannot be loaded.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        sys.path.insert(0, str(file.parent))  # its imports work as in `python kernel.py`
        self.module = self._loaded()

    def _loaded(self) -> ModuleType:
        spec = importlib.util.spec_from_file_location(self.file.stem, self.file)
        if spec is None or spec.loader is None:
            raise ProblemError("cannot be loaded as a Python module", file=self.file)
        module = importlib.util.module_from_spec(spec)
        sys.modules[self.file.stem] = module
        try:
            spec.loader.exec_module(module)
        except ImportError as error:
            hint = "install what it imports; for Helion: pip install 'tuner-tui[helion]'"
            raise self.error(error, "cannot be loaded", hint=hint) from None
        except Exception as error:
            raise self.error(error, "cannot be loaded") from None
        return module

    def error(self, error: Exception, what: str, *, hint: str | None = None) -> ProblemError:
        """An exception of the file's code, with the line it comes from."""
        frames = traceback.extract_tb(error.__traceback__)
        line = next((frame.lineno for frame in reversed(frames) if Path(frame.filename) == self.file), None)
        if isinstance(error, SyntaxError):
            line = error.lineno
        reason = f"{type(error).__name__}: {error}".strip().partition("\n")[0]
        return ProblemError(f"{what}: {reason}", hint=hint, file=self.file, line=line)

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
            hint = "write `def arguments():` that returns a tuple of the tensors and values to tune with"
            raise ProblemError("says nothing about the kernel's arguments", hint=hint, file=self.file)
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

    def chosen(self, kernels: dict[str, object], wanted: str | None) -> str:
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
