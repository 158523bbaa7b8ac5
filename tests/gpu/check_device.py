"""The laws of ``tests/gpu`` on a CUDA device, counts against NumPy in whole numbers.

    python tests/gpu/check_device.py

Not run by CI, which has no such device.
"""

import numpy as np
import torch

import trueness
from trueness.gpu import arrays, kernels
from trueness.gpu.counting import DeviceTally, device_tally

rng = np.random.default_rng(0)


def plain(x):
    """Add up without the kernel."""
    real = arrays.kernels_for
    arrays.kernels_for = lambda _: None
    try:
        return arrays.sums_of(x.lib, x.pos, x.neg, 0.7)
    finally:
        arrays.kernels_for = real


def same(y, s, kind, labels=None):
    scores = torch.tensor(s, device="cuda").to(kind)
    host = scores.double().cpu().numpy()
    labels = torch.tensor(y, device="cuda") if labels is None else labels
    found = device_tally(labels, scores)
    known = labels.double().cpu().numpy()
    expected = trueness.tally(np.where(np.isnan(known), None, known == 1), host)
    whole = found.to_host() if isinstance(found, DeviceTally) else found
    assert whole == expected, (kind, len(y))
    if isinstance(found, DeviceTally) and found.n_pos and found.n_neg:
        ours, theirs = trueness.auc(found), trueness.auc(expected)
        assert ours.value == theirs.value
        np.testing.assert_allclose([ours.low, ours.high], [theirs.low, theirs.high],
                                   rtol=1e-9)  # fmt: skip
        one, other = arrays.sums_of(found.lib, found.pos, found.neg, 0.7), plain(found)
        assert one[:3] == other[:3], (one, other)
        assert abs(one[3] / other[3] - 1) < 1e-12
        check_answers(found, expected)
    return type(found).__name__


def check_answers(d, t):
    for f in ("f1", "youden"):
        one, other = (trueness.best_threshold(x, f, "recall >= 0.7") for x in (d, t))
        assert one.value == other.value
        assert one.score_range == other.score_range
    assert trueness.confusion(d, 0.3) == trueness.confusion(t, 0.3)
    a, b = trueness.average_precision(d), trueness.average_precision(t)
    np.testing.assert_allclose(a.value, b.value, rtol=1e-12)
    np.testing.assert_allclose([a.low, a.high], [b.low, b.high], rtol=1e-3)


def main():
    assert kernels.kernels_for(torch.zeros(1, device="cuda")) is not None
    kinds = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
    for kind in kinds:
        for n in (1, 2, 3, 1000, 1025, 300_000, 3_000_001):
            y = rng.random(n) < rng.choice([0.02, 0.3, 0.9])
            s = rng.normal(y, 1)
            s[::3] = np.round(s[::3], 1)
            s[:4], s[4:8] = -0.0, 0.0
            if n > 8:
                s[8] = float(torch.finfo(kind).smallest_normal) / 4
            labels = torch.tensor(np.where(rng.random(n) < 0.1, np.nan, y))
            print(kind, n, same(y, s, kind), same(y, s, kind, labels.cuda()))
    y = rng.random(2_000_000) < 0.5  # a tie across many blocks, the classes apart
    s = np.where(rng.random(y.size) < 0.5, 0.25, rng.random(y.size) + 2 * y)
    print("tied and apart", same(y, s, torch.float64), same(~y, s, torch.float32))
    for bad in (np.inf, np.nan):
        s[7] = bad
        try:
            same(y, s, torch.float32)
        except trueness.InputError as err:
            print(err)
        else:
            raise AssertionError("not refused")
    n = 2**31 + 5
    y = torch.arange(n, device="cuda") % 3 == 0
    s = torch.rand(n, device="cuda", dtype=torch.float32)
    d = device_tally(y, s)
    assert (d.n, d.n_pos) == (n, int(y.sum()))
    value = trueness.auc(d)
    print(n, value, "f1", trueness.best_threshold(d, "f1").value)
    assert 0.4999 < value.value < 0.5001
    print("all the same")


if __name__ == "__main__":
    main()
