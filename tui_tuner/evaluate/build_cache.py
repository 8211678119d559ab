"""Built artifacts and their records in a directory, by content, and the work directories of builds."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from pydantic import ValidationError

from tui_tuner.evaluate.results import Build

_WORK, _NEW = "work-", ".new-"


class BuildCache:
    """Finished builds, failed ones included.

    Args:
        directory: made if it is missing, readable by its owner only.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def load(self, key: str) -> Build | None:
        """The build with this key and the time it once took; None if missing, damaged or without its artifact."""
        try:
            build = Build.model_validate_json(self._record(key).read_bytes())
        except (OSError, ValidationError):
            return None
        artifact = build.artifact and self._directory / build.artifact
        if build.key != key or (build.failure is None and not (artifact and artifact.is_file())):
            return None
        return build.model_copy(update={"artifact": artifact and str(artifact), "cached": True})

    def store(self, build: Build, artifact: Path | None = None) -> Build:
        """Keep a build; the record appears last and at once, so a broken write is never read.

        Args:
            build: without an artifact of its own yet.
            artifact: the file to keep.

        Returns:
            The build with the kept artifact's path.
        """
        self._make()
        name = None if artifact is None else f"{build.key}{artifact.suffix}"
        if artifact is not None and name is not None:
            self._write(self._directory / name, artifact.read_bytes())
        record = build.model_copy(update={"artifact": name})
        self._write(self._record(build.key), record.model_dump_json().encode())
        return build.model_copy(update={"artifact": name and str(self._directory / name)})

    def work_directory(self) -> tempfile.TemporaryDirectory[str]:
        """A new directory to build in, by its absolute path."""
        self._make()
        return tempfile.TemporaryDirectory(dir=self._directory.resolve(), prefix=_WORK, ignore_cleanup_errors=True)

    def remove_leftovers(self) -> None:
        """Remove what a killed process was working on; no other process may be building into this cache."""
        for directory in self._directory.glob(f"{_WORK}*"):
            shutil.rmtree(directory, ignore_errors=True)
        for file in self._directory.glob(f"{_NEW}*"):
            file.unlink(missing_ok=True)

    def _make(self) -> None:
        self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)

    def _record(self, key: str) -> Path:
        return self._directory / f"{key}.json"

    def _write(self, path: Path, content: bytes) -> None:
        descriptor, name = tempfile.mkstemp(dir=self._directory, prefix=_NEW)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
