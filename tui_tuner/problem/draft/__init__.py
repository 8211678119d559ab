"""A first problem file for a kernel that has none: what signature, body and host code say, and what is guessed."""
