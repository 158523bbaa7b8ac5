"""Do intervals of weighted areas and losses hold the truth? Many samples at once.

    python benchmarks/study_weights_areas.py [looked|fresh|population|check] [SAMPLES]

Average precision, partial AUC (false positive rates up to .2), the difference of two
AUCs, Brier score and log loss of weighted samples from a population of two million
cases (CPU: 400,000). Cases are drawn with chances that are known and unequal, and
weighted by one over the chance: by a size of their own (lognormal, of two values or
Pareto's), by class, by both, rising or falling with the score (by half: half of the
weight's logarithm), or as a case-control study whose controls are a stratified sample.
The samples of ``poisson`` have a random number of cases.

The formulas are those of the package, written for PyTorch so that thousands of samples
are left out case by case in seconds on a GPU; ``check`` compares them with the package.
Rules were chosen on the designs ``LOOKED``; ``FRESH`` are others that were looked at
once, at the end. ``population`` has those of ``study_weights_population.py``.
"""

from __future__ import annotations

import math
import sys

import numpy as np
import torch
from scipy.special import expit, logit, ndtri, stdtrit

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
POPULATION = 2_000_000 if DEVICE == "cuda" else 400_000
SIZES = 100, 300, 1000
RANGE = 0.2
CELLS = 10**8 if DEVICE == "cuda" else 10**6
# law of scores, prevalence, shifts of two scores, chance by, law of weights, spread
LOOKED = [
    ("normal", 0.15, (1.5, 1.5), "class", "", 1.5),
    ("t", 0.15, (1.8, 1.3), "class", "", 1.0),
    ("logistic", 0.08, (2.6, 2.6), "class size", "lognormal", 1.0),
    ("normal", 0.10, (2.0, 2.0), "case-control", "", 1),
    ("t", 0.08, (1.6, 1.6), "case-control", "", 1),
    ("normal", 0.30, (1.0, 1.2), "size", "lognormal", 0.8),
    ("gumbel", 0.12, (2.2, 2.2), "size", "lognormal", 2.0),
    ("normal", 0.40, (1.4, 1.4), "size", "two", 8.0),
    ("t", 0.25, (1.5, 1.5), "size", "pareto", 1.5),
    ("normal", 0.30, (1.5, 1.5), "rising", "", 1.0),
    ("logistic", 0.20, (2.2, 1.8), "rising", "", 0.7),
    ("normal", 0.30, (1.3, 1.3), "falling", "", 0.8),
    ("t", 0.20, (2.0, 2.0), "falling", "", 1.4),
    ("normal", 0.05, (2.3, 2.0), "class", "", 4.0),
    ("logistic", 0.20, (1.8, 1.8), "class", "", 1.2),
    ("gumbel", 0.07, (2.4, 2.4), "class", "", 3.0),
    ("normal", 0.12, (1.7, 1.7), "class size", "two", 6.0),
    ("t", 0.10, (2.2, 1.8), "class size", "lognormal", 1.4),
    ("logistic", 0.06, (2.6, 2.6), "case-control", "", 1),
    ("gumbel", 0.15, (1.6, 1.6), "case-control", "", 1),
    ("t", 0.35, (1.1, 1.1), "size", "pareto", 1.2),
    ("logistic", 0.15, (2.8, 2.8), "size", "lognormal", 1.3),
    ("gumbel", 0.25, (1.5, 1.9), "size", "two", 15.0),
    ("normal", 0.50, (0.8, 0.8), "size", "lognormal", 0.5),
    ("t", 0.25, (1.8, 1.8), "rising", "", 0.8),
    ("gumbel", 0.35, (1.4, 1.4), "rising", "", 1.1),
    ("logistic", 0.30, (1.6, 1.6), "falling", "", 1.0),
    ("gumbel", 0.20, (2.0, 1.7), "falling", "", 0.7),
    ("normal", 0.25, (1.5, 1.5), "by half poisson", "lognormal", 1.2),
    ("normal", 0.08, (2.1, 2.1), "class poisson", "", 2.0),
]
FRESH = [
    ("laplace", 0.12, (2.0, 2.0), "class", "", 1.8),
    ("exponential", 0.20, (1.6, 1.2), "class", "", 1.0),
    ("normal", 0.06, (1.9, 1.9), "class size", "lognormal", 1.5),
    ("laplace", 0.18, (1.7, 2.0), "class size", "pareto", 1.5),
    ("normal", 0.05, (1.7, 1.4), "case-control", "", 1),
    ("exponential", 0.12, (1.8, 1.8), "case-control", "", 1),
    ("laplace", 0.30, (1.4, 1.4), "size", "two", 10.0),
    ("normal", 0.20, (2.3, 2.3), "size", "lognormal", 2.2),
    ("exponential", 0.45, (1.0, 1.3), "size", "pareto", 1.3),
    ("laplace", 0.15, (2.2, 2.2), "rising", "", 0.9),
    ("normal", 0.45, (1.2, 0.9), "rising", "", 1.3),
    ("normal", 0.15, (2.0, 2.0), "falling", "", 0.6),
    ("laplace", 0.40, (1.5, 1.2), "falling", "", 1.1),
    ("t", 0.10, (1.9, 1.9), "by half poisson", "lognormal", 1.0),
]
LAWS = {
    "normal": lambda u: math.sqrt(2) * torch.erfinv(2 * u - 1),
    "logistic": torch.logit,
    "gumbel": lambda u: -torch.log(-torch.log(u)),
    "exponential": lambda u: -torch.log(u),
    "laplace": lambda u: -torch.sign(u - 0.5) * torch.log(1 - 2 * (u - 0.5).abs()),
}


class Source:
    """Random numbers on the device."""

    def __init__(self, seed: int) -> None:
        self.generator = torch.Generator(device=DEVICE)
        self.generator.manual_seed(seed)

    def uniform(self, *shape: int) -> torch.Tensor:
        u = torch.rand(shape, generator=self.generator, device=DEVICE,
                       dtype=torch.float64)  # fmt: skip
        return u.clamp(1e-12, 1 - 1e-12)

    def law(self, name: str, m: int) -> torch.Tensor:
        if name != "t":
            return LAWS[name](self.uniform(m))
        z = LAWS["normal"](self.uniform(6, m))
        return z[0] / torch.sqrt((z[1:] ** 2).mean(0))  # five degrees of freedom


def population(design: tuple, source: Source):
    """Make cases: labels, two scores, and the weight each has when drawn."""
    law, prevalence, shifts, by, weights, spread = design
    m = POPULATION
    y = (source.uniform(m) < prevalence).double()
    shared = source.law(law, m)
    a, b = (0.6 * shared + 0.8 * source.law(law, m) + d * y for d in shifts)
    sigma, size = math.sqrt(math.log(1 + spread**2)), torch.zeros_like(a)
    if weights in ("lognormal", "population"):
        size = sigma * source.law("normal", m).clamp(-2.5, 2.5)
    elif weights == "two":
        size = math.log(spread) * (source.uniform(m) < 0.3)
    elif weights == "pareto":
        size = (-torch.log(source.uniform(m)) / spread).clamp(max=3.5)
    mark = ((a - a.mean()) / a.std()).clamp(-2.5, 2.5)
    if weights == "population":  # as study_weights_population.py has it
        mark = a.clamp(-2, 2.5)
        size = size if "size" in by else 0 * size
    if "falling" in by:
        size = sigma * mark
    elif "rising" in by:
        size = -sigma * mark
    elif "half" in by:
        size = 0.7 * (size - sigma * mark)
    if "class" in by:
        more = 4.0 if weights in ("lognormal", "two", "pareto") else 1 + 3 * spread
        size = size - math.log(more) * y
    return y, a, b, torch.exp(size)


def sampler(design: tuple, cases, source: Source):
    """Give a function that draws so many samples of n cases: which, and weights."""
    y, _, b, weight = cases
    if design[3] == "case-control":
        ends = torch.quantile(b[y == 0][: 10**6], b.new_tensor([0.5, 0.8])).tolist()
        low, high = (0.5, 1.5) if design[4] == "population" else ends
        strata = [torch.nonzero(s)[:, 0] for s in (
            y == 1, (y == 0) & (b >= high), (y == 0) & (b >= low) & (b < high),
            (y == 0) & (b < low))]  # fmt: skip

        def strata_draw(samples: int, n: int):
            counts = n // 3, n // 4, n // 4, n - n // 3 - 2 * (n // 4)
            both = list(zip(strata, counts, strict=True))
            at = [s[(source.uniform(samples, k) * s.numel()).long()] for s, k in both]
            each = [y.new_full((samples, k), s.numel() / k) for s, k in both]
            return torch.cat(at, 1), torch.cat(each, 1)

        return strata_draw
    whole = torch.cumsum(1 / weight, 0)

    def draw(samples: int, n: int):
        k = n + 5 * math.isqrt(n) if "poisson" in design[3] else n
        at = torch.searchsorted(whole, source.uniform(samples, k) * whole[-1])
        at = at.clamp(max=POPULATION - 1)
        drawn = weight[at]
        if "poisson" in design[3]:  # those beyond a random number weigh nothing
            many = torch.poisson(drawn.new_full((samples, 1), n), source.generator)
            drawn = drawn * (torch.arange(k, device=DEVICE) < many)
        return at, drawn

    return draw


def precision(pos, neg, spread: bool):
    """Give the average precision, as it is or of negatives that are spread out."""
    tp, fp = pos.cumsum(-1), neg.cumsum(-1)
    total = tp[..., -1]
    if spread:
        met, most = neg > 0, torch.finfo(pos.dtype).max
        above = (tp * met).cummax(-1).values
        below, next_fp = (
            torch.where(met, c, most).flip(-1).cummin(-1).values.flip(-1)
            for c in (tp, fp)
        )
        between = ~met & (next_fp < most)
        place = (tp - pos / 2 - above) / (below - above).clamp(min=1e-300)
        fp = fp + torch.where(between, place * (next_fp - fp), 0 * fp)
    return (pos * tp / (tp + fp).clamp(min=1e-300)).sum(-1) / total


def partial(pos, neg):
    """Give the area under the curve up to a false positive rate."""
    tp, fp = pos.cumsum(-1), neg.cumsum(-1)
    rate = (fp / fp[..., -1:]).clamp(max=RANGE)
    step = torch.diff(rate, dim=-1, prepend=torch.zeros_like(rate[..., :1]))
    return (step * tp).sum(-1) / tp[..., -1]


def left_out(pos, neg, statistic):
    """Give values, and how they change without each of the cases. (samples, n)"""
    value, n = statistic(pos, neg), pos.shape[1]
    one, out = torch.eye(n, device=DEVICE, dtype=torch.bool), []
    some = max(CELLS // n**2, 1)
    for p, q in zip(pos.split(some), neg.split(some), strict=True):
        less = (c[:, None].expand(-1, n, -1).masked_fill(one, 0.0) for c in (p, q))
        out.append(statistic(*less))
    return value, torch.nan_to_num(value[:, None] - torch.cat(out))


def by_changes(held, value, change, top: float = 1.0):
    """Make the jackknife's interval on the logit scale; it holds ``held``."""
    one, two, four = (change**k for k in (1, 2, 4))
    square = two.sum(1).cpu().numpy()
    bias = -one.sum(1).cpu().numpy() / top
    df = 4 / 3 * square**2 / four.sum(1).cpu().numpy()
    place = value.cpu().numpy() / top
    centre = np.clip(place - bias, 1e-3 * place, 1 - 1e-3 * (1 - place))
    error = np.sqrt(square / top**2 + bias**2) / (centre * (1 - centre))
    half = stdtrit(np.maximum(df, 1.0), 0.975) * error
    low, high = (top * expit(logit(centre) + s * half) for s in (-1, 1))
    held = held.cpu().numpy()
    return np.minimum(low, held), np.maximum(high, held)


def differences(y, b, w):
    """Give the interval of the difference of two AUCs, as it is and was before."""
    pos, neg = w * y, w * (1 - y)
    order = torch.argsort(-b, dim=1)
    back = torch.argsort(order, dim=1)
    places = []
    for p, q, at in (
        (pos, neg, None),
        (pos.gather(1, order), neg.gather(1, order), back),
    ):
        tp, fp = p.cumsum(1), q.cumsum(1)
        tp, fp = (c / c[:, -1:] for c in (tp, fp))
        places.append([c if at is None else c.gather(1, at) for c in (tp, 1 - fp)])
    gap = torch.where(y > 0, places[0][1] - places[1][1], places[0][0] - places[1][0])
    value = (pos * gap).sum(1) / pos.sum(1)
    new, old = [], []
    for c in (pos, neg):
        total, square = c.sum(1), (c**2).sum(1)
        kish = total**2 / square
        x = c * (gap - value[:, None])
        others = (total[:, None] - c).clamp(min=1e-9)
        new.append(((x**2 / others).sum(1) / total, kish))
        plain = (x**2).sum(1) / total**2 * kish / (kish - 1).clamp(min=1)
        old.append((plain, square**2 / (c**4).sum(1)))
    value = value.cpu().numpy()
    return [_student(value, [[x.cpu().numpy() for x in p] for p in parts])
            for parts in (new, old)]  # fmt: skip


def _student(value, parts):
    (v1, n1), (v0, n0) = parts
    pooled = ((n1 - 1) * v1 * n1 + (n0 - 1) * v0 * n0) / (n1 + n0 - 2)
    e1, e0 = (((n - 1) * v * n + pooled) / n**2 for v, n in parts)
    df = (e1 + e0) ** 2 / (e1**2 / (n1 - 1) + e0**2 / (n0 - 1))
    half = stdtrit(np.maximum(df, 0.5), 0.975) * np.sqrt(v1 + v0)
    return value - half, value + half


def mean_loss(y, w, losses):
    """Make the interval of a mean loss: one more case of each class is added."""
    total = w.sum(1)
    mean = ((y * losses[1] + (1 - y) * losses[0]) * w).sum(1) / total
    away = [(x - mean[:, None]) ** 2 for x in losses]
    own = y * away[1] + (1 - y) * away[0]
    square = (w**2).sum(1)
    kish = total**2 / square
    varies = (w**2 * own).sum(1) / total**2 * kish / (kish - 1)
    parts = mean, (w * own).sum(1) / total, varies, square**2 / (w**4).sum(1) - 1
    parts += tuple((w * (x[0] + x[1])).sum(1) / 2 / total for x in (losses, away))
    mean, spread, varies, df, coin, wide = (x.cpu().numpy() for x in parts)
    z = ndtri(0.975)
    n = spread / varies * (z / stdtrit(np.maximum(df, 1.0), 0.975)) ** 2
    middle = (n * mean + 2 * coin) / (n + 2)
    inner = (n * spread + 2 * wide) / (n + 2) - (middle - mean) ** 2
    half = z * np.sqrt(inner / (n + 2))
    return np.minimum(middle - half, mean), np.maximum(middle + half, mean)


def losses_of(a):
    x = 1.1 * a - 1.2
    p, up, down = torch.sigmoid(x), *(torch.nn.functional.softplus(v) for v in (x, -x))
    return {"Brier": (p**2, (1 - p) ** 2), "log loss": (up, down)}


def intervals(y, a, b, w) -> dict[str, tuple]:
    order = torch.argsort(-a, dim=1)
    y, a, b, w = (c.gather(1, order) for c in (y, a, b, w))
    pos, neg = w * y, w * (1 - y)
    plain, before = left_out(pos, neg, lambda p, q: precision(p, q, False))
    even = left_out(pos, neg, lambda p, q: precision(p, q, True))
    out = {
        "AP": by_changes(plain, *even),
        "AP before": by_changes(plain, plain, before),
    }
    area, change = left_out(pos, neg, partial)
    out["partial AUC"] = by_changes(area, area, change, RANGE)
    out["two AUCs"], out["two AUCs before"] = differences(y, b, w)
    return out | {k: mean_loss(y, w, x) for k, x in losses_of(a).items()}


def truths(y, a, b) -> dict[str, float]:
    order = torch.argsort(-a)
    down = y[order]
    areas = []
    for s in (a, b):
        d = y[torch.argsort(-s)]
        areas.append(float(((1 - d) * d.cumsum(0)).sum() / y.sum() / (1 - y).sum()))
    return {
        "AUC": areas[0],
        "AP": float(precision(down, 1 - down, False)),
        "partial AUC": float(partial(down, 1 - down)),
        "two AUCs": areas[0] - areas[1],
    } | {k: float((y * x[1] + (1 - y) * x[0]).mean()) for k, x in losses_of(a).items()}


NAMES = ("AP", "AP before", "partial AUC", "two AUCs", "two AUCs before", "Brier",
         "log loss")  # fmt: skip


def study(designs: list, samples: int, seed: int) -> None:
    head = ("scores", "prevalence", "AUC", "chance by", "weights", "CV", "cases",
            *NAMES, "width of AP", "of two AUCs")  # fmt: skip
    print("| " + " | ".join(head) + " |\n|" + " --- |" * len(head))
    for k, design in enumerate(designs):
        source = Source(seed + k)
        cases = population(design, source)
        truth, draw = truths(*cases[:3]), sampler(design, cases, source)
        for n in SIZES:
            print(_row(design, cases, truth, draw, n, samples), flush=True)


def _row(design, cases, truth, draw, n: int, samples: int) -> str:
    found, varied = [], []
    for some in [500] * (samples // 500) + [samples % 500] * (samples % 500 > 0):
        at, w = draw(some, n)
        y, a, b = (c[at] for c in cases[:3])
        # two positives at least, and an AP below 1: the package has other rules there
        met = (y * (w > 0)).sum(1) > 1
        at, w, y, a, b = (c[met] for c in (at, w, y, a, b))
        own = intervals(y, a, b, w)
        found.append([own[name] for name in NAMES])
        number = (w > 0).sum(1)
        varied.append(((w**2).sum(1) * number / w.sum(1) ** 2 - 1).sqrt().cpu().numpy())
    low, high = np.concatenate(found, axis=2).transpose(1, 0, 2)
    true = np.array([truth[name.removesuffix(" before")] for name in NAMES])[:, None]
    # no interval where nothing varies: the package goes by cases that were not met
    known = np.isfinite(low) & np.isfinite(high)
    covers = ((low <= true) & (true <= high)).sum(1) / known.sum(1)
    wide = np.nanmedian(np.where(known, high - low, np.nan), axis=1)
    ratios = wide[0] / wide[1], wide[3] / wide[4]
    law, prevalence, _, by, weights, _ = design
    what = [law, f"{prevalence:g}", f"{truth['AUC']:.3f}", by, weights or "-",
            f"{np.concatenate(varied).mean():.1f}", str(n)]  # fmt: skip
    cells = [f"{x:.3f}" for x in covers] + [f"{x:.2f}" for x in ratios]
    return "| " + " | ".join(what + cells) + " |"


def check() -> None:
    """Compare with the package: both ends of ten samples of each of four designs."""
    import trueness

    worst = dict.fromkeys(NAMES, 0.0)
    for k, design in enumerate((LOOKED[1], LOOKED[2], LOOKED[4], LOOKED[11])):
        source = Source(40 + k)
        cases = population(design, source)
        at, w = sampler(design, cases, source)(10, 120)
        y, a, b = (c[at] for c in cases[:3])
        twin = intervals(y, a, b, w)
        for i in range(10):
            yy, aa, bb, ww = (c[i].numpy() for c in (y, a, b, w))
            yy = yy.astype(int)
            t = trueness.tally(yy, aa, weight=ww)
            p = trueness.tally(yy, expit(1.1 * aa - 1.2), weight=ww)
            pair = trueness.compare_auc(yy, {"a": aa, "b": bb}, weight=ww).pairs[0]
            own = {"AP": trueness.average_precision(t),
                   "partial AUC": trueness.partial_auc(t, fpr=(0, RANGE)),
                   "two AUCs": pair.difference,
                   "Brier": trueness.brier(p, replicates=20),
                   "log loss": trueness.log_loss(p, replicates=20)}  # fmt: skip
            for name, e in own.items():
                ends = [abs(x[i] - own) for x, own in
                        zip(twin[name], (e.low, e.high), strict=True)]  # fmt: skip
                worst[name] = max(worst[name], *ends)
    print({k: v for k, v in worst.items() if "before" not in k})


def main() -> None:
    mode = sys.argv[1] if len(sys.argv) > 1 else "looked"
    samples = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    if mode == "check":
        return check()
    if mode == "population":
        from study_weights_population import DESIGNS

        designs = [("t", *d[:3], "population", d[3]) for d in DESIGNS]
        return study(designs, samples, 300)
    return study({"looked": LOOKED, "fresh": FRESH}[mode], samples, 100)


if __name__ == "__main__":
    main()
