"""Kernels written in Python, with Helion or Triton: described, built, checked and timed in a process of their own.

Only what is in `child/` imports torch."""
