"""What is the probability of these votes when nobody knows the truth?

Two latent classes, whose tests may share errors (docs/maths/nogold.md, "Model"). The
sampler works on the whole space: coordinates are normal quantiles of phi, alpha and
either beta or, under the order constraint, beta / alpha.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, final

import numpy as np
from scipy.special import betainc, betaln, ndtr, ndtri

from trueness._core.arrays import Array, Floats, blocks
from trueness._core.checks.errors import InputError, NotEnoughCases, PythonCode
from trueness._core.checks.options import choice, positive_number
from trueness._core.checks.words import listing, nearest
from trueness.counts.values import Panel

LEAST_ORDERED = 1e-6  # share of a prior that the order constraint may leave
FAR = 8.2  # beyond this quantile a probability rounds to 0 or 1
TINY = 1e-300
# the ease of a case, in equal steps from -REACH to REACH. Gauss and Hermite's rule puts
# its nodes too far apart where sigma is large. Equal steps are right to 1e-3 while
# sigma times the step is below 0.7 (errors fall as exp(-2 pi^2 / step^2), Trefethen,
# Weideman 2014, doi:10.1137/130932132), so that they follow sigma
REACH = 4.5
STEPS = ((1.1, 14), (2.2, 28), (3.3, 42), (np.inf, 56))
CACHE = 96_000  # numbers in a table: larger ones leave the processor's cache
MOST_UNSEEN = 4  # pairs of halves per pattern, up to which all are multiplied out

# the votes of either half of the tests, and which of them a row has
Halves = tuple[tuple[Array, Array], tuple[Array, Array]]


@final
@dataclass(frozen=True)
class Patterns:
    """How many cases of each population showed each pattern of votes?"""

    names: tuple[str, ...]
    populations: tuple[str, ...]
    rows: Floats  # (m, K) of 0, 1 and NaN
    unknown: Floats  # (S, m)
    pos: Floats
    neg: Floats

    @property
    def total(self) -> Floats:
        """How many cases, labelled or not?"""
        return self.unknown + self.pos + self.neg

    @property
    def labels(self) -> tuple[float, float]:
        """How many cases are known to be positive, and negative?"""
        return float(self.pos.sum()), float(self.neg.sum())

    @cached_property
    def cells(self) -> tuple[list[tuple[int, int, Array]], Floats, Floats]:
        """What was counted: population, kind and patterns; counts; cases in all.

        Kinds are 0 for cases without a label, 1 for positives and 2 for negatives.
        """
        parts, counts, total = [], [], []
        for s in range(len(self.populations)):
            labelled = self.pos[s].sum() + self.neg[s].sum()
            for kind, column in enumerate((self.unknown[s], self.pos[s], self.neg[s])):
                at = np.flatnonzero(column)
                if at.size:
                    parts.append((s, kind, at))
                    counts.append(column[at])
                    of = labelled if kind else column.sum()
                    total.append(np.full(at.size, of))
        return parts, np.concatenate(counts), np.concatenate(total)

    def log_chances(self, yes: Floats, no: Floats, a: Floats, b: Floats) -> Floats:
        """Give log P of each cell, (n, C), by phi, 1 - phi and patterns of classes."""
        out = []
        for s, kind, at in self.cells[0]:
            in_pos, in_neg = yes[:, [s]] * a[:, at], no[:, [s]] * b[:, at]
            out.append((in_pos + in_neg, in_pos, in_neg)[kind])
        return np.log(np.maximum(np.hstack(out), TINY))

    @cached_property
    def halves(self) -> Halves:
        """Sort the patterns by their halves, which make a fast product."""
        return halves(self.rows)


def read_patterns(data: Panel | Mapping[str, Panel]) -> Patterns:
    """Count the patterns of one panel, or of each panel of a mapping."""
    panels = _checked_panels(data if isinstance(data, Mapping) else {"": data})
    together: Panel = sum(panels.values())  # type: ignore[assignment]
    if np.isfinite([only_value(column) for column in together.rows.T]).all():
        raise NotEnoughCases(
            "A latent class model learns from disagreement; here each of "
            f"{listing(together.names)} gives the same vote to all of its "
            f"{together.n:,} cases. Choose other thresholds, or other cases.",
            example=PythonCode("panel.vote(thresholds)"),
        )
    at = {row.tobytes(): j for j, row in enumerate(together.rows)}
    counts = np.zeros((3, len(panels), len(together)))
    for s, p in enumerate(panels.values()):
        j = [at[row.tobytes()] for row in p.rows]
        counts[:, s, j] = p.unknown, p.pos, p.neg
    return Patterns(together.names, tuple(panels), together.rows, *counts)


def _checked_panels(panels: Mapping[Any, Any]) -> dict[str, Panel]:
    """Pass on panels of 0/1 votes of at least two classifiers on the same names."""
    if not panels:
        raise InputError(
            "latent_class needs at least one population; found none.",
            example=PythonCode('{"site": panel}'),
        )
    for name, panel in panels.items():
        where = f" in population {name!r}" if len(panels) > 1 else ""
        if not isinstance(panel, Panel):
            raise InputError(
                "latent_class needs a Panel of votes, or a mapping from population to "
                f"Panel; found {type(panel).__name__}{where}.",
                example=PythonCode('trueness.panel(None, {"a": a, "b": b})'),
            )
        if len(panel.names) < 2:
            raise InputError(
                "latent_class needs at least 2 classifiers on the same cases; found "
                f"{listing(panel.names)}{where}. One classifier cannot be evaluated "
                "without labels or a second classifier."
            )
        if panel.n == 0:
            raise NotEnoughCases(
                f"latent_class needs cases; the panel{where} is empty."
            )
        for column_name, column in zip(panel.names, panel.rows.T, strict=True):
            if other_votes(column).size:
                raise InputError(
                    f"A latent class model needs votes of 0 and 1; {column_name!r} has "
                    f"{listing(other_votes(column))}{where}. Make 0 and 1 of scores "
                    "first, with a threshold for each.",
                    example=PythonCode(f"panel.vote({{{column_name!r}: 0.5, ...}})"),
                )
            if np.isnan(column).all():
                raise NotEnoughCases(
                    f"Classifier {column_name!r} has no vote at all{where}."
                )
    first, *rest = panels.values()
    for other in rest:
        if set(other.names) != set(first.names):
            raise InputError(
                f"All populations must have the same classifiers; found "
                f"{listing(first.names)} and {listing(other.names)}."
            )
    return {str(s): p[list(first.names)] for s, p in panels.items()}


def other_votes(rows: Floats) -> Floats:
    """Which values are neither 0 nor 1?"""
    return np.unique(rows[~np.isnan(rows) & (rows != 0) & (rows != 1)])


def only_value(column: Array) -> float:
    """Which value does a column have in every case? NaN where there are several."""
    seen = np.unique(column[~np.isnan(column)])
    return float(seen[0]) if seen.size == 1 else np.nan


def pattern_word(row: Floats) -> str:
    """Write a pattern, a missing vote as a point: "10."."""
    return "".join("." if np.isnan(v) else f"{v:.0f}" for v in row)


@final
@dataclass(frozen=True)
class LatentModel:
    """Two latent classes whose tests may share errors (``shared``), or do not."""

    patterns: Patterns
    prior: tuple[Floats, Floats, Floats]  # (a, b) of Beta: phi (S, 2), alpha, beta
    ordered: bool  # whether alpha >= beta
    shared: bool = False

    @cached_property
    def in_order(self) -> Floats:
        """Which share of each test's prior has alpha >= beta?"""
        return order_mass(*self.prior[1].T, *self.prior[2].T)

    @property
    def dim(self) -> int:
        """How many parameters?"""
        s, k = len(self.patterns.populations), len(self.patterns.names)
        return s + 2 * k + 2 * self.shared

    @property
    def labels(self) -> tuple[str, ...]:
        """Give the name of every parameter."""
        more = ("spread[pos]", "spread[neg]") if self.shared else ()
        return (*parameter_labels(self.patterns), *more)

    def log_ratio(self, v: Floats) -> Floats:
        """Give the log of likelihood times prior over the standard normal density."""
        out, (_, counts, _) = np.empty(len(v)), self.patterns.cells
        for b in blocks(len(v), max(2**18 // max(counts.size, 1), 64)):
            prior, log_p = self.log_cells(v[b])
            out[b] = prior + log_p @ counts
        return out

    def log_cells(self, v: Floats) -> tuple[Floats, Floats]:
        """Give the log prior over a normal density, and log P of each cell, (n, C)."""
        p, sigma = self._parameters(v)
        a, b = self._classes(p[2:], sigma, self.patterns.rows, self.patterns.halves)
        return self._log_prior(p), self.patterns.log_chances(p[0], p[1], a, b)

    def _log_prior(self, p: Sequence[Floats]) -> Floats:
        """Give the density at phi, 1 - phi, alpha, 1 - alpha, beta and 1 - beta."""
        out = np.zeros(len(p[0]))
        for k, ab in enumerate(self.prior):
            if (ab != 1).any():  # a uniform density is 1
                out += np.log(np.maximum(p[2 * k], TINY)) @ (ab[:, 0] - 1)
                out += np.log(np.maximum(p[2 * k + 1], TINY)) @ (ab[:, 1] - 1)
            out -= betaln(*ab.T).sum()
        if self.ordered:  # what the constraint leaves, and d beta = alpha d(beta/alpha)
            out += np.log(p[2]).sum(axis=1) - np.log(self.in_order).sum()
        return out

    def _parameters(self, v: Floats) -> tuple[list[Floats], Floats]:
        """Give phi, 1 - phi, alpha, 1 - alpha, beta, 1 - beta, and both sigmas."""
        s, k = len(self.patterns.populations), len(self.patterns.names)
        v = np.clip(v, -FAR, FAR)
        up, tail = v[:, : s + 2 * k] > 0, ndtr(-np.abs(v[:, : s + 2 * k]))
        yes, no = np.where(up, 1 - tail, tail), np.where(up, tail, 1 - tail)
        alpha, not_alpha = yes[:, s : s + k], no[:, s : s + k]
        beta, not_beta = yes[:, s + k :], no[:, s + k :]
        if self.ordered:  # the last coordinates are those of beta / alpha
            not_beta = not_alpha + alpha * not_beta
            beta = alpha * beta
        # half-normal a priori: at 1 half of the variance is the case's own
        sigma = -ndtri(ndtr(-v[:, s + 2 * k :]) / 2)
        return [yes[:, :s], no[:, :s], alpha, not_alpha, beta, not_beta], sigma

    def _classes(
        self, p: Sequence[Floats], sigma: Floats, rows: Floats, of: Halves
    ) -> tuple[Floats, Floats]:
        """Give the probability of each pattern in positives and in negatives."""
        if not self.shared:
            return independent(p[0], p[1], rows), independent(p[2], p[3], rows)
        a, b = (
            integrated(quantile(p[2 * k], p[2 * k + 1]), sigma[:, k], of)
            for k in (0, 1)
        )
        return a, b

    def natural(self, v: Floats) -> dict[str, Floats]:
        """Give prevalence, sensitivity, specificity and, if shared, the spreads."""
        p, sigma = self._parameters(v)
        out = {"prevalence": p[0], "sensitivity": p[2], "specificity": p[5]}
        return out | {"spread": sigma} if self.shared else out

    def prior_draws(self, n: int, rng: np.random.Generator) -> dict[str, Floats]:
        """Draw parameters from the prior: normal coordinates, by their weights."""
        v = rng.standard_normal((4 * n, self.dim))
        weight = np.exp(self._log_prior(self._parameters(v)[0]))
        return self.natural(v[rng.choice(len(v), n, p=weight / weight.sum())])

    def class_probabilities(
        self, flat: Mapping[str, Floats], rows: Floats
    ) -> tuple[Floats, Floats]:
        """Give the probability of each pattern in positives and in negatives."""
        alpha, not_beta = flat["sensitivity"], flat["specificity"]
        if not rows.size:
            return np.empty((len(alpha), 0)), np.empty((len(alpha), 0))
        p = alpha, 1 - alpha, 1 - not_beta, not_beta
        return self._classes(p, flat.get("spread", alpha), rows, halves(rows))


def _shapes(given: object, word: str, names: Sequence[str]) -> Floats:
    """Read (a, b) of the Beta prior of each name, the same for all or by name."""
    by_name = given if isinstance(given, Mapping) else dict.fromkeys(names, given)
    out = np.ones((len(names), 2))  # uniform
    for name, ab in by_name.items():
        if name not in names:
            raise InputError(
                f"prior[{word!r}] names {name!r}, but there are only "
                f"{listing(names)}.{nearest(name, names)}"
            )
        if ab is None:
            continue
        if not isinstance(ab, (tuple, list, np.ndarray)) or len(ab) != 2:
            raise InputError(
                f"prior[{word!r}] must be (a, b) of a Beta distribution, such as "
                f"(1, 1); found {ab!r}."
            )
        what = f"Each of (a, b) of prior[{word!r}]"
        out[list(names).index(name)] = [positive_number(v, what) for v in ab]
    return out


def read_model(patterns: Patterns, given: object, ordered: bool) -> LatentModel:
    """Give a model with ``{"sensitivity": {"A": (a, b)}, ...}``; the rest uniform."""
    if given is not None and not isinstance(given, Mapping):
        raise InputError(
            f"prior must be a mapping such as "
            f'{{"prevalence": (1, 1), "sensitivity": {{"A": (9, 1)}}}}; '
            f"found {given!r}."
        )
    names = dict.fromkeys(("sensitivity", "specificity"), patterns.names)
    by_word = {"prevalence": patterns.populations, **names}
    for word in given or ():
        choice(word, tuple(by_word), "The parameters of prior")
    phi, sens, spec = (
        _shapes((given or {}).get(word), word, each) for word, each in by_word.items()
    )
    model = LatentModel(patterns, (phi, sens, spec[:, ::-1]), ordered)
    if ordered:
        for name, share in zip(patterns.names, model.in_order, strict=True):
            if share < LEAST_ORDERED:
                raise InputError(
                    f"The prior of {name!r} is impossible with the order constraint: "
                    f"only {share:.2g} of it has sensitivity >= 1 - specificity. Are "
                    "positive and negative swapped?",
                    option="ordered",
                    example=False,
                )
    return model


def independent(yes: Floats, no: Floats, rows: Floats) -> Floats:
    """Give the probability of each row when votes are independent, (n, rows)."""
    ones, zeros = (rows == 1).astype(float), (rows == 0).astype(float)
    out = np.log(np.maximum(yes, TINY)) @ ones.T
    out += np.log(np.maximum(no, TINY)) @ zeros.T
    return np.asarray(np.exp(out, out=out))


def quantile(yes: Floats, no: Floats) -> Floats:
    """Give the normal quantile of a probability, by the smaller of both tails."""
    least = ndtri(np.clip(np.minimum(yes, no), TINY, 0.5))
    return np.where(yes < no, least, -least)


def halves(rows: Floats) -> Halves:
    """Which votes does either half of the tests give, in each row?"""
    codes = np.nan_to_num(rows, nan=2.0).astype(int)
    k = rows.shape[1] // 2
    parts = (
        np.unique(part, axis=0, return_inverse=True)
        for part in (codes[:, :k], codes[:, k:])
    )
    first, second = ((votes, at.ravel()) for votes, at in parts)
    return first, second


def integrated(centre: Floats, sigma: Floats, of: Halves) -> Floats:
    """Integrate over the ease of a case, in steps as fine as sigma needs, (n, rows)."""
    out, least = np.empty((len(centre), of[0][1].size)), -np.inf
    wide = max(len(votes) for votes, _ in of)
    for most, number in STEPS:
        here = np.flatnonzero((sigma > least) & (sigma <= most))
        for b in blocks(here.size, max(CACHE // ((number + 1) * wide), 16)):
            out[here[b]] = _integral(centre[here[b]], sigma[here[b]], of, number)
        least = most
    return out


def _integral(centre: Floats, sigma: Floats, of: Halves, steps: int) -> Floats:
    """Sum over the ease of a case, by the trapezoid rule."""
    nodes, weight = _trapezoid(steps)
    # E Phi(m + sigma z) = Phi(m / sqrt(1 + sigma^2)): the root keeps the rate a rate
    place = (centre * np.sqrt(1 + sigma**2)[:, None]).T
    yes = ndtr(place + nodes[:, None, None] * sigma)
    (left, i), (right, j) = of
    k = left.shape[1]
    # given the ease of a case votes are independent, so the chance of a pattern is that
    # of its first half times that of its second: 2^(K/2) products each, not 2^K
    first = _votes_given(yes[:, :k], left)
    second = _votes_given(yes[:, k:], right) * weight[:, None]
    if len(left) * len(right) <= MOST_UNSEEN * i.size:
        return np.asarray(np.einsum("gan,gbn->abn", first, second)[i, j].T)
    total = np.zeros((i.size, len(sigma)))  # few of many patterns were seen
    for a, b in zip(first, second, strict=True):
        total += a[i] * b[j]
    return total.T


def _votes_given(yes: Floats, votes: Array) -> Floats:
    """Give the probabilities of these votes, (nodes, votes, n); 2 is a missing one.

    A test at a time: the table grows by a probability and what is left of it to 1.
    """
    symbols = 3 if (votes == 2).any() else 2
    nodes, k, n = yes.shape
    if symbols**k > 4 * len(votes):  # few votes of many: one by one
        one = np.where(votes == 1, 1.0, 0.0)[..., None]
        out = np.ones((nodes, len(votes), n))
        for i in range(k):
            p = yes[:, None, i]
            out *= np.where(votes[:, i, None] == 2, 1.0, p * (2 * one[:, i] - 1)
                            + 1 - one[:, i])  # fmt: skip
        return out
    out = np.ones((nodes, symbols**k, n))
    for i in range(k):  # the last test first: the table is in the order of sorted votes
        size = symbols**i
        none, once, missing = (out[:, j * size : (j + 1) * size] for j in range(3))
        np.multiply(none, yes[:, k - 1 - i, None], out=once)
        if symbols == 3:
            missing[:] = none
        none -= once
    if len(votes) == out.shape[1]:  # all of them: no copy is needed
        return out
    return np.asarray(out[:, votes @ symbols ** np.arange(k)[::-1]])


@cache
def _trapezoid(steps: int) -> tuple[Floats, Floats]:
    """Give the eases of cases, (nodes,), and how common each is, (nodes, 1)."""
    nodes = np.linspace(-REACH, REACH, steps + 1)
    weight = np.exp(-(nodes**2) / 2)
    return nodes, (weight / weight.sum())[:, None]


def order_mass(a: Array, b: Array, c: Array, d: Array) -> Floats:
    """How likely is Beta(a, b) at least as large as Beta(c, d), independently?

    >>> float(order_mass(*map(np.array, ([1.0], [1.0], [1.0], [1.0])))[0])
    0.5
    """
    a, b, c, d = np.broadcast_arrays(*(np.asarray(x, np.float64) for x in (a, b, c, d)))
    # the trapezoid rule on the logit scale, over the narrower of both, which the step
    # must resolve: X >= Y is 1 - Y >= 1 - X
    turn = 1 / c + 1 / d < 1 / a + 1 / b
    a, b, c, d = (
        np.where(turn, v, u)[..., None] for u, v in ((a, d), (b, c), (c, b), (d, a))
    )
    logit = np.log(a / b) + 0.4 * np.sqrt(1 / a + 1 / b) * np.arange(-100, 101)
    less = np.log1p(np.exp(-np.abs(logit)))
    below, above = np.minimum(logit, 0) - less, -np.maximum(logit, 0) - less
    density = np.exp(a * below + b * above - betaln(a, b))
    # the same rule applied to 1 takes out what rounding adds
    part = density * betainc(c, d, np.exp(below))
    return np.asarray(part.sum(axis=-1) / density.sum(axis=-1))


def parameter_labels(patterns: Patterns) -> tuple[str, ...]:
    """Give the name of every parameter, in the order of the draws."""
    many = len(patterns.populations) > 1
    return (
        *(f"prevalence[{s}]" if many else "prevalence" for s in patterns.populations),
        *(f"sensitivity[{n}]" for n in patterns.names),
        *(f"specificity[{n}]" for n in patterns.names),
    )
