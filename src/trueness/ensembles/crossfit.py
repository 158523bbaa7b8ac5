"""Which combination is best on cases that it has not seen?

Each combiner is fitted on all folds but one and scores that one. A combination is
better when it beats the classifier that would have been chosen on the rest
("best-single"), and every classifier by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from trueness._core.arrays import Floats
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.checks.words import described, is_several, listing
from trueness._core.figures import Intervals, intervals
from trueness._core.progress import steps
from trueness._core.records import Estimate, Record, native_frame, shown
from trueness.calibration.folds import deal_cases
from trueness.comparison.results import holm
from trueness.counts.answers import of_panel
from trueness.counts.folds import Folds
from trueness.counts.values import Panel
from trueness.ensembles.combiners import COMBINERS
from trueness.ensembles.fold_analyses import MeasuredFolds
from trueness.ensembles.ranked_columns import rank_columns
from trueness.inference.differences import Difference
from trueness.inference.estimates import estimate_from_interval
from trueness.ranking.areas import auc

Combiner = Callable[[Panel], Callable[[Floats], Any]]


@final
@dataclass(frozen=True, repr=False)
class CombinerComparison(Record):
    """Comparison of combiners on cases that they were not fitted on.

    Attributes
    ----------
    auc, difference : mapping from name to Estimate
        Mean out-of-sample AUC over the folds; its difference from the ``reference``.
    reference, folds, n_pos, n_neg
        The combiner that the others are compared with; numbers of folds, positives and
        negatives.
    single, single_over_folds : mapping from name to Estimate
        The AUC of each classifier alone, as :func:`auc` returns it; and its mean over
        the folds, from which ``gain`` is measured.
    gain : mapping from name of a combiner to mapping from classifier to Estimate
        AUC of the combiner minus that of the classifier, both within the folds, paired.
    p_value : mapping from name to float
        One-sided p-value of "better than the reference and every classifier alone": the
        largest of the paired tests, adjusted for the number of combiners (Holm).
    """

    auc: Mapping[str, Estimate]
    difference: Mapping[str, Estimate]
    reference: str
    folds: int
    n_pos: int
    n_neg: int
    single: Mapping[str, Estimate]
    gain: Mapping[str, Mapping[str, Estimate]]
    p_value: Mapping[str, float]
    single_over_folds: Mapping[str, Estimate]

    def best(self) -> str:
        """Return the combination with the highest AUC; one classifier alone is none."""
        combined = [name for name in self.auc if name != self.reference] or [*self.auc]
        return max(combined, key=lambda name: self.auc[name].value)

    def sentence(self, name: str | None = None) -> str:
        """Return in a sentence how a combiner (the best by default) compares."""
        name = self.best() if name is None else name
        if name == self.reference:
            return "No combination beats the best single classifier."

        gains = self.gain[name]
        closest = min(gains, key=lambda classifier: gains[classifier].value)
        to_closest = gains[closest]
        differences = (
            f"its AUC differs by {_signed(self.difference[name])} from that of the "
            "classifier that cross-validation would choose, and by "
            f"{_signed(to_closest)} from that of {shown(closest)}, the best single "
            "classifier"
        )
        level = self.auc[name].level
        if self.p_value[name] <= (1 - level) / 2:
            return f"Combining them is better ({name}): {differences}."
        if to_closest.high < 0:
            return f"{name} ranks worse than {shown(closest)} alone: {differences}."

        return (
            f"{name} does not differ significantly from a single classifier: "
            f"{differences}."
        )

    def to_frame(self, backend: str | None = None) -> Any:
        """Return a table with a row for each combiner."""
        areas = self.auc.values()
        differences = self.difference.values()
        columns: dict[str, list[Any]] = {
            "combiner": list(self.auc),
            "auc": [area.value for area in areas],
            "auc_low": [area.low for area in areas],
            "auc_high": [area.high for area in areas],
            "difference": [difference.value for difference in differences],
            "difference_low": [difference.low for difference in differences],
            "difference_high": [difference.high for difference in differences],
        }
        return native_frame(columns, backend)

    def __repr__(self) -> str:
        """One line a combiner: AUC, and difference to the one compared with."""
        lines = [
            f"Out-of-sample AUC, {self.folds} folds; difference from {self.reference}"
        ]
        width = max(len(name) for name in self.auc)
        for name, area in self.auc.items():
            difference = self.difference[name]
            lines.append(
                f"  {name:{width}}  {area!r}  {difference.value:+.4f} "
                f"({difference.low:+.4f} to {difference.high:+.4f})"
            )
        for classifier, area in self.single.items():
            lines.append(f"  {shown(classifier):{width}}  {area!r}  alone")
        return "\n".join([*lines, self.sentence()])


def _signed(difference: Estimate) -> str:
    """Return a difference as text, with its sign and its interval."""
    return f"{difference.value:+.3f} ({difference.low:+.3f} to {difference.high:+.3f})"


def combiner_figure(comparison: CombinerComparison) -> Intervals:
    """Return the figure of the AUC on new cases of each combiner, best one first."""
    best_first = sorted(comparison.auc.items(), key=lambda combiner: -combiner[1].value)
    return intervals(
        "Combined", "AUC on new cases", dict(best_first), keys=("combiner", "auc")
    )


@of_panel
def compare_combiners(
    data: Panel,
    *,
    combiners: Mapping[str, Combiner] | Sequence[str] | None = None,
    reference: str = "best-single",
    folds: int = 5,
    level: float = 0.95,
    rng: int | np.random.Generator | None = 0,
) -> CombinerComparison:
    """AUC of combined classifiers on new cases, compared with single classifiers.

    Which combination ranks new cases best, and by how much? Intervals and p-values are
    those of :func:`auc` and :func:`compare_auc` within the folds, which are treated as
    independent. The interval is for the maps as fitted: it does not include the
    variation of the fits themselves. Where a classifier has no output for a case, its
    median is used within the folds.

    Parameters
    ----------
    data
        Outputs of classifiers on labelled cases that they were not trained on.
    combiners, reference
        ``combiners``: names from ``trueness.COMBINERS`` (all when None), or a mapping
        from name to a function from panel to map. ``reference``: the one whose AUC is
        subtracted in ``difference``.
    folds
        Number of folds; each class needs as many cases.

    Examples
    --------
    >>> from trueness.counts.resampling import simulate_panel
    >>> p = simulate_panel(600, 200, [0.6, 0.7, 0.8], rng=0)
    >>> found = compare_combiners(p, rng=0)
    >>> found.difference["fidel"].value > 0, found.difference["best-single"].value
    (True, 0.0)
    """
    combiner_by_name = _read_combiners(combiners)
    reference = _options.choice(reference, combiner_by_name, "reference")
    level = _options.fraction(level, "level")
    folds = _options.whole_number(folds, "folds", at_least=2)
    _cases.both_classes(data, "compare_combiners")
    data = data.labelled()
    _cases.cases_for_folds(data, folds)

    # the combiners, and behind them each classifier alone
    single = [_alone(k) for k in range(len(data.names))]
    scored = _score_folds(
        data, [*combiner_by_name.values(), *single], folds, _options.generator(rng)
    )
    measured = MeasuredFolds(scored, auc, "AUC", level)
    # columns of the scored folds: combiners first, then classifiers
    combiner_places = {name: place for place, name in enumerate(combiner_by_name)}
    single_places = {
        name: len(combiner_by_name) + k for k, name in enumerate(data.names)
    }

    contrasts = {
        name: _contrast_combiner(
            measured, place, reference=combiner_places[reference], single=single_places
        )
        for name, place in combiner_places.items()
    }
    return CombinerComparison(
        auc={name: measured.estimate(k) for name, k in combiner_places.items()},
        difference={
            name: _estimate_of_difference(contrast.to_base, level)
            for name, contrast in contrasts.items()
        },
        reference=reference,
        folds=folds,
        n_pos=data.n_pos,
        n_neg=data.n_neg,
        single={
            name: auc(data.complete_cases(name)[name], level=level)
            for name in data.names
        },
        gain={name: contrast.gains(level) for name, contrast in contrasts.items()},
        p_value=_adjusted_p_values(contrasts, reference),
        single_over_folds={
            name: measured.estimate(k) for name, k in single_places.items()
        },
    )


class _Contrasts(NamedTuple):
    """Differences of a combiner to the one compared with, and to each classifier."""

    to_base: Difference
    to_single: dict[str, Difference]

    def gains(self, level: float) -> dict[str, Estimate]:
        """Return the differences to each classifier as estimates."""
        return {
            classifier: _estimate_of_difference(difference, level)
            for classifier, difference in self.to_single.items()
        }


def _contrast_combiner(
    measured: MeasuredFolds, place: int, *, reference: int, single: Mapping[str, int]
) -> _Contrasts:
    """Return the differences of one combiner to the base and to each classifier."""
    to_single = {
        classifier: measured.contrast(place, other)
        for classifier, other in single.items()
    }
    return _Contrasts(measured.contrast(place, reference), to_single)


def _adjusted_p_values(
    contrasts: Mapping[str, _Contrasts], reference: str
) -> dict[str, float]:
    """Return the p-value of each advantage, adjusted for the number of combiners."""
    p_values = {}
    for name, contrast in contrasts.items():
        if name != reference:
            # it must be better than all of them: the largest of the p-values
            differences = [contrast.to_base, *contrast.to_single.values()]
            p_values[name] = max(
                difference.p_value_above(0.0) for difference in differences
            )

    adjusted = holm(list(p_values.values()))
    return {reference: 1.0, **dict(zip(p_values, adjusted, strict=True))}


def _estimate_of_difference(difference: Difference, level: float) -> Estimate:
    """Return a difference of two AUCs as an estimate with its interval."""
    low, high = difference.interval(level)
    return estimate_from_interval(
        difference.value,
        low,
        high,
        level,
        difference.method,
        difference.standard_error,
    )


def _alone(place: int) -> Combiner:
    """Return a combiner that passes on one output.

    A missing output becomes the median of that classifier in the other folds.
    """

    def fit(panel: Panel) -> Callable[[Floats], Any]:
        """Return the output of the classifier, with its median where it is missing."""
        (column,) = rank_columns(panel.rows[:, [place]], panel.neg + panel.pos)

        def output(rows: Floats) -> Floats:
            outputs = rows[:, place]
            return np.where(np.isnan(outputs), column.median, outputs)

        return output

    return fit


def _read_combiners(
    combiners: Mapping[str, Combiner] | Sequence[str] | str | None,
) -> dict[str, Combiner]:
    """Return combiners by name: names of ``COMBINERS``, or a mapping of functions."""
    if combiners is None:
        return dict(COMBINERS)
    if isinstance(combiners, Mapping):
        return dict(combiners)

    names = [combiners] if isinstance(combiners, str) else combiners
    if not is_several(names):
        raise InputError(
            f"combiners must be names among {listing(COMBINERS, 20)}, or a mapping "
            f"from name to function; found {described(names)}.",
            option="combiners",
        )

    return {
        name: COMBINERS[_options.choice(name, COMBINERS, "combiners")] for name in names
    }


def _score_folds(
    panel: Panel, combiners: Sequence[Combiner], folds: int, rng: np.random.Generator
) -> Folds:
    """Return the cases of each fold, scored by combiners fitted on the other folds."""
    names = [str(k) for k in range(len(combiners))]
    negatives = deal_cases(panel.neg, folds, rng)
    positives = deal_cases(panel.pos, folds, rng)
    deal = list(zip(negatives, positives, strict=True))

    scored_folds = []
    for neg, pos in steps(deal, "Cross-fitting", unit="folds"):
        # the map is fitted to all cases that are not in this fold
        other_folds = Panel(panel.names, panel.rows, panel.neg - neg, panel.pos - pos)
        in_fold = neg + pos > 0
        scores = []
        for combiner in combiners:
            combined = combiner(other_folds)
            scores.append(np.asarray(combined(panel.rows[in_fold])))
        scored_folds.append(
            Panel(names, np.column_stack(scores), neg[in_fold], pos[in_fold])
        )

    return Folds(tuple(scored_folds))
