"""Finds Tensile, runs it in a process group of its own, and says in words how that ended."""
