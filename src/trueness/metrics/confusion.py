"""How good is a classifier at a threshold, in any sense that people use?

A ``Confusion`` holds the four counts of a cut, for one threshold or for many at once;
``sweep(tally)`` gives it for every threshold. The metrics below are functions of it.

A new metric is one entry of ``METRICS`` at the foot of this module: it is then an
objective, a constraint, a name on the command line, a report row and a docs entry.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from trueness._core.arrays import Array, Floats, Ints
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.records import Record
from trueness.counts.answers import of_tally
from trueness.counts.values import Tally
from trueness.metrics import exact
from trueness.metrics.algebra import Direction, Metric, Ratio, plus, times, write_number

Coefficients = tuple[float, float, float, float]


@final
@dataclass(frozen=True, repr=False)
class Confusion(Record):
    """How many cases are right and wrong at each threshold?

    ``tp``, ``fp``, ``fn`` and ``tn`` are counts: four numbers, or four arrays of one
    shape. A case is predicted positive when ``score >= threshold``.

    Examples
    --------
    >>> accuracy(Confusion(tp=3, fp=1, fn=2, tn=4))
    np.float64(0.7)
    """

    tp: Array
    fp: Array
    fn: Array
    tn: Array

    def __init__(
        self, tp: ArrayLike, fp: ArrayLike, fn: ArrayLike, tn: ArrayLike
    ) -> None:
        named = {"tp": tp, "fp": fp, "fn": fn, "tn": tn}
        for name, values in named.items():
            array = np.asarray(values)
            if array.dtype.kind not in "iuf":
                raise InputError(f"{name} must be counts; found {array.dtype}.")
            object.__setattr__(self, name, array)

    @classmethod
    def _swept(cls, tp: Array, fp: Array, n_pos: int, n_neg: int) -> Confusion:
        """Take running counts; ``fn`` and ``tn`` are worked out when asked for."""
        c = object.__new__(cls)
        tp, fp = np.asarray(tp), np.asarray(fp)
        c.__dict__.update(tp=tp, fp=fp, _n_pos=n_pos, _n_neg=n_neg)
        return c

    def __getattr__(self, name: str) -> Any:
        known = self.__dict__
        if name == "fn" and "_n_pos" in known:
            known["fn"] = known["_n_pos"] - self.tp
        elif name == "tn" and "_n_neg" in known:
            known["tn"] = known["_n_neg"] - self.fp
        else:
            raise AttributeError(f"A Confusion has tp, fp, fn and tn, no {name}.")
        return known[name]

    def __getitem__(self, at: Any) -> Confusion:
        """Choose some of the thresholds."""
        if "_n_pos" in self.__dict__:
            return self._swept(self.tp[at], self.fp[at], self._n_pos, self._n_neg)
        return Confusion(self.tp[at], self.fp[at], self.fn[at], self.tn[at])

    def at_prevalence(self, prevalence: float) -> Confusion:
        """Give the same rates for a population of another prevalence.

        The counts are scaled to the same number of cases, so they are no longer whole.
        """
        prevalence = _options.fraction(prevalence, "prevalence", ends="[]")
        pos, neg = self.tp + self.fn, self.fp + self.tn
        with np.errstate(divide="ignore", invalid="ignore"):
            up = prevalence * (pos + neg) / pos
            down = (1 - prevalence) * (pos + neg) / neg
        return Confusion(self.tp * up, self.fp * down, self.fn * up, self.tn * down)


@of_tally
def thresholds(tally: Tally) -> Floats:
    """Where can this tally be cut? +inf (nothing is positive), then every score.

    Scores that only unlabelled cases have are left out: they change no confusion.
    """
    return np.concatenate([[np.inf], tally.labelled().score])


@of_tally
def sweep(tally: Tally) -> Confusion:
    """How many cases are right and wrong at every threshold of ``thresholds``?

    Entry i predicts the cases positive that have a score of at least
    ``thresholds(tally)[i]``; entry 0 none. Unknown cases do not count. O(m).

    Examples
    --------
    >>> c = sweep(Tally([0.9, 0.5, 0.1], pos=[1, 1, 0], neg=[0, 1, 1]))
    >>> c.tp, c.fp
    (array([0, 1, 2, 2]), array([0, 0, 1, 2]))
    """
    tally = tally.labelled()
    tp, fp = _running(tally.pos), _running(tally.neg)
    return Confusion._swept(tp, fp, tally.n_pos, tally.n_neg)


def _running(counts: Ints) -> Ints:
    total = np.zeros(counts.size + 1, dtype=np.int64)
    np.cumsum(counts, out=total[1:])
    return total


def _margins(c: Confusion) -> tuple[Array, Array, Array, Array]:
    """Give positives, negatives, predicted positives and predicted negatives."""
    return c.tp + c.fn, c.fp + c.tn, c.tp + c.fp, c.fn + c.tn


def _product(*factors: Array) -> Any:
    # counts of 10^9 overflow int64 when four of them are multiplied
    total: Any = 1.0
    for f in factors:
        total = total * np.asarray(f, dtype=np.float64)
    return total


def _weighted(c: Confusion, w: Coefficients) -> Any:
    counts = (c.tp, c.fp, c.fn, c.tn)
    parts = [n if k == 1 else k * n for k, n in zip(w, counts, strict=True) if k]
    return sum(parts[1:], parts[0])


def _ratio(
    name: str,
    question: str,
    over: Coefficients,
    under: Coefficients | None,
    *,
    direction: Direction = "higher",
    range: tuple[float, float] = (0.0, 1.0),
    reference: str = "",
) -> Metric:
    """Make a metric that is a quotient of two sums of counts (tp, fp, fn, tn)."""

    def value(c: Confusion) -> Any:
        top = _weighted(c, over)
        # "+ 0.0": a count is a number among numbers, also where nothing is divided
        return top + 0.0 if under is None else np.true_divide(top, _weighted(c, under))

    return Metric(
        name, value, direction, range, reference, question, Ratio(over, under)
    )


_ALL: Coefficients = (1, 1, 1, 1)
_YERUSHALMY = "Yerushalmy 1947, Public Health Rep. 62:1432, doi:10.2307/4586294"
_FAWCETT = (
    "Fawcett 2006, Pattern Recogn. Lett. 27:861, doi:10.1016/j.patrec.2005.10.010"
)

accuracy = _ratio(
    "accuracy",
    "Which share of all cases is classified right?",
    (1, 0, 0, 1),
    _ALL,
    reference=_FAWCETT,
)
recall = _ratio(
    "recall",
    "Which share of the positives is found? (sensitivity, true positive rate)",
    (1, 0, 0, 0),
    (1, 0, 1, 0),
    reference=_YERUSHALMY,
)
specificity = _ratio(
    "specificity",
    "Which share of the negatives is left alone? (true negative rate)",
    (0, 0, 0, 1),
    (0, 1, 0, 1),
    reference=_YERUSHALMY,
)
fpr = _ratio(
    "fpr",
    "Which share of the negatives is flagged? (false positive rate, fall-out)",
    (0, 1, 0, 0),
    (0, 1, 0, 1),
    direction="lower",
    reference=_FAWCETT,
)
fnr = _ratio(
    "fnr",
    "Which share of the positives is missed? (false negative rate, miss rate)",
    (0, 0, 1, 0),
    (1, 0, 1, 0),
    direction="lower",
    reference=_FAWCETT,
)
precision = _ratio(
    "precision",
    "Which share of the flagged cases is positive? (positive predictive value)",
    (1, 0, 0, 0),
    (1, 1, 0, 0),
    reference=_FAWCETT,
)
npv = _ratio(
    "npv",
    "Which share of the cases not flagged is negative? (negative predictive value)",
    (0, 0, 0, 1),
    (0, 0, 1, 1),
    reference=_FAWCETT,
)
jaccard = _ratio(
    "jaccard",
    "How far do flagged and positive cases overlap? (critical success index)",
    (1, 0, 0, 0),
    (1, 1, 1, 0),
    reference="Jaccard 1912, New Phytol. 11:37, doi:10.1111/j.1469-8137.1912.tb05611.x",
)
flagged = _ratio(
    "flagged",
    "How many cases are predicted positive?",
    (1, 1, 0, 0),
    None,
    direction="none",
    range=(0.0, np.inf),
)
flagged_rate = _ratio(
    "flagged_rate",
    "Which share of all cases is predicted positive?",
    (1, 1, 0, 0),
    _ALL,
    direction="none",
)


def f_beta(beta: float) -> Metric:
    r"""How good are precision and recall together, recall counting beta times?

    .. math:: F_\beta = \frac{(1+\beta^2)\,TP}{(1+\beta^2)\,TP + \beta^2 FN + FP}

    Examples
    --------
    >>> f_beta(2)(Confusion(tp=3, fp=1, fn=2, tn=4))  # 15 / (15 + 8 + 1)
    np.float64(0.625)
    """
    b2 = times(*(_options.positive_number(beta, "beta"),) * 2)
    return _ratio(
        f"f_beta({write_number(beta)})",
        "How good are precision and recall together, recall counting beta times?",
        (plus(1, b2), 0, 0, 0),
        (plus(1, b2), 1, b2, 0),
        reference=_RIJSBERGEN,
    )


def cost(*, fp: float, fn: float) -> Metric:
    """What do the errors cost in all, with these prices for one error of each kind?

    Examples
    --------
    >>> cost(fp=1, fn=5)(Confusion(tp=3, fp=1, fn=2, tn=4))
    np.float64(11.0)
    """
    prices = _prices(fp, fn, "cost")
    return _ratio(
        f"cost(fp={write_number(fp)}, fn={write_number(fn)})",
        "What do the errors cost in all?",
        (0, *prices, 0),
        None,
        direction="lower",
        range=(0.0, np.inf),
        reference="Elkan 2001, Proc. IJCAI 17:973",
    )


def cost_rate(*, fp: float, fn: float) -> Metric:
    r"""Which share of the largest possible cost of errors is paid?

    .. math:: \frac{c_{fp} FP + c_{fn} FN}{c_{fp} (FP + TN) + c_{fn} (TP + FN)}

    It lies between 0 and 1, as the cost of Sameni (2025), eq. (30), should.

    Examples
    --------
    >>> cost_rate(fp=1, fn=5)(Confusion(tp=3, fp=1, fn=2, tn=4))  # 11 / (5 + 25)
    np.float64(0.36666666666666664)
    """
    a, b = _prices(fp, fn, "cost_rate")
    return _ratio(
        f"cost_rate(fp={write_number(fp)}, fn={write_number(fn)})",
        "Which share of the largest possible cost of errors is paid?",
        (0, a, b, 0),
        (b, a, b, a),
        direction="lower",
        reference=_DRUMMOND,
    )


def _prices(fp: float, fn: float, what: str) -> tuple[float, float]:
    prices = (_options.real_number(fp, "fp"), _options.real_number(fn, "fn"))
    if min(prices) < 0 or max(prices) == 0:
        raise InputError(
            f"{what} needs prices of zero or more, one of them above zero; found "
            f"fp={fp:g}, fn={fn:g}."
        )
    return prices


def net_benefit(odds: float) -> Metric:
    r"""How many true positives per case remain when false ones are paid for?

    .. math:: NB = \frac{TP - o\,FP}{N}, \qquad o = \frac{p_t}{1 - p_t}

    ``odds`` are those of the threshold probability p_t at which one would act.

    Examples
    --------
    >>> net_benefit(0.25)(Confusion(tp=3, fp=1, fn=2, tn=4))  # (3 - 0.25) / 10
    np.float64(0.275)
    """
    odds = _options.real_number(odds, "odds")
    if odds < 0:
        raise InputError(f"odds must be zero or more; found {odds:g}.")
    return _ratio(
        f"net_benefit({write_number(odds)})",
        "How many true positives per case remain when false ones are paid for?",
        (1, -odds, 0, 0),
        _ALL,
        range=(-odds, 1.0),
        reference="Vickers, Elkin 2006, Med. Decis. Making 26:565, "
        "doi:10.1177/0272989X06295361",
    )


_DRUMMOND = "Drummond, Holte 2006, Mach. Learn. 65:95, doi:10.1007/s10994-006-8199-5"
_RIJSBERGEN = "van Rijsbergen 1979, Information Retrieval, 2nd ed., ch. 7"

f1 = _ratio(
    "f1",
    "How good are precision and recall together? (Dice)",
    (2, 0, 0, 0),
    (2, 1, 1, 0),
    reference=_RIJSBERGEN,
)


def _youden(c: Confusion) -> Any:
    pos, neg, _, _ = _margins(c)
    # one division: tp/pos - fp/neg would round twice and break exact ties
    return (_product(c.tp, c.tn) - _product(c.fp, c.fn)) / _product(pos, neg)


def _balanced_accuracy(c: Confusion) -> Any:
    return (_youden(c) + 1) / 2


def _mcc(c: Confusion) -> Any:
    top = _product(c.tp, c.tn) - _product(c.fp, c.fn)
    return top / np.sqrt(_product(*_margins(c)))


def _kappa(c: Confusion) -> Any:
    pos, neg, flags, passes = _margins(c)
    top = 2 * (_product(c.tp, c.tn) - _product(c.fp, c.fn))
    return top / (_product(flags, neg) + _product(pos, passes))


def _g_mean(c: Confusion) -> Any:
    pos, neg, _, _ = _margins(c)
    return np.sqrt(_product(c.tp, c.tn) / _product(pos, neg))


def _markedness(c: Confusion) -> Any:
    _, _, flags, passes = _margins(c)
    return (_product(c.tp, c.tn) - _product(c.fp, c.fn)) / _product(flags, passes)


def _lift(c: Confusion) -> Any:
    pos, neg, flags, _ = _margins(c)
    return _product(c.tp, pos + neg) / _product(flags, pos)


def _lr_positive(c: Confusion) -> Any:
    pos, neg, _, _ = _margins(c)
    return _product(c.tp, neg) / _product(pos, c.fp)


def _lr_negative(c: Confusion) -> Any:
    pos, neg, _, _ = _margins(c)
    return _product(c.fn, neg) / _product(pos, c.tn)


def _odds_ratio(c: Confusion) -> Any:
    return _product(c.tp, c.tn) / _product(c.fp, c.fn)


balanced_accuracy = Metric(
    "balanced_accuracy",
    _balanced_accuracy,
    reference="Brodersen et al. 2010, Proc. ICPR 20:3121, doi:10.1109/ICPR.2010.764",
    question="What is the mean of recall and specificity?",
    exact=exact.balanced_accuracy,
)
youden = Metric(
    "youden",
    _youden,
    range=(-1.0, 1.0),
    reference="Youden 1950, Cancer 3:32, "
    "doi:10.1002/1097-0142(1950)3:1<32::AID-CNCR2820030106>3.0.CO;2-3",
    question="How far is recall above the false positive rate? (J, informedness)",
    exact=exact.youden,
)
mcc = Metric(
    "mcc",
    _mcc,
    range=(-1.0, 1.0),
    reference="Matthews 1975, Biochim. Biophys. Acta 405:442, "
    "doi:10.1016/0005-2795(75)90109-9",
    question="How strongly do prediction and truth correlate? (phi)",
    exact=exact.mcc,
    root=True,
)
kappa = Metric(
    "kappa",
    _kappa,
    range=(-1.0, 1.0),
    reference="Cohen 1960, Educ. Psychol. Meas. 20:37, doi:10.1177/001316446002000104",
    question="How far do prediction and truth agree beyond chance?",
    exact=exact.kappa,
)
g_mean = Metric(
    "g_mean",
    _g_mean,
    reference="Kubat, Matwin 1997, Proc. ICML 14:179",
    question="What is the geometric mean of recall and specificity?",
    exact=exact.g_mean,
    root=True,
)
markedness = Metric(
    "markedness",
    _markedness,
    range=(-1.0, 1.0),
    reference="Powers 2011, J. Mach. Learn. Technol. 2:37",
    question="How far is precision above what the cases not flagged would give?",
    exact=exact.markedness,
)
lift = Metric(
    "lift",
    _lift,
    range=(0.0, np.inf),
    reference="Brin et al. 1997, Proc. SIGMOD:255, doi:10.1145/253260.253325",
    question="How many times more frequent are positives among the flagged cases?",
    exact=exact.lift,
)
lr_positive = Metric(
    "lr_positive",
    _lr_positive,
    range=(0.0, np.inf),
    reference="Deeks, Altman 2004, BMJ 329:168, doi:10.1136/bmj.329.7458.168",
    question="By which factor do the odds rise when a case is flagged?",
    exact=exact.lr_positive,
)
lr_negative = Metric(
    "lr_negative",
    _lr_negative,
    direction="lower",
    range=(0.0, np.inf),
    reference="Deeks, Altman 2004, BMJ 329:168, doi:10.1136/bmj.329.7458.168",
    question="By which factor do the odds change when a case is not flagged?",
    exact=exact.lr_negative,
)
diagnostic_odds_ratio = Metric(
    "diagnostic_odds_ratio",
    _odds_ratio,
    range=(0.0, np.inf),
    reference="Glas et al. 2003, J. Clin. Epidemiol. 56:1129, "
    "doi:10.1016/S0895-4356(03)00177-X",
    question="How many times larger are the odds of a flag for positives?",
    exact=exact.odds_ratio,
)

METRICS: dict[str, Metric] = {
    m.name: m
    for m in (
        accuracy,
        balanced_accuracy,
        recall,
        specificity,
        fpr,
        fnr,
        precision,
        npv,
        f1,
        youden,
        mcc,
        kappa,
        g_mean,
        jaccard,
        markedness,
        lift,
        lr_positive,
        lr_negative,
        diagnostic_odds_ratio,
        flagged,
        flagged_rate,
    )
}

METRIC_FAMILIES: dict[str, Callable[..., Metric]] = {
    "f_beta": f_beta,
    "cost": cost,
    "cost_rate": cost_rate,
    "net_benefit": net_benefit,
}

SYNONYMS: dict[str, str] = {
    "acc": "accuracy",
    "bac": "balanced_accuracy",
    "bacc": "balanced_accuracy",
    "sensitivity": "recall",
    "sens": "recall",
    "tpr": "recall",
    "hit_rate": "recall",
    "spec": "specificity",
    "tnr": "specificity",
    "selectivity": "specificity",
    "fall_out": "fpr",
    "miss_rate": "fnr",
    "ppv": "precision",
    "f1_score": "f1",
    "dice": "f1",
    "fbeta": "f_beta",
    "j": "youden",
    "youden_j": "youden",
    "informedness": "youden",
    "bookmaker": "youden",
    "phi": "mcc",
    "matthews": "mcc",
    "cohen_kappa": "kappa",
    "gmean": "g_mean",
    "csi": "jaccard",
    "threat_score": "jaccard",
    "iou": "jaccard",
    "plr": "lr_positive",
    "nlr": "lr_negative",
    "dor": "diagnostic_odds_ratio",
    "odds_ratio": "diagnostic_odds_ratio",
    "predicted_positive": "flagged",
    "alert_rate": "flagged_rate",
    "nb": "net_benefit",
}
