"""Scripts that write documents from what the program does."""
