"""What matvec.c computes, in NumPy."""


def matvec(A, x, y, rows, columns):
    return A.T @ x
