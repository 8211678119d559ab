"""The screen: panes over the stream of events, and the user's answers to proposals."""
