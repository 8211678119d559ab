"""Measuring the program itself: how good searches are, and sessions as training data."""

RANDOM = "random"
"""Sampling without replacement and without a start: what the score of a search has as its baseline."""
