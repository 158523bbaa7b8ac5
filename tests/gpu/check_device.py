"""The laws of ``tests/gpu`` on a CUDA device, counts against NumPy in whole numbers.

    python tests/gpu/check_device.py

Not run by CI, which has no such device.
"""

import numpy as np
import torch

import trueness
from trueness.gpu.tallies import device_tally

rng = np.random.default_rng(0)


def check_counts(labels, scores):
    """Compare counts and answers of a device with those of the host."""
    on_device = device_tally(labels, scores)
    known = labels.double().cpu().numpy()
    labels_on_host = np.where(np.isnan(known), None, known == 1)
    on_host = trueness.tally(labels_on_host, scores.double().cpu().numpy())

    assert on_device.to_host() == on_host, (scores.dtype, len(scores))
    if on_device.n_pos and on_device.n_neg:
        check_answers(on_device, on_host)


def check_answers(on_device, on_host):
    one, other = trueness.auc(on_device), trueness.auc(on_host)
    assert one.value == other.value
    np.testing.assert_allclose([one.low, one.high], [other.low, other.high], rtol=1e-9)

    for metric in ("f1", "youden"):
        one, other = (
            trueness.best_threshold(counts, metric, "recall >= 0.7")
            for counts in (on_device, on_host)
        )
        assert one.value == other.value
        assert one.score_range == other.score_range

    one, other = (trueness.confusion(counts, 0.3) for counts in (on_device, on_host))
    assert one == other

    one, other = map(trueness.average_precision, (on_device, on_host))
    np.testing.assert_allclose(one.value, other.value, rtol=1e-12)
    np.testing.assert_allclose([one.low, one.high], [other.low, other.high], rtol=1e-9)


def scores_with_ties(y, kind):
    """Return scores with ties, both zeros and a subnormal number of the type."""
    s = rng.normal(y, 1)
    s[::3] = np.round(s[::3], 1)
    s[:4], s[4:8] = -0.0, 0.0
    if len(s) > 8:
        s[8] = float(torch.finfo(kind).smallest_normal) / 4
    return torch.tensor(s, device="cuda").to(kind)


def check_all_types():
    for kind in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        for n in (1, 2, 3, 1000, 1025, 300_000, 3_000_001):
            y = rng.random(n) < rng.choice([0.02, 0.3, 0.9])
            scores = scores_with_ties(y, kind)
            check_counts(torch.tensor(y, device="cuda"), scores)
            partly_known = np.where(rng.random(n) < 0.1, np.nan, y)
            check_counts(torch.tensor(partly_known, device="cuda"), scores)
            print(kind, n)


def check_ties_and_separation():
    y = rng.random(2_000_000) < 0.5
    s = np.where(rng.random(y.size) < 0.5, 0.25, rng.random(y.size) + 2 * y)
    scores = torch.tensor(s, device="cuda")
    check_counts(torch.tensor(y, device="cuda"), scores)
    check_counts(torch.tensor(~y, device="cuda"), scores.float())

    for bad in (np.inf, np.nan):
        scores[7] = bad
        try:
            device_tally(torch.tensor(y, device="cuda"), scores)
        except trueness.InputError as err:
            print(err)
        else:
            raise AssertionError("not refused")


def check_more_cases_than_are_sorted_at_once():
    n = 2**31 + 5
    y = torch.arange(n, device="cuda") % 3 == 0
    scores = torch.rand(n, device="cuda", dtype=torch.float32)
    on_device = device_tally(y, scores)
    assert (on_device.n, on_device.n_pos) == (n, int(y.sum()))
    area = trueness.auc(on_device)
    print(n, area, "f1", trueness.best_threshold(on_device, "f1").value)
    assert 0.4999 < area.value < 0.5001


def main():
    check_all_types()
    check_ties_and_separation()
    check_more_cases_than_are_sorted_at_once()
    print("all the same")


if __name__ == "__main__":
    main()
