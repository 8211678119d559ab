"""Kernels written in Python, with Helion or Triton: described, built, checked and timed in a process of their own.

Modules with the prefix `child_` import torch. They are loaded in that process, and where Helion itself calls this
program (`tui_tuner.helion`).
"""
