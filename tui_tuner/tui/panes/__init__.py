"""The four panes, one a file."""
