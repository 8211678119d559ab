"""Searching the tunables of one kernel, and freezing those that no longer matter."""
