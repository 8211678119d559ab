"""The questions and messages shown over the panes, one a file."""
