"""How good is a cut, in every sense that people use?

A metric is defined here once; objectives, constraints, names on the command line, rows
of the report, limits of binned tallies and entries in the docs are read from here. Its
formula is a quotient of two polynomials of the counts: where both are sums of counts,
their coefficients of (tp, fp, fn, tn) (``_ratio``), otherwise a function that gives
numerator and denominator, in floating point as in whole numbers (``_quotient``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, PythonCode
from trueness.metrics.algebra import (
    Coefficients,
    Metric,
    Ratio,
    Shape,
    plus,
    times,
    write_number,
)
from trueness.metrics.confusion import Confusion


def _ratio(
    name: str,
    question: str,
    over: Coefficients,
    under: Coefficients | None,
    **attributes: Any,
) -> Metric:
    """Return a metric that is a quotient of two weighted sums of (tp, fp, fn, tn)."""
    attributes |= {"ratio": Ratio(over, under), "shape": "quotient"}
    return Metric(name, question=question, **attributes)


def _quotient(
    name: str,
    question: str,
    formula: Callable[[Any, Any, Any, Any], tuple[Any, Any]],
    shape: Shape = "quotient",
    **attributes: Any,
) -> Metric:
    """Return a metric from a formula for its numerator and denominator."""
    return Metric(name, question=question, exact=formula, shape=shape, **attributes)


_ALL: Coefficients = (1, 1, 1, 1)
_YERUSHALMY = "Yerushalmy 1947, Public Health Rep. 62:1432, doi:10.2307/4586294"
_FAWCETT = (
    "Fawcett 2006, Pattern Recogn. Lett. 27:861, doi:10.1016/j.patrec.2005.10.010"
)
_DRUMMOND = "Drummond, Holte 2006, Mach. Learn. 65:95, doi:10.1007/s10994-006-8199-5"
_RIJSBERGEN = "van Rijsbergen 1979, Information Retrieval, 2nd ed., ch. 7"
_DEEKS = "Deeks, Altman 2004, BMJ 329:168, doi:10.1136/bmj.329.7458.168"

# a table, read row by row: name, question, formula; what else is known of it
# fmt: off
accuracy = _ratio("accuracy", "What proportion of all cases is classified correctly?",
    (1, 0, 0, 1), _ALL, reference=_FAWCETT, aliases=("acc",), shown=True)
balanced_accuracy = _quotient("balanced_accuracy",
    "What is the mean of recall and specificity?",
    lambda tp, fp, fn, tn: (tp * (fp + tn) + tn * (tp + fn), 2 * (tp + fn) * (fp + tn)),
    reference="Brodersen et al. 2010, Proc. ICPR 20:3121, doi:10.1109/ICPR.2010.764",
    aliases=("bac", "bacc"))
recall = _ratio("recall",
    "What proportion of the positives is flagged? (sensitivity, true positive rate)",
    (1, 0, 0, 0), (1, 0, 1, 0), reference=_YERUSHALMY,
    aliases=("sensitivity", "sens", "tpr", "hit_rate", "true_positive_rate"),
    words="recall (sensitivity)", shown=True)
specificity = _ratio("specificity",
    "What proportion of the negatives is not flagged? (true negative rate)",
    (0, 0, 0, 1),
    (0, 1, 0, 1), reference=_YERUSHALMY,
    aliases=("spec", "tnr", "selectivity", "true_negative_rate"), shown=True)
fpr = _ratio("fpr",
    "What proportion of the negatives is flagged? (false positive rate, fall-out)",
    (0, 1, 0, 0), (0, 1, 0, 1), direction="lower", reference=_FAWCETT,
    aliases=("fall_out", "false_positive_rate"), words="false positive rate")
fnr = _ratio("fnr",
    "What proportion of the positives is missed? (false negative rate, miss rate)",
    (0, 0, 1, 0), (1, 0, 1, 0), direction="lower", reference=_FAWCETT,
    aliases=("miss_rate", "false_negative_rate"), words="false negative rate")
precision = _ratio("precision",
    "What proportion of the flagged cases is positive? (positive predictive value)",
    (1, 0, 0, 0), (1, 1, 0, 0), reference=_FAWCETT,
    aliases=("ppv", "positive_predictive_value"), words="precision (PPV)", shown=True)
npv = _ratio("npv",
    "What proportion of the cases not flagged is negative? (negative predictive value)",
    (0, 0, 0, 1), (0, 0, 1, 1), reference=_FAWCETT,
    aliases=("negative_predictive_value",), words="negative predictive value",
    shown=True)
f1 = _ratio("f1", "What is the harmonic mean of precision and recall? (Dice)",
    (2, 0, 0, 0), (2, 1, 1, 0), reference=_RIJSBERGEN,
    aliases=("f1_score", "dice", "f_score", "f_measure"), words="F1", shown=True)
youden = _quotient("youden",
    "How far is recall above the false positive rate? (J, informedness)",
    lambda tp, fp, fn, tn: (tp * tn - fp * fn, (tp + fn) * (fp + tn)),
    range=(-1.0, 1.0),
    reference="Youden 1950, Cancer 3:32, "
    "doi:10.1002/1097-0142(1950)3:1<32::AID-CNCR2820030106>3.0.CO;2-3",
    aliases=("j", "youden_j", "youden_index", "informedness", "bookmaker"),
    words="Youden's J")
mcc = _quotient("mcc", "How strongly do prediction and truth correlate? (phi)",
    lambda tp, fp, fn, tn: ((tp * tn - fp * fn) * abs(tp * tn - fp * fn),
        (tp + fn) * (fp + tn) * (tp + fp) * (fn + tn)),
    shape="bent", root=True, range=(-1.0, 1.0),
    reference="Matthews 1975, Biochim. Biophys. Acta 405:442, "
    "doi:10.1016/0005-2795(75)90109-9",
    aliases=("phi", "matthews", "matthews_correlation"),
    words="Matthews correlation", shown=True)
kappa = _quotient("kappa",
    "How far do prediction and truth agree, corrected for chance?",
    lambda tp, fp, fn, tn: (2 * (tp * tn - fp * fn),
        (tp + fp) * (fp + tn) + (tp + fn) * (fn + tn)),
    range=(-1.0, 1.0),
    reference="Cohen 1960, Educ. Psychol. Meas. 20:37, doi:10.1177/001316446002000104",
    aliases=("cohen_kappa", "cohens_kappa"), words="Cohen's kappa")
g_mean = _quotient("g_mean", "What is the geometric mean of recall and specificity?",
    lambda tp, fp, fn, tn: (tp * tn, (tp + fn) * (fp + tn)), shape="product", root=True,
    reference="Kubat, Matwin 1997, Proc. ICML 14:179", aliases=("gmean",),
    words="geometric mean")
jaccard = _ratio("jaccard",
    "How far do flagged and positive cases overlap? (critical success index)",
    (1, 0, 0, 0), (1, 1, 1, 0),
    reference="Jaccard 1912, New Phytol. 11:37, doi:10.1111/j.1469-8137.1912.tb05611.x",
    aliases=("csi", "threat_score", "iou"), words="Jaccard index")
markedness = _quotient("markedness",
    "How far is precision above the proportion of positives among cases not flagged?",
    lambda tp, fp, fn, tn: (tp * tn - fp * fn, (tp + fp) * (fn + tn)), shape="bent",
    range=(-1.0, 1.0), reference="Powers 2011, J. Mach. Learn. Technol. 2:37")
lift = _quotient("lift",
    "How many times more frequent are positives among the flagged cases?",
    lambda tp, fp, fn, tn: (tp * (tp + fp + fn + tn), (tp + fp) * (tp + fn)),
    range=(0.0, np.inf),
    reference="Brin et al. 1997, Proc. SIGMOD:255, doi:10.1145/253260.253325")
lr_positive = _quotient("lr_positive",
    "By what factor does a flag raise the odds of being positive?",
    lambda tp, fp, fn, tn: (tp * (fp + tn), (tp + fn) * fp), range=(0.0, np.inf),
    reference=_DEEKS, aliases=("plr", "lr_plus", "positive_likelihood_ratio", "lr+"),
    words="positive likelihood ratio")
lr_negative = _quotient("lr_negative",
    "By what factor does the absence of a flag change the odds of being positive?",
    lambda tp, fp, fn, tn: (fn * (fp + tn), (tp + fn) * tn), direction="lower",
    range=(0.0, np.inf), reference=_DEEKS,
    aliases=("nlr", "lr_minus", "negative_likelihood_ratio", "lr-"),
    words="negative likelihood ratio")
diagnostic_odds_ratio = _quotient("diagnostic_odds_ratio",
    "How many times larger are the odds of a flag for positives than for negatives?",
    lambda tp, fp, fn, tn: (tp * tn, fp * fn), range=(0.0, np.inf),
    reference="Glas et al. 2003, J. Clin. Epidemiol. 56:1129, "
    "doi:10.1016/S0895-4356(03)00177-X",
    aliases=("dor", "odds_ratio"))
flagged = _ratio("flagged", "How many cases are predicted positive?",
    (1, 1, 0, 0), None, direction="none", range=(0.0, np.inf),
    aliases=("predicted_positive",), words="cases flagged")
flagged_rate = _ratio("flagged_rate",
    "What proportion of all cases is predicted positive?",
    (1, 1, 0, 0), _ALL, direction="none", aliases=("alert_rate", "selection_rate"),
    words="proportion flagged")
# fmt: on


def _count(name: str, question: str, weights: Coefficients) -> Metric:
    return _ratio(name, question, weights, None, direction="none", range=(0.0, np.inf))


def _two_cuts_only(c: Confusion) -> Any:
    """Refuse counts at one threshold, which defer no case."""
    raise InputError(
        "defer and deferred count cases between two thresholds; a single threshold "
        "has none.",
        example=PythonCode(
            'trueness.best_thresholds(t, minimize="cost(fp=1, fn=10, defer=0.3)")'
        ),
    )


# counts as people write them: 80*tp - 5*fp
# fmt: off
COUNTS: dict[str, Metric] = {metric.name: metric for metric in (
    _count("tp", "How many positives are flagged?", (1, 0, 0, 0)),
    _count("fp", "How many negatives are flagged?", (0, 1, 0, 0)),
    _count("fn", "How many positives are missed?", (0, 0, 1, 0)),
    _count("tn", "How many negatives are not flagged?", (0, 0, 0, 1)),
    _count("positives", "How many cases are positive?", (1, 0, 1, 0)),
    _count("negatives", "How many cases are negative?", (0, 1, 0, 1)),
    _count("cases", "How many cases are there?", (1, 1, 1, 1)),
    Metric("deferred", _two_cuts_only, "lower", (0.0, np.inf),
        question="How many cases between two thresholds are left to a person?"),
    Metric("defer", _two_cuts_only, "lower",
        question="What proportion of all cases lies between two thresholds?"),
)}
# fmt: on


def f_beta(beta: float) -> Metric:
    r"""F-beta: harmonic mean of precision and recall, with weights 1 and beta squared.

    Recall counts beta times as much as precision.

    .. math:: F_\beta = \frac{(1+\beta^2)\,TP}{(1+\beta^2)\,TP + \beta^2 FN + FP}

    Examples
    --------
    >>> f_beta(2)(Confusion(tp=3, fp=1, fn=2, tn=4)).value  # 15 / (15 + 8 + 1)
    0.625
    """
    if _options.positive_number(beta, "beta") > 1e100:
        raise InputError(
            f"beta must be at most 1e100; found {beta!r}. Recall alone is 'recall'.",
            option="beta",
        )

    # exact: the square of 0.1 is 0.01
    b2 = times(beta, beta)
    return _ratio(
        f"f_beta({write_number(beta)})",
        "F-beta: harmonic mean of precision and recall, in which recall counts beta "
        "times.",
        (plus(1, b2), 0, 0, 0),
        (plus(1, b2), 1, b2, 0),
        reference=_RIJSBERGEN,
    )


def cost(
    *, fp: float, fn: float, tp: float = 0.0, tn: float = 0.0, defer: float = 0.0
) -> Metric:
    """Total cost of all cases, from the costs of each kind of case.

    A negative cost is a benefit of true positives or true negatives. ``defer`` is the
    cost of a case that a person decides, for :func:`best_thresholds`.

    Examples
    --------
    >>> cost(fp=1, fn=5)(Confusion(tp=3, fp=1, fn=2, tn=4)).value
    11.0
    >>> cost(fp=5, fn=100, tp=-80)(Confusion(tp=3, fp=1, fn=2, tn=4)).value
    -35.0
    """
    tp = _options.real_number(tp, "tp")
    tn = _options.real_number(tn, "tn")
    defer = _options.not_negative(defer, "defer")
    fp_cost, fn_cost = _prices(fp, fn, "cost", has_other_costs=bool(tp or tn or defer))

    arguments = {"fp": fp, "fn": fn}
    if tp:
        arguments["tp"] = tp
    if tn:
        arguments["tn"] = tn
    arguments_text = ", ".join(
        f"{kind}={write_number(price)}" for kind, price in arguments.items()
    )
    total = _ratio(
        f"cost({arguments_text})",
        "What is the total cost of the errors?",
        (tp, fp_cost, fn_cost, tn),
        None,
        direction="lower",
        range=(0.0 if min(tp, tn) >= 0 else -np.inf, np.inf),
        reference="Elkan 2001, Proc. IJCAI 17:973",
    )
    # cases between two thresholds are in none of the four cells
    if defer:
        return total + defer * COUNTS["deferred"]
    return total


def cost_rate(*, fp: float, fn: float) -> Metric:
    r"""Cost of the errors, as a proportion of the largest possible cost.

    .. math:: \frac{c_{fp} FP + c_{fn} FN}{c_{fp} (FP + TN) + c_{fn} (TP + FN)}

    It lies between 0 and 1, as the cost of Sameni (2025), eq. (30), is meant to.

    Examples
    --------
    >>> cost_rate(fp=1, fn=5)(Confusion(tp=3, fp=1, fn=2, tn=4)).value  # 11 / (5 + 25)
    0.36666666666666664
    """
    fp_cost, fn_cost = _prices(fp, fn, "cost_rate")
    return _ratio(
        f"cost_rate(fp={write_number(fp)}, fn={write_number(fn)})",
        "What proportion of the largest possible cost do the errors reach?",
        (0, fp_cost, fn_cost, 0),
        (fn_cost, fp_cost, fn_cost, fp_cost),
        direction="lower",
        reference=_DRUMMOND,
    )


def _prices(
    fp: float, fn: float, metric_name: str, has_other_costs: bool = False
) -> tuple[float, float]:
    """Return the costs of both errors; one must be above 0 unless there are others."""
    prices = (_options.real_number(fp, "fp"), _options.real_number(fn, "fn"))
    if min(prices) < 0 or (max(prices) == 0 and not has_other_costs):
        raise InputError(
            f"{metric_name} needs costs of zero or more, one of them above zero; found "
            f"{fp:g} for fp and {fn:g} for fn."
        )
    if max(prices) > 1e100:  # sums of larger costs could overflow
        raise InputError(
            f"{metric_name} needs costs of at most 1e100; found {fp:g} for fp and "
            f"{fn:g} for fn. Divide all of them by the same number."
        )
    return prices


def net_benefit(odds: float) -> Metric:
    r"""Net benefit: true positives per case, less false positives times ``odds``.

    .. math:: NB = \frac{TP - o\,FP}{N}, \qquad o = \frac{p_t}{1 - p_t}

    ``odds`` are those of the threshold probability p_t at which you would act.

    Examples
    --------
    >>> net_benefit(0.25)(Confusion(tp=3, fp=1, fn=2, tn=4)).value  # (3 - 0.25) / 10
    0.275
    """
    odds = _options.real_number(odds, "odds")
    if odds < 0:
        raise InputError(f"odds must be zero or more; found {odds:g}.", option="odds")

    return _ratio(
        f"net_benefit({write_number(odds)})",
        "How many true positives per case remain after subtracting the weighted "
        "false positives?",
        (1, -odds, 0, 0),
        _ALL,
        range=(-odds, 1.0),
        reference="Vickers, Elkin 2006, Med. Decis. Making 26:565, "
        "doi:10.1177/0272989X06295361",
    )


# every metric that stands above, in that order
METRICS: dict[str, Metric] = {
    value.name: value for value in [*globals().values()] if isinstance(value, Metric)
}

# those that commands and the read-out beside the slider show first
SHOWN: tuple[str, ...] = tuple(
    metric.name for metric in METRICS.values() if metric.shown
)

METRIC_FAMILIES: dict[str, Callable[..., Metric]] = {
    "f_beta": f_beta,
    "cost": cost,
    "cost_rate": cost_rate,
    "net_benefit": net_benefit,
}

# members of a family that have a name of their own
FAMILY_MEMBERS: dict[str, Metric] = {"f2": f_beta(2), "f0.5": f_beta(0.5)}

SYNONYMS: dict[str, str] = {
    alias: name for name, metric in METRICS.items() for alias in metric.aliases
} | {"fbeta": "f_beta", "nb": "net_benefit"}


def by_name(name: str) -> Metric | None:
    """Return the metric of this name or alias, under this name; None if unknown."""
    for known_metrics in (METRICS, FAMILY_MEMBERS):
        if name in known_metrics:
            return known_metrics[name]
    # shown as it was typed: sensitivity stays sensitivity
    synonym = SYNONYMS.get(name)
    return replace(METRICS[synonym], name=name) if synonym in METRICS else None
