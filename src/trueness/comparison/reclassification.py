r"""Does a new model move cases the right way?

``nri`` counts how often the new model moves positives up and negatives down; ``idi``
says by how much it moves their predicted risks. Both are asked for by journals and both
mislead: they reward a model that is merely more extreme. So their answers come with a
test of what they assume (that both models are calibrated) and with the difference of
the AUCs, which does not assume it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.checks import cases as _cases
from trueness._core.checks import columns as _columns
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.numbers import p_is
from trueness._core.records import Estimate, Record
from trueness.comparison.aucs import compare_auc
from trueness.comparison.results import Pair
from trueness.counts.answers import of_panel
from trueness.counts.values import Panel
from trueness.counts.weights import effective, linearised, remark
from trueness.ranking.auc_intervals import student_quantile


@final
@dataclass(frozen=True, repr=False)
class Reclassification(Record):
    """Does a new model move cases the right way?

    Attributes
    ----------
    value : Estimate
        The sum of both parts (NRI in [-2, 2], IDI in [-2, 2]).
    positives, negatives : Estimate
        The part of the positives (share moved up minus share moved down, or rise of the
        mean risk) and the part of the negatives (the reverse). Report them separately:
        their sum weighs positives and negatives alike, whatever the prevalence.
    p_value : float
        Two-sided p-value of no improvement, valid if both models are calibrated.
    auc : Pair
        The difference of the AUCs, new minus old, on the same cases.
    calibration : tuple of float
        p-values of Spiegelhalter's test that the old and the new model are calibrated.
    old, new : str
        The names of the models.
    method : str
        What was computed.
    notes : tuple of str
        Why this number alone proves nothing, and what the data say about it.
    """

    value: Estimate
    positives: Estimate
    negatives: Estimate
    p_value: float
    auc: Pair
    calibration: tuple[float, float]
    old: str
    new: str
    method: str
    notes: tuple[str, ...]


@of_panel(weights=True)
def nri(
    panel: Panel,
    old: str | None = None,
    new: str | None = None,
    *,
    categories: Sequence[float] | None = None,
    level: float = 0.95,
) -> Reclassification:
    r"""How often does a new model move positives up and negatives down?

    .. math:: \mathrm{NRI} = P(\uparrow | +) - P(\downarrow | +)
              + P(\downarrow | -) - P(\uparrow | -)

    Parameters
    ----------
    panel
        Predicted risks of both models on the same cases.
    old, new
        Names of the two; not needed for a panel of two (old first).
    categories
        Thresholds between risk categories, for example ``[0.05, 0.2]``: a case moves
        when it changes its category. None: any change of the risk counts (category-free
        NRI).
    level
        Confidence level of the intervals.

    Returns
    -------
    Reclassification
        The index, its two parts, and reasons for caution.

    Notes
    -----
    Pencina et al. (2008), eqs. 5 to 7; (2011) for the category-free form. The intervals
    are those of Agresti and Min (2005), with half a case added to each direction, so
    that they have width even when no case moved. On cases that a model was fitted to,
    or when the new model is not calibrated, the index is positive for useless models
    too (Hilden and Gerds 2014; Pepe et al. 2015); Kerr et al. (2014) advise against it.

    References
    ----------
    Pencina et al. (2008), Stat. Med. 27:157, doi:10.1002/sim.2929;
    Pencina et al. (2011), Stat. Med. 30:11, doi:10.1002/sim.4085;
    Kerr et al. (2014), Epidemiology 25:114, doi:10.1097/EDE.0000000000000018;
    Hilden, Gerds (2014), Stat. Med. 33:3405, doi:10.1002/sim.5804;
    Pepe et al. (2015), Stat. Biosci. 7:282, doi:10.1007/s12561-014-9118-0

    Examples
    --------
    >>> p = Panel(["old", "new"], [[0.1, 0.3], [0.2, 0.1]], pos=[8, 2], neg=[3, 7])
    >>> round(nri(p).value.value, 12)  # (8 - 2)/10 + (7 - 3)/10
    1.0
    """
    level = _options.fraction(level, "level")
    panel = _two(panel, old, new, "nri")
    cut = (
        None if categories is None else np.sort(_risks(categories, "categories"), None)
    )
    risk = panel.rows if cut is None else np.searchsorted(cut, panel.rows, side="right")
    move = np.sign(risk[:, 1] - risk[:, 0]).astype(np.float64)
    neg, pos, _ = panel.squares
    up = _net_moves(move, panel.pos, pos)
    down = _net_moves(-move, panel.neg, neg)
    kind = "category-free" if cut is None else f"{cut.size + 1} categories"
    return _answer(panel, (up, down), level, f"NRI, {kind}")


@of_panel(weights=True)
def idi(
    panel: Panel,
    old: str | None = None,
    new: str | None = None,
    *,
    level: float = 0.95,
) -> Reclassification:
    r"""By how much more does a new model separate the mean risks of both classes?

    .. math:: \mathrm{IDI} = E[p_{new} - p_{old} | +] - E[p_{new} - p_{old} | -]

    Parameters
    ----------
    panel, old, new, level
        As in :func:`nri`.

    Returns
    -------
    Reclassification
        As of :func:`nri`.

    Notes
    -----
    Pencina et al. (2008), eqs. 11 to 13: the gain of Yates' discrimination slope.
    Intervals and p-value use Student's distribution with Satterthwaite's degrees of
    freedom. A model whose risks are merely more extreme gains too (Hilden and Gerds
    2014); prefer proper scores (``brier``, ``log_loss``) or the net benefit.

    References
    ----------
    Pencina et al. (2008), Stat. Med. 27:157, doi:10.1002/sim.2929;
    Hilden, Gerds (2014), Stat. Med. 33:3405, doi:10.1002/sim.5804

    Examples
    --------
    >>> p = Panel(["old", "new"], [[0.5, 0.9], [0.5, 0.2]], pos=[8, 2], neg=[3, 7])
    >>> round(idi(p).value.value, 12)  # (8 .4 - 2 .3)/10 - (3 .4 - 7 .3)/10
    0.35
    """
    level = _options.fraction(level, "level")
    panel = _two(panel, old, new, "idi")
    gain = panel.rows[:, 1] - panel.rows[:, 0]
    neg, pos, _ = panel.squares
    parts = _mean_move(gain, panel.pos, pos), _mean_move(-gain, panel.neg, neg)
    return _answer(panel, parts, level, "IDI")


class _Moved(NamedTuple):
    """How far cases of a class move on average, and how sure that is."""

    value: float
    centre: float  # of the interval
    variance: float
    df: float


def _net_moves(move: Floats, weight: Array, square: Array) -> _Moved:
    """Agresti and Min (2005): two cases added, half of one to each direction.

    Weighted cases are as many equal ones as would have their linearised variance,
    which is averaged with the one of weights that have nothing to do with the moves:
    that counts as four cases, as for a share.
    """
    up, down = (float(weight[move * s > 0].sum() / weight.sum()) for s in (1, -1))
    n, df = effective(weight, square)
    spread = up + down - (up - down) ** 2
    if spread > 0:
        own = float(square @ (move - (up - down)) ** 2) / float(weight.sum()) ** 2
        n = spread / ((n * own + _TRUST * spread / n) / (n + _TRUST))
    a, b = (n * up + 0.5) / (n + 2), (n * down + 0.5) / (n + 2)
    return _Moved(up - down, a - b, (a + b - (a - b) ** 2) / (n + 2), df)


_TRUST = 4.0


def _mean_move(gain: Floats, weight: Array, square: Array) -> _Moved:
    total = float(weight.sum())
    mean = float(weight @ gain) / total
    n, df = effective(weight, square)
    alone = n < 1 + 1e-9
    spread = linearised([((gain - mean) / total, weight, square)])
    return _Moved(mean, mean, math.nan if alone else spread.variance, df)


def _answer(
    panel: Panel, parts: tuple[_Moved, _Moved], level: float, method: str
) -> Reclassification:
    from scipy.special import stdtr

    up, down = (_estimate(m.value, m.centre, m.variance, m.df, level, method, 1.0)
                for m in parts)  # fmt: skip
    # Satterthwaite: the sum of two variances that are known from few cases
    variance = sum(m.variance for m in parts)
    doubt = sum(m.variance**2 / max(m.df, 1) for m in parts)
    df = variance**2 / doubt if doubt > 0 else 1.0
    centre = sum(m.centre for m in parts)
    total = _estimate(up.value + down.value, centre, variance, df, level, method, 2.0)
    score = abs(centre) / total.sd if total.sd > 0 else math.inf * (centre != 0)
    p = 2 * float(stdtr(df, -score)) if not math.isnan(score) else 1.0
    pair = compare_auc(panel[list(panel.names[::-1])], level=level).pairs[0]
    fits = _spiegelhalter(panel, 0), _spiegelhalter(panel, 1)
    old, new = panel.names
    notes = _warnings((old, new), fits, pair, 1 - level) + remark(panel)
    return Reclassification(total, up, down, p, pair, fits, old, new, method, notes)


def _estimate(
    value: float,
    centre: float,
    variance: float,
    df: float,
    level: float,
    method: str,
    reach: float,
) -> Estimate:
    if math.isnan(variance):  # a single case of a class: anything is possible
        note = "A class has a single case, so the interval is the whole range."
        return Estimate(value, -reach, reach, level, method, notes=(note,))
    sd = math.sqrt(variance)
    half = student_quantile(max(df, 1.0), level) * sd
    low, high = min(centre - half, value), max(centre + half, value)
    return Estimate(value, low, high, level, method, sd)


def _spiegelhalter(panel: Panel, k: int) -> float:
    r"""Could these risks be right? (Spiegelhalter 1986, Stat. Med. 5:421)

    .. math:: Z = \sum (y - p)(1 - 2p) / \sqrt{\sum (1 - 2p)^2 p (1 - p)}
    """
    from scipy.special import ndtr

    p, n = panel.rows[:, k], panel.pos + panel.neg
    square = panel.squares[0] + panel.squares[1]  # of counts: the counts
    surprise = float(np.sum((panel.pos - n * p) * (1 - 2 * p)))
    variance = float(np.sum(square * (1 - 2 * p) ** 2 * p * (1 - p)))
    if variance == 0:
        return 1.0 if surprise == 0 else 0.0
    return 2 * float(ndtr(-abs(surprise) / math.sqrt(variance)))


def _warnings(
    names: tuple[str, ...], fits: Sequence[float], pair: Pair, alpha: float
) -> tuple[str, ...]:
    notes = [
        "This index rewards a model that is merely more extreme, and is positive for "
        "useless models that are not calibrated or were fitted to these cases (Hilden "
        "and Gerds 2014, Pepe et al. 2015). Report its two parts apart, with the "
        "difference of the AUCs and the net benefit (trueness.decision_curve)."
    ]
    poor = [f"{n} ({p_is(p)})" for n, p in zip(names, fits, strict=True) if p < alpha]
    if poor:
        notes.append(
            f"The risks of {' and '.join(poor)} are not calibrated on these cases "
            f"(Spiegelhalter's test), so this index must not be interpreted; "
            f"recalibrate first (trueness.calibrate)."
        )
    if pair.p_value >= alpha or pair.difference.value < 0:
        notes.append(
            f"The AUC shows no significant gain: {pair.difference.value:+.3f}, p = "
            f"{pair.p_value:.2g}."
        )
    return tuple(notes)


def _risks(values: object, what: str) -> Floats:
    risks = _columns.as_floats(values, what)
    wrong = ~((risks >= 0) & (risks <= 1))
    if wrong.any():
        raise InputError(
            f"{what} must be risks between 0 and 1; found {risks[wrong].flat[0]:g}. "
            f"Calibrate scores first: trueness.calibrate."
        )
    return risks


def _two(panel: Panel, old: str | None, new: str | None, what: str) -> Panel:
    """Give the labelled panel of the old and the new model, in this order."""
    names = [n for n in (old, new) if n is not None] or list(panel.names)
    if len(names) != 2:
        raise InputError(
            f"{what} compares two models; found {len(names)}. Type "
            f'trueness.{what}(panel, "old", "new").'
        )
    panel = panel[names].labelled()
    _cases.both_classes(panel, what)
    _cases.complete_outputs(panel, what)
    _risks(panel.rows, f"outputs given to {what}")
    return panel
