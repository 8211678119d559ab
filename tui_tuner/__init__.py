"""Tune GPU kernels: a language model proposes, the machine decides."""

__version__ = "0.1.0"
