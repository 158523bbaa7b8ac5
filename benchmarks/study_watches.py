"""How often does a watch cry without need, and how late does it see a drop?

``python benchmarks/study_watches.py [streams] [looks]`` prints the tables of
``docs/maths/watches.md``: streams that are exactly on their bound, looked at after
every single case, and streams that fall by .02, .05 and .10 beside a fixed-sample test
and a daily 5 % test.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from scipy.special import betainc, betaln, xlog1py, xlogy
from scipy.stats import binom, norm

import trueness
from trueness.watches.evidence import BETS, share_evidence
from trueness.watches.ranks import rank_wealth

LINE = np.log(20)


def share_paths(k, n, bound):
    """The evidence of ``share_evidence`` for arrays of counts (checked below)."""
    a, b = k + 1.0, n - k + 1.0
    with np.errstate(divide="ignore"):
        top = betaln(a, b) + np.log(betainc(a, b, bound)) - np.log(bound)
    return top - xlogy(k, bound) - xlog1py(n - k, -bound)


def shares(streams, looks, rng):
    for true in (0.5, 0.9, 0.99):
        x = rng.random((streams, looks)) < true
        n = np.arange(1, looks + 1)
        path = share_paths(x.cumsum(1), n, true)
        assert np.isclose(
            path[0, 50], share_evidence(float(x[0, :51].sum()), 51.0, true, 1)
        )
        yield f"share, exactly {true}", (path.max(1) >= LINE).mean()


def aucs(streams, looks, rng):
    """Single cases: blocks end when both classes are there."""
    for true in (0.7, 0.9):
        gap = np.sqrt(2) * norm.ppf(true)
        cried = 0
        for _ in range(streams):
            y = rng.random(looks) < 0.3
            s = rng.normal(size=looks) + gap * y
            k = n = 0.0
            start = 0
            peak = -np.inf
            kk, nn = [], []
            for i in range(looks):
                block = y[start : i + 1]
                if block.any() and not block.all():
                    pos, neg = s[start : i + 1][block], s[start : i + 1][~block]
                    m = min(pos.size, neg.size)
                    k += m * (pos[:, None] > neg).mean()
                    n += m
                    start = i + 1
                    kk.append(k)
                    nn.append(n)
            peak = share_paths(np.array(kk), np.array(nn), true).max()
            cried += peak >= LINE
        yield f"AUC, exactly {true}", cried / streams


def briers(streams, looks, rng):
    """Calibrated scores, uniform in 0 to 1: the Brier score is exactly 1/6."""
    psi = -np.log1p(-BETS) - BETS
    cried = 0
    for _ in range(streams):
        p = rng.random(looks)
        y = rng.random(looks) < p
        x = (y - p) ** 2 - 1 / 6
        one, two = x.cumsum(), (x**2).cumsum()
        paths = BETS[:, None] * one - psi[:, None] * two
        cried += (np.logaddexp.reduce(paths, 0) - np.log(BETS.size)).max() >= LINE
    yield "Brier score, exactly 1/6", cried / streams


def calibrations(streams, looks, rng):
    bets = np.tile(np.concatenate([BETS, -BETS]), 2)
    cried = 0
    for _ in range(streams):
        p = rng.random(looks)
        y = rng.random(looks) < p
        h = np.repeat([np.ones(looks), 2 * p - 1], 2 * BETS.size, axis=0)
        paths = np.log1p(bets[:, None] * h * (y - p)).cumsum(1)
        cried += (np.logaddexp.reduce(paths, 0) - np.log(bets.size)).max() >= LINE
    yield "calibration, exact", cried / streams


def ranks(streams, looks, rng):
    """Scores as before, with ties; looked at after every hundred."""
    cried = 0
    for _ in range(streams):
        old, counts = np.unique(rng.normal(size=500).round(1), return_counts=True)
        total = np.zeros(30)
        peak = -np.inf
        for _ in range(looks // 100):
            new = rng.normal(size=100).round(1)
            total += rank_wealth(old, counts * 1.0, new, rng)
            both, where = np.unique(np.concatenate([old, new]), return_inverse=True)
            counts = np.bincount(where, np.concatenate([counts, np.ones(100)]))
            old = both
            peak = max(peak, np.logaddexp.reduce(total) - np.log(30))
        cried += peak >= LINE
    yield "scores unchanged, ties", cried / streams


def delays(streams, rng):
    """Recall must be .90 and falls at once: how many positives until the alarm?"""
    print("\n| recall falls to | watch, median positives | fixed test, 80 % power |")
    print("| --- | --- | --- |")
    for true in (0.88, 0.85, 0.80):
        x = rng.random((streams, 20_000)) < true
        n = np.arange(1, 20_001)
        late = share_paths(x.cumsum(1), n, 0.9) >= LINE
        first = np.where(late.any(1), late.argmax(1) + 1, 20_001)
        sizes = np.unique(np.geomspace(10, 20_000, 400).astype(int))
        cut = binom.ppf(0.05, sizes, 0.9) - 1
        fixed = sizes[np.argmax(binom.cdf(cut, sizes, true) >= 0.8)]
        print(f"| {true:.2f} | {int(np.median(first)):,} | {fixed:,} |")


def daily(streams, rng):
    """A 5 % test on all cases so far, every day for a year, 50 positives a day."""
    k = rng.binomial(50, 0.9, (streams, 365)).cumsum(1)
    n = 50 * np.arange(1, 366)
    cried = (binom.cdf(k, n, 0.9) <= 0.05).any(1).mean()
    watched = (share_paths(k, n, 0.9).max(1) >= LINE).mean()
    print(f"\nDaily 5 % test: {cried:.2f} of the years, a watch in {watched:.3f}.")


def cost(rng):
    t = trueness.tally((rng.random(10**6) < 0.3).astype(int), rng.random(10**6))
    for what in (
        {"what": "recall", "threshold": 0.3},
        {"what": "auc"},
        {"what": "brier"},
    ):
        side = {"at_most": 0.4} if what["what"] == "brier" else {"at_least": 0.4}
        w = trueness.watch(**what, **side)
        begin = time.perf_counter()
        w.update(t)
        print(f"{what['what']}: {1000 * (time.perf_counter() - begin):.0f} ms")


if __name__ == "__main__":
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    long = int(sys.argv[2]) if len(sys.argv) > 2 else 10_000
    generator = np.random.default_rng(19)
    print(f"| {number} streams, {long:,} looks | ever an alarm |\n| --- | --- |")
    for study in (shares, aucs, briers, calibrations, ranks):
        for name, rate in study(number, long, generator):
            print(f"| {name} | {rate:.3f} |", flush=True)
    delays(min(number, 300), generator)
    daily(2000, generator)
    cost(generator)
