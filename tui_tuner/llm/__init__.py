"""Language models behind one seam: thin adapters, a retry policy, typed replies."""
