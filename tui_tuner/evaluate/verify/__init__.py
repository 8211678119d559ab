"""Whether a launch computed what it should."""
