"""What is refused, and in which words."""

import numpy as np
import pytest

import trueness
from trueness import Estimate, Infeasible, InputError, NotEnoughCases, Tally
from trueness import best_threshold as best
from trueness import guaranteed_threshold as guaranteed
from trueness import validate_threshold as validate

HAND = Tally([0.9, 0.7, 0.5, 0.2], pos=[2, 1, 1, 0], neg=[0, 1, 2, 3])
TWO = {name: Tally([2, 1], pos=[3, 1], neg=[1, 3]) for name in "ab"}
SCALES = {name: trueness.tally([0, 1], [1, 2], weight=[w, w / 2])
          for name, w in (("a", 3.5), ("b", 1e-20))}  # fmt: skip
BLIND, POSITIVES, NEGATIVES = (
    HAND.without_labels(),
    Tally([1], pos=[2]),
    Tally([1, 2], neg=[1, 1]),
)
NOISE = trueness.tally(np.arange(300) % 3 == 0, np.arange(300) * 7 % 299)
Y, S = [0, 1, 1, 0], [0.1, 0.4, 0.8, 0.5]
ASKED = {
    InputError: [
        ("maximize or minimize, not both", lambda: best(HAND, "f1", minimize="fpr")),
        (r"prevalence must lie in \(0, 1\)", lambda: best(HAND, prevalence=1.0)),
        ("found one list", lambda: best([0.1, 0.2])),
        ("Did you mean 'sweep'", lambda: best(HAND, method="sweeep")),
        ("needs the AUC and the prevalence", lambda: best(BLIND, method="fermi-dirac")),
        ("needs the prevalence", lambda: best(BLIND, method="fermi-dirac", auc=0.8)),
        ("The option auc is for", lambda: best(HAND, auc=0.8)),
        ("The option auc is for", lambda: best(HAND, auc=0.8, prevalence=0.2)),
        ("The option auc is for", lambda: best(HAND, auc=0.8, prevalences=(0.1, 0.3))),
        ("two numbers between 0", lambda: best(HAND, prevalences=(0.1, 0.2, 0.3))),
        ("without its ends", lambda: best(HAND, prevalences=(0.0, 0.3))),
        ("an interval between 0 and 1",
         lambda: best(HAND, prevalences=Estimate(0.1, 0.2, 0.3))),
        ("One prevalence or a range of them",
         lambda: best(HAND, prevalence=0.1, prevalences=(0.1, 0.2))),
        ('needs the method sweep',
         lambda: best(HAND, method="milp", prevalences=(0.1, 0.2))),
        ("depends on the prevalence",
         lambda: best(HAND, "f1", sampling="case-control")),
        *(("The method sweep", lambda name=name: best(HAND, name, method="milp"))
          for name in ("mcc", "g_mean", "precision + recall", "markedness")),
        (r"at most 20,000 cases; found 30,000", lambda: best(
            Tally([2, 1], pos=[15_000, 0], neg=[0, 15_000]), method="milp-cases")),
        ("Weighted cases need", lambda: best(SCALES["a"], method="milp")),
        ("count cases between two thresholds", lambda: best(HAND, minimize="defer")),
        ("needs an objective", lambda: trueness.best_thresholds(HAND)),
        ("need a weighted sum of counts",
         lambda: trueness.best_thresholds(HAND, "mcc", "defer <= 0.1")),
        ("f1 needs a threshold, or verdicts", lambda: trueness.f1(Y, S)),
        ("threshold must be", lambda: trueness.at_threshold(Y, S, "high")),
        ("Did you mean", lambda: trueness.at_threshold(Y, S, 0.5, metrics=["recal"])),
        ("depends on the prevalence", lambda: trueness.precision(
            Y, S, threshold=0.4, sampling="case-control")),
        ("unlabelled must be one of", lambda: trueness.recall(
            Y, S, threshold=0.5, unlabelled="random")),
        ("two or more metrics; found 1", lambda: trueness.pareto(HAND, ["recall"])),
        (r'maximize=\["flagged"\]',
         lambda: trueness.pareto(HAND, ["recall", "flagged"])),
        ("twice: 'recall'", lambda: trueness.pareto(HAND, ["recall", "tpr"])),
        ("needs a mapping from group", lambda: trueness.group_thresholds(HAND)),
        ("at most a number", lambda: trueness.group_thresholds(
            TWO, subject_to="recall_gap >= 0.1")),
        ("a ratio by a number between 0 and 1", lambda: trueness.group_thresholds(
            TWO, subject_to="recall_ratio >= 2")),
        (r"'b' have less than .* on one scale",
         lambda: trueness.group_thresholds(SCALES)),
        (r"groups need a weighted sum .* mcc is not",
         lambda: trueness.group_thresholds(TWO, "mcc")),
        ("a number above 1e308", lambda: trueness.group_thresholds(
            TWO, subject_to="1e-320*recall >= 0.1")),
        ("its own prevalence",
         lambda: trueness.group_thresholds(TWO, prevalence=0.1)),
        ("needs constraints above or below", lambda: guaranteed(
            HAND, ["precision >= 0.9", "npv below >= 0.9"])),
        ("needs a constraint; found none", lambda: guaranteed(HAND, [])),
        # mcc is no quotient; a number of cases depends on how many there are
        *(("needs a bound on a mean or a quotient", lambda k=k: guaranteed(NOISE, k))
          for k in ("mcc >= 0.5", "tp >= 5", "precision - 0.01*positives >= 0.1")),
        ("thresholds must be numbers, one or more",
         lambda: guaranteed(NOISE, "f1 >= 0.5", thresholds=[])),
        ("between 0 and 1", lambda: guaranteed(NOISE, "recall >= 1")),
        (r"level must lie in \(0, 1\)",
         lambda: guaranteed(NOISE, "recall >= 0.9", level=95)),
        ("f1 in best_threshold depends on the prevalence",
         lambda: validate(HAND, "f1", sampling="case-control")),
        ("sampling must be one of", lambda: validate(HAND, sampling="random")),
        ("replicates must be a whole number, 2 or more",
         lambda: validate(HAND, replicates=1)),
        ("net benefit depends on the prevalence",
         lambda: trueness.decision_curve(HAND, sampling="case-control")),
        (r"needs scores from 0 to 1; .*Calibrate", lambda: (
            trueness.decision_curve(Tally([2, 0.5], pos=[1, 0], neg=[0, 1])))),
        (r"threshold must lie in \[0, 1\); found 1",
         lambda: trueness.decision_curve(HAND, threshold=[0.5, 1])),
        (r"at must lie in \[0, 1\]", lambda: trueness.cost_curve(HAND, at=[2])),
        ("at must be numbers .* found none", lambda: trueness.cost_curve(HAND, at=[])),
        *(("an upper and a lower threshold for each",
           lambda u=u, k=k: trueness.Rule(u, lower=k))
          for u, k in ((0.5, {}), ({"a": 0.5}, 0.2), ({}, {}))),
    ],
    Infeasible: [
        ("^precision >= 1.5 cannot be met: precision is at most 1, at the threshold "
         "0.8. Write 0.015 for 1.5 %.$",
         lambda: best(HAND, "recall", "precision >= 1.5")),
        ("^2 constraints cannot be met together. With the other met, recall >= 0.9: "
         "recall is at most 0.75, at the threshold 0.6; flagged <= 4: flagged is at "
         "least 7, at the threshold 0.35.$", lambda: best(
             HAND, "f1", ["flagged >= 1", "recall >= 0.9", "flagged <= 4"])),
        ("recall is undefined at every threshold",
         lambda: best(NEGATIVES, "accuracy", "recall >= 0")),
        ("recall >= 2 cannot be met", lambda: trueness.pareto(
            HAND, ["recall", "precision"], subject_to="recall >= 2")),
        (r"precision above .* cannot be", lambda: trueness.best_thresholds(
            HAND, minimize="defer", subject_to="precision above >= 1.5")),
        (r"positives >= 9 cannot be met by all", lambda: trueness.group_thresholds(
            TWO, subject_to="positives >= 9")),
        (r"precision_min .* cannot be met", lambda: trueness.group_thresholds(
            TWO, subject_to="precision_min >= 0.99")),
    ],
    NotEnoughCases: [
        ("at another prevalence needs", lambda: best(POSITIVES, prevalence=0.5)),
        ("0 positives and 2 negatives", lambda: best(NEGATIVES, "recall")),
        ("that meets the constraints", lambda: best(HAND, "precision", "flagged <= 0")),
        ("All 4 cases lack a label", lambda: best(Tally([1, 2], unknown=[1, 3]))),
        ("There are no cases", lambda: best(Tally())),
        ("0 positives", lambda: best(NEGATIVES, method="fermi-dirac")),
        ("3 cases lack a label",
         lambda: trueness.at_threshold(Tally([1.0], unknown=[3]), 0.5)),
        ("are 0 positives",
         lambda: guaranteed(NOISE.without_labels(), "youden >= 0.1")),
        ("are 0 positives",
         lambda: guaranteed(NOISE.without_labels(), "precision above >= 0.3")),
        ("^recall >= 0.9 with a confidence of 0.95 needs at least 29 positives, even "
         "without any error; there are 28 positives: 1 more are needed.$",
         lambda: guaranteed(
             Tally([2, 1], pos=[28, 0], neg=[0, 5]), "recall >= 0.9")),
        (r"59 negatives.* 54 more", lambda: guaranteed(
            Tally([2, 1], pos=[28, 0], neg=[0, 5]), "fpr <= 0.05")),
        ("14 flagged cases in the half that tests", lambda: guaranteed(
            Tally([2, 1], pos=[9, 0], neg=[0, 9]), "precision >= 0.8")),
        ("0 positives", lambda: validate(NEGATIVES)),
        # met by one case more or less: most samples miss it
        (r"in \d+ of 40 no threshold met", lambda: validate(
            Tally([2, 1], pos=[50, 50], neg=[0, 1]), "recall",
            ["flagged >= 50", "flagged <= 50"], rng=1, replicates=40)),
        ("0 negatives", lambda: trueness.cost_curve(POSITIVES)),
        ("0 negatives", lambda: trueness.decision_curve(POSITIVES)),
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("error", "match", "ask"),
    [(error, *row) for error, rows in ASKED.items() for row in rows],
)
def test_refused(error, match, ask):
    with pytest.raises(error, match=match):
        ask()
