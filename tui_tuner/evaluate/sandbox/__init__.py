"""Confined child processes for compilers of untrusted source.

Empty of imports: the launcher starts in milliseconds because it loads the standard library only.
"""
