"""A model chooses configurations round by round; a local search goes on from its best."""
