"""What is tuned: the problem, its files, its expressions and its search space."""
