"""The results of one size group: one row a problem size, one speed a solution."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class SizeRow:
    """One row of a table: one problem, run once with every solution.

    Attributes:
        size: the problem's indices, as in `Exact`.
        strides: LDD, LDC, LDA and LDB, where the table tells them.
        total_flops: floating-point operations of the problem; None where it is not told.
        gflops: speed by solution, in GFLOP/s (per compute unit where the table's metric says so); None for a
            solution that failed, was not run, or was skipped as slow.
        failed: solutions that gave wrong results, or that Tensile refused to run at this size.
        winner: the fastest solution; None where none has a speed.
        microseconds: of the winner's launch; None where it cannot be told.
        fields: what else the table says of the problem, as its bias or activation, by column.
        line: of the file, counted from 1.
    """

    size: tuple[int, ...]
    strides: dict[str, int]
    total_flops: int | None
    gflops: dict[str, float | None]
    failed: frozenset[str]
    winner: str | None
    microseconds: float | None
    fields: dict[str, str] = field(default_factory=dict)
    line: int = 0

    @property
    def winner_gflops(self) -> float | None:
        """The winner's speed."""
        return None if self.winner is None else self.gflops[self.winner]


@dataclass(frozen=True)
class GroupTable:
    """What one size group gave.

    Attributes:
        name: of the problem type with the group's number, as in `Cijk_Ailk_Bljk_HB_00`.
        number: of the group in its problem, the `_NN` of the file's name.
        metric: `GFlops`, or `GFlopsPerCU` where speeds are a compute unit's share.
        rows: in the order of the file; a problem that was benchmarked several times has several.
        solutions: parameters by solution, in Tensile's order.
        notes: what a reader should know, as a winner that Tensile names otherwise.
    """

    name: str
    number: int
    metric: str
    rows: list[SizeRow]
    solutions: dict[str, dict[str, object]]
    notes: list[str] = field(default_factory=list)
