"""What does calibration gain on cases that the map has not seen?

A map looks best on the cases it was fitted on. Here the cases are dealt into folds,
class by class; the map is fitted on the others and gives the fold its probabilities, so
that every case is judged by a map that has not seen it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from trueness._core.arrays import Array, Floats, Ints
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.checks.words import described
from trueness._core.progress import steps
from trueness._core.records import Estimate, Record
from trueness.calibration.calibrators import calibrate
from trueness.calibration.forecasts import FixedShare, Forecasts, fixed_share
from trueness.calibration.maps import Map, at_prevalence
from trueness.calibration.proper_scores import squares
from trueness.counts.answers import of_counts
from trueness.counts.values import Tally

# more cases than this are dealt by chance alone, without dealing one by one
_MOST_DEALT = 1 << 24


@final
@dataclass(frozen=True, repr=False)
class CalibrationGain(Record):
    """What does calibration gain on cases that the map has not seen?

    Attributes
    ----------
    before : Estimate
        Brier score of the scores as they are; NaN where these are not probabilities.
    in_sample : Estimate
        Brier score of the map that was fitted on all cases, on the same cases: it is
        optimistic.
    cross_fitted : Estimate
        Brier score of the cases under maps that were fitted without them.
    gain : Estimate
        ``before`` minus ``cross_fitted``, paired by case; above 0, calibration helps.
    folds : int
        Number of folds.
    tally : Tally
        The cases with their cross-fitted probabilities.
    """

    before: Estimate
    in_sample: Estimate
    cross_fitted: Estimate
    gain: Estimate
    folds: int
    tally: Tally


@of_counts(
    weights="It deals whole cases into folds. Calibrate on some of the cases, and look "
    "at the others: calibrate, brier and log_loss take weights."
)
def calibration_gain(
    t: Tally | Mapping[Any, Tally],
    *,
    method: str = "auto",
    folds: int = 5,
    prevalence: float | None = None,
    sampling: str = "cohort",
    level: float = 0.95,
    rng: int | np.random.Generator | None = 0,
    fitted: Map | None = None,
) -> Any:
    r"""What does calibration gain on cases that the map has not seen?

    .. math:: \frac1n \sum_i (s_i - y_i)^2 -
              \frac1n \sum_i \big(f_{-k(i)}(s_i) - y_i\big)^2

    with :math:`f_{-k}` the map fitted without fold k.

    Parameters
    ----------
    t
        Labelled cases that the classifier was not trained on; or a mapping from group
        to tally. Then the maps are fitted on all groups together, and each group is
        evaluated on its own.
    method
        A name from ``trueness.CALIBRATORS``.
    folds
        Number of folds; each class needs as many cases.
    prevalence
        Share of positives where the probabilities are used: maps are moved to it
        (:func:`trueness.at_prevalence`) and the cases are weighted to it. By default it
        is the share among the cases. Not for groups, whose shares differ.
    sampling
        How the cases were sampled: ``"cohort"`` or ``"case-control"``, which needs
        ``prevalence`` (see :func:`trueness.brier`).
    level
        Confidence of the intervals.
    rng
        Seed or generator for dealing the cases to the folds.
    fitted
        The map that was fitted on all these cases by ``method``, if it is there
        already.

    Returns
    -------
    CalibrationGain, or a mapping from group to it

    Notes
    -----
    Intervals are those of a mean over cases (see :func:`trueness.brier`), paired for
    the gain; they take the maps as given.

    Examples
    --------
    Scores of 0.9 and 0.6 where 3 of 5 and 2 of 5 are positive: each fold holds out the
    same share, and every map gives it.

    >>> t = Tally([0.9, 0.6], neg=[20, 30], pos=[30, 20])
    >>> found = calibration_gain(t, method="isotonic", rng=0)
    >>> round(found.before.value, 3), found.gain.value > 0
    (0.305, True)
    """
    groups = dict(t) if isinstance(t, Mapping) else {"": t}
    level = _options.fraction(level, "level")
    folds = _options.whole_number(folds, "folds", at_least=2)
    for part in groups.values():
        _cases.one_classifier(part, "calibration_gain")
    groups = {name: part.labelled() for name, part in groups.items()}
    total = sum(groups.values(), Tally())
    _cases.both_classes(total, "calibration_gain")
    _cases.cases_for_folds(total, folds)
    fixed = fixed_share(total, sampling, prevalence, "calibration_gain")
    if fixed is not None and isinstance(t, Mapping):
        raise InputError(
            "calibration_gain needs one sample for prevalence=; found groups, each of "
            "which has a share of positives of its own. Ask for one group at a time."
        )
    if fitted is not None and not isinstance(fitted, Map):
        raise InputError(
            f"fitted must be a calibration map; found {described(fitted)}."
        )
    whole = _moved(
        calibrate(total, method=method) if fitted is None else fitted, total, fixed
    )
    seen = _cross_fit(groups, total, method, folds, _options.generator(rng), fixed)
    found = {
        name: _judged(part, whole, seen[name], level, fixed)
        for name, part in groups.items()
    }
    return found if isinstance(t, Mapping) else found[""]


class _CrossFitted(NamedTuple):
    """The cases of each fold (folds, m) at the scores of a group, and their chances.

    ``probability`` is that of a map that has not seen the fold; NaN where the fold has
    no case.
    """

    probability: Floats
    neg: Ints
    pos: Ints


def _cross_fit(
    groups: dict[Any, Tally],
    total: Tally,
    method: str,
    folds: int,
    rng: np.random.Generator,
    fixed: FixedShare | None,
) -> dict[Any, _CrossFitted]:
    """Deal the cases of each class evenly over the folds, and fit without each fold."""
    columns = zip(*((x.score, x.neg, x.pos) for x in groups.values()), strict=True)
    score, *counts = (np.concatenate(c) for c in columns)
    neg, pos = (deal_cases(count, folds, rng) for count in counts)
    p = np.full(neg.shape, np.nan)
    for k in steps(range(folds), "Cross-fitting", unit="folds"):
        rest, here = total - Tally(score, neg[k], pos[k]), neg[k] + pos[k] > 0
        fitted = _moved(calibrate(rest, method=method), rest, fixed)
        p[k, here] = fitted(score[here])
    ends = np.cumsum([len(x) for x in groups.values()])[:-1]
    parts = zip(*(np.split(x, ends, axis=1) for x in (p, neg, pos)), strict=True)
    return {n: _CrossFitted(*own) for n, own in zip(groups, parts, strict=True)}


def _moved(fitted: Map, t: Tally, fixed: FixedShare | None) -> Map:
    """Move a map from the share of positives that it was fitted on to the given one."""
    if fixed is None:
        return fitted
    return at_prevalence(fitted, t.n_pos / (t.n_pos + t.n_neg), fixed.share)


def deal_cases(count: Ints, folds: int, rng: np.random.Generator) -> Array:
    """Deal counted cases over folds as evenly as possible: (folds, rows)."""
    if count.sum() > _MOST_DEALT:
        left, hands = count, []
        for k in range(folds, 0, -1):
            hands.append(rng.binomial(left, 1 / k))
            left = left - hands[-1]
        return np.array(hands)
    row = np.repeat(np.arange(count.size), count)
    rng.shuffle(row)
    return np.array(
        [np.bincount(row[k::folds], minlength=count.size) for k in range(folds)]
    )


def _judged(
    part: Tally,
    fitted: Map,
    found: _CrossFitted,
    level: float,
    fixed: FixedShare | None,
) -> CalibrationGain:
    some = found.neg + found.pos > 0
    score = np.broadcast_to(part.score, some.shape)[some]
    p, neg, pos = found.probability[some], found.neg[some], found.pos[some]
    if not (score.size and score.min() >= 0 and score.max() <= 1):
        # not on the scale of probabilities: there is nothing to compare with
        score = np.full(score.shape, np.nan)
    plain, after = squares(score), squares(p)
    gained = (plain[0] - after[0], plain[1] - after[1])
    seen = Forecasts.counted(part.score, part.pos, part.neg, fixed)
    inside = squares(np.asarray(fitted(part.score), dtype=np.float64))
    crossed = Forecasts.counted(p, pos, neg, fixed)
    return CalibrationGain(
        crossed.mean(plain, level, 1.0),
        seen.mean(inside, level, 1.0),
        crossed.mean(after, level, 1.0),
        crossed.mean(gained, level, 1.0, -1.0),
        len(some),
        Tally(p, neg, pos),
    )
