"""The four panes of the main screen, and what they are made of."""
