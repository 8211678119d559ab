import pytest

pytest.register_assert_rewrite("tests.strategies.branch", "tests.strategies.world")
