"""The screen of a bare `tuner-tui`."""
