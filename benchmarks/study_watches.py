"""How often does a watch raise a false alarm, and how late does it find a change?

``python benchmarks/study_watches.py [streams]`` prints the tables of
``docs/maths/monitoring.md``. Streams are simulated look by look, all at once: on their
bound for a year, which gives the false alarms, and with a change on day 0, 180 or 700,
which gives the delays. Beside each stands a CUSUM that knows the sizes before and after
and is tuned, by simulation, to a false alarm in 5 % of the years. ``bonferroni`` has
the mean delay of a test of every day's cases at 5 % / 365, ``located`` says how often
the interval of the change point holds it, ``gates [samples]`` how often a requirement
that is exactly on its limit is said to hold or to fail. The bets of simulated streams
are first compared with those of the package.
"""

from __future__ import annotations

import sys

import numpy as np
from scipy.special import logsumexp, ndtri
from scipy.stats import binom

import trueness
from trueness.monitoring.bets import best_bets, change_point, effects, log_stakes
from trueness.monitoring.detectors import ranks_among, score_gains
from trueness.monitoring.one_sided import one_sided_interval

YEAR, TIMES, PARTS = 365, 20 * 365, 16
LINE = np.log(TIMES)
BRIER = 1 / 6 + 0.02  # the bound of the Brier score


def sizes(n):
    """Give how many of n cases, for each stream, are in each part of a look."""
    ends = n[:, None] * np.arange(PARTS + 1) // PARTS
    return np.diff(ends, axis=1)


class Means:
    """The bets of ``detectors`` on a mean, for many streams at once."""

    def __init__(self, bound, side, ends=(0.0, 1.0), share=False):
        self.bound, self.side, self.ends, self.share = bound, side, ends, share
        self.n = self.square = 0.0
        self.looks = 0

    def gains(self, x, times):
        """Give the log gains of a look; x is (streams, cases), times has parts too."""
        every = times.sum(axis=1)
        n = every.sum(axis=1)
        self.looks += 1
        usual = (self.n + n) / self.looks
        most = (self.bound - self.ends[0]) * (self.ends[1] - self.bound)
        spread = most if self.share else (most + self.square) / (1 + self.n)
        # every effect is one over the root of the usual size of a look
        effect = effects(TIMES, 1.0) / np.sqrt(usual * spread)[:, None]
        low, high = self.ends
        worst = high - self.bound if self.side > 0 else self.bound - low
        bets = best_bets(effect, 1.0, worst)
        y = self.side * (self.bound - x)
        self.n = self.n + n
        self.square = self.square + (every * (x - self.bound) ** 2).sum(axis=1)
        return times @ np.log1p(y[..., None] * bets[:, None, :])


def singly(x):
    """Say in which part of the look each of (streams, cases) numbers comes."""
    cases = x.shape[1]
    part = np.arange(cases) * PARTS // cases
    times = np.zeros((PARTS, cases))
    times[part, np.arange(cases)] = 1.0
    return np.broadcast_to(times, (len(x), PARTS, cases))


def shares(bound, cases, before, after, vary=False):
    """A share of ``cases`` a day, or of a Poisson number of them."""

    def draw(rng, streams, days, changed):
        bets = Means(bound, 1, share=True)
        good, bad = np.log(after / bound), np.log((1 - after) / (1 - bound))
        x = np.broadcast_to([1.0, 0.0], (streams, 2))
        for day in range(days):
            n = rng.poisson(cases, streams) + 1 if vary else np.full(streams, cases)
            size = sizes(n)
            k = rng.binomial(size, after if day >= changed else before)
            steps = k.sum(axis=1) * good + (size - k).sum(axis=1) * bad
            yield bets.gains(x, np.stack([k, size - k], axis=2)), steps

    return draw


def varying(bound, cases, before, after):
    """A share of a number of cases that varies from day to day."""
    return shares(bound, cases, before, after, vary=True)


def normal_steps(x: np.ndarray, bound: float, after: float, sd: float) -> np.ndarray:
    """Give the steps of a CUSUM of normal daily means whose spread is known."""
    return (x - bound) * (after - bound) / sd**2 - (after - bound) ** 2 / (2 * sd**2)


def areas(bound: float, pos: int, neg: int, before: float, after: float):
    """An AUC of so many positives and negatives a day, in blocks as the watch has."""

    def day_of(rng, streams, area):
        p = rng.normal(size=(streams, pos)) + np.sqrt(2) * ndtri(area)
        q = rng.normal(size=(streams, neg))
        return (p[:, :, None] > q[:, None, :]).astype(np.float32)

    def draw(rng, streams, days, changed):
        bets, blocks = Means(bound, 1), min(pos, neg, (pos + neg) // 8)
        rows, columns = (np.array_split(np.arange(m), blocks) for m in (pos, neg))
        sd = day_of(np.random.default_rng(1), 2000, after).mean(axis=(1, 2)).std()
        for day in range(days):
            wins = day_of(rng, streams, after if day >= changed else before)
            x = np.stack(
                [
                    wins[:, r][:, :, c].mean(axis=(1, 2))
                    for r, c in zip(rows, columns, strict=True)
                ],
                axis=1,
            )
            whole = wins.mean(axis=(1, 2))
            yield bets.gains(x, singly(x)), normal_steps(whole, bound, after, sd)

    return draw


def losses(cases: int, before: float, after: float):
    """Squared errors of uniform scores; labels follow scores that are pulled to .5."""

    def day_of(rng, shape, loss):
        # with y ~ .5 + g (p - .5) the mean loss is 1/3 - g / 6
        p = rng.random(shape)
        y = rng.random(shape) < 0.5 + (2 - 6 * loss) * (p - 0.5)
        return (y - p) ** 2

    def draw(rng, streams, days, changed):
        bound, bets = BRIER, Means(BRIER, -1)
        sd = day_of(np.random.default_rng(1), (4000, cases), after).mean(axis=1).std()
        for day in range(days):
            x = day_of(rng, (streams, cases), after if day >= changed else before)
            steps = normal_steps(x.mean(axis=1), bound, after, sd)
            yield bets.gains(x, singly(x)), steps

    return draw


VOTES = np.array([[k >> j & 1 for j in range(3)] for k in range(8)])
PRIOR = (VOTES.sum(axis=1) + 0.5) / 4  # the guess before any label


def judged(bound: float, labels: int, others: int, before: float, after: float):
    """A rate from three judges that mostly err together; ``labels`` a day."""

    def draw(rng, streams, days, changed):
        here = np.arange(streams)[:, None]
        known = np.zeros((streams, 8, 2))
        by_judges, alone = Means(bound, 1, (-1.0, 2.0)), Means(bound, 1, share=True)
        for day in range(days):
            rate = after if day >= changed else before
            shape = streams, labels, 1 + others
            y = rng.random(shape) < rate
            luck = rng.random((*shape, 3))
            luck = np.where(rng.random((*shape, 1)) < 0.6, luck[..., :1], luck)
            code = np.where(y[..., None], luck < 0.9, luck < 0.4) @ [1, 2, 4]
            guess = (known[..., 1] + 4 * PRIOR) / (known.sum(axis=2) + 4)
            f = guess[here[..., None], code]
            truth, seen = y[..., 0], code[..., 0]
            u = truth - f[..., 0] + f.mean(axis=2)
            np.add.at(known, (here, seen, truth.astype(int)), 1)
            gains = by_judges.gains(u, singly(u)), alone.gains(truth * 1.0, singly(u))
            steps = normal_steps(u.mean(axis=1), bound, after, np.sqrt(0.12 / labels))
            yield np.stack(gains, axis=2), steps

    return draw


def drift(cases: int, shift: float, baseline: int):
    """Normal scores that move; the CUSUM knows their distribution before and after."""

    def draw(rng, streams, days, changed):
        # as long as nothing changes, looks and baseline are exchangeable: of a long
        # quiet time all but the last 60 looks are drawn with the baseline
        quiet = max(changed - 60, 0) if changed < days else 0
        size = baseline + quiet * cases
        olds = [np.sort(rng.normal(size=size)) for _ in range(streams)]
        effect = effects(TIMES, cases)
        for day in range(days):
            if day < quiet:
                yield np.zeros((streams, 1, 4 * effect.size)), np.full(streams, -1e9)
                continue
            new = rng.normal(size=(streams, cases)) + shift * (day >= changed)
            gains = []
            for k, old in enumerate(olds):
                rank = ranks_among(old, np.ones(old.size), new[k], rng)
                parts = np.array_split(ndtri(np.clip(rank, 1e-12, 1 - 1e-12)), PARTS)
                gains.append([score_gains(z, effect) for z in parts])
                olds[k] = np.sort(np.concatenate([old, new[k]]), kind="stable")
            yield (
                np.array(gains),
                shift * new.sum(axis=1) - cases * shift**2 / 2,
            )

    draw.metric = "scores"
    return draw


def run(draw, rng, streams, days, changed=10**9):
    """Give the log evidence and the CUSUM of every stream at every look."""
    log_m, cusum = None, np.zeros(streams)
    paths = np.empty((2, streams, days))
    for day, (gains, step) in enumerate(draw(rng, streams, days, changed)):
        rows = gains if gains.ndim == 4 else gains[:, :, None, :]
        stakes = log_stakes(getattr(draw, "metric", ""), rows.shape[3])
        if log_m is None:
            log_m = np.full((streams, *rows.shape[2:]), -np.inf)
        before = np.logaddexp(log_m, stakes)
        path = before[:, None] + np.cumsum(rows, axis=1)
        log_m = path[:, -1]
        best = logsumexp(path, axis=3).max(axis=(1, 2))
        paths[0, :, day] = best - np.log(rows.shape[2])
        cusum = np.maximum(cusum, 0.0) + step
        paths[1, :, day] = cusum
    return paths


def delay(path: np.ndarray, line: float, changed: int) -> np.ndarray:
    """Give the looks from the change to the alarm, without an earlier one."""
    hit = path >= line
    quiet = ~hit[:, :changed].any(axis=1)
    late = hit[quiet][:, changed:]
    return np.where(late.any(axis=1), late.argmax(axis=1) + 1.0, np.inf)


# name, maker, what it needs first, bound, before, after, days, share of the streams
STREAMS = [
    ("recall .90 to .75, 20 a day", shares, (0.85, 20), 0.85, 0.90, 0.75, 120, 1.0),
    ("recall .87 to .75, 20 a day", shares, (0.85, 20), 0.85, 0.87, 0.75, 120, 1.0),
    ("recall .87 to .80, 20 a day", shares, (0.85, 20), 0.85, 0.87, 0.80, 300, 1.0),
    ("precision .75 to .60, about 15", varying, (0.7, 15), 0.7, 0.75, 0.6, 200, 1.0),
    ("accuracy .96 to .93, 100 a day", shares, (0.95, 100), 0.95, 0.96, 0.93, 200, 1.0),
    ("AUC .87 to .75, 10 + 40 a day", areas, (0.85, 10, 40), 0.85, 0.87, 0.75, 80, 0.4),
    ("AUC .92 to .86, 25 + 25 a day", areas, (0.9, 25, 25), 0.9, 0.92, 0.86, 120, 0.4),
    ("Brier .167 to .227, 40 a day", losses, (40,), BRIER, 1 / 6, 0.227, 120, 0.4),
    ("judged .83 to .65, 5 labels", judged, (0.8, 5, 9), 0.8, 0.83, 0.65, 200, 0.4),
]  # fmt: skip


def table(streams, rng):
    """Print false alarms a year, and delays at three times beside a CUSUM's."""
    print("| stream | false alarms a year | day | watch | CUSUM | ratio |")
    print("| --- | --- | --- | --- | --- | --- |", flush=True)
    for name, maker, needs, bound, before, after, days, share in STREAMS:
        number = int(share * streams)
        quiet = run(maker(*needs, bound, after), rng, 4 * number, YEAR)
        false = (quiet[0].max(axis=1) >= LINE).mean()
        line = np.quantile(quiet[1].max(axis=1), 0.95)
        changing = maker(*needs, before, after)
        print_delays(name, f"{false:.3f}", changing, line, number, days, rng)
    gone, number = drift(50, 0.25, 5000), max(streams // 5, 30)
    normal = rng.normal(size=(4000, YEAR)) * np.sqrt(50) * 0.25 - 50 * 0.25**2 / 2
    line = np.quantile(cusum_of(normal).max(axis=1), 0.95)
    days = 90
    false = (run(gone, rng, 2 * number, days)[0].max(axis=1) >= LINE).mean()
    said = f"{false * YEAR / days:.3f}"
    print_delays("scores move by .25 sd, 50 a day", said, gone, line, number, 60, rng)


def cusum_of(steps):
    """Give the CUSUM of known steps, (streams, days)."""
    s, out = np.zeros(len(steps)), np.empty(steps.shape)
    for day in range(steps.shape[1]):
        s = np.maximum(s, 0.0) + steps[:, day]
        out[:, day] = s
    return out


def print_delays(name, false, changing, line, number, after, rng):
    """Print the delays of one stream."""
    for changed in (0, 180, 700):
        paths = run(changing, rng, number, changed + after, changed)
        ours, theirs = (
            delay(p, at, changed) for p, at in zip(paths, (LINE, line), strict=True)
        )
        ratio = f"{np.mean(ours) / np.mean(theirs):.2f}"
        both = [f"{np.mean(d):.1f} ({np.median(d):.0f})" for d in (ours, theirs)]
        print(
            f"| {' | '.join([name, false, str(changed), *both, ratio])} |", flush=True
        )


def same_as_the_package(rng):
    """Stop unless simulated shares and losses have the bets of a watch."""
    shares_, losses_ = Means(0.85, 1, share=True), Means(BRIER, -1)
    w = trueness.watch("recall", threshold=0.5, at_least=0.85)
    v = trueness.watch("brier", at_most=BRIER)
    log = [np.full(9, -np.inf), np.full(9, -np.inf)]
    for _ in range(30):
        k, p, y = rng.binomial(20, 0.8), rng.random(15), rng.integers(0, 2, 15)
        w.update(trueness.Tally([1.0, 0.0], neg=[0, 0], pos=[k, 20 - k]))
        v.update(y, p)
        found = shares_.gains(np.array([[1.0, 0.0]]), np.array([[[k, 20 - k]]]))
        other = losses_.gains(((y - p) ** 2)[None], np.ones((1, 1, 15)))
        for i, gains in enumerate((found, other)):
            log[i] = np.logaddexp(log[i], -np.log(9)) + gains[0, 0]
    assert np.allclose(log, [w.held["state"]["log_m"][0], v.held["state"]["log_m"][0]])


def bonferroni():
    """Print the mean delay of a binomial test a day: one over its power."""
    for after in (0.75, 0.80):
        k = np.arange(21)
        reject = binom.cdf(k, 20, 0.85) <= 0.05 / YEAR
        power = binom.pmf(k, 20, after)[reject].sum()
        print(f"recall .85 to {after:.2f}, 20 a day: {1 / power:,.0f} looks")


def located(streams, rng):
    """Print how often the interval holds the look of the change, day 60."""
    for before, after in ((0.87, 0.75), (0.90, 0.75), (0.95, 0.80), (0.87, 0.80)):
        looks = list(shares(0.85, 20, before, after)(rng, streams, 360, 60))
        gains = np.array([g for g, _ in looks]).transpose(1, 0, 2, 3).sum(axis=2)
        stakes = log_stakes("", gains.shape[2])
        path = run(lambda *_: iter(looks), rng, streams, 360)[0]  # noqa: B023
        end = (path >= LINE).argmax(axis=1)
        found = [
            change_point(g[: e + 1], stakes, 0.95)
            for g, e in zip(gains, end, strict=True)
            if e >= 60
        ]
        held = np.mean([first <= 60 <= last for first, _, last in found])
        width = np.median([last - first + 1 for first, _, last in found])
        print(f"{before} to {after}: held {held:.3f}, median width {width:.0f} looks")


def gates(samples, rng):
    """Print how often a truth on its limit is said to hold, and to fail."""
    at = dict.fromkeys(("recall", "precision", "accuracy", "f1", "mcc"), 0.3)
    whole = ("auc", "average_precision", "brier", "log_loss", "prevalence")
    names = {**dict.fromkeys(whole), **at}

    def draw(n, share, gap):
        y = rng.random(n) < share
        z = (
            gap * (rng.normal(size=n) + gap * y)
            - gap**2 / 2
            + np.log(share / (1 - share))
        )
        return trueness.tally(y.astype(int), 1 / (1 + np.exp(-z)), positive=1)

    print(f"| cases, positives | {' | '.join(names)} |")
    for n, share, gap in ((60, 0.3, 1.5), (200, 0.1, 1.5), (300, 0.3, 1.0)):
        many = draw(1_000_000, share, gap)
        true = {k: one_sided_interval(k, many, c)(0.05).value for k, c in names.items()}
        wrong = dict.fromkeys(names, 0)
        for _ in range(samples):
            t = draw(n, share, gap)
            for k, c in names.items():
                i = one_sided_interval(k, t, c)(0.05)
                wrong[k] = wrong[k] + np.array([i.low > true[k], i.high < true[k]])
        cells = [" / ".join(f"{r:.3f}" for r in w / samples) for w in wrong.values()]
        print(f"| {n}, {share:.0%} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    what, generator = sys.argv[1:], np.random.default_rng(42)
    same_as_the_package(generator)
    number = int(what[-1]) if what and what[-1].isdigit() else 400
    if "bonferroni" in what:
        bonferroni()
    elif "located" in what:
        located(number, generator)
    elif "gates" in what:
        gates(number, generator)
    else:
        table(number, generator)
