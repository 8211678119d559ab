"""Example sessions from which docs/prompts.md takes the prompts."""
