"""What matvec.c computes, in NumPy."""


def matvec(A, x, y, rows, columns):  # noqa: N803 - the names of the kernel's arguments
    return A.T @ x
