"""How often does a watch cry without need, and how late does it see a drop?

``python benchmarks/study_watches.py [streams] [looks]`` prints the tables of
``docs/maths/monitoring.md``: streams that are exactly on their bound, looked at after
every single case, and streams that fall by .02, .05 and .10 beside a fixed-sample test
and a daily 5 % test. ``python benchmarks/study_watches.py shapes [streams] [looks]``
prints false alarms for every kind, side and group with single cases and with irregular
batches of 0 to 60.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from scipy.special import betainc, betaln, xlog1py, xlogy
from scipy.stats import binom, norm

import trueness
from trueness.monitoring.evidence import BETS, share_evidence
from trueness.monitoring.judged import add_judged, add_late, rate_evidence
from trueness.monitoring.ranks import POWERS, _bets, _ranks, rank_wealth

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

    The twin of ``monitoring/judged.py`` for many streams at once (compared below).
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
        yield look, np.maximum(judges, share_paths(k, look, b)) - np.log(2)


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
    print("\n| recall falls to | watch, median positives | fixed test | daily test |")
    print("| --- | --- | --- | --- |")
    for true in (0.88, 0.85, 0.80):
        x = rng.random((streams, 20_000)) < true
        n = np.arange(1, 20_001)
        late = share_paths(x.cumsum(1), n, 0.9) >= LINE
        first = np.where(late.any(1), late.argmax(1) + 1, 20_001)
        sizes = np.unique(np.geomspace(10, 20_000, 400).astype(int))
        cut = binom.ppf(0.05, sizes, 0.9) - 1
        fixed = sizes[np.argmax(binom.cdf(cut, sizes, true) >= 0.8)]
        days = np.arange(50, 20_001, 50)  # 50 positives a day, a 5 % test every day
        lost = binom.cdf(x.cumsum(1)[:, days - 1], days, 0.9) <= 0.05
        daily = days[np.where(lost.any(1), lost.argmax(1), -1)]
        both = int(np.median(first)), fixed, int(np.median(daily))
        print(f"| {true:.2f} | " + " | ".join(f"{v:,}" for v in both) + " |")


DAYS, PER_DAY = 365, 50


def drifting(rng, streams, recall):
    """Positives found by day so far, when the true recall of a day is given."""
    return rng.binomial(PER_DAY, np.broadcast_to(recall, (streams, DAYS))).cumsum(1)


def drifts(streams, rng):
    """A year of 50 positives a day, recall at least .9: what does the watch see?"""
    day = np.arange(DAYS)
    late = day >= 180
    kinds = {
        "falls to .85 on day 1": np.full(DAYS, 0.85),
        "is .90 and falls to .85 on day 181": np.where(late, 0.85, 0.90),
        "is .93 and falls to .85 on day 181": np.where(late, 0.85, 0.93),
        "is .93 and falls to .70 on day 181": np.where(late, 0.70, 0.93),
        "slides from .93 to .85 over the year": 0.93 - 0.08 * day / DAYS,
        "season: .90 plus or minus .03": 0.90 + 0.03 * np.sin(2 * np.pi * day / DAYS),
        "season that begins low": 0.90 - 0.03 * np.sin(2 * np.pi * day / DAYS),
        "one week at .60, else .92": np.where((day >= 100) & (day < 107), 0.6, 0.92),
    }
    n = PER_DAY * (day + 1)
    print("\n| true recall | ever an alarm | median day of the alarm | since day 181 |")
    print("| --- | --- | --- | --- |")
    for name, recall in kinds.items():
        whole = drifting(rng, streams, recall)
        path = share_paths(whole, n, 0.9) >= LINE
        new = whole[:, 180:] - whole[:, [179]]  # a watch that was begun anew that day
        fresh = share_paths(new, n[: DAYS - 180], 0.9) >= LINE
        cells = [
            f"{p.any(1).mean():.2f}, day {d + np.median(p.argmax(1)[p.any(1)]):.0f}"
            if p.any()
            else "0"
            for p, d in ((path, 1), (fresh, 181))
        ]
        print(f"| {name} | " + " | ".join(cells) + " |")


def shifts(streams, rng):
    """Prevalence falls from .3 to .15 alone; one of five groups falls to .80."""
    n, recall, fpr = 200, 0.9, 0.1
    for share in (0.3, 0.15):
        pos = rng.binomial(n, share, (streams, DAYS))
        tp, fp = rng.binomial(pos, recall), rng.binomial(n - pos, fpr)
        ppv = 0.3 * recall / (0.3 * recall + 0.7 * fpr)
        kinds = {
            "recall": (tp, pos, recall),
            "precision": (tp, tp + fp, ppv),
            "flagged share at least": (tp + fp, n + 0 * pos, 0.3 * recall + 0.7 * fpr),
        }
        for name, (k, m, bound) in kinds.items():
            path = share_paths(k.cumsum(1), m.cumsum(1), bound) >= LINE
            first = np.where(path.any(1), path.argmax(1) + 1, np.inf)
            print(
                f"| {share} | {name} | {path.any(1).mean():.3f} | {np.median(first)} |"
            )
    k = rng.binomial(10, np.array([0.92] * 4 + [0.80])[:, None], (streams, 5, DAYS))
    m = 10 * np.arange(1, DAYS + 1)
    whole = share_paths(k.sum(1).cumsum(1), 5 * m, 0.9) >= LINE
    parts = share_paths(k.cumsum(2), m, 0.9) >= LINE + np.log(5)
    for name, path in (("all cases", whole), ("five groups", parts.any(1))):
        first = np.where(path.any(1), path.argmax(1) + 1, np.inf)
        print(
            f"| one of five falls | {name} | {path.any(1).mean():.3f} | "
            f"{np.median(first)} |"
        )


def daily(streams, rng):
    """A 5 % test on all cases so far, every day for a year, 50 positives a day."""
    k = rng.binomial(50, 0.9, (streams, 365)).cumsum(1)
    n = 50 * np.arange(1, 366)
    cried = (binom.cdf(k, n, 0.9) <= 0.05).any(1).mean()
    watched = (share_paths(k, n, 0.9).max(1) >= LINE).mean()
    print(f"\nDaily 5 % test: {cried:.2f} of the years, a watch in {watched:.3f}.")


def cost(rng):
    """One update with a million distinct scores, after one that loads what it needs."""
    t, little = (
        trueness.tally((rng.random(n) < 0.3).astype(int), rng.random(n))
        for n in (10**6, 1000)
    )
    for what, more in (
        ("recall", {"threshold": 0.3, "at_least": 0.4}),
        ("flagged_share", {"threshold": 0.3, "at_most": 0.9}),
        ("auc", {"at_least": 0.4}),
        ("brier", {"at_most": 0.4}),
        ("calibration", {}),
        ("scores", {"baseline": little}),
    ):
        w = trueness.watch(what, **more).update(little)
        begin = time.process_time()
        w.update(t)
        print(f"{what}: {1000 * (time.process_time() - begin):.0f} ms", flush=True)


# ---- every kind, with single cases and with irregular batches


def irregular(looks, rng):
    """Where batches end among ``looks`` cases: sizes of 0 to 60, most of them small."""
    sizes = np.minimum(rng.geometric(0.15, looks) - 1, 60)
    ends = np.cumsum(sizes)
    return ends[(ends > 0) & (ends <= looks)] - 1


def cried_at(path, at, line=LINE):
    """Was the line ever reached at these looks? One answer for each stream."""
    return (path[..., at] >= line).any(axis=-1)


def sided(k, n, bound, side):
    """The evidence of a share against either side."""
    return share_paths(k, n, bound) if side > 0 else share_paths(n - k, n, 1 - bound)


def cells(streams, looks, rng):
    """tp, fp, fn, tn so far, of a classifier with recall .8 and specificity .7."""
    y = rng.random((streams, looks)) < 0.3
    flag = np.where(y, rng.random(y.shape) < 0.8, rng.random(y.shape) >= 0.7)
    return [x.cumsum(1) for x in (y & flag, ~y & flag, y & ~flag, ~y & ~flag)]


def shares_of_all_kinds(streams, looks, rng):
    """Every share with its random denominator, exactly on its bound, either side."""
    tp, fp, fn, tn = cells(streams, looks, rng)
    kinds = {
        "recall": (tp, tp + fn, 0.8),
        "specificity": (tn, tn + fp, 0.7),
        "precision": (tp, tp + fp, 0.24 / 0.45),
        "npv": (tn, tn + fn, 0.49 / 0.55),
        "accuracy": (tp + tn, tp + fp + fn + tn, 0.73),
        "flagged_share": (tp + fp, tp + fp + fn + tn, 0.45),
        "f1": (tp, tp + fp + fn, 0.24 / 0.51),  # F1 / (2 - F1) of 48 / 75
    }
    for name, (k, n, bound) in kinds.items():
        for side, word in ((1, "at least"), (-1, "at most")):
            yield f"{name} {word}", sided(k, n, bound, side)


def baselines(streams, looks, rng):
    """Recall of a stream that is the baseline's: 100 positives set the bound."""
    k = rng.binomial(100, 0.8, streams)
    bound = np.array([proportion_low(int(v), 100, 0.025) for v in k])
    x = (rng.random((streams, looks)) < 0.8).cumsum(1)
    n = np.arange(1, looks + 1)
    # the stream has half of the error, the doubt in the baseline the other half
    yield "recall, baseline of 100", share_paths(x, n, bound[:, None]) - np.log(2)


def proportion_low(k, n, alpha):
    """The lower limit that a watch takes from a baseline."""
    t = trueness.Tally([1.0, 0.0], neg=[1, 1], pos=[k, n - k])
    w = trueness.watch("recall", threshold=0.5, baseline=t, level=1 - 2 * alpha)
    return float(w.bound)


def means(streams, looks, rng):
    """Brier scores, either side; calibration of all scores and near .3."""
    psi = -np.log1p(-BETS) - BETS
    for side, word in ((-1, "at most"), (1, "at least")):
        path = np.empty((streams, looks))
        for i in range(streams):
            p = rng.random(looks)
            x = -side * ((rng.random(looks) < p) - p) ** 2 + side / 6
            one, two = x.cumsum(), (x**2).cumsum()
            grown = BETS[:, None] * one - psi[:, None] * two
            path[i] = np.logaddexp.reduce(grown, 0) - np.log(BETS.size)
        yield f"Brier score {word}", path
    bets = np.tile(np.concatenate([BETS, -BETS]), 2)
    for near, word in ((False, "calibration"), (True, "calibration near .3")):
        path = np.empty((streams, looks))
        for i in range(streams):
            p = rng.uniform(0.25, 0.35, looks) if near else rng.random(looks)
            y = rng.random(looks) < p
            h = np.repeat([np.ones(looks), 2 * p - 1], 2 * BETS.size, axis=0)
            grown = np.log1p(bets[:, None] * h * (y - p)).cumsum(1)
            path[i] = np.logaddexp.reduce(grown, 0) - np.log(bets.size)
        yield word, path


def rank_paths(streams, looks, rng):
    """Scores unchanged, continuous and with ties, each ranked among all before it."""
    for digits, word in ((None, "scores"), (0, "scores, heavily tied")):
        path = np.empty((streams, looks))
        for i in range(streams):
            old = rng.normal(size=200)
            new = rng.normal(size=looks)
            if digits is not None:
                old, new = old.round(digits), new.round(digits)
            old, counts = np.unique(old, return_counts=True)
            p = _ranks(old, counts * 1.0, new, rng)
            ends = [np.clip(x, 1e-300, 1) for x in (p, 1 - p, 1 - abs(2 * p - 1))]
            sums = np.cumsum(np.log(ends), axis=1)[:, None]  # as in ranks._bets
            n, power = np.arange(1, looks + 1), POWERS[:, None]
            grown = (n * np.log(power) + (power - 1) * sums).reshape(-1, looks)
            path[i] = np.logaddexp.reduce(grown, 0) - np.log(len(grown))
            assert np.allclose(grown[:, -1], _bets(p))
        yield word, path


def auc_blocks(streams, looks, rng, ends):
    """AUC .8 exactly, either side; a block ends where a batch does and has both."""
    gap = np.sqrt(2) * norm.ppf(0.8)
    cried = np.zeros((streams, 2), bool)
    for i in range(streams):
        y = rng.random(looks) < 0.3
        s = rng.normal(size=looks) + gap * y
        kk, nn, start = [0.0], [0.0], 0
        for end in ends + 1:
            block = y[start:end]
            if block.any() and not block.all():
                part = s[start:end]
                m = min(block.sum(), (~block).sum())
                above = (part[block][:, None] > part[~block]).mean()
                kk.append(kk[-1] + m * above)
                nn.append(nn[-1] + m)
                start = end
        k, n = np.array(kk[1:]), np.array(nn[1:])
        cried[i] = [(sided(k, n, 0.8, side) >= LINE).any() for side in (1, -1)]
    return cried.mean(axis=0)


def families(streams, looks, rng):
    """Groups of unequal size, each on its bound of .9; one alarm for all of them."""
    for groups, named in ((3, False), (10, False), (10, True), (40, False)):
        size = 1.0 / np.arange(1, groups + 1)
        alarms = np.zeros((streams, 2), bool)
        for i in range(streams):
            g = rng.choice(groups, looks, p=size / size.sum())
            first = dict.fromkeys(g.tolist())  # in the order in which they show up
            x = rng.random(looks) < 0.9
            ends = irregular(looks, rng)
            for place, one in enumerate(first, start=1):
                part = groups if named else place * (place + 1)
                here = g == one
                path = share_paths(x[here].cumsum(), np.arange(1, here.sum() + 1), 0.9)
                line = LINE + np.log(part)
                # the look at which a batch ends sees the group's last case before it
                last = np.cumsum(here)[ends]
                seen = np.unique(last[last > 0]) - 1
                alarms[i] |= [(path >= line).any(), (path[seen] >= line).any()]
        word = "named" if named else "as they come"
        yield f"{groups} groups, {word}", alarms.mean(axis=0)


class Late:
    """Single cases whose labels come at once, late or never: many streams at a time.

    The twin of ``monitoring/judged.py`` for batches of one (``same_as_the_watch``
    compares). A tenth of the cases is labelled at once, a tenth after 30 looks on
    average, eight tenths never. What waits is all that came since the last case that
    was dealt out, so that counts of patterns so far are enough.
    """

    def __init__(self, streams, looks, rng, rate, side):
        self.bound, self.side, self.here = rate, side, np.arange(streams)
        self.y = rng.random((streams, looks)) < rate
        luck = rng.random((streams, looks, 3), dtype=np.float32)
        one = rng.random((streams, looks, 1), dtype=np.float32) < 0.6
        luck = np.where(one, luck[..., :1], luck)
        self.code = np.where(self.y[..., None], luck < 0.9, luck < 0.4) @ [1, 2, 4]
        self.kind = rng.choice(3, (streams, looks), p=[0.1, 0.1, 0.8])
        self.age = rng.geometric(1 / 30, (streams, looks))
        self.done = np.zeros((streams, looks), bool)
        self.came = np.zeros((streams, looks + 1, 8), np.int16)
        self.used = np.zeros(streams, int)
        self.known = np.zeros((streams, 8, 2))
        self.total, self.square, self.yes, self.n, self.judged = np.zeros((5, streams))

    def evidence(self):
        b, side = self.bound, self.side
        scale = 1 / (2 - b) if side > 0 else 1 / (1 + b)
        z = -side * scale * (self.total - self.judged * b)
        z2 = self.square - 2 * b * self.total + self.judged * b**2
        psi = -np.log1p(-BETS) - BETS
        grown = BETS * z[:, None] - psi * scale**2 * z2[:, None]
        judges = np.logaddexp.reduce(grown, 1) - np.log(BETS.size)
        return np.maximum(judges, sided(self.yes, self.n, b, side)) - np.log(2)

    def label(self, who, j, waits):
        """Streams ``who`` get the label of case j, which itself waited or just came."""
        h, c = self.here, self.code[self.here, j]
        guess = (self.known[..., 1] + 4 * PRIOR) / (self.known.sum(axis=2) + 4)
        f, y = guess[h, c], self.y[h, j]
        fair = who & ((j >= self.used) | ~waits)  # else it was dealt out: labels alone
        left = self.came[h, j + 1] - self.came[h, np.minimum(self.used, j + 1)]
        others = (left * guess).sum(axis=1) - np.where(waits, f, 0)
        u = y - f + (others + f) / np.maximum(left.sum(axis=1) - waits + 1, 1)
        self.total += np.where(fair, u, 0)
        self.square += np.where(fair, u**2, 0)
        self.judged += fair
        self.used = np.where(fair, j + 1, self.used)
        self.n += who
        self.yes += who & y
        self.known[h[who], c[who], y[who].astype(int)] += 1

    def look(self, t):
        """A case comes; then perhaps one label of an earlier case."""
        self.came[:, t + 1] = self.came[:, t]
        unknown = self.kind[:, t] != 0
        self.came[self.here[unknown], t + 1, self.code[unknown, t]] += 1
        now = np.full(unknown.size, t)
        self.label(~unknown, now, np.zeros(unknown.size, bool))
        yield self.evidence()
        j = np.maximum(t - self.age[:, t], 0)
        late = (self.kind[self.here, j] == 1) & ~self.done[self.here, j]
        late &= t >= self.age[:, t]
        self.done[self.here[late], j[late]] = True
        self.label(late, j, np.ones(unknown.size, bool))
        yield self.evidence()


def same_as_the_watch(looks=400):
    """Does the twin give what the watch itself gives, look by look?"""
    s = Late(2, looks, np.random.default_rng(1), 0.7, 1)
    found = [e[0] for t in range(looks) for e in s.look(t)]
    state, names, rows = dict(_fresh()), ["a", "b", "c"], VOTES.astype(float)

    def one(j, known):
        counts = np.zeros((3, 8), int)
        counts[int(s.y[0, j]) if known else 2, s.code[0, j]] = 1
        return trueness.Panel(names, rows, *counts)

    told, seen = [], set()
    for t in range(looks):
        state["looks"] = t
        add_judged({"rng": 0}, state, one(t, s.kind[0, t] == 0), str(t))
        told.append(rate_evidence(state, 0.7, 1))
        j = int(t - s.age[0, t])
        if j >= 0 and s.kind[0, j] == 1 and j not in seen:
            seen.add(j)
            add_late({"rng": 0}, state, one(j, True), str(j))
        told.append(rate_evidence(state, 0.7, 1))
    assert np.allclose(found, told, atol=1e-9)


def late_judges(streams, looks, rng):
    """A rate from judges on its bound, batches of one, half of the labels late."""
    same_as_the_watch()
    for rate, side in ((0.6, 1), (0.6, -1), (0.9, 1), (0.9, -1)):
        s, cried = Late(streams, looks, rng, rate, side), np.zeros(streams, bool)
        for t in range(looks):
            for evidence in s.look(t):
                cried |= evidence >= LINE
        word = "at least" if side > 0 else "at most"
        yield f"rate from judges {word} {rate}, half of the labels late", cried.mean()


def _fresh():
    return trueness.watch("prevalence", judges=["a", "b", "c"], at_least=0.5)._state


def shapes(streams, looks, rng):
    """Print false alarms of every kind: single cases, and irregular batches."""
    print(f"| {streams} streams, {looks:,} cases | single cases | irregular |")
    print("| --- | --- | --- |")
    singly = np.arange(looks)
    for study in (shares_of_all_kinds, baselines, means, rank_paths):
        for name, path in study(streams, looks, rng):
            both = cried_at(path, singly), cried_at(path, irregular(looks, rng))
            print(f"| {name} | {both[0].mean():.3f} | {both[1].mean():.3f} |")
    ends = [singly, irregular(looks, rng)]
    found = np.array([auc_blocks(streams, looks, rng, e) for e in ends])
    for k, word in enumerate(("at least", "at most")):
        print(f"| auc {word} | {found[0, k]:.3f} | {found[1, k]:.3f} |", flush=True)
    for name, both in families(streams, looks, rng):
        print(f"| {name} | {both[0]:.3f} | {both[1]:.3f} |", flush=True)
    for name, rate in late_judges(streams, looks, rng):
        print(f"| {name} | {rate:.3f} | - |", flush=True)


if __name__ == "__main__" and sys.argv[1:2] == ["shapes"]:
    asked = [*map(int, sys.argv[2:]), 400, 10_000][:2] if len(sys.argv) > 2 else []
    shapes(*(asked or (400, 10_000)), np.random.default_rng(24))
elif __name__ == "__main__":
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
    drifts(400, generator)
    shifts(400, generator)
    cost(generator)
