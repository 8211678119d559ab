"""Hosts in Python, which are read as the C that does the same."""
