"""A plug-in of pytest, `-p tests.shuffled`: files in random order, and the tests of a file, by a seed that is printed.

What the tests of a file share is still made once, as they stay together.
"""

from __future__ import annotations

import os
import random
import time
from itertools import groupby

import pytest

VARIABLE = "SHUFFLED_SEED"  # of none of the names that the program looks at


def pytest_configure() -> None:
    """Choose a seed; workers inherit it, as all of them must see the same order."""
    os.environ.setdefault(VARIABLE, str(int(time.time())))


def pytest_report_header() -> str:
    return f"shuffled: {VARIABLE}={os.environ[VARIABLE]}"


@pytest.hookimpl(tryfirst=True)  # before pytest brings those together that share a parameter of a fixture
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    rng = random.Random(int(os.environ[VARIABLE]))  # noqa: S311 (an order, no secret)
    files = [list(tests) for _, tests in groupby(items, lambda item: item.path)]
    rng.shuffle(files)
    for tests in files:
        rng.shuffle(tests)
    items[:] = [test for tests in files for test in tests]
