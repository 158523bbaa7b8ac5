"""Scores that arrive in batches are counted as if they came at once."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from trueness.data import batches as _keys
from trueness.data.batches import KeyCounter, from_keys, to_keys


@given(
    st.sampled_from([np.float32, np.float64]).flatmap(
        lambda kind: hnp.arrays(
            kind,
            st.integers(0, 40),
            elements=st.floats(
                allow_nan=False, allow_infinity=False, width=8 * kind().itemsize
            ),
        )
    )
)
def test_keys_keep_the_order_and_the_value(score):
    keys = to_keys(score)
    assert np.array_equal(from_keys(keys, score.dtype), score + 0.0)
    order = np.argsort(keys, kind="stable")
    assert np.all(np.diff(score[order].astype(object)) <= 0)
    assert np.unique(keys).size == np.unique(score).size


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("levels", [3, 400, None])
def test_batches_count_as_one(monkeypatch, rng, dtype, levels):
    monkeypatch.setattr(_keys, "_BLOCK", 1000)
    monkeypatch.setattr(_keys, "_RANGE", 640)
    n = 50_000
    score = rng.normal(size=n)
    score = (score if levels is None else np.round(score * levels) / levels).astype(
        dtype
    )
    score[: n // 3] = score[0]  # one score as heavy as many blocks
    pile = rng.integers(0, 3, n)
    counter = KeyCounter(dtype)
    for part in np.array_split(np.arange(n), 37):
        for k in range(3):
            counter.add(score[part][pile[part] == k], k)
    found, counts = counter.result()
    counter.close()
    value, row = np.unique(score + dtype(0), return_inverse=True)
    assert np.array_equal(found, value[::-1].astype(np.float64))
    for k in range(3):
        expected = np.bincount(row[pile == k], minlength=value.size)[::-1]
        assert np.array_equal(counts[k], expected)


def test_nothing_added():
    counter = KeyCounter(np.float32)
    score, counts = counter.result()
    counter.close()
    assert score.size == 0
    assert counts == {}
