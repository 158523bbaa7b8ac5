"""Are several classifiers better together, and how should they be combined?

Each combiner is a function from a panel to a map: called with rows of outputs (m, K) it
gives a score a row. FiDEL adds up what the rank of a case says in each classifier (Kim
et al. 2021, eqs. 24 to 26, doi:10.1073/pnas.2100761118), from AUCs by labels, by
publications, or by the agreement of the classifiers alone.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from trueness._core.arrays import Floats, blocks
from trueness._core.checks import columns as _columns
from trueness._core.checks import options as _options
from trueness._core.checks.errors import (
    DoubtfulAssumptionWarning,
    InputError,
    PythonCode,
)
from trueness._core.checks.words import listing
from trueness._core.warn import warn_user
from trueness.calibration.field_rules import (
    check_finite,
    check_names,
    check_reference,
)
from trueness.calibration.maps import Map, register
from trueness.calibration.parametric import Platt
from trueness.counts.answers import of_panel
from trueness.counts.values import Panel
from trueness.ensembles.correlated import CorrelatedFiDEL, correlated_fidel
from trueness.ensembles.ranked_columns import (
    rank_columns,
    rank_rows,
    ranks_in_turn,
    reference_of,
    rows_of,
)
from trueness.ensembles.ranks import (
    RankMap,
    RankReference,
    calibrator_of,
    crossing_correlation,
    independent_loses,
)
from trueness.ensembles.without_labels import agreement
from trueness.fermi.distribution import finite_lines

_SOURCES = ("labels", "published", "agreement")


@final
@register("fidel")
class FiDEL(RankMap):
    r"""FiDEL: the evidence of all ranks of a case, if errors are independent.

    .. math:: L = \sum_i \beta_i (r_i^* - r_i) \qquad (26)

    in the form llr - beta (rank - centre), which loses no precision as beta goes to 0.
    Called with rows (m, K), it returns L. A missing output adds 0. Made by
    :func:`trueness.fidel`.

    Attributes
    ----------
    names, auc, prevalence
        The classifiers, their areas under the ROC curve, and the prevalence.
        Below 1/2 beta is negative: a classifier is used with the opposite sign.
    beta, llr, centre : array (K,)
        The line llr - beta (rank - centre) of each classifier.
    correlation : array (K, K)
        Spearman's correlation of the ranks within a class, mean of both classes; NaN
        where there were no labels.
    source, calibrator : str, Map
        Where the AUCs come from ("labels", "published" or "agreement"), and the map
        from L to a probability.
    scores, cases : tuple of arrays
        The reference: distinct outputs of each classifier, ascending, and their counts.
    """

    names: tuple[str, ...]
    auc: Floats
    prevalence: float
    beta: Floats
    llr: Floats
    centre: Floats
    correlation: Floats
    source: str
    calibrator: Map
    scores: tuple[Floats, ...]
    cases: tuple[Floats, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        _options.choice(self.source, _SOURCES, "source")

    def __call__(self, rows: ArrayLike) -> Floats:
        """Return L for each row; above 0 the ranks are evidence for positive."""
        outputs = rows_of(rows, self.names)
        ranks = ranks_in_turn(outputs, self.scores, self.cases)
        return _total(ranks, len(outputs), self.beta, self.llr, self.centre)

    def terms(self, rows: ArrayLike) -> Floats:
        """Return what each classifier adds to L, (m, K); NaN where it is missing."""
        return self.llr - self.beta * (self.ranks(rows) - self.centre)

    @property
    def rank_threshold(self) -> Floats:
        """At which rank does the evidence of each classifier change sign? r*."""
        # a classifier of AUC 1/2 has beta 0 and no evidence at any rank
        slope = np.where(self.beta == 0, 1.0, self.beta)
        return np.where(self.beta == 0, self.centre, self.centre + self.llr / slope)

    def only(self, names: Sequence[str]) -> FiDEL:
        """Return the combiner of some of the classifiers, without fitting again.

        The probability is then that of independent classifiers.
        """
        places = [
            self.names.index(_columns.column(name, self.names, "name"))
            for name in names
        ]
        return replace(
            self,
            names=tuple(names),
            auc=self.auc[places],
            beta=self.beta[places],
            llr=self.llr[places],
            centre=self.centre[places],
            correlation=self.correlation[np.ix_(places, places)],
            calibrator=_independent_calibrator(self.prevalence),
            scores=tuple(self.scores[place] for place in places),
            cases=tuple(self.cases[place] for place in places),
        )


@of_panel
def fidel(
    data: Panel,
    *,
    auc: Mapping[str, float] | None = None,
    prevalence: float | None = None,
    labels: str = "given",
    method: str = "independent",
) -> FiDEL | CorrelatedFiDEL:
    r"""FiDEL: classifiers combined by the evidence of their ranks.

    What is the probability that a case is positive, given its ranks in all classifiers?

    .. math:: L(k) = \sum_i \ln\frac{P(r_{ik} \mid 1)}{P(r_{ik} \mid 0)}
              = \sum_i \beta_i (r_i^* - r_{ik}) \qquad (25, 26)

    Kim et al. (2021, doi:10.1073/pnas.2100761118). Ties share their mid-rank. An AUC of
    exactly 0 or 1 is treated as if half a pair were in the opposite order, so that
    every L is finite. With labels the probability is a logistic curve in L fitted to
    them. Without labels the log-odds are logit(rho) + L, which is right if the
    classifiers are independent. A ``DoubtfulAssumptionWarning`` says when they depend
    on each other so much that the best one alone is expected to rank better.

    Parameters
    ----------
    data
        Outputs of several classifiers on the same cases, NaN where missing. New cases
        are ranked against these cases (with labels, against the labelled ones).
    auc
        Published AUCs by name, in place of labels; ``prevalence`` is then needed unless
        the panel has labels to count.
    prevalence
        Proportion of positives: with labels, where the map will be used (it changes the
        probabilities but not L); without labels, among the panel's cases.
    labels
        "given": AUCs and prevalence from the labelled cases. "none": from the agreement
        of the classifiers alone, if their errors are independent, as FiDEL assumes
        (:func:`trueness.agreement`); labels are not used.
    method
        "independent": FiDEL. "correlated": weighs the classifiers by their dependence
        within the classes as well; needs labels.

    Examples
    --------
    >>> p = Panel(["A", "B"], [[4, 1], [3, 4], [2, 3], [1, 2]], unknown=[1, 1, 1, 1])
    >>> f = fidel(p, auc={"A": 0.8, "B": 0.5}, prevalence=0.5)  # B says nothing
    >>> f.predict([[4, 1], [3, 4], [2, 3], [1, 2]])
    array([ True,  True, False, False])
    """
    _options.choice(labels, ("given", "none"), "labels")
    _options.choice(method, ("independent", "correlated"), "method")
    if prevalence is not None:
        prevalence = _options.fraction(prevalence, "prevalence")
    if auc is not None or labels == "none":
        if method != "independent":
            raise InputError(
                f"The method {method!r} needs labelled cases to estimate how the "
                "classifiers depend on each other. Without labels, or with published "
                "AUCs, use the method fidel.",
                option="method",
                example="independent",
            )
        if auc is None:
            return _fidel_by_agreement(data, prevalence)
        return _fidel_of_published_aucs(data, auc, prevalence)

    reference = RankReference(data, "fidel")
    if prevalence is None:
        prevalence = reference.prevalence
    if method == "correlated":
        return correlated_fidel(reference, prevalence)

    combined = _independent_fidel(reference, prevalence)
    _warn_if_best_alone_is_better(combined)
    return combined


def _independent_fidel(reference: RankReference, prevalence: float) -> FiDEL:
    """Return FiDEL fitted to labelled cases."""
    # ranks are among the reference, so the lines have its prevalence, not that of use
    beta, llr, centre = finite_lines(reference.n, reference.n_pos, reference.auc)
    ranks = reference.ranks
    log_likelihood_ratio = _total(ranks.T, len(ranks), beta, llr, centre)
    scores, cases = reference_of(reference.columns)
    return FiDEL(
        names=reference.names,
        auc=reference.auc,
        prevalence=prevalence,
        beta=beta,
        llr=llr,
        centre=centre,
        correlation=reference.correlation,
        source="labels",
        calibrator=calibrator_of(log_likelihood_ratio, reference, prevalence),
        scores=scores,
        cases=cases,
    )


def _warn_if_best_alone_is_better(combined: FiDEL) -> None:
    """Warn where ranks correlate so much that the best classifier alone is better."""
    several = len(combined.names) > 1
    if several and independent_loses(combined.auc, combined.correlation):
        best = combined.names[int(np.argmax(np.abs(combined.auc - 0.5)))]
        warn_user(
            "The ranks of these classifiers correlate by "
            f"{combined.mean_correlation:.2f} within the classes. Above about "
            f"{crossing_correlation(combined.auc):.2f} FiDEL is expected to rank worse "
            f"than {best!r} alone. The method correlated allows for this correlation.",
            DoubtfulAssumptionWarning,
        )


def _total(
    ranks: Iterable[Floats], size: int, beta: Floats, llr: Floats, centre: Floats
) -> Floats:
    """Return the evidence summed over classifiers; a missing rank adds 0."""
    total = np.zeros(size)
    for k, rank in enumerate(ranks):
        for block in blocks(size):
            # Kim et al. (2021), eq. (26), around the centre of each line
            evidence = llr[k] - beta[k] * (rank[block] - centre[k])
            total[block] += np.nan_to_num(evidence, nan=0.0)
    return total


def _independent_calibrator(prevalence: float) -> Map:
    """Return the log-odds logit(rho) + L, right if classifiers are independent."""
    return Platt(math.log(prevalence / (1 - prevalence)), 1.0)


def _fidel_by_agreement(panel: Panel, prevalence: float | None) -> FiDEL:
    """Return FiDEL without labels, with AUCs from the agreement of the classifiers."""
    estimates = agreement(panel, prevalence=prevalence, dependence="none")
    areas = np.array([estimates.auc[name].value for name in panel.names])
    return _fidel_without_labels(
        panel, areas, estimates.prevalence.value, source="agreement"
    )


def _fidel_of_published_aucs(
    panel: Panel, auc: Mapping[str, float], prevalence: float | None
) -> FiDEL:
    """Return FiDEL without labels, with published AUCs."""
    areas = _auc_of_each(auc, panel.names)
    if prevalence is None:
        prevalence = panel.prevalence
    if not 0 < prevalence < 1:
        raise InputError(
            "FiDEL with published AUCs needs the prevalence, since the panel lacks "
            "labels of one class or both.",
            option="prevalence",
            example=0.1,
        )
    return _fidel_without_labels(panel, areas, prevalence, source="published")


def _fidel_without_labels(
    panel: Panel, areas: Floats, prevalence: float, *, source: str
) -> FiDEL:
    """Return FiDEL of known AUCs, with all cases of the panel as the reference."""
    columns = rank_columns(panel.rows, panel.neg + panel.pos + panel.unknown)
    # a column without outputs has two cases, so that its line exists
    sizes = np.array([max(2.0, float(column.cases.sum())) for column in columns])
    beta, llr, centre = finite_lines(sizes, sizes * prevalence, areas)
    scores, cases = reference_of(columns)
    return FiDEL(
        names=panel.names,
        auc=areas,
        prevalence=prevalence,
        beta=beta,
        llr=llr,
        centre=centre,
        correlation=np.full((len(areas), len(areas)), np.nan),
        source=source,
        calibrator=_independent_calibrator(prevalence),
        scores=scores,
        cases=cases,
    )


def _auc_of_each(auc: Mapping[str, float], names: Sequence[str]) -> Floats:
    """Return the AUC of each name, in the order of the names."""
    if not isinstance(auc, Mapping):
        raise InputError(
            f"auc must be a mapping from name to AUC; found {type(auc).__name__}.",
            option="auc",
            example=PythonCode(f"{{{names[0]!r}: 0.8, ...}}"),
        )

    lacking = [name for name in names if name not in auc]
    extra = [name for name in auc if name not in names]
    if lacking or extra:
        mismatch = f"also {listing(extra)}"
        if lacking:
            mismatch = f"none for {listing(lacking)}"
        raise InputError(
            f"auc must hold an AUC for each of {listing(names, 12)}; found {mismatch}.",
            option="auc",
        )

    return np.array(
        [_options.fraction(auc[name], f"auc[{name!r}]", ends="[]") for name in names]
    )


@final
@register("wisdom-of-crowds")
class WisdomOfCrowds(Map):
    """Mean rank of a case over classifiers. See :func:`trueness.wisdom_of_crowds`."""

    names: tuple[str, ...]
    scores: tuple[Floats, ...]
    cases: tuple[Floats, ...]

    def __post_init__(self) -> None:
        check_reference(self.names, self.scores, self.cases)

    def __call__(self, rows: ArrayLike) -> Floats:
        """Return the mean proportion of reference cases below; 1/2 without output."""
        outputs = rows_of(rows, self.names)
        ranks = rank_rows(outputs, self.scores, self.cases)
        reference_sizes = np.array([max(count.sum(), 1.0) for count in self.cases])
        return _mean_proportion_below(ranks, reference_sizes)


def _mean_proportion_below(ranks: Floats, reference_sizes: Floats) -> Floats:
    """Return the mean of 1 - (rank - 1/2) / n over the ranks (m, K) of each row.

    Twice a mid-rank is a whole number, and so is 2n - 2 rank + 1. Whole numbers add up
    without rounding, so that ties stay ties and the order of columns does not matter.
    """
    has_rank = ~np.isnan(ranks)
    n_ranks = has_rank.sum(axis=1)
    mean = np.zeros(len(ranks))

    for size in np.unique(reference_sizes):
        same_size = reference_sizes == size
        twice_below = np.where(has_rank, 2 * size - 2 * ranks + 1, 0.0)[:, same_size]
        # one division of whole numbers: equal means are equal floats
        mean += twice_below.sum(axis=1) / (2 * size * np.maximum(n_ranks, 1))

    return np.where(n_ranks > 0, mean, 0.5)


def _mean_of_seen(value: Floats, fill: float) -> Floats:
    """Return the mean of each row without NaN; ``fill`` where all are NaN."""
    has_value = ~np.isnan(value)
    n_values = has_value.sum(axis=1)
    total = np.where(has_value, value, 0.0).sum(axis=1)
    return np.where(n_values > 0, total / np.maximum(n_values, 1), fill)


@of_panel
def wisdom_of_crowds(data: Panel) -> WisdomOfCrowds:
    """Wisdom of crowds: the mean rank over all classifiers.

    The score is the mean proportion of the panel's cases that rank lower, from 0 to 1
    (Marbach et al. 2012, doi:10.1038/nmeth.2016). No labels are used. Missing outputs
    do not count.

    Examples
    --------
    >>> p = Panel(["A", "B"], [[3, 30], [2, 10], [1, 20]], unknown=[1, 1, 1])
    >>> wisdom_of_crowds(p)([[3, 30], [2, 10]])  # (5/6 + 5/6)/2, (3/6 + 1/6)/2
    array([0.83333333, 0.33333333])
    """
    columns = rank_columns(data.rows, data.neg + data.pos + data.unknown)
    scores, reference_cases = reference_of(columns)
    return WisdomOfCrowds(data.names, scores, reference_cases)


@final
@register("best-single")
class BestSingle(Map):
    """The output of one classifier. See :func:`trueness.best_single`."""

    names: tuple[str, ...]
    best: str
    auc: float
    middle: float

    def __post_init__(self) -> None:
        check_names(self.names)
        _options.choice(self.best, self.names, "best")
        _options.fraction(self.auc, "auc", ends="[]")
        check_finite("middle", self.middle)

    def __call__(self, rows: ArrayLike) -> Floats:
        """Return the output of the best classifier; its median where it is missing."""
        value = rows_of(rows, self.names)[:, self.names.index(self.best)]
        return np.where(np.isnan(value), self.middle, value)


@of_panel
def best_single(data: Panel) -> BestSingle:
    """The classifier with the highest AUC; in a tie, the first of them.

    Each AUC uses the labelled cases that the classifier has scored. Where the best
    classifier has no output for a case, its median over these cases is used.

    Examples
    --------
    >>> p = Panel(["A", "B"], [[1, 2], [2, 1]], neg=[1, 0], pos=[0, 1])
    >>> best_single(p).best
    'A'
    """
    reference = RankReference(data, "best_single", correlation=False)
    best = int(np.argmax(reference.auc))
    return BestSingle(
        data.names,
        best=data.names[best],
        auc=float(reference.auc[best]),
        middle=reference.columns[best].median,
    )


@final
@register("mean-score")
class MeanScore(Map):
    """The mean output. See :func:`trueness.mean_score`."""

    names: tuple[str, ...]
    fill: float

    def __post_init__(self) -> None:
        check_names(self.names)
        check_finite("fill", self.fill)

    def __call__(self, rows: ArrayLike) -> Floats:
        """Return the mean of the outputs that are there."""
        return _mean_of_seen(rows_of(rows, self.names), self.fill)


@of_panel
def mean_score(data: Panel) -> MeanScore:
    """Mean of the outputs, without any transformation.

    This is right where the outputs mean the same thing, such as calibrated
    probabilities. Missing outputs are left out; a case without any output has the mean
    of the panel.

    Examples
    --------
    >>> p = Panel(["A", "B"], [[0.2, 0.4]], unknown=[1])
    >>> mean_score(p)([[0.5, 0.25], [0.5, float("nan")]])
    array([0.375, 0.5  ])
    """
    cases = (data.neg + data.pos + data.unknown)[:, None]
    has_output = ~np.isnan(data.rows)
    outputs = np.where(has_output, data.rows, 0.0)
    # (rows, classifiers): cases with an output
    weight = has_output * cases

    total_weight = float(weight.sum())
    if not total_weight:
        return MeanScore(data.names, 0.0)

    # sums of such outputs are beyond a float: divide first
    if np.abs(outputs).max() > 1e150:
        mean = float((outputs * (weight / total_weight)).sum())
        return MeanScore(data.names, mean)

    return MeanScore(data.names, float((outputs * weight).sum()) / total_weight)


def _quiet_fidel(panel: Panel) -> Map:
    """Return FiDEL without its warning: in a comparison the AUC shows the same."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DoubtfulAssumptionWarning)
        return fidel(panel)


# one line a combiner: a function from a panel to a map of rows
COMBINERS: Mapping[str, Callable[[Panel], Map]] = MappingProxyType(
    {
        "fidel": _quiet_fidel,
        "fidel-correlated": lambda panel: fidel(panel, method="correlated"),
        "wisdom-of-crowds": wisdom_of_crowds,
        "best-single": best_single,
        "mean-score": mean_score,
    }
)
