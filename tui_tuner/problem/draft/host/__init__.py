"""The host's code as a program that is read: what its names stand for, what memory it takes, what it launches."""
