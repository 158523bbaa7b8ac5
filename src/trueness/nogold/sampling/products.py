"""How are tall, thin matrices multiplied without waking threads?

BLAS splits a product among threads once it passes a certain size. For matrices of a few
columns there is nothing to gain from it, and on a busy machine each call waits for
threads that got no turn: milliseconds in place of microseconds. So products are made in
pieces below that size, which NumPy walks through in one call, and sums by ``einsum``,
which has no threads.
"""

from __future__ import annotations

import numpy as np

from trueness._core.arrays import Array, Floats

# products up to this many multiplications are made by one thread: OpenBLAS,
# interface/gemm.c, SMP_THRESHOLD_MIN * GEMM_MULTITHREAD_THRESHOLD
SINGLE = 65_536 * 4
# pieces of fewer rows than this are no longer thin: threads are then of use
FEWEST = 8


def product(a: Array, b: Array) -> Floats:
    """Multiply (n, i) by (i, j) or by (i,), by one thread if i and j are small.

    >>> product(np.eye(3), np.arange(6.0).reshape(3, 2)).tolist()
    [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
    """
    if b.ndim == 1:
        return np.asarray(np.einsum("...i,i->...", a, b))
    rows = SINGLE // max(b.size, 1)
    if len(a) <= rows or rows < FEWEST:
        return np.asarray(a @ b)
    whole = len(a) // rows * rows
    out = np.empty((len(a), b.shape[1]))
    np.matmul(_pieces(a[:whole], rows), b, out=_pieces(out[:whole], rows))
    np.matmul(a[whole:], b, out=out[whole:])
    return out


def gram(a: Array, b: Array) -> Floats:
    """Sum the outer products of the rows of (n, i) and (n, j): a transposed, times b.

    >>> gram(np.ones((4, 2)), np.arange(4.0)[:, None]).tolist()
    [[6.0], [6.0]]
    """
    rows = SINGLE // max(a.shape[1] * b.shape[1], 1)
    if len(a) <= rows or rows < FEWEST:
        return np.asarray(a.T @ b)
    whole = len(a) // rows * rows
    parts = _pieces(a[:whole], rows).swapaxes(1, 2) @ _pieces(b[:whole], rows)
    return np.asarray(parts.sum(axis=0) + a[whole:].T @ b[whole:])


def dot(a: Array, b: Array) -> float:
    """Multiply two vectors.

    >>> dot(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    11.0
    """
    return float(np.einsum("i,i->", a, b))


def _pieces(a: Array, rows: int) -> Array:
    return a.reshape(-1, rows, a.shape[1])
