"""What a run of Tensile leaves behind: the tables of GFLOP/s and the solutions they are of."""
