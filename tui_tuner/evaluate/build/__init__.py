"""Configurations become programs: confined, many at once, each only once."""
