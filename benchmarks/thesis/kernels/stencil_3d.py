"""What stencil_3d.cu computes, in NumPy and with torch."""

RADIUS = 4


def stencil_3d(input, coefficients, output, nx, ny, nz):
    def moved(axis, by):
        starts = [RADIUS + (by if axis == each else 0) for each in range(3)]
        return input[tuple(slice(start, start + n) for start, n in zip(starts, (nz, ny, nx), strict=True))]

    total = coefficients[0] * moved(0, 0)
    for r in range(1, RADIUS + 1):
        total = total + coefficients[r] * sum(moved(axis, by) for axis in range(3) for by in (-r, r))
    return total
