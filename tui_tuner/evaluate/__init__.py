"""Evaluation: confined builds, verification against a reference, measurement."""
