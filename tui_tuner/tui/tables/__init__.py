"""Tables of any number of rows, and the one of evaluations."""
