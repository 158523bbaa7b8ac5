"""How often does a gate call a truth that is exactly on its bound? And with what power?

``python benchmarks/study_gates.py [replicates] [part ...]`` prints the tables of
``docs/maths/gates.md``. The truth is computed from the model of the scores (normal, one
apart for the AUC asked for) and not from the code that is judged.
"""

from __future__ import annotations

import sys
from statistics import NormalDist

import numpy as np
from scipy import integrate, stats

import trueness
from trueness.gates.checking import check

PHI = NormalDist()
SIZES = ((40, 0.5), (200, 0.2), (1000, 0.1))


def cohort(rng, n, prevalence, gap):
    y = rng.random(n) < prevalence
    return y, rng.normal(size=n) + gap * y


def truths(prevalence, gap, cut):
    """Give recall, fpr and what follows from them, from the normal law."""
    recall, fpr = 1 - PHI.cdf(cut - gap), 1 - PHI.cdf(cut)
    tp, fp = prevalence * recall, (1 - prevalence) * fpr
    fn, tn = prevalence - tp, 1 - prevalence - fp
    under = np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
    return {
        "recall": recall,
        "precision": tp / (tp + fp),
        "accuracy": tp + tn,
        "f1": 2 * tp / (2 * tp + fp + fn),
        "youden": recall - fpr,
        "mcc": (tp * tn - fp * fn) / under,
        "0.5*recall + 0.5*precision": 0.5 * recall + 0.5 * tp / (tp + fp),
    }


STRETCH = 1.5  # log odds are multiplied by this: probabilities that are too extreme


def densities(x, prevalence, gap, stretch):
    """Positives, negatives, the true probability and the stretched one at a score."""
    pos, neg = prevalence * PHI.pdf(x - gap), (1 - prevalence) * PHI.pdf(x)
    odds = gap * x - gap**2 / 2 + np.log(prevalence / (1 - prevalence))
    said = 1 / (1 + np.exp(-stretch * odds))
    return pos, neg, pos / (pos + neg), said


def integral(what, prevalence, gap, stretch):
    """Integrate a function of the two densities and the two probabilities."""
    return integrate.quad(
        lambda x: what(*densities(x, prevalence, gap, stretch)), -8, 8 + gap, limit=200
    )[0]


def probability_truths(prevalence, gap, stretch=STRETCH):
    """What stretched probabilities have: losses, calibration, average precision."""
    ap = integrate.quad(
        lambda x: (
            PHI.pdf(x - gap)
            * prevalence
            * PHI.cdf(gap - x)
            / (prevalence * PHI.cdf(gap - x) + (1 - prevalence) * PHI.cdf(-x))
        ),
        -8,
        8 + gap,
    )[0]
    losses = {
        "brier <=": lambda pos, neg, p, q: pos * (1 - q) ** 2 + neg * q**2,
        "log_loss <=": lambda pos, neg, p, q: -pos * np.log(q) - neg * np.log1p(-q),
        "calibration_error <=": lambda pos, neg, p, q: (pos + neg) * abs(p - q),
    }
    found = {k: integral(f, prevalence, gap, stretch) for k, f in losses.items()}
    # the log odds of the truth are those said, divided by the stretch
    return found | {"calibration_slope >=": 1 / stretch, "average_precision >=": ap}


def on_the_bound_of_probabilities(
    replicates, rng, sizes=SIZES[1:], slow=False, stretch=STRETCH
):
    """Losses, calibration and average precision, the truth exactly on the bound."""
    gap = np.sqrt(2) * PHI.inv_cdf(0.8)
    for n, prevalence in sizes:
        exact = probability_truths(prevalence, gap, stretch)
        exact = {k: v for k, v in exact.items() if ("error" in k) == slow}
        said = []
        for _ in range(replicates):
            y, s = cohort(rng, n, prevalence, gap)
            odds = gap * s - gap**2 / 2 + np.log(prevalence / (1 - prevalence))
            t = trueness.tally(y.astype(int), 1 / (1 + np.exp(-stretch * odds)))
            asked = [f"{k} {v:.12f}" for k, v in exact.items()]
            said.append([v.verdict for v in check(t, asked, adjust="none").verdicts])
        rows(n, prevalence, exact, np.array(said))


def normal_tails(auc, spread):
    """Shares of positives and negatives from a score on; positives spread more."""
    gap = PHI.inv_cdf(auc) * np.hypot(1, spread)
    x = np.linspace(12 + 4 * spread, -12, 60_001)
    return stats.norm.sf(x, gap, spread), stats.norm.sf(x), x


def skewed_tails(auc, _):
    """The same of exponential scores, whose means have the odds of the AUC."""
    x = np.concatenate([np.geomspace(80 * auc / (1 - auc), 1e-6, 60_000), [0]])
    return np.exp(-x * (1 - auc) / auc), np.exp(-x), x


PRECISIONS = (  # cases, prevalence, AUC, law, spread of positives, levels of scores
    (200, 0.1, 0.85, normal_tails, 1.0, None),
    (200, 0.3, 0.75, normal_tails, 1.0, None),
    (200, 0.5, 0.9, normal_tails, 1.0, None),
    (300, 0.15, 0.95, normal_tails, 1.5, None),
    (300, 0.2, 0.8, skewed_tails, 1.0, None),
    (400, 0.4, 0.7, normal_tails, 1.0, 8),
    (600, 0.05, 0.65, normal_tails, 1.0, None),
    (1000, 0.03, 0.85, skewed_tails, 1.0, None),
    (1000, 0.1, 0.9, normal_tails, 1.0, 12),
    (2000, 0.2, 0.97, normal_tails, 1.0, None),
    (2000, 0.05, 0.75, normal_tails, 2.0, None),
    (5000, 0.03, 0.9, normal_tails, 1.0, None),
    (5000, 0.5, 0.65, skewed_tails, 1.0, None),
)


def curve(law, auc, spread, levels):
    """The true and false positive rates, with as many corners as scores have levels."""
    tpr, fpr, _ = law(auc, spread)
    if levels:
        at = np.searchsorted(fpr + tpr, 2 * np.arange(1, levels) / levels)
        tpr, fpr = (np.array([0, *x[at], 1]) for x in (tpr, fpr))
    return tpr, fpr


def ends(replicates, rng, cases, rates, truth, ask):
    """How often does either one-sided limit err, and does the interval hold?"""
    (n, prevalence), (tpr, fpr) = cases, rates
    said = np.zeros((replicates, 3))
    for k in range(replicates):
        y = rng.random(n) < prevalence
        u = rng.random(n)
        score = -np.where(y, np.searchsorted(tpr, u), np.searchsorted(fpr, u))
        t = trueness.tally(y * 1, score)
        one, two = (ask(t, level=q) for q in (0.9, 0.95))
        said[k] = one.low > truth, one.high < truth, two.low <= truth <= two.high
    return " | ".join(f"{r:.3f}" for r in said.mean(axis=0))


def precisions(replicates, rng):
    """Average precision on its bound, over laws, tails and ties; both ends."""
    for n, prevalence, auc, law, spread, levels in PRECISIONS:
        tpr, fpr = curve(law, auc, spread, levels)
        tp, fp = prevalence * tpr, (1 - prevalence) * fpr
        with np.errstate(invalid="ignore"):
            purity = np.nan_to_num(tp / (tp + fp), nan=1.0)
        middle = purity[1:] if levels else 0.5 * (purity[1:] + purity[:-1])
        truth = np.diff(tpr) @ middle
        asked = (n, prevalence), (tpr, fpr), truth, trueness.average_precision
        row = ends(replicates, rng, *asked)
        name = f"{law.__name__[:6]}, {levels} levels" if levels else law.__name__[:6]
        print(f"| {n} | {prevalence:.0%} | {auc}, {name} | {truth:.2f} | {row} |")


def calibration_errors(replicates, rng):
    """The calibration error alone, which takes a third of a second."""
    number = max(20, replicates // 10)
    for n, share, stretch in (
        (200, 0.2, 1.5),
        (200, 0.5, 2),
        (1000, 0.1, 1.5),
        (1000, 0.3, 0.6),
        (1000, 0.5, 1.5),
        (5000, 0.1, 1.5),
        (5000, 0.5, 1.2),
    ):
        sizes = ((n, share),)
        on_the_bound_of_probabilities(number, rng, sizes, slow=True, stretch=stretch)


def rows(n, prevalence, names, said):
    for k, name in enumerate(names):
        rates = [(said[:, k] == word).mean() for word in ("holds", "fails")]
        print(f"| {n} | {prevalence:.0%} | {name} | {rates[0]:.3f} | {rates[1]:.3f} |")


def gaps(replicates, rng):
    """Two and three groups whose largest gap in recall is exactly on the bound."""
    for sizes, recalls in (((100, 100), (0.9, 0.8)), ((60, 200, 90), (0.9, 0.8, 0.85))):
        rule = {"metric": "recall", "threshold": 0.5, "by": "site", "gap_at_most": 0.1}
        said = []
        for _ in range(replicates):
            groups = {}
            for k, (n, r) in enumerate(zip(sizes, recalls, strict=True)):
                tp = rng.binomial(n, r)
                groups[k] = trueness.Tally([1.0, 0.0], neg=[5, 45], pos=[tp, n - tp])
            verdicts = check(groups, [rule]).verdicts
            said.append([[v.verdict == w for v in verdicts] for w in WORDS])
        both = np.array(said)  # the first pair is on the bound, others inside
        rates = both[:, 0, 0].mean(), both[:, 1, :].any(axis=1).mean()
        print(f"| {sizes} | | gap of recall | {rates[0]:.3f} | {rates[1]:.3f} |")


WORDS = ("holds", "fails")


PARTIALS = (  # cases, prevalence, AUC, law, spread, levels, to which rate
    (100, 0.5, 0.85, normal_tails, 1.0, None, 0.2),
    (150, 0.3, 0.95, normal_tails, 1.0, None, 0.1),
    (200, 0.5, 0.9, normal_tails, 1.0, None, 0.1),
    (200, 0.1, 0.85, normal_tails, 1.0, None, 0.1),
    (250, 0.6, 0.9, normal_tails, 1.5, None, 0.05),
    (250, 0.4, 0.75, skewed_tails, 1.0, None, 0.15),
    (300, 0.2, 0.9, normal_tails, 1.0, 10, 0.1),
    (400, 0.05, 0.8, normal_tails, 1.0, None, 0.3),
    (600, 0.3, 0.97, skewed_tails, 1.0, None, 0.1),
    (1000, 0.2, 0.7, normal_tails, 1.0, None, 0.1),
    (1000, 0.05, 0.92, normal_tails, 0.7, None, 0.02),
)


def partial(replicates, rng):
    """The partial AUC on its bound, scaled from .5 to 1 (McClish 1989); both ends."""
    for n, prevalence, auc, law, spread, levels, to in PARTIALS:
        tpr, fpr = curve(law, auc, spread, levels)
        f = np.linspace(0, to, 100_001)
        under = np.trapezoid(np.interp(f, fpr, tpr), f)
        truth = 0.5 * (1 + (under - to**2 / 2) / (to - to**2 / 2))

        def ask(t, level, to=to):
            return trueness.partial_auc(t, fpr=(0, to), corrected=True, level=level)

        row = ends(replicates, rng, (n, prevalence), (tpr, fpr), truth, ask)
        name = f"{law.__name__[:6]}, {levels} levels" if levels else law.__name__[:6]
        print(
            f"| {n} | {prevalence:.0%} | {auc}, {name}, {spread} | to {to} | "
            f"{truth:.2f} | {row} |",
            flush=True,
        )


def weights(replicates, rng):
    """Weighted cases, two equally good classifiers: recall and AUC not worse."""
    rules = [
        {"metric": "recall", "threshold": 0.7, "not_worse_than": "old"},
        {"metric": "auc", "not_worse_than": "old"},
    ]
    for n, prevalence, spread in ((300, 0.4, 0.8), (300, 0.4, 1.5), (1000, 0.2, 0.8)):
        sigma = np.sqrt(np.log1p(spread**2))  # of lognormal weights with this variation
        said = []
        for _ in range(replicates):
            y = rng.random(n) < prevalence
            shared = rng.normal(size=n) + 1.2 * y
            s = shared + 0.7 * rng.normal(size=(2, n))
            w = rng.lognormal(0, sigma, n)
            scores = {"new": s[0], "old": s[1]}
            p = trueness.panel(y * 1, scores, weight=w)
            found = check(p, rules, adjust="none")
            said.append([v.verdict for v in found.verdicts])
        names = [f"{m}, weights vary by {spread}" for m in ("recall", "AUC")]
        rows(n, prevalence, names, np.array(said))


def judges(replicates, rng):
    """A rate from three judges that err together, exactly on the bound."""
    for n, rate, labels in ((600, 0.8, 100), (600, 0.5, 60), (1000, 0.95, 150)):
        names = ["J0", "J1", "J2"]
        rule = {"metric": "prevalence", "judges": names, "labelled": "random"}
        said = []
        for _ in range(replicates):
            y = rng.random(n) < rate
            luck = rng.random((n, 3))
            luck = np.where(rng.random((n, 1)) < 0.4, luck[:, :1], luck)
            x = np.where(y[:, None], luck < 0.88, luck < 0.3).astype(float)
            known = np.where(np.arange(n) < labels, y, np.nan)
            p = trueness.panel(known, dict(zip(names, x.T, strict=True)))
            said.append([check(p, [{**rule, "at_least": rate}]).verdict])
        rows(n, rate, [f"rate from judges, {labels} labels"], np.array(said))


def clusters(replicates, rng):
    """Images of patients: AUC and recall of the population of images on the bound."""
    between, lift = 0.8, 1.2
    noise = np.sqrt(1 - between**2)
    area, recall = PHI.cdf(lift / np.sqrt(2)), 1 - PHI.cdf(0.5 - lift)
    for patients, images in ((40, 5), (150, 8)):
        asked = [f"auc >= {area:.12f}", f"recall >= {recall:.12f} at 0.5"]
        said = {"clusters": [], "ignored": []}
        for _ in range(replicates):
            y = np.repeat(rng.random(patients) < 0.5, images)
            own = np.repeat(rng.normal(size=patients), images)
            s = lift * y + between * own + noise * rng.normal(size=y.size)
            who = np.repeat(np.arange(patients), images)
            t = trueness.tally(y.astype(int), s)
            tied = trueness.tally(y.astype(int), s, by=who)
            for name, cluster in (("clusters", tied), ("ignored", None)):
                found = check(t, asked, cluster=cluster, adjust="none").verdicts
                said[name].append([v.verdict for v in found])
        for name, words in said.items():
            both = [f"{w}, {name}" for w in ("auc", "recall")]
            rows(f"{patients} x {images}", 0.5, both, np.array(words))


def called(rng, n, prevalence, gap, requirements, probability=False, level=0.95):
    y, s = cohort(rng, n, prevalence, gap)
    if probability:
        odds = np.exp(gap * s - gap**2 / 2) * prevalence / (1 - prevalence)
        s = odds / (1 + odds)
    try:
        found = check(trueness.tally(y.astype(int), s), requirements, adjust="none")
    except trueness.NotEnoughCases:
        return ["refused"] * len(requirements)
    return [v.verdict for v in found.verdicts]


def on_the_bound(replicates, rng):
    gap, cut = np.sqrt(2) * PHI.inv_cdf(0.8), 0.5
    print("| cases | positives | measure | holds | fails |")
    print("| --- | --- | --- | --- | --- |")
    for n, prevalence in SIZES:
        exact = truths(prevalence, gap, cut)
        asked = [f"{k} >= {v:.12f} at {cut}" for k, v in exact.items()]
        asked.append("auc >= 0.8")
        said = np.array(
            [called(rng, n, prevalence, gap, asked) for _ in range(replicates)]
        )
        rows(n, prevalence, [*exact, "auc"], said)


def family(replicates, rng):
    """Six requirements, all exactly on their bounds: is any said to hold, to fail?"""
    gap, cut = np.sqrt(2) * PHI.inv_cdf(0.8), 0.5
    exact = truths(0.2, gap, cut)
    asked = [f"{k} >= {v:.12f} at {cut}" for k, v in exact.items()] + ["auc >= 0.8"]
    any_holds = any_fails = 0
    for _ in range(replicates):
        y, s = cohort(rng, 300, 0.2, gap)
        found = check(trueness.tally(y.astype(int), s), asked)
        said = {v.verdict for v in found.verdicts}
        any_holds += "holds" in said
        any_fails += "fails" in said
    rates = (
        f"any holds {any_holds / replicates:.3f}, fails {any_fails / replicates:.3f}"
    )
    print(f"\nEight requirements on their bounds, Holm: {rates}.")


def power(replicates, rng):
    """The gate beside the comparison of the point estimate with the bound."""
    print("\n| true recall, required .90 | positives | holds | fails | point passes |")
    print("| --- | --- | --- | --- | --- |")
    for positives in (100, 400, 1600):
        for true in (0.86, 0.88, 0.90, 0.92, 0.94):
            k = rng.binomial(positives, true, replicates)
            said = []
            table = {}
            for tp in k:
                if tp not in table:
                    t = trueness.Tally(
                        [1.0, 0.0], neg=[5, 45], pos=[tp, positives - tp]
                    )
                    table[tp] = check(t, "recall >= 0.9 at 0.5").verdict
                said.append(table[tp])
            said = np.array(said)
            rates = [(said == "holds").mean(), (said == "fails").mean()]
            rates.append((k / positives >= 0.9).mean())
            row = " | ".join(f"{r:.3f}" for r in rates)
            print(f"| {true:.2f} | {positives} | {row} |")


MARGINS = (
    (400, 0.3, 0.82, 0.02, 0.6),
    (100, 0.1, 0.90, 0.02, 0.6),
    (400, 0.1, 0.95, 0.02, 0.8),
    (400, 0.1, 0.95, 0.03, 0.3),
    (60, 0.5, 0.85, 0.05, 0.3),
    (1000, 0.05, 0.97, 0.01, 0.9),
)


def baselines(replicates, rng):
    """A candidate exactly as much worse as the margin allows: is it said to hold?"""
    print("\n| cases | positives | AUC | margin | correlation | paired | unpaired |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for n, prevalence, base, margin, shared in MARGINS:
        wide, less = (np.sqrt(2) * PHI.inv_cdf(a) for a in (base, base - margin))
        rule = {"metric": "auc", "not_worse_than": "old", "margin": margin}
        other = {**rule, "not_worse_than": "baseline"}
        said = []
        for _ in range(replicates):
            y, z = rng.random((2, n)) < prevalence
            if min(y.sum(), (~y).sum(), z.sum(), (~z).sum()) < 2:
                continue
            s = np.sqrt(shared) * rng.normal(size=n)
            s = s + np.sqrt(1 - shared) * rng.normal(size=(2, n))
            p = trueness.panel(y * 1, {"new": s[0] + less * y, "old": s[1] + wide * y})
            old = trueness.tally(z * 1, rng.normal(size=n) + wide * z)
            apart = check(p["new"], [other], baseline=old).verdict
            said.append([check(p, [rule]).verdict, apart])
        cells = [
            " / ".join(f"{np.mean([s[k] == w for s in said]):.3f}" for w in WORDS)
            for k in (0, 1)
        ]
        print(
            f"| {n} | {prevalence:.0%} | {base} | {margin} | {shared} | {cells[0]} | "
            f"{cells[1]} |",
            flush=True,
        )


PARTS = {
    "bounds": on_the_bound,
    "probabilities": on_the_bound_of_probabilities,
    "precision": precisions,
    "calibration": calibration_errors,
    "gaps": gaps,
    "partial": partial,
    "weights": weights,
    "judges": judges,
    "clusters": clusters,
    "family": family,
    "baselines": baselines,
    "power": power,
}

if __name__ == "__main__":
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    for part in sys.argv[2:] or PARTS:
        PARTS[part](number, np.random.default_rng(19))
