"""The text of a first draft, each line with how sure it is."""
