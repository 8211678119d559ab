"""Sessions as training data: each reply of a model with what was measured because of it."""
