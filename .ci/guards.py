"""Takes away, one at a time, what holds each attack of docs/trust.md off, and sees the attack's test fail.

Usage: python3 guards.py [--user NAME] [NUMBER ...]

The edits stand in tests/trust/guards.toml and are made in a copy of the project. First the tests run as they are: each
must pass, and leave neither processes nor files. With numbers only the guards of these attacks go; as another user the
copy's tests run with that user's rights.
"""

import argparse
import ctypes
import os
import pwd
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).parents[1]
TABLE = "tests/trust/guards.toml"
ROW = re.compile(r"^\| (\d+) \| .* \| `(tests/[\w/]+\.py::\w+)` \|$", re.MULTILINE)
PYTEST = (sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "-rfEs")
ADOPTS_CHILDREN = 36  # of prctl: what a test leaves behind becomes this process's own
ENDS = 0x4  # of a process's flags: the first one of a namespace ends once we have waited for all others of it
SECONDS = 400
FAILED = 1


def main() -> int:
    """1 if a test passes without its guard, or does not pass with it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--user")
    parser.add_argument("attacks", type=int, nargs="*")
    chosen = parser.parse_args()
    ctypes.CDLL(None).prctl(ADOPTS_CHILDREN, 1, 0, 0, 0)
    tests = {int(number): test for number, test in ROW.findall((ROOT / "docs/trust.md").read_text())}
    guards = [
        g for g in tomllib.loads((ROOT / TABLE).read_text())["guards"] if g["attack"] in (chosen.attacks or tests)
    ]
    with tempfile.TemporaryDirectory(prefix="guards-") as directory:
        copy = Copy(Path(directory), chosen.user)
        whole = sorted({guard.get("test", tests[guard["attack"]]) for guard in guards})
        status, said, left = copy.run(whole, SECONDS * 4)
        told = [line for line in said if line.startswith(("SKIPPED", "FAILED", "ERROR"))]
        print(*told, *said[-1:], *(f"left behind: {name}" for name in left), sep="\n", flush=True)
        faults = int(status != 0 or bool(left))
        for guard in guards:
            faults += not copy.without(guard, guard.get("test", tests[guard["attack"]]))
    print(f"{len(guards)} guards of {len({guard['attack'] for guard in guards})} attacks, {faults} faults")
    return int(faults > 0)


class Copy:
    """A copy of the project in which guards are taken away.

    Args:
        user: whose rights the tests have; None for ours.
    """

    def __init__(self, directory: Path, user: str | None) -> None:
        self.root, self.scratch = directory / "project", directory / "scratch"
        listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
        for name in subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0"):
            if (ROOT / name).is_file():
                (self.root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(ROOT / name, self.root / name)
        self.scratch.mkdir()
        directory.chmod(0o755)  # some tests start a program as another user
        self.identity = {}
        if user is not None:
            entry = pwd.getpwnam(user)
            self.identity = {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
            os.chown(self.scratch, entry.pw_uid, entry.pw_gid)

    def without(self, guard: dict, test: str) -> bool:
        """Whether a test fails without a guard; tells how."""
        before = {name: (self.root / name).read_text() for name, *_ in guard["edits"]}
        for name, old, new in guard["edits"]:
            text = (self.root / name).read_text()
            if text.count(old) != 1:
                sys.exit(f"{TABLE}: attack {guard['attack']}: {old!r} stands {text.count(old)} times in {name}")
            (self.root / name).write_text(text.replace(old, new))
        places = ", ".join(
            f"{name}:{before[name][: before[name].index(old)].count(chr(10)) + 1}" for name, old, _ in guard["edits"]
        )
        try:
            status, said, left = self.run([test], guard.get("seconds", SECONDS))
        finally:
            for name, text in before.items():
                (self.root / name).write_text(text)
        fails = status == FAILED or (status is None and "seconds" in guard)
        why = next((line.strip() for line in said if line.startswith("E ")), said[-1] if said else "no end")
        verdict = "fails" if fails else "DOES NOT FAIL"
        print(
            f"{guard['attack']:>2} {guard['what']} ({places})\n   {test.split('::')[1]} {verdict}: {why[:150]}",
            flush=True,
        )
        if left:
            print(f"   left: {', '.join(left)}", flush=True)
        return fails

    def run(self, tests: list[str], seconds: float) -> tuple[int | None, list[str], list[str]]:
        """Exit status of tests (None where they took too long), what they printed, and what they left."""
        environment = {**os.environ, "PYTHONPATH": str(self.root), "PYTHONDONTWRITEBYTECODE": "1"}
        environment |= {"TMPDIR": str(self.scratch), "HOME": str(self.scratch)}
        # Otherwise examples are kept in the working directory: a warning, and so a failure, where it is not ours.
        environment |= {"HYPOTHESIS_STORAGE_DIRECTORY": str(self.scratch / ".hypothesis")}
        command = [*PYTEST, *tests]
        with tempfile.TemporaryFile("w+") as output:
            process = subprocess.Popen(
                command, cwd=self.root, env=environment, stdout=output, stderr=output, **self.identity
            )
            try:
                status = process.wait(seconds)
            except subprocess.TimeoutExpired:
                status = None
                process.kill()
                process.wait()
            left = _ended_children() + self._left_files()
            output.seek(0)
            return status, output.read().splitlines(), left

    def _left_files(self) -> list[str]:
        left = [path for path in self.scratch.iterdir() if not path.name.startswith(("pytest-of-", "."))]
        for path in self.scratch.glob("pytest-of-*"):
            shutil.rmtree(path, ignore_errors=True)
        for path in left:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        return [path.name for path in left]


def _ended_children() -> list[str]:
    """Ends what became ours, until nothing does any more; the names of it."""
    names = []
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    while found := children.read_text().split():
        for number in found:
            with suppress(OSError):
                fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
                has_ended = fields[0] == "Z" or int(fields[6]) & ENDS
                names += [] if has_ended else [f"{Path(f'/proc/{number}/comm').read_text().strip()} {number}"]
                os.kill(int(number), signal.SIGKILL)
        with suppress(ChildProcessError):
            for _ in found:
                os.waitpid(-1, 0)
    return names


if __name__ == "__main__":
    sys.exit(main())
