"""Arithmetic as C writes it, as the expressions of a problem file."""
