"""How often does a guaranteed threshold break its promise, and what does it cost?

    python benchmarks/study_guarantees.py [SAMPLES]

Samples of 1,200 cases, 30 % positive, two normal distributions 1.5 apart, scores of two
digits. "wrong" is the share of samples in which a constraint fails in the population at
the cut that was guaranteed with 95 % confidence (at most 0.05 is promised); "none" the
share in which nothing could be proved; "metric" the mean of the bounded metric in the
population; "price" the mean of what is paid for certainty (recall for precision and
fpr, fpr for recall, the deferred share for two cuts). With MAPIE installed its
``BinaryClassificationController`` stands beside it, on the same samples.
"""

from __future__ import annotations

import importlib.util
import sys
import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr

import trueness

FIXED = (0.9, 1.0, 0.8, 1.2, 0.6, 1.4)
ASKED: tuple[tuple[Any, dict[str, Any]], ...] = (
    ("recall >= 0.8", {}),
    ("fpr <= 0.2", {}),
    ("precision >= 0.6", {}),
    ("npv >= 0.88", {}),
    ("accuracy >= 0.78", {}),
    ("f1 >= 0.64", {}),
    ("jaccard >= 0.47", {}),
    ("f_beta(2) >= 0.72", {}),
    ("net_benefit(0.25) >= 0.17", {}),
    ("youden >= 0.47", {}),
    ("balanced_accuracy >= 0.74", {}),
    ("lr_positive >= 4", {}),
    ("0.5*recall + 0.5*specificity >= 0.74", {}),
    ("precision >= 0.2", {"prevalence": 0.05}),
    ("precision >= 0.2", {"prevalences": (0.05, 0.1)}),
    ("precision >= 0.2", {"prevalences": "survey"}),
    ("f1 >= 0.6", {"thresholds": FIXED}),
    ("f1 >= 0.6", {"thresholds": FIXED, "sequence": False}),
    (["recall >= 0.7", "fpr <= 0.3"], {}),
    (["recall >= 0.7", "precision >= 0.5"], {"maximize": "f1"}),
    (["recall >= 0.7", "fpr <= 0.3", "accuracy >= 0.65"], {"maximize": "f1"}),
    (["precision above >= 0.65", "npv below >= 0.85"], {}),
    (["fpr above <= 0.1", "fnr below <= 0.1"], {}),
)
# the best cut of the population just misses these: every proof is an error
ASKED += tuple(
    (text, {})
    for text in ("accuracy >= 0.8062", "f1 >= 0.6738", "youden >= 0.5468",
                 "f_beta(2) >= 0.7675", "net_benefit(0.25) >= 0.1992")
)  # fmt: skip
PRICE = {"recall": "fpr", "precision": "recall", "fpr": "recall"}


class Row(NamedTuple):
    constraint: str
    options: str
    wrong: str
    none: str
    metric: str
    price: str


def population(threshold: float, share: float) -> trueness.Confusion:
    # rounded scores reach a threshold from half a step below it on
    threshold = np.ceil(100 * threshold - 1e-6) / 100 - 0.005
    tpr, fpr = float(ndtr(1.5 - threshold)), float(ndtr(-threshold))
    p, q = 1e6 * share, 1e6 * (1 - share)
    return trueness.Confusion(p * tpr, q * fpr, p * (1 - tpr), q * (1 - fpr))


def sample(rng):
    y = rng.random(1200) < 0.3
    return y, np.round(rng.normal(size=1200) + 1.5 * y, 2)


def survey(rng):
    """Estimate a prevalence of 5 % from 400 cases: it has an interval of its own."""
    k = rng.binomial(400, 0.05)
    return trueness.accuracy([1] * k + [0] * (400 - k), [1] * 400)


def one_cut(texts, options, y, s, rng):
    """Ask for one cut: whether a promise is broken, the metric, what it costs."""
    given = dict(options)
    if given.get("prevalences") == "survey":
        given["prevalences"] = survey(rng)
    share = options.get("prevalences", options.get("prevalence", 0.3))
    share = 0.05 if share == "survey" else share
    share = share[0] if isinstance(share, tuple) else share
    found = trueness.guaranteed_threshold(y, s, texts, rng=rng, **given)
    c = population(found.threshold, share)
    asked = [trueness.constraint(x) for x in texts]
    m = asked[0].metric
    price = trueness.metric(PRICE.get(m.name, m.name))
    return not all(a(c) for a in asked), float(m(c)), float(price(c))


def two_cuts(texts, options, y, s, rng):
    found = trueness.guaranteed_threshold(y, s, texts, rng=rng, **options)
    wrong = False
    for text in texts:
        side = "above" if " above " in text else "below"
        c = population(found.rule.cuts()[side == "above"], 0.3)
        wrong |= not trueness.constraint(text.replace(f" {side}", ""))(c)
    first = trueness.constraint(texts[0].replace(" above", ""))
    return wrong, float(first.metric(population(found.threshold, 0.3))), found.defer


def mapie(texts, options, y, s, rng):
    """Ask MAPIE for the same: thresholds of 0.05 steps, its default correction."""
    from mapie.risk_control import BinaryClassificationController as Controller

    asked = trueness.constraint(texts[0])
    grid = np.round(np.arange(-1.5, 3.5, 0.05), 2)

    def proba(x):
        p = 1 / (1 + np.exp(-np.asarray(x).ravel()))
        return np.column_stack([1 - p, p])

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = Controller(
            proba, asked.metric.name, asked.bound, 0.95,
            list_predict_params=1 / (1 + np.exp(-grid + 1e-9)),
        ).calibrate(s[:, None], y.astype(int))  # fmt: skip
    if made.best_predict_param is None:
        raise trueness.NotEnoughCases("nothing is controlled")
    at = float(made.best_predict_param)
    c = population(np.log(at / (1 - at)) + 1e-6, 0.3)
    price = trueness.metric(PRICE.get(asked.metric.name, asked.metric.name))
    return not asked(c), float(asked.metric(c)), float(price(c))


def counted(ask, texts, options, samples):
    rng, found, none = np.random.default_rng(20261115), [], 0
    for _ in range(samples):
        y, s = sample(rng)
        try:
            found.append(ask(texts, options, y, s, rng))
        except (trueness.NotEnoughCases, trueness.Infeasible):
            none += 1
    wrong, metric, price = np.mean(found, axis=0) if found else [np.nan] * 3
    share = wrong * len(found) / samples
    return f"{share:.3f}", f"{none / samples:.3f}", f"{metric:.3f}", f"{price:.3f}"


def rows(samples: int = 300):
    beside = importlib.util.find_spec("mapie") is not None
    for given, options in ASKED:
        texts = [given] if isinstance(given, str) else given
        two = any(" above " in x or " below " in x for x in texts)
        words = ", ".join(f"{k}={v}" for k, v in options.items())
        found = counted(two_cuts if two else one_cut, texts, options, samples)
        yield Row(" and ".join(texts), words, *found)
        name = texts[0].split()[0]
        if beside and not options and len(texts) == 1 and name in (
            "recall", "fpr", "precision", "accuracy"
        ):  # fmt: skip
            yield Row(texts[0], "MAPIE", *counted(mapie, texts, options, samples))


if __name__ == "__main__":
    print("| " + " | ".join(Row._fields) + " |")
    print("|" + " --- |" * len(Row._fields))
    for row in rows(int(sys.argv[1]) if len(sys.argv) > 1 else 300):
        print("| " + " | ".join(map(str, row)) + " |", flush=True)
