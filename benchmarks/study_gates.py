"""How often does a gate call a truth that is exactly on its bound? And with what power?

``python benchmarks/study_gates.py [replicates]`` prints the tables of
``docs/maths/gates.md``. The truth is computed from the model of the scores (normal, one
apart for the AUC asked for) and not from the code that is judged.
"""

from __future__ import annotations

import sys
from statistics import NormalDist

import numpy as np
from scipy import integrate, optimize

import trueness
from trueness.gates.verdicts import check

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


def brier_truth(prevalence, gap):
    """Mean squared error of the calibrated score, by integration."""

    def at(x):
        pos = prevalence * PHI.pdf(x - gap)
        neg = (1 - prevalence) * PHI.pdf(x)
        p = pos / (pos + neg)
        return pos * (1 - p) ** 2 + neg * p**2

    return integrate.quad(at, -9, 9 + gap)[0]


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
        for k, name in enumerate([*exact, "auc"]):
            rates = [(said[:, k] == word).mean() for word in ("holds", "fails")]
            print(
                f"| {n} | {prevalence:.0%} | {name} | {rates[0]:.3f} | {rates[1]:.3f} |"
            )


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


def baselines(replicates, rng):
    """A candidate exactly as much worse as the margin allows: is it said to hold?"""
    base, margin = 0.82, 0.02
    wide = optimize.brentq(lambda g: PHI.cdf(g / np.sqrt(2)) - base, 0, 5)
    less = optimize.brentq(lambda g: PHI.cdf(g / np.sqrt(2)) - (base - margin), 0, 5)
    rule = {"metric": "auc", "not_worse_than": "old", "margin": margin}
    paired = np.zeros(2)
    apart = np.zeros(2)
    for _ in range(replicates):
        y = (rng.random(400) < 0.3).astype(int)
        shared = rng.normal(size=400)
        noise = rng.normal(size=(2, 400))
        s = np.sqrt(0.6) * shared + np.sqrt(0.4) * noise
        p = trueness.panel(y, {"new": s[0] + less * y, "old": s[1] + wide * y})
        said = check(p, [rule]).verdict
        paired += [said == "holds", said == "fails"]
        z = (rng.random(400) < 0.3).astype(int)
        other = trueness.tally(z, rng.normal(size=400) + wide * z)
        said = check(p["new"], [{**rule, "not_worse_than": "baseline"}], baseline=other)
        apart += [said.verdict == "holds", said.verdict == "fails"]
    print("\nNot worse by .02, and in truth .02 worse; holds and fails:")
    print(f"paired {paired / replicates}, unpaired {apart / replicates}.")


if __name__ == "__main__":
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    generator = np.random.default_rng(19)
    on_the_bound(number, generator)
    family(number // 2, generator)
    baselines(number // 2, generator)
    power(number, generator)
