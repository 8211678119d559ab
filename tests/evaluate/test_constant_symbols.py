"""What constant memory is called in built code."""

from __future__ import annotations

from tui_tuner.evaluate.devices import constant_symbols


def test_a_variable_in_namespaces_has_their_names_before_its_own_and_may_be_found_without():
    assert constant_symbols("w") == ("w", "_ZL1w")
    assert constant_symbols("outer::in::table") == (
        "table",
        "_ZL5table",
        "_ZN5outer2in5tableE",
        "_ZN5outer2inL5tableE",
    )
