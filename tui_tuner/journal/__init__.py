"""The journal of a session: its format, its lock, what is recalled from it, and the one way in which it is read."""
