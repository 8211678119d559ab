"""Prompts: one template a purpose, and the facts that fill it."""
