"""Products in pieces, against the plain ones."""

import numpy as np
import pytest

from trueness.nogold.sampling import products as _products

SHAPES = [(0, 3, 2), (5, 3, 2), (1000, 14, 300), (40_000, 3, 8), (7, 500, 900)]


@pytest.mark.parametrize(("n", "i", "j"), SHAPES)
def test_products_are_those_of_numpy(rng, n, i, j):
    a, b, c = (rng.normal(size=s) for s in ((n, i), (i, j), (n, j)))
    assert np.allclose(_products.product(a, b), a @ b, atol=1e-9)
    assert np.allclose(_products.product(a, b[:, 0]), a @ b[:, 0], atol=1e-9)
    assert np.allclose(_products.gram(a, c), a.T @ c, atol=1e-9)
    assert np.allclose(_products.dot(a[:, 0], c[:, 0]), a[:, 0] @ c[:, 0], atol=1e-9)


def test_what_is_not_contiguous_is_multiplied_all_the_same(rng):
    a, b = rng.normal(size=(3, 90_000)).T, rng.normal(size=(3, 4))
    assert np.allclose(_products.product(a, b), a @ b, atol=1e-9)
    assert np.allclose(_products.gram(a[::2], a[1::2]), a[::2].T @ a[1::2], atol=1e-9)


def test_pieces_stay_below_the_size_at_which_blas_wakes_its_threads(monkeypatch):
    """Every product that is handed to NumPy is at most ``SINGLE`` multiplications."""
    sizes = []
    plain = np.matmul

    def watched(a, b, **rest):
        sizes.append(a.shape[-2] * a.shape[-1] * b.shape[-1])
        return plain(a, b, **rest)

    monkeypatch.setattr(np, "matmul", watched)
    _products.product(np.ones((40_000, 14)), np.ones((14, 300)))
    assert sizes
    assert max(sizes) <= _products.SINGLE
