"""How often do intervals of expected labels hold the truth?

``python benchmarks/study_expected_labels.py shift 200`` prints the coverage of today's
true values under covariate shift, ``... blind 100`` that of several classifiers without
any label, and ``... plans 60`` how often a label plan keeps its half-width. The figures
stand in the maths page on inference.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, ndtri

import trueness
from trueness import ExpectedLabels

TARGETS = ("process", "these cases")
AT_THRESHOLD = ("recall", "precision", "f1")
MEASURES = ("auc", *AT_THRESHOLD, "brier")
THRESHOLD = 0.5
SLOPE = 2.0
GRID = 100_000  # cases of a population


@dataclass(frozen=True)
class World:
    """Normal cases x with P(label | x); the score is that probability, or curved."""

    intercept: float
    curved: bool

    def probability(self, x: np.ndarray) -> np.ndarray:
        """Return the probability of a positive label."""
        return expit(SLOPE * x + self.intercept)

    def score(self, x: np.ndarray) -> np.ndarray:
        """Return the score: the probability, or a monotone function of it."""
        log_odds = SLOPE * x + self.intercept
        if self.curved:
            return expit(np.clip(log_odds**3 / 4 + x, -30, 30))
        return expit(log_odds)

    def draw(
        self, rng: np.random.Generator, n: int, shift: float = 0.0
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw labels and scores."""
        x = shift + rng.standard_normal(n)
        return rng.random(n) < self.probability(x), self.score(x)


def world_of(prevalence: float, *, curved: bool) -> World:
    """Return the world in which this fraction of the reference cases is positive."""
    x = ndtri((np.arange(GRID) + 0.5) / GRID)

    def excess(intercept: float) -> float:
        return float(expit(SLOPE * x + intercept).mean()) - prevalence

    return World(float(brentq(excess, -12, 4)), curved)


def measure(tally: trueness.Tally) -> dict[str, trueness.Estimate]:
    """Return the measures of a tally."""
    answers = dict(
        trueness.at_threshold(tally, THRESHOLD, metrics=AT_THRESHOLD).metrics
    )
    answers["auc"] = trueness.auc(tally)
    answers["brier"] = trueness.brier(tally)
    return answers


def true_values(world: World, shift: float) -> dict[str, float]:
    """Return the measures of the population of today."""
    x = shift - ndtri((np.arange(GRID) + 0.5) / GRID)
    positives = np.rint(1e6 * world.probability(x)).astype(np.int64)
    population = trueness.Tally(
        world.score(x), pos=positives, neg=1_000_000 - positives
    )
    return {name: answer.value for name, answer in measure(population).items()}


def shift_coverage(
    world: World,
    reference_cases: int,
    today_cases: int,
    shift: float,
    runs: int,
    rng: np.random.Generator,
) -> tuple[dict[tuple[str, str], float], float]:
    """Return the coverage by target and measure, and the mean number of flagged."""
    truth = true_values(world, shift)
    held = {key: 0 for key in itertools.product(TARGETS, MEASURES)}
    flagged = 0
    for _ in range(runs):
        label_map = trueness.calibrate(
            *world.draw(rng, reference_cases), method="pooled-bins"
        )
        label, score = world.draw(rng, today_cases, shift)
        flagged += int((score >= THRESHOLD).sum())
        values = {
            name: a.value for name, a in measure(trueness.tally(label, score)).items()
        }
        for target in TARGETS:
            labels = ExpectedLabels(label_map, target=target)
            today = trueness.tally(None, score, unlabelled=labels)
            wanted = truth if target == "process" else values
            for name, answer in measure(today).items():
                held[target, name] += answer.low <= wanted[name] <= answer.high
    return {key: number / runs for key, number in held.items()}, flagged / runs


def study_shift(runs: int) -> None:
    """Print the coverage of each cell, and a table by the number of reference cases."""
    rng = np.random.default_rng(57)
    cells: dict[int, dict[str, list[float]]] = {}
    for n_reference, n_today, prevalence, shift, curved in itertools.product(
        (300, 1000, 5000), (500, 5000), (0.05, 0.3), (0.0, 0.6, 1.0), (False, True)
    ):
        world = world_of(prevalence, curved=curved)
        coverage, flagged = shift_coverage(
            world, n_reference, n_today, shift, runs, rng
        )
        row = " ".join(
            f"{target[0]}:{name}={c:.3f}" for (target, name), c in coverage.items()
        )
        kind = "curved" if curved else "calibrated"
        print(
            f"N={n_reference} n={n_today} prevalence={prevalence} shift={shift} {kind} "
            f"flagged={flagged:.0f}: {row}",
            flush=True,
        )
        for (target, _), proportion in coverage.items() if flagged >= 10 else ():
            by_target = cells.setdefault(n_reference, {})
            by_target.setdefault(target, []).append(proportion)

    for n_reference, by_target in cells.items():
        for target, proportions in by_target.items():
            print(
                f"N={n_reference} {target}: median {np.median(proportions):.3f} lowest "
                f"{min(proportions):.3f} highest {max(proportions):.3f}"
            )


def blind_panel(
    rng: np.random.Generator, n: int, correlation: float
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Draw labels and five scores, with errors that may be shared."""
    label = rng.random(n) < 0.4
    common = rng.standard_normal(n)
    scores = {}
    for name, distance in zip("abcde", (2.0, 1.8, 1.6, 1.4, 1.2), strict=True):
        own = rng.standard_normal(n)
        error = np.sqrt(correlation) * common + np.sqrt(1 - correlation) * own
        scores[name] = distance * label + error
    return label, scores


def blind_answers(
    label: np.ndarray, scores: dict[str, np.ndarray], dependence: str | None
) -> Iterator[tuple[str, trueness.Estimate, float]]:
    """Return, by name, answers without labels and the values of these labels."""
    blind = trueness.panel(None, scores)
    ranks = blind.expected(trueness.fidel(blind, labels="none"), dependence=dependence)
    known = trueness.tally(label, scores["a"])
    yield "AUC, ranks", trueness.auc(ranks["a"]), trueness.auc(known).value

    cut = {name: 1.0 for name in scores}
    recall = trueness.at_threshold(known, 1.0, metrics=["recall"])["recall"].value
    at_cut = trueness.at_threshold(ranks["a"], 1.0, metrics=["recall"])
    yield "recall, ranks", at_cut["recall"], recall

    votes = blind.vote(cut)
    posterior = trueness.latent_class(
        votes, dependence="none" if dependence == "none" else "shared", draws=400
    )
    expected = votes.expected(posterior, dependence=dependence)
    at_vote = trueness.at_threshold(expected["a"], 1.0, metrics=["recall"])
    yield "recall, votes", at_vote["recall"], recall


def study_blind(runs: int) -> None:
    """Print the coverage of the process without any label."""
    rng = np.random.default_rng(60)
    for correlation in (0.0, 0.3):
        label, scores = blind_panel(rng, 1_000_000, correlation)
        known = trueness.tally(label, scores["a"])
        recall = trueness.at_threshold(known, 1.0, metrics=["recall"])["recall"].value
        truth = {
            "AUC, ranks": trueness.auc(known).value,
            "recall, ranks": recall,
            "recall, votes": recall,
        }
        for dependence in ("none", None):
            held = dict.fromkeys(truth, 0)
            width = dict.fromkeys(truth, 0.0)
            for _ in range(runs):
                sample = blind_panel(rng, 2000, correlation)
                for name, answer, _ in blind_answers(*sample, dependence):
                    held[name] += answer.low <= truth[name] <= answer.high
                    width[name] += (answer.high - answer.low) / runs
            for name in truth:
                print(
                    f"correlation={correlation} dependence={dependence} {name}: "
                    f"{held[name] / runs:.3f}, mean width {width[name]:.3f}",
                    flush=True,
                )


def study_plans(runs: int) -> None:
    """Print how often a label plan keeps its half-width, and holds the truth."""
    rng = np.random.default_rng(61)
    half_width = 0.05
    for prevalence, name in itertools.product((0.3, 0.05), ("recall", "precision")):
        world = world_of(prevalence, curved=False)
        held = kept = labels = 0
        for _ in range(runs):
            label_map = trueness.calibrate(*world.draw(rng, 1000), method="pooled-bins")
            label, score = world.draw(rng, 20_000)
            expected = ExpectedLabels(label_map, target="these cases")
            today = trueness.tally(None, score, unlabelled=expected)
            plan = trueness.plan_labels(today, metric=name, half_width=half_width)
            drawn = plan.draw(score, rng=rng)
            answer = np.full(score.size, np.nan)
            answer[drawn.index] = label[drawn.index]
            found = trueness.tally(answer, score, unlabelled=plan)
            estimate = trueness.at_threshold(found, THRESHOLD, metrics=[name])[name]
            known = trueness.tally(label, score)
            truth = trueness.at_threshold(known, THRESHOLD, metrics=[name])[name].value
            held += estimate.low <= truth <= estimate.high
            kept += (estimate.high - estimate.low) / 2 <= half_width
            labels += plan.total
        print(
            f"{name} at {prevalence}: {labels / runs:.0f} labels, kept "
            f"{kept / runs:.3f}, held {held / runs:.3f}",
            flush=True,
        )


STUDIES: dict[str, Callable[[int], None]] = {
    "shift": study_shift,
    "blind": study_blind,
    "plans": study_plans,
}


if __name__ == "__main__":
    STUDIES[sys.argv[1]](int(sys.argv[2]))
