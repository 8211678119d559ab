"""Built artifacts and their records in a directory, by content."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from pydantic import ValidationError

from tui_tuner.evaluate.results import Build


class BuildCache:
    """Finished builds, failed ones included; several processes may share the directory.

    Args:
        directory: made if it is missing, readable by its owner only.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def load(self, key: str) -> Build | None:
        """The build with this key, or None where it is missing, damaged or without its artifact."""
        try:
            build = Build.model_validate_json(self._record(key).read_bytes())
        except (OSError, ValidationError):
            return None
        artifact = build.artifact and self._directory / build.artifact
        if build.key != key or (build.failure is None and not (artifact and artifact.is_file())):
            return None
        return build.model_copy(update={"artifact": artifact and str(artifact), "cached": True, "milliseconds": 0.0})

    def store(self, build: Build, artifact: Path | None = None) -> Build:
        """Keep a build; the record appears last and at once, so a broken write is never read.

        Args:
            build: without an artifact of its own yet.
            artifact: the file to keep.

        Returns:
            The build with the kept artifact's path.
        """
        self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        name = None if artifact is None else f"{build.key}{artifact.suffix}"
        if artifact is not None and name is not None:
            self._write(self._directory / name, artifact.read_bytes())
        record = build.model_copy(update={"artifact": name})
        self._write(self._record(build.key), record.model_dump_json().encode())
        return build.model_copy(update={"artifact": name and str(self._directory / name)})

    def _record(self, key: str) -> Path:
        return self._directory / f"{key}.json"

    def _write(self, path: Path, content: bytes) -> None:
        descriptor, name = tempfile.mkstemp(dir=self._directory, prefix=".new-")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
