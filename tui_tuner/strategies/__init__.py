"""Tuning strategies, one a file."""
