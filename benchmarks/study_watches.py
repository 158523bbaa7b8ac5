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


VOTES = np.array([[k >> j & 1 for j in range(3)] for k in range(8)])
PRIOR = (VOTES.sum(axis=1) + 0.5) / 4  # the guess before any label


def judged_paths(streams, looks, rng, rate, bound, side, others=9):
    """A labelled case and nine others a look: sums of u and evidence, all streams.

    The twin of ``watches/judged.py`` for many streams at once (a test below compares).
    Three judges, of which six cases in ten are judged with one luck for all.
    """
    here = np.arange(streams)
    known = np.zeros((streams, 8, 2))
    total, square, yes = np.zeros((3, streams))
    scale = 1 / (2 - bound) if side > 0 else 1 / (1 + bound)
    psi = -np.log1p(-BETS) - BETS
    for look in range(1, looks + 1):
        y = rng.random((streams, 1 + others)) < rate
        luck = rng.random((streams, 1 + others, 3))
        one = rng.random((streams, 1 + others, 1)) < 0.6
        luck = np.where(one, luck[..., :1], luck)
        code = np.where(y[..., None], luck < 0.9, luck < 0.4) @ [1, 2, 4]
        guess = (known[..., 1] + 4 * PRIOR) / (known.sum(axis=2) + 4)
        f = guess[here[:, None], code]
        u = y[:, 0] - f[:, 0] + f.mean(axis=1)
        total += u
        square += u * u
        known[here, code[:, 0], y[:, 0].astype(int)] += 1
        z = -side * scale * (total - look * bound)
        z2 = scale**2 * (square - 2 * bound * total + look * bound**2)
        grown = BETS * z[:, None] - psi * z2[:, None]
        top = grown.max(axis=1)
        judges = top + np.log(np.exp(grown - top[:, None]).mean(axis=1))
        yes += y[:, 0]
        # of at most b is that of at least 1 - b, of the negatives
        k, b = (yes, bound) if side > 0 else (look - yes, 1 - bound)
        yield look, np.logaddexp(judges, share_paths(k, look, b)) - np.log(2)


def judged(streams, looks, rng):
    """A rate from judges exactly on the bound, a label and nine other cases a look."""
    for rate, side in ((0.5, 1), (0.8, 1), (0.8, -1), (0.95, 1)):
        cried = np.zeros(streams, bool)
        for _, evidence in judged_paths(streams, looks, rng, rate, rate, side):
            cried |= evidence >= np.log(20)
        sign = ">=" if side > 0 else "<="
        yield f"rate from judges {sign} {rate}, exactly", cried.mean()


def judged_delays(streams, rng):
    """The rate must be .80 and falls: labels until the alarm."""
    print("\n| rate falls to | watch, median labels | labels alone |")
    print("| --- | --- | --- |")
    for fallen in (0.78, 0.75, 0.70, 0.60):
        first = np.full(streams, np.inf)
        for look, e in judged_paths(streams, 6000, rng, fallen, 0.8, 1):
            first = np.where((e >= np.log(20)) & (look < first), look, first)
            if np.isfinite(first).mean() > 0.6:
                break
        k = (rng.random((streams, 6000)) < fallen).cumsum(axis=1)
        alone = share_paths(k, np.arange(1, 6001), 0.8) >= np.log(20)
        labels = np.where(alone.any(axis=1), alone.argmax(axis=1) + 1, np.inf)
        print(f"| {fallen} | {np.median(first):.0f} | {np.median(labels):.0f} |")


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
    for study in (shares, aucs, briers, calibrations, ranks, judged):
        for name, rate in study(number, long, generator):
            print(f"| {name} | {rate:.3f} |", flush=True)
    delays(min(number, 300), generator)
    judged_delays(min(number, 100), generator)
    daily(2000, generator)
    cost(generator)
