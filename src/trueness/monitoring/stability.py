"""Population stability index (PSI): did the distribution of the scores change?

Labels play no part: what is compared are the scores of two samples.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.checks import options as _options
from trueness._core.checks.errors import NotEnoughCases
from trueness._core.data_types import Column, Frame
from trueness._core.records import Answer, Estimate
from trueness.counts.answers import refuse
from trueness.counts.values import Tally
from trueness.data.column_roles import is_test, one_score
from trueness.data.columns import is_frame
from trueness.data.frames import tally
from trueness.data.named_roles import table_of
from trueness.inference.estimates import estimate_from_interval
from trueness.ranking.scorecards import rank_groups

_METHOD = "noncentral chi-squared"
_INDEPENDENT_CASES = dict.fromkeys(
    ("weight", "cluster"), "Its interval assumes independent cases."
)


@final
@dataclass(frozen=True, repr=False)
class StabilityIndex(Answer):
    """Population stability index of two distributions of scores, in total and by bin.

    Attributes
    ----------
    psi : Estimate
        Population stability index, 0 for equal distributions.
    p_value : float
        How often two samples of one population have at least this index.
    score_low : array
        Lowest score of each bin, highest bin first; the last bin has no lower end.
    reference, current : array
        Proportion of the cases of each sample in each bin.
    contribution : array
        What each bin adds to the index.
    """

    psi: Estimate
    p_value: float
    score_low: Floats
    reference: Floats
    current: Floats
    contribution: Floats
    notes: tuple[str, ...] = field(default=(), kw_only=True)

    def __float__(self) -> float:
        """Return the index alone."""
        return self.psi.value


def psi(
    reference: Column | Frame | Tally,
    current: Column | Frame | Tally,
    *,
    score: str | None = None,
    bins: int = 10,
    level: float = 0.95,
) -> StabilityIndex:
    r"""Population stability index (PSI) of two samples of scores, with an interval.

    How far is the distribution of the scores from that of the reference?

    .. math:: \mathrm{PSI} = \sum_b (c_b - r_b) \ln\frac{c_b}{r_b}

    Parameters
    ----------
    reference, current
        Scores of each sample, frames or tallies; cases without a label are included.
    score
        The column of the scores in frames with several.
    bins
        Number of bins, of equal size in the reference.

    Notes
    -----
    For equal distributions the index of samples of n and m cases is about
    :math:`(1/n + 1/m)\,\chi^2_{B-1}` (Yurdakul and Naranjo 2020), so a fixed bound
    such as 0.1 means little in small samples. The interval inverts the noncentral
    chi-squared distribution, which is accurate for small and moderate changes. With 500
    and 5,000 cases the coverage of 95 % intervals was .94 to .97 for indices up to
    0.25, and .91 at 0.9. An index with an empty bin is infinite.

    References
    ----------
    Yurdakul, Naranjo (2020), "Statistical properties of the population stability
    index", J. Risk Model Validation 14(4)

    Examples
    --------
    >>> reference = Tally([2, 1], unknown=[500, 500])
    >>> found = psi(reference, Tally([2, 1], unknown=[600, 400]), bins=2)
    >>> found.psi.value  # 0.1 * ln(1.2) - 0.1 * ln(0.8)
    0.0405...
    """
    level = _options.fraction(level, "level")
    number = _options.whole_number(bins, "bins", at_least=2)
    reference_tally = _scores_of(reference, "reference", score)
    current_tally = _scores_of(current, "current", score)

    score_low = _lowest_scores_of_bins(reference_tally, number)
    reference_cases = _cases_by_bin(reference_tally, score_low)
    current_cases = _cases_by_bin(current_tally, score_low)
    reference_proportion = reference_cases / reference_cases.sum()
    current_proportion = current_cases / current_cases.sum()
    contribution = _contributions(reference_proportion, current_proportion)

    # the index is this times a chi-squared variable (Yurdakul and Naranjo 2020)
    scale = 1 / float(reference_cases.sum()) + 1 / float(current_cases.sum())
    degrees_of_freedom = score_low.size - 1
    index = float(contribution.sum())

    return StabilityIndex(
        psi=_index_with_interval(index, scale, degrees_of_freedom, level),
        p_value=_p_value_of_no_change(index, scale, degrees_of_freedom),
        score_low=score_low,
        reference=reference_proportion,
        current=current_proportion,
        contribution=contribution,
        notes=_notes_on_bins(current_cases, score_low.size, number),
    )


def _scores_of(sample: Column | Frame | Tally, name: str, score: str | None) -> Tally:
    """Return the scores of a sample as a tally without labels."""
    counts = sample if isinstance(sample, Tally) else _count_scores(sample, score)
    refuse(counts, "psi", _INDEPENDENT_CASES)
    if counts.n == 0:
        raise NotEnoughCases(f"psi needs scores in both samples; {name} has none.")
    return counts.without_labels()


def _count_scores(sample: Any, score: str | None) -> Tally:
    """Return the tally of a column of scores, or of the one of a frame."""
    if not is_frame(sample):
        return tally(None, sample)

    if score is None:
        table = table_of(sample)
        # a column that could hold labels is no score
        labels: set[str | None] = {n for n in table.kinds if is_test(table, n)}
        (score,) = one_score(table, labels)
    return tally(sample, label=None, score=score)


def _lowest_scores_of_bins(reference: Tally, number: int) -> Floats:
    """Return the lowest score of each bin, for equal bins of the reference."""
    group = rank_groups(reference.unknown, number)
    last_row = np.append(np.flatnonzero(np.diff(group)), group.size - 1)
    return np.asarray(reference.score[last_row])


def _cases_by_bin(cases: Tally, score_low: Floats) -> Array:
    """Return the number of cases in each bin."""
    # scores below the lowest score of the reference belong to the last bin
    bin_of_row = np.searchsorted(-score_low[:-1], -cases.score, side="left")
    return np.bincount(bin_of_row, cases.unknown, score_low.size)


def _contributions(reference: Floats, current: Floats) -> Floats:
    """Return the part of the index from each bin; infinite for an empty bin."""
    with np.errstate(divide="ignore"):
        return np.asarray((current - reference) * np.log(current / reference))


def _index_with_interval(
    index: float, scale: float, degrees_of_freedom: int, level: float
) -> Estimate:
    """Return the index with its confidence interval, by inverting its distribution.

    The observed index is a quantile of the distribution at each end.
    """
    low = 0.0
    high = math.inf
    if degrees_of_freedom == 0:
        # a single bin holds all cases of both samples, so nothing can differ
        high = 0.0
    elif math.isfinite(index):
        # an infinite index has no quantile to invert: its interval stays unbounded
        ratio = index / scale
        low = scale * _noncentrality(ratio, degrees_of_freedom, (1 + level) / 2)
        high = scale * _noncentrality(ratio, degrees_of_freedom, (1 - level) / 2)

    return estimate_from_interval(index, low, high, level, _METHOD, name="PSI")


def _noncentrality(ratio: float, degrees_of_freedom: int, probability: float) -> float:
    """Return the noncentrality at which a value is a quantile of chi-squared, or 0."""
    from scipy.special import chdtr, chndtrinc

    # a noncentrality would move the distribution up, so zero is the nearest
    if chdtr(degrees_of_freedom, ratio) <= probability:
        return 0.0
    return float(chndtrinc(ratio, degrees_of_freedom, probability))


def _p_value_of_no_change(index: float, scale: float, degrees_of_freedom: int) -> float:
    """Return the p-value: the probability of at least this index without a change."""
    if degrees_of_freedom == 0:
        return 1.0
    from scipy.special import chdtrc

    return float(chdtrc(degrees_of_freedom, index / scale))


def _notes_on_bins(current_cases: Array, bins: int, number: int) -> tuple[str, ...]:
    """Return notes where bins are empty or fewer than requested."""
    notes = []
    if bins < number:
        notes.append(f"Ties leave {bins} of {number} bins.")

    empty = int((current_cases == 0).sum())
    if empty:
        notes.append(
            f"Bins without a case of the current sample: {empty}. The index is "
            "infinite. Use fewer bins, such as 5."
        )

    return tuple(notes)
