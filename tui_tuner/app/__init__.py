"""A session made from choices, for command line, screen and Python alike."""
