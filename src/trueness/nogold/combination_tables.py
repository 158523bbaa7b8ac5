"""How good is every logical combination, and which ones does no other beat?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.checks import options as _options
from trueness._core.records import Record
from trueness.nogold.criteria import CRITERIA, Draws, read_criterion
from trueness.nogold.formulas import formula
from trueness.nogold.pattern_draws import MAX_ENTRIES, PatternDraws
from trueness.nogold.posterior import LatentPosterior, check_posterior
from trueness.nogold.search import all_sets, winners

MAX_TABLE_CLASSIFIERS = 4  # whose combinations are all written down: 65,536
MAX_FRONT_CLASSIFIERS = 10
MAX_WORDED = 2**8  # combinations of a table up to which all have a formula
DRAWS_OF_LARGE_TABLE = 500  # of four classifiers


@final
@dataclass(frozen=True, repr=False)
class CombinationTable(Record):
    """All combinations of up to four classifiers (the paper's Tables 2 to 4).

    Every field but ``names`` has one entry a combination, in the order of the paper's
    numbers (code + 1); ``formula`` is "" where there are too many (see ``sorted``).
    Sensitivity and specificity have posterior mean, median and standard deviation.
    ``product`` to ``min`` are posterior means of the paper's four criteria, and
    ``best_product`` to ``best_min`` the proportions of draws in which it is best.
    """

    number: Array
    formula: Array
    sensitivity: Floats
    sensitivity_median: Floats
    sensitivity_sd: Floats
    specificity: Floats
    specificity_median: Floats
    specificity_sd: Floats
    product: Floats
    squares: Floats
    sum: Floats
    min: Floats
    best_product: Floats
    best_squares: Floats
    best_sum: Floats
    best_min: Floats
    names: tuple[str, ...]

    def sorted(self, by: str = "product", most: int | None = None) -> CombinationTable:
        """Sort by a column of numbers, highest first, and keep the first ``most``."""
        columns = {
            name: column
            for name, column in vars(self).items()
            if isinstance(column, np.ndarray) and name != "formula"
        }
        _options.choice(by, list(columns), "by")
        highest_first = np.argsort(-columns[by], kind="stable")

        if most is None:
            rows = highest_first
        else:
            rows = highest_first[: _options.whole_number(most, "most", at_least=1)]

        sorted_columns = {name: column[rows] for name, column in columns.items()}
        formulas = self.formula[rows]
        if len(rows) <= MAX_WORDED:
            formulas = _formulas(sorted_columns["number"], self.names)

        return CombinationTable(formula=formulas, names=self.names, **sorted_columns)

    def __repr__(self) -> str:
        """Return the ten best by the product, one in each line."""
        top = self if len(self.number) <= 10 else self.sorted(most=10)
        lines = [f"{len(self.number):,} combinations: number, formula, sens., spec."]
        for number, text, sens, spec in zip(
            top.number, top.formula, top.sensitivity, top.specificity, strict=True
        ):
            lines.append(f"  {number:>5} {text:<32} {sens:.3f} {spec:.3f}")
        return "\n".join(lines)


def _formulas(numbers: Array, names: tuple[str, ...]) -> Array:
    """Word the combinations of these numbers; "" where they are too many."""
    if len(numbers) > MAX_WORDED:
        return np.full(len(numbers), "")

    patterns = np.arange(2 ** len(names))
    formulas = []
    for number in numbers:
        code = number - 1
        # the bits of a code are the flagged patterns
        flagged = code >> patterns & 1 == 1
        formulas.append(formula(patterns[flagged], names))

    return np.array(formulas)


def all_combinations(posterior: LatentPosterior) -> CombinationTable:
    """Table of all logical combinations of up to four classifiers.

    How good is each of them? ``sorted("min")`` sorts the table. With four classifiers
    500 draws are used, with fewer all of them (Keith, Davey, Boyd 2012, Tables 2 to 4).

    Parameters
    ----------
    posterior
        From :func:`trueness.latent_class`.
    """
    check_posterior(posterior, "all_combinations", MAX_TABLE_CLASSIFIERS)
    is_large = len(posterior.names) == MAX_TABLE_CLASSIFIERS
    at_most = DRAWS_OF_LARGE_TABLE if is_large else MAX_ENTRIES
    draws = PatternDraws(posterior).evenly_spaced(at_most)

    patterns = np.arange(2 ** len(posterior.names))
    none_fixed = np.zeros(patterns.size, dtype=bool)
    summaries = [
        _summarize_rates(sens, spec)
        for _, sens, spec in all_sets(draws, patterns, none_fixed)
    ]
    columns = {
        name: np.concatenate([summary[name] for summary in summaries])
        for name in summaries[0]
    }

    for name in CRITERIA:
        columns[f"best_{name}"] = _proportions_best(name, draws)

    numbers = np.arange(1, 2**patterns.size + 1)
    return CombinationTable(
        number=numbers,
        formula=_formulas(numbers, posterior.names),
        names=posterior.names,
        **columns,
    )


def _proportions_best(criterion: str, draws: Draws) -> Floats:
    """Return in which proportion of the draws each combination is the best."""
    best_sets = winners(read_criterion(criterion), draws)
    patterns = best_sets.shape[1]
    # each set of patterns is the number of its bits
    code = best_sets @ (1 << np.arange(patterns))
    return np.bincount(code, minlength=2**patterns) / len(code)


def _summarize_rates(sens: Floats, spec: Floats) -> dict[str, Floats]:
    """Summarise the rates of combinations, (draws, combinations), over the draws."""
    columns = {
        "sensitivity": sens.mean(axis=0),
        "sensitivity_median": np.median(sens, axis=0),
        "sensitivity_sd": sens.std(axis=0, ddof=1),
        "specificity": spec.mean(axis=0),
        "specificity_median": np.median(spec, axis=0),
        "specificity_sd": spec.std(axis=0, ddof=1),
    }
    for name, criterion in CRITERIA.items():
        prevalence = sens  # these criteria do not look at it
        columns[name] = criterion(sens, spec, prevalence).mean(axis=0)

    return columns


@final
@dataclass(frozen=True, repr=False)
class CombinationFront(Record):
    """All combinations that no other beats in sensitivity and specificity.

    Attributes
    ----------
    sensitivity, specificity : array
        At the posterior means of the patterns, with rising sensitivity.
    """

    sensitivity: Floats
    specificity: Floats
    _members: Array  # eight patterns a byte, as numpy.packbits packs them
    _names: tuple[str, ...]

    def patterns(self, i: int) -> Array:
        """Return the patterns that combination i flags."""
        flags = np.unpackbits(self._members[i], count=2 ** len(self._names))
        return np.flatnonzero(flags)

    def formula(self, i: int) -> str:
        """Write combination i in words."""
        return formula(self.patterns(i).tolist(), self._names)


def combination_front(posterior: LatentPosterior) -> CombinationFront:
    """Pareto front of logical combinations: no other has higher sensitivity and
    specificity.

    The front is exact, for up to 10 classifiers (Nemhauser, Ullmann 1969,
    doi:10.1287/mnsc.15.9.494).

    Parameters
    ----------
    posterior
        From :func:`trueness.latent_class`.
    """
    check_posterior(posterior, "combination_front", MAX_FRONT_CLASSIFIERS)
    in_positives, in_negatives = _mean_probabilities(posterior)
    sens = np.zeros(1)
    spec = np.ones(1)
    # one bit for each pattern, in whole bytes
    members = np.zeros((1, -(-in_positives.size // 8)), dtype=np.uint8)

    # patterns that are clearly in or out come last: fewer sums in between
    for pattern in np.argsort(np.maximum(in_positives, in_negatives)):
        # each combination so far without the pattern, then with it
        size = sens.size
        sens = np.concatenate([sens, sens + in_positives[pattern]])
        spec = np.concatenate([spec, spec - in_negatives[pattern]])
        # Nemhauser and Ullmann (1969): what is beaten now stays beaten
        kept = _undominated(sens, spec)
        sens = sens[kept]
        spec = spec[kept]

        members = members[kept % size]
        # one bit for each pattern, the highest bit of a byte first
        byte = pattern // 8
        bit = np.uint8(128 >> (pattern % 8))
        members[kept >= size, byte] |= bit

    return CombinationFront(
        # repeated sums end a rounding error outside [0, 1]: -3e-15 is 0
        sensitivity=np.clip(sens, 0.0, 1.0),
        specificity=np.clip(spec, 0.0, 1.0),
        _members=members,
        _names=posterior.names,
    )


def _mean_probabilities(posterior: LatentPosterior) -> tuple[Floats, Floats]:
    """Return the posterior mean of each pattern's probability in both classes."""
    draws = PatternDraws(posterior)

    in_positives = []
    in_negatives = []
    for block in draws.in_blocks():
        in_positives.append(block.in_positives.sum(axis=0))
        in_negatives.append(block.in_negatives.sum(axis=0))

    return (
        np.sum(in_positives, axis=0) / draws.number,
        np.sum(in_negatives, axis=0) / draws.number,
    )


def _undominated(sens: Floats, spec: Floats) -> Array:
    """Return the places that no other beats in both rates, with rising sensitivity."""
    by_falling_sens = np.lexsort((-spec, -sens))
    sorted_spec = spec[by_falling_sens]
    # among equal or higher sensitivities, the specificity must be higher
    best_so_far = np.maximum.accumulate(sorted_spec)
    is_better = np.concatenate([[True], sorted_spec[1:] > best_so_far[:-1]])
    return np.asarray(by_falling_sens[is_better][::-1])
