"""Confined child processes for compilers of untrusted source.

Empty of imports: the launcher loads the standard library only, and is forked for every build.
"""
