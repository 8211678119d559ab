"""Tensile and TensileLite: their benchmark configurations, how they are edited, run and read."""
