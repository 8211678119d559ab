"""Reads what a run of Tensile leaves behind: the tables of GFLOP/s and the solutions they are of."""

from tui_tuner.tensile.results.errors import ResultsError
from tui_tuner.tensile.results.find import read_results
from tui_tuner.tensile.results.table import GroupTable, SizeRow

__all__ = ["GroupTable", "ResultsError", "SizeRow", "read_results"]
