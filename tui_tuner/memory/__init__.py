"""What earlier sessions found, kept in one local file where the user wants that."""
