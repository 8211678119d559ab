"""Searching the tunables of one kernel, and holding those that no longer matter."""
