"""Which set of vote patterns is best by a criterion?

How sets are searched, and proved to be the best, is in docs/maths/nogold.md, section
"Combinations". What makes a set good is in ``criteria``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from trueness._core.arrays import Array, Floats, blocks
from trueness._core.progress import stop_if_requested
from trueness.nogold.criteria import CONCAVE, Criterion, Draws, Ends, net, plane_value

MAX_ENUMERATED = 12  # open patterns that are tried in all ways
MAX_FLIPPED = 256  # patterns that are flipped alone
PATTERNS_OF_FOUR = 16  # of four classifiers, whose sets are all tried if need be
MAX_DRAWS_OF_FOUR = 1000  # draws on which so many sets are tried
MAX_PARTS = 2**15  # into which a search is divided before it gives up, times patterns
MAX_BLOCK_SIZE = 2**20  # draws times sets, or patterns, that are held at a time
ROUNDING = 1e-13  # sets whose values differ by less cannot be told apart
SMALL = 1e-7  # less probable patterns are decided by slopes: their square is rounding
TINY = 1e-300
# what is known of a pattern in a part of the search
OPEN = -1
OUT = 0
IN = 1


class SetBlock(NamedTuple):
    """Consecutive sets: their codes, and both rates in each draw, (draws, codes)."""

    codes: slice
    sens: Floats
    spec: Floats


class Prefixes(NamedTuple):
    """Sets of the patterns with the highest likelihood ratios, for some draws."""

    rows: slice  # which draws
    prevalence: Floats  # (draws, 1)
    order: Array  # (draws, patterns), highest likelihood ratio first
    sens: Floats  # (draws, patterns + 1), of no pattern first
    spec: Floats


class Relaxed(NamedTuple):
    """Best rates with a fraction of one pattern, and its probabilities, (draws, 1)."""

    sens: Floats
    spec: Floats
    in_positives: Floats
    in_negatives: Floats


class SearchBound(NamedTuple):
    """A linear function above the criterion: its largest value, and its slopes."""

    upper: float
    cost: Floats  # (patterns,)


def all_sets(draws: Draws, candidates: Array, fixed: Array) -> Iterator[SetBlock]:
    """Walk through all ways to flag these patterns.

    Bit i of a code is the i-th pattern of ``candidates``; others are as in ``fixed``.
    """
    others = fixed & ~np.isin(np.arange(fixed.size), candidates)
    sens, spec = draws.rates(others)[:, :, None]
    in_positives = draws.in_positives[:, candidates]
    in_negatives = draws.in_negatives[:, candidates]
    block_size = max(1, MAX_BLOCK_SIZE // len(draws.prevalence))
    bits = np.arange(candidates.size)[:, None]

    for codes in blocks(2**candidates.size, block_size):
        code = np.arange(codes.start, codes.stop)
        # the binary digits of a code say which patterns are flagged
        sets = (code >> bits & 1).astype(np.float64)  # (patterns, codes)
        yield SetBlock(
            codes,
            sens=sens + in_positives @ sets,
            spec=spec - in_negatives @ sets,
        )


def _prefixes(draws: Draws) -> Iterator[Prefixes]:
    """Walk through the draws, with the ROC curve of the patterns in each of them."""
    n_draws, patterns = draws.in_positives.shape
    for rows in blocks(n_draws, max(1, MAX_BLOCK_SIZE // patterns)):
        in_positives = draws.in_positives[rows]
        in_negatives = draws.in_negatives[rows]
        proportion = in_positives / np.maximum(in_positives + in_negatives, TINY)
        # Neyman and Pearson: patterns by their likelihood ratio give the ROC curve
        order = np.argsort(-proportion, axis=1, kind="stable")
        yield Prefixes(
            rows,
            draws.prevalence[rows, None],
            order,
            sens=_sums_in_order(in_positives, order),
            spec=1 - _sums_in_order(in_negatives, order),
        )


def _sums_in_order(probability: Floats, order: Array) -> Floats:
    """Return cumulative probabilities in an order, from 0: (draws, patterns + 1)."""
    sums = np.take_along_axis(probability, order, axis=1).cumsum(axis=1)
    return np.pad(sums, ((0, 0), (1, 0)))


def winners(criterion: Criterion, draws: Draws) -> Array:
    """Return the best combination of each draw, (draws, patterns) of bool.

    Beyond four classifiers the best by product and minimum is the best that was found;
    beyond three, the best prefix stands for that by a sum of several metrics.
    """
    n_draws, patterns = draws.in_positives.shape
    if criterion.shape == "linear":
        # with constant slopes each pattern adds or costs, whatever the others do
        slopes = criterion.slopes(np.zeros((2, n_draws)), draws.prevalence)
        by_sens, by_spec = slopes[:, :, None]
        return net(by_sens * draws.in_positives, by_spec * draws.in_negatives) > 0

    concave = criterion.shape in CONCAVE
    if patterns < PATTERNS_OF_FOUR or (patterns == PATTERNS_OF_FOUR and concave):
        return _winners_of_all_sets(criterion, draws)
    return _winners_near_prefixes(criterion, draws)


def _winners_of_all_sets(criterion: Criterion, draws: Draws) -> Array:
    """Try all sets in each draw."""
    n_draws, patterns = draws.in_positives.shape
    best = np.full(n_draws, -np.inf)
    best_code = np.zeros(n_draws, dtype=np.int64)
    prevalence = draws.prevalence[:, None]

    nothing = np.zeros(patterns, dtype=bool)
    for codes, sens, spec in all_sets(draws, np.arange(patterns), nothing):
        value = criterion.value(sens, spec, prevalence)
        highest = value.max(axis=1)
        # a margin of rounding, so that equal sets keep the smaller code
        better = highest > best + ROUNDING
        best_code[better] = value[better].argmax(axis=1) + codes.start
        best = np.where(better, highest, best)

    return np.asarray(best_code[:, None] >> np.arange(patterns) & 1 == 1)


def _winners_near_prefixes(criterion: Criterion, draws: Draws) -> Array:
    """Return the best prefix in each draw, or the best set around it (concave)."""
    patterns = draws.in_positives.shape[1]
    winner_sets = np.zeros(draws.in_positives.shape, dtype=bool)
    for prefixes in _prefixes(draws):
        rows = prefixes.rows
        value = criterion.value(prefixes.sens, prefixes.spec, prefixes.prevalence)
        # the best point on the ROC curve of the draw
        length = value.argmax(axis=1)[:, None]
        in_prefix = np.arange(patterns) < length
        np.put_along_axis(winner_sets[rows], prefixes.order, in_prefix, axis=1)

        if criterion.shape in CONCAVE:
            relaxed = _relax(criterion, prefixes.sens, prefixes.spec)
            some_draws = draws.take(rows)
            winner_sets[rows] = _flip_best(
                criterion, some_draws, winner_sets[rows], relaxed
            )

    return winner_sets


def _relax(criterion: Criterion, sens: Floats, spec: Floats) -> Relaxed:
    """Return the best prefix when a fraction t of its last pattern may be flagged.

    (s + t x)(p - t y) is largest where its slope is 0, the minimum where both rates are
    equal; x and y are the probabilities of the pattern, s and p the rates without it.
    """
    x = np.diff(sens)
    y = -np.diff(spec)
    s = sens[:, :-1]
    p = spec[:, :-1]

    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if criterion.shape == "product":
            t = (p / y - s / x) / 2
        else:
            t = (p - s) / (x + y)

    t = np.clip(np.nan_to_num(t), 0, 1)
    s = s + t * x
    p = p - t * y

    best = criterion.value(s, p, 0.5).argmax(axis=1)[:, None]
    return Relaxed(
        sens=np.take_along_axis(s, best, axis=1),
        spec=np.take_along_axis(p, best, axis=1),
        in_positives=np.take_along_axis(x, best, axis=1),
        in_negatives=np.take_along_axis(y, best, axis=1),
    )


def _flip_best(
    criterion: Criterion, draws: Draws, flagged: Array, relaxed: Relaxed
) -> Array:
    """Try to flip, in each draw, the weightiest patterns that the bound allows.

    A pattern on the wrong side costs no less than its distance from the tangent at the
    relaxed optimum.
    """
    best_possible = criterion.value(relaxed.sens, relaxed.spec, 0.5)
    slack = best_possible - criterion.evaluate(draws, flagged)[:, None]
    cost = _cost_of_wrong_side(criterion, draws, relaxed)

    # first those that may be on the wrong side, by their weight, then the cheapest
    weight = -draws.in_positives - draws.in_negatives
    priority = np.where(cost <= slack, weight, cost)
    candidates = np.argsort(priority, axis=1)[:, :MAX_ENUMERATED]

    # a flip adds a pattern that was out, and takes away one that was in
    was_chosen = np.take_along_axis(flagged, candidates, axis=1)
    sign = np.where(was_chosen, -1.0, 1.0)
    change_in_positives = sign * np.take_along_axis(
        draws.in_positives, candidates, axis=1
    )
    change_in_negatives = sign * np.take_along_axis(
        draws.in_negatives, candidates, axis=1
    )

    flips = _all_subsets(MAX_ENUMERATED)
    sens, spec = draws.rates(flagged)[:, :, None]
    new_sens = sens + change_in_positives @ flips
    new_spec = spec - change_in_negatives @ flips
    best_flips = criterion.value(new_sens, new_spec, 0.5).argmax(axis=1)

    flipped = flagged.copy()
    is_flipped = flips[:, best_flips].T == 1
    np.put_along_axis(flipped, candidates, was_chosen ^ is_flipped, axis=1)
    return flipped


def _all_subsets(n_elements: int) -> Array:
    """Return 0 and 1 for each subset in a column: (n_elements, 2^n_elements)."""
    bit = np.arange(n_elements)[:, None]
    return np.asarray(np.arange(2**n_elements) >> bit & 1)


def _cost_of_wrong_side(criterion: Criterion, draws: Draws, relaxed: Relaxed) -> Floats:
    """Return the distance of each pattern from the tangent at the relaxed optimum."""
    if criterion.shape == "product":
        # the slopes of sensitivity times specificity
        slope_in_sens = relaxed.spec
        slope_in_spec = relaxed.sens
    else:
        # the weights of both rates for which the divided pattern costs nothing
        total = relaxed.in_positives + relaxed.in_negatives
        slope_in_sens = relaxed.in_negatives / total
        slope_in_spec = relaxed.in_positives / total

    return np.abs(
        slope_in_sens * draws.in_positives - slope_in_spec * draws.in_negatives
    )


def mean_of_best(criterion: Criterion, draws: Draws) -> float:
    """Return the mean value if the best combination of each draw were known."""
    if criterion.shape == "sum of several":
        parts = [weight * mean_of_best(part, draws) for weight, part in criterion.parts]
        return criterion.constant + sum(parts)

    best = []
    for prefixes in _prefixes(draws):
        sens = prefixes.sens
        spec = prefixes.spec
        if criterion.shape in CONCAVE:
            # a fraction of a pattern can only be better than a whole one
            sens, spec, *_ = _relax(criterion, sens, spec)
        best.append(criterion.value(sens, spec, prefixes.prevalence).max(axis=1))

    return _mean(np.concatenate(best))


def best_on_average(criterion: Criterion, draws: Draws) -> tuple[Array, float]:
    """Return the best set of patterns, and how much better another could be at most."""
    mean_draw = draws.mean()
    flagged = _follow_gains(criterion, draws, winners(criterion, mean_draw)[0])
    flagged, upper = _search_and_bound(criterion, draws, flagged)

    # what the value cannot tell apart is decided by the slopes
    gain = criterion.gains(draws.rates(flagged), draws)
    probability = (mean_draw.in_positives + mean_draw.in_negatives)[0]
    small = (probability < SMALL) & np.isfinite(gain)
    flagged = np.where(small, gain > 0, flagged)

    if upper is None:
        return flagged, 0.0

    upper = min(upper, mean_of_best(criterion, draws))
    gap = upper - _mean_value(criterion, draws, flagged)
    return flagged, gap if gap > ROUNDING else 0.0


def _follow_gains(criterion: Criterion, draws: Draws, flagged: Array) -> Array:
    """Flag what gains to first order, again and again, as long as that is better."""
    following = criterion.gains(draws.rates(flagged), draws) > 0
    while _is_better(criterion, draws, following, flagged):
        stop_if_requested()
        flagged = following
        following = criterion.gains(draws.rates(flagged), draws) > 0
    return flagged


def _mean(value: Array) -> float:
    return float(value.mean())


def _mean_value(criterion: Criterion, draws: Draws, flagged: Array) -> float:
    """Return the value of a set on average."""
    return _mean(criterion.evaluate(draws, flagged))


def _is_better(criterion: Criterion, draws: Draws, first: Array, second: Array) -> bool:
    """Return whether the first set is better on average, by more than rounding."""
    value = _mean_value(criterion, draws, first)
    return value > _mean_value(criterion, draws, second) + ROUNDING


def _search_and_bound(
    criterion: Criterion, draws: Draws, flagged: Array
) -> tuple[Array, float | None]:
    """Search all sets; if they are too many, those near this one, with a bound.

    The bound is None where the set was proved to be the best.
    """
    patterns = flagged.size
    probability = (draws.in_positives + draws.in_negatives).mean(axis=0)
    best = flagged
    upper = np.inf

    if criterion.bounded or patterns <= PATTERNS_OF_FOUR:
        best, upper, proved = _branch(criterion, draws, best, probability)
        if proved:
            return best, None

    return _search_nearby(criterion, draws, best, probability), upper


def _branch(
    criterion: Criterion, draws: Draws, best: Array, probability: Floats
) -> tuple[Array, float, bool]:
    """Search all sets by parts: the best one, a bound, and whether all were searched.

    As long as too many patterns are open, the most probable one is put in and out.
    """
    patterns = best.size
    parts = [np.full(patterns, OPEN, np.int8)]
    upper_of_all = np.inf

    for i in range(min(64, MAX_PARTS // patterns)):
        state, upper = _settle(criterion, draws, best, parts.pop())
        if i == 0:  # the first part is the whole
            upper_of_all = upper

        free = np.flatnonzero(state == OPEN)
        if free.size <= MAX_ENUMERATED or patterns == PATTERNS_OF_FOUR:
            fixed = (state == IN) | (best & (state == OPEN))
            proposal = _best_of_all_ways(criterion, draws, fixed, free)
            value = _mean_value(criterion, draws, proposal)
            if value >= _mean_value(criterion, draws, best) - ROUNDING:
                best = proposal
        else:
            # branch and bound: one part without this pattern, one with it
            most_probable = free[np.argmax(probability[free])]
            without = state.copy()
            without[most_probable] = OUT
            including = state.copy()
            including[most_probable] = IN
            parts += [without, including]

        if not parts:
            return best, upper_of_all, True

    return best, upper_of_all, False


def _search_nearby(
    criterion: Criterion, draws: Draws, best: Array, probability: Floats
) -> Array:
    """Flip one pattern, or any of a few, as long as that is better."""
    while True:
        stop_if_requested()
        # a flip changes the gains by products of two probabilities: it is of use where
        # a gain is small beside that
        gain = np.abs(criterion.gains(draws.rates(best), draws))
        relative_gain = gain / np.maximum(probability, 1e-100) ** 2
        candidates = np.argsort(relative_gain)[:MAX_FLIPPED]

        proposal = _best_single_flip(criterion, draws, best, candidates)
        if not _is_better(criterion, draws, proposal, best):
            # as many as leave 4 million values to compute
            n_candidates = min(MAX_ENUMERATED, 22 - len(draws.prevalence).bit_length())
            few_candidates = np.sort(candidates[:n_candidates])
            proposal = _best_of_all_ways(criterion, draws, best, few_candidates)

        if not _is_better(criterion, draws, proposal, best):
            return best

        best = proposal


def _best_single_flip(
    criterion: Criterion, draws: Draws, flagged: Array, candidates: Array
) -> Array:
    """Flip the one candidate after which the set is best on average."""
    flipped = draws.of_patterns(candidates)
    # a flip adds a pattern that was out, and takes away one that was in
    direction = np.where(flagged[candidates], -1.0, 1.0)
    change = direction * np.stack([flipped.in_positives, -flipped.in_negatives])

    # (draws, candidates): both rates after each flip
    sens, spec = draws.rates(flagged)[:, :, None] + change
    value = criterion.value(sens, spec, draws.prevalence[:, None]).mean(axis=0)
    best_candidate = candidates[value.argmax()]
    return np.asarray(flagged ^ (np.arange(flagged.size) == best_candidate))


def _best_of_all_ways(
    criterion: Criterion, draws: Draws, flagged: Array, candidates: Array
) -> Array:
    """Try all ways to flag these patterns, the others as they are."""
    if candidates.size > MAX_ENUMERATED:
        # up to 2^16 sets of four classifiers: on a part of the draws, for the time
        stride = 1 + len(draws.prevalence) // MAX_DRAWS_OF_FOUR
        draws = draws.take(slice(None, None, stride))

    prevalence = draws.prevalence[:, None]
    means = np.concatenate(
        [
            criterion.value(sens, spec, prevalence).mean(axis=0)
            for _, sens, spec in all_sets(draws, candidates, flagged)
        ]
    )
    # a margin of rounding, so that equal sets keep the smaller code
    code = int(np.argmax(means >= means.max() - ROUNDING))
    best = flagged.copy()
    best[candidates] = code >> np.arange(candidates.size) & 1

    return best


def _settle(
    criterion: Criterion, draws: Draws, flagged: Array, state: Array
) -> tuple[Array, float]:
    """Return which open patterns are surely in or out of any better set, and a bound.

    A rate lies between its values with the worst and with the best open patterns.
    """
    best = _mean_value(criterion, draws, flagged)
    rates = draws.rates(flagged)
    upper = np.inf

    while criterion.bounded and (state == OPEN).any():
        stop_if_requested()
        free = np.flatnonzero(state == OPEN)
        open_draws = draws.of_patterns(free)
        with_none = draws.rates(state == IN)
        with_all = draws.rates(state != OUT)

        # flagging more raises the sensitivity and lowers the specificity
        sens = (with_none[0], with_all[0])
        spec = (with_all[1], with_none[1])
        lowest_gain, highest_gain = _gain_bounds(criterion, open_draws, sens, spec)
        upper, cost = _bound(criterion, open_draws, (with_none, with_all), rates)
        # on its other side, the pattern costs more than the bound leaves to gain
        too_costly = np.abs(cost) > max(upper - best, 0.0) + ROUNDING

        sure = (lowest_gain > 0) | (highest_gain <= 0) | too_costly
        inside = np.where(too_costly, cost > 0, lowest_gain > 0)
        state = state.copy()
        state[free[sure]] = np.where(inside[sure], IN, OUT)

        if not sure.any():
            break

    return state, max(upper, best)


def _gain_bounds(
    criterion: Criterion, draws: Draws, sens: Ends, spec: Ends
) -> tuple[Floats, Floats]:
    """Return what each pattern adds on average, at least and at most."""
    n_draws = len(draws.prevalence)
    lowest, highest = criterion.slope_bounds(sens, spec, draws.prevalence)
    lowest_gain = lowest[0] @ draws.in_positives - highest[1] @ draws.in_negatives
    highest_gain = highest[0] @ draws.in_positives - lowest[1] @ draws.in_negatives
    return lowest_gain / n_draws, highest_gain / n_draws


def _bound(
    criterion: Criterion, draws: Draws, ends: Ends, rates: Floats
) -> SearchBound:
    """Bound the criterion by a function that is linear in the open patterns.

    ``ends`` are the rates with none of them and with all, (2, draws) each.
    """
    with_none, _ = ends
    if criterion.name == "min":
        return _bound_of_minimum(draws, with_none, rates)

    plane, convex = _convex_bound(criterion, draws.prevalence, ends, rates)
    start = plane_value(plane, *with_none)
    slope_in_sens = plane[1, :, None]
    slope_in_spec = plane[2, :, None]
    changes = slope_in_sens * draws.in_positives - slope_in_spec * draws.in_negatives

    # a convex function is below its chord between the ends
    low = start + np.minimum(changes, 0).sum(axis=1)
    high = start + np.maximum(changes, 0).sum(axis=1)
    slope = (convex(high) - convex(low)) / np.maximum(high - low, TINY)
    cost = slope / len(start) @ changes
    upper = _mean(convex(low) + slope * (start - low))

    return SearchBound(upper + float(np.maximum(cost, 0).sum()), cost)


def _convex_bound(
    criterion: Criterion, prevalence: Floats, ends: Ends, rates: Floats
) -> tuple[Floats, Callable[[Floats], Floats]]:
    """Return a plane over both rates, and a convex function of it for a bound."""
    if criterion.name == "product":
        # (p x + s y)^2 / (4 s p) >= x y for any s, p > 0, as the arithmetic mean is not
        # below the geometric one; equal at x = s, y = p, the rates of a good set
        sens, spec = np.maximum(rates, 1e-6)
        plane = np.stack([0 * sens, spec, sens])
        return plane, lambda height: np.maximum(height, 0) ** 2 / (4 * sens * spec)

    numerator, denominator = criterion.planes(prevalence)
    corners = [
        plane_value(denominator, rates_at_one[0], rates_at_other[1])
        for rates_at_one in ends
        for rates_at_other in ends
    ]
    low = np.min(corners, axis=0)
    high = np.max(corners, axis=0)
    quotient = plane_value(numerator, *rates) / plane_value(denominator, *rates)
    plane = numerator - quotient * denominator

    return plane, lambda height: quotient + np.maximum(height / low, height / high)


def _bound_of_minimum(draws: Draws, with_none: Floats, rates: Floats) -> SearchBound:
    """Weigh both rates of each draw: the lower one, or both where they are close.

    A weighted mean of two rates is no lower than their minimum, whatever the weights;
    of four ways to weigh, the one with the lowest bound counts.
    """
    sens, spec = rates
    difference = spec - sens
    sens_with_none, spec_with_none = with_none

    bounds = []
    # how far apart rates are when the lower one counts alone: 0 is always
    for width in np.quantile(np.abs(difference), [0.0, 0.02, 0.1, 0.3]):
        weight = np.clip(0.5 + difference / (2 * max(width, TINY)), 0, 1)
        gain = weight @ draws.in_positives - (1 - weight) @ draws.in_negatives
        cost = gain / len(weight)

        start = _mean(weight * sens_with_none + (1 - weight) * spec_with_none)
        # no set gains more than all patterns that add something
        gain_of_useful = float(np.maximum(cost, 0).sum())
        bounds.append(SearchBound(start + gain_of_useful, cost))

    return min(bounds, key=lambda bound: bound.upper)
