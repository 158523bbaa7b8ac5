"""Label plans: which cases to label next, and how many labels an interval takes."""

import numpy as np
import pytest

import trueness
from reference_judges import simulate_judges
from trueness import InputError, NotEnoughCases

TWO_JUDGES = trueness.Panel(
    ["A", "B"],
    [[1, 1], [1, 0], [0, 1], [0, 0]],
    pos=[20, 5, 5, 1],
    neg=[1, 5, 5, 20],
    unknown=[300, 300, 300, 300],
)


def test_label_next_looks_where_the_doubt_is():
    rate = trueness.prevalence(TWO_JUDGES, labelled="random")

    plan = rate.label_next(40)

    labels = dict(zip(plan.pattern, plan.labels, strict=True))
    assert plan.labels.sum() == 40
    assert labels["10"] > labels.get("11", 0)
    assert labels["01"] > labels.get("00", 0)
    assert plan.expected_width < plan.current_width


def test_more_labels_than_cases_are_refused():
    rate = trueness.prevalence(TWO_JUDGES, labelled="random")

    with pytest.raises(NotEnoughCases):
        rate.label_next(10_000)


def test_grades_are_named_without_ambiguity():
    rows = [[0.1, 12.0], [0.11, 2.0], [0.100000000001, 12.0], [np.nan, 2.0]]
    panel = trueness.Panel(["a", "b"], rows, pos=[2] * 4, neg=[2] * 4, unknown=[9] * 4)

    plan = trueness.prevalence(panel, labelled="random").label_next(20)

    assert sorted(plan.pattern) == [
        "a=., b=2",
        "a=0.1, b=12",
        "a=0.100000000001, b=12",
        "a=0.11, b=2",
    ]


@pytest.mark.parametrize(
    ("half_width", "rate", "judges", "cases"),
    [(0.05, 0.7, 3, 2000), (0.08, 0.5, 3, 500), (0.03, 0.1, 2, 2000)],
)
def test_studies_keep_the_half_width_of_plan_labels(
    rng, half_width, rate, judges, cases
):
    plan = trueness.plan_labels(
        half_width=half_width,
        prevalence=rate,
        judges=judges,
        sensitivity=0.85,
        specificity=0.9,
        cases=cases,
    )

    half_widths = []
    for seed in range(30):
        labels, verdicts = simulate_judges(
            rng,
            cases,
            rate,
            sensitivity=[0.85] * judges,
            specificity=[0.9] * judges,
            labels=plan.labels,
        )
        study = trueness.prevalence(labels, verdicts, labelled="random", rng=seed)
        half_widths.append((study.high - study.low) / 2)

    # 30 studies have a standard error of about 2 % of the mean half-width
    assert 0.92 * half_width < np.mean(half_widths) < 1.05 * half_width
    assert plan.half_width <= half_width


def test_labels_are_planned_for_errors_that_go_together():
    judges = {"prevalence": 0.7, "judges": 3, "sensitivity": 0.85, "specificity": 0.8}

    plan = trueness.plan_labels(half_width=0.06, **judges)
    correlated = trueness.plan_labels(half_width=0.06, correlation=0.5, **judges)

    assert plan.labels < correlated.labels <= plan.without_judges


def test_many_judges_are_planned_as_one_verdict():
    plan = trueness.plan_labels(half_width=0.05, prevalence=0.5, judges=100)

    assert plan.labels > 20
    assert "as one test" in plan.notes[1]


def test_labels_without_judges_are_those_of_wilsons_interval():
    plan = trueness.plan_labels(half_width=0.05, prevalence=0.9, cases=10**6)

    # half of Wilson's interval of .9: .05007 with 140 cases, .04989 with 141
    assert plan.without_judges == 141


def test_a_plan_of_labels_says_when_all_cases_are_too_few():
    with pytest.raises(NotEnoughCases, match=r"still plus or minus .* than 0\.005"):
        trueness.plan_labels(half_width=0.005, prevalence=0.5, cases=100)


LABELS = np.tile([0, 1, 1, 0, 1], 20)
VERDICTS = {"a": np.tile([0, 1, 1, 0, 0], 20)}


def test_labels_are_planned_from_arrays_as_from_a_panel():
    of_panel = trueness.plan_labels(trueness.panel(LABELS, VERDICTS), half_width=0.1)

    assert trueness.plan_labels(LABELS, VERDICTS, half_width=0.1) == of_panel


def test_an_unknown_option_of_a_plan_is_refused():
    with pytest.raises(InputError, match="plan_labels has no option 'judge'"):
        trueness.plan_labels(half_width=0.1, judge=2)


def test_expected_judges_are_refused_where_there_are_real_ones():
    with pytest.raises(InputError, match="this panel already has"):
        trueness.plan_labels(LABELS, VERDICTS, half_width=0.1, judges=3)


def test_a_half_width_of_one_half_is_refused():
    with pytest.raises(InputError, match=r"half_width must lie below 0\.5"):
        trueness.plan_labels(half_width=0.5)
