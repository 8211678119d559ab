"""A program that speaks Tensile's command line and files, and looks GFLOP/s up in a table instead of measuring them.

It follows Tensile's rules on its own, from the configuration as PyYAML reads it, and uses nothing of the package that
is tested with it. `write_program` makes it an executable.
"""

from tests.tensile.stand_in.wrapper import write_program

__all__ = ["write_program"]
