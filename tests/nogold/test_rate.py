"""The true rate, from judges that err and a few labels."""

import numpy as np
import pytest
from scipy.special import expit

import trueness
from reference_judges import simulate_judges
from trueness import InputError, NotEnoughCases
from trueness.findings.systems import difference_sentences, rate_sentences


def width(estimate):
    return estimate.high - estimate.low


def has_note(answer, text):
    return any(text in note for note in answer.notes)


def test_all_labels_known_is_a_proportion():
    panel = trueness.Panel(["J"], [[1], [0]], pos=[250, 50], neg=[50, 50])

    rate = trueness.prevalence(panel, labelled="random")

    # Beta(300.5, 100.5): mean .749, standard deviation .0216
    assert rate.value == pytest.approx(0.749, abs=0.003)
    assert width(rate) == pytest.approx(2 * 1.96 * 0.0216, rel=0.05)
    assert rate.judges["J"].sensitivity.value == pytest.approx(250 / 300, abs=0.01)
    assert rate.judges["J"].specificity.value == pytest.approx(50 / 100, abs=0.01)
    assert rate.naive == {"J": 0.75}


def rate_on_a_grid(pos, neg, proportion):
    """Mean and sd of the rate by the posterior of intercept and slope, on a grid.

    For one judge: the first entry is that of a yes. The slope has the standard
    deviation 2.5 a priori, and half a case of each class is added at the mean.
    """
    intercept, slope = np.meshgrid(np.linspace(-3, 6, 401), np.linspace(-4, 10, 401))
    centered_verdict = np.array([1, 0]) - proportion[0]
    p = expit(intercept[..., None] + slope[..., None] * centered_verdict)
    log_posterior = np.log(p) @ pos + np.log1p(-p) @ neg
    log_posterior += 0.5 * np.log(expit(intercept) * expit(-intercept))
    log_posterior -= slope**2 / (2 * 2.5**2)

    weight = np.exp(log_posterior - log_posterior.max())
    weight /= weight.sum()
    rate = p @ proportion
    mean = (weight * rate).sum()
    return mean, np.sqrt((weight * (rate - mean) ** 2).sum())


def test_slow_twin_of_one_judge():
    panel = trueness.Panel(
        ["J"], [[1], [0]], pos=[30, 3], neg=[4, 9], unknown=[700, 254]
    )
    mean, sd = rate_on_a_grid([30, 3], [4, 9], np.array([734, 266]) / 1000)

    rate = trueness.prevalence(panel, labelled="random", rng=1)

    assert rate.value == pytest.approx(mean, abs=0.003)
    # the proportions of the patterns are not known exactly either: a little wider
    assert sd <= rate.draws.std() <= 1.08 * sd


def test_one_judge_by_verdict_has_a_proportion_for_each_verdict():
    """A third of a case of each class for each verdict, as draws of two betas."""
    panel = trueness.Panel(
        ["J"], [[1], [0]], pos=[25, 12], neg=[0, 13], unknown=[825, 125]
    )
    rng = np.random.default_rng(2)
    positive_given_yes = rng.beta(25 + 1 / 3, 0 + 1 / 3, 10**5)
    positive_given_no = rng.beta(12 + 1 / 3, 13 + 1 / 3, 10**5)
    yes = rng.beta(850, 150, 10**5)
    draws = yes * positive_given_yes + (1 - yes) * positive_given_no
    expected = np.quantile(draws, [0.025, 0.975])

    rate = trueness.prevalence(panel, labelled="by verdict", rng=1)

    assert (rate.low, rate.high) == pytest.approx(expected, abs=0.006)


@pytest.fixture
def three_judges(rng):
    """Return the truth and the verdicts of 2,000 cases."""
    return simulate_judges(
        rng,
        2000,
        0.7,
        sensitivity=[0.85] * 3,
        specificity=[0.75] * 3,
        labels=2000,
    )


@pytest.fixture
def labels_of_unanimous_cases(three_judges):
    """Labels of 150 cases in which all judges say the same."""
    truth, verdicts = three_judges
    unanimous = np.flatnonzero(np.isin(sum(verdicts.values()), [0, 3]))[:150]
    labels = np.full(2000, np.nan)
    labels[unanimous] = truth[unanimous]
    return trueness.panel(labels, verdicts)


def test_labels_at_random_look_like_it(three_judges):
    truth, verdicts = three_judges
    labels = np.where(np.arange(2000) < 150, truth, np.nan)

    rate = trueness.prevalence(trueness.panel(labels, verdicts), labelled="random")

    assert not has_note(rate, "do not look like a random")


def test_labels_by_verdict_do_not_look_like_random_ones(labels_of_unanimous_cases):
    as_random = trueness.prevalence(labels_of_unanimous_cases, labelled="random")
    by_verdict = trueness.prevalence(labels_of_unanimous_cases, labelled="by verdict")

    assert has_note(as_random, "do not look like a random")
    assert not has_note(by_verdict, "do not look like a random")


def test_effective_judges_allow_for_the_choice(labels_of_unanimous_cases, three_judges):
    truth, verdicts = three_judges
    of_all = trueness.prevalence(
        trueness.panel(truth, verdicts), labelled="random"
    ).effective_judges

    by_verdict = trueness.prevalence(labels_of_unanimous_cases, labelled="by verdict")

    assert of_all.value > 2.7
    judges = by_verdict.effective_judges
    assert judges.low <= of_all.value <= judges.high


def test_a_judge_that_is_worse_than_chance_is_named():
    panel = trueness.Panel(
        ["J"], [[1], [0]], pos=[5, 45], neg=[40, 10], unknown=[400, 500]
    )

    rate = trueness.prevalence(panel, labelled="random")

    assert has_note(rate, "J is worse than chance")


def test_labelled_cases_of_another_population_are_named():
    # a yes in 60 and 20 % of the labelled classes, but in 90 % of the others
    panel = trueness.Panel(
        ["J"], [[1], [0]], pos=[30, 20], neg=[10, 40], unknown=[900, 100]
    )

    rate = trueness.prevalence(panel, labelled="by truth")

    assert has_note(rate, "No rate explains these verdicts")


def test_as_many_yes_as_among_labelled_positives_is_a_rate_of_one():
    panel = trueness.Panel(
        ["J"], [[1], [0]], pos=[30, 20], neg=[10, 40], unknown=[600, 400]
    )

    rate = trueness.prevalence(panel, labelled="by truth")

    assert not has_note(rate, "No rate")
    assert rate.high == 1.0


@pytest.mark.parametrize("labelled", ["random", "by verdict", "by truth"])
def test_right_although_judges_share_their_errors(labelled):
    rng = np.random.default_rng(5)
    covered = 0
    for study in range(40):
        labels, verdicts = simulate_judges(
            rng,
            1000,
            0.8,
            sensitivity=[0.9, 0.85, 0.8],
            specificity=[0.7, 0.8, 0.75],
            labels=100,
            labelled=labelled,
            shared=0.5,
        )
        verdicts["J1"][rng.random(labels.size) < 0.2] = np.nan
        panel = trueness.panel(labels, verdicts)
        rate = trueness.prevalence(panel, labelled=labelled, rng=study)
        covered += rate.low <= 0.8 <= rate.high

    # 38 of 40 are expected, 33 or fewer have a chance of 1 in 300
    assert covered >= 34


@pytest.fixture(scope="module")
def repeating_judges():
    """Return the truth and the verdicts of judges that mostly share their luck."""
    rng = np.random.default_rng(6)
    truth = rng.random(600) < 0.7
    luck = rng.random((600, 3))
    luck = np.where(rng.random((600, 1)) < 0.6, luck[:, :1], luck)
    verdicts = np.where(truth[:, None], luck < 0.8, luck < 0.3).astype(float)
    return truth, {f"J{k}": column for k, column in enumerate(verdicts.T)}


def test_verdicts_alone_give_an_interval(repeating_judges):
    _, verdicts = repeating_judges

    rate = trueness.prevalence(trueness.panel(None, verdicts))

    assert not rate.identified
    assert np.isnan(rate.value)
    assert rate.low < 0.7 < rate.high
    assert rate.independent.value > 0


def test_verdicts_alone_are_not_called_a_corrected_rate(repeating_judges):
    _, verdicts = repeating_judges

    rate = trueness.prevalence(trueness.panel(None, verdicts))

    sentence = rate_sentences(rate)[1]
    assert "do not determine the true rate" in sentence
    assert "if their errors were independent" in sentence
    assert "nan" not in repr(rate)


def test_systems_are_not_compared_by_verdicts_alone(repeating_judges):
    _, verdicts = repeating_judges
    panel = trueness.panel(None, verdicts)

    comparison = trueness.compare_prevalence({"A": panel, "B": panel})

    assert not comparison.identified
    assert np.isnan(comparison.difference).all()
    assert "determine neither the rates" in difference_sentences(comparison)[0]


def test_a_few_labels_correct_the_rate(repeating_judges):
    truth, verdicts = repeating_judges
    labels = np.where(np.arange(600) < 80, truth, np.nan)

    rate = trueness.prevalence(trueness.panel(labels, verdicts), labelled="random")

    assert rate.identified
    assert "Corrected for the judges' errors, it is" in rate_sentences(rate)[1]


def test_a_copied_judge_counts_once(rng):
    labels, verdicts = simulate_judges(
        rng, 500, 0.7, sensitivity=[0.8, 0.9], specificity=[0.8, 0.7], labels=80
    )
    copied = {**verdicts, "copy": verdicts["J0"], "again": verdicts["J0"]}
    once = trueness.prevalence(trueness.panel(labels, verdicts), labelled="random")

    rate = trueness.prevalence(trueness.panel(labels, copied), labelled="random")

    assert (rate.low, rate.high) == pytest.approx((once.low, once.high), abs=0.01)
    assert rate.effective_judges.value == pytest.approx(
        once.effective_judges.value, abs=0.1
    )
    assert has_note(rate, "are counted once")


def test_a_judge_that_always_says_yes(rng):
    labels, verdicts = simulate_judges(
        rng, 600, 0.7, sensitivity=[0.8], specificity=[0.8], labels=100
    )
    verdicts["yes"] = np.ones(600)

    rate = trueness.prevalence(trueness.panel(labels, verdicts), labelled="random")

    assert rate.low < 0.7 < rate.high
    assert rate.judges["yes"].sensitivity.value == 1
    assert rate.judges["yes"].specificity.value == 0
    assert rate.effective_judges.value == 1  # the other one
    assert has_note(rate, "in every case")


@pytest.mark.parametrize("labelled", ["random", "by truth"])
def test_judges_worse_than_chance_serve_as_well(labelled, rng):
    labels, verdicts = simulate_judges(
        rng,
        4000,
        0.7,
        sensitivity=[0.9],
        specificity=[0.9],
        labels=400,
        labelled=labelled,
    )
    turned_round = {"J0": 1 - verdicts["J0"]}

    good = trueness.prevalence(trueness.panel(labels, verdicts), labelled=labelled)
    bad = trueness.prevalence(trueness.panel(labels, turned_round), labelled=labelled)

    assert good.low < 0.7 + 0.05
    assert good.high > 0.7 - 0.05
    assert bad.value == pytest.approx(good.value, abs=0.02)
    assert width(bad) == pytest.approx(width(good), rel=0.2)


def test_labels_all_in_one_class():
    panel = trueness.Panel(["J"], [[1], [0]], pos=[40, 10], unknown=[800, 150])

    rate = trueness.prevalence(panel, labelled="random")

    assert rate.high > 0.995
    assert 0.9 < rate.low < 0.98
    assert has_note(rate, "None of the labels is negative")


def test_labels_by_truth_need_both_classes():
    panel = trueness.Panel(["J"], [[1], [0]], pos=[40, 10], unknown=[800, 150])

    with pytest.raises(NotEnoughCases, match="chosen by truth"):
        trueness.prevalence(panel, labelled="by truth")


def test_no_negative_among_a_hundred_with_a_verdict_that_says_nothing():
    panel = trueness.Panel(["J"], [[1], [0]], pos=[50, 50], unknown=[10**7, 10**7])

    rate = trueness.prevalence(panel, labelled="random")

    # the end of the interval is 1 - .025^(1/101)
    assert rate.low == pytest.approx(0.025 ** (1 / 101), abs=0.003)


def test_by_truth_is_rogan_gladen_when_all_is_large():
    panel = trueness.Panel(
        ["J"], [[1], [0]], pos=[9000, 1000], neg=[2000, 8000], unknown=[55000, 45000]
    )
    rogan_gladen = (0.55 + 0.8 - 1) / (0.9 + 0.8 - 1)

    rate = trueness.prevalence(panel, labelled="by truth")

    assert rate.value == pytest.approx(rogan_gladen, abs=0.003)
    # the number of labels of each class says nothing: half of them were positive
    assert rate.low < 0.5 < rate.high


def test_grades_are_calibrated_not_cut(rng):
    truth = rng.random(3000) < 0.6
    grade = np.round(rng.normal(np.where(truth, 7, 5), 1.5), 1)
    labels = np.where(np.arange(3000) < 150, truth, np.nan)
    above_six = (grade > 6).astype(float)

    of_grades = trueness.prevalence(labels, {"grader": grade}, labelled="random")
    of_cut = trueness.prevalence(labels, {"grader": above_six}, labelled="random")

    assert of_grades.low < 0.6 < of_grades.high
    assert width(of_grades) < width(of_cut)
    assert np.isnan(of_grades.judges["grader"].sensitivity.value)


@pytest.fixture(scope="module")
def labels_and_verdicts():
    """Return labels of some cases, and the verdicts of two judges."""
    rng = np.random.default_rng(3)
    truth = (rng.random(200) < 0.7).astype(float)
    first = np.where(rng.random(200) < 0.8, truth, 1 - truth)
    second = np.where(rng.random(200) < 0.8, truth, 1 - truth)
    labels = np.where(rng.random(200) < 0.3, truth, np.nan)
    return labels, {"a": first, "b": second}


def test_arrays_give_the_same_as_a_panel(labels_and_verdicts):
    labels, verdicts = labels_and_verdicts
    panel = trueness.panel(labels, verdicts)

    rate = trueness.prevalence(labels, verdicts, labelled="random")

    of_panel = trueness.prevalence(panel, labelled="random")
    assert (rate.low, rate.high) == (of_panel.low, of_panel.high)


def test_groups_come_with_all_cases(labels_and_verdicts):
    labels, verdicts = labels_and_verdicts
    half = np.where(np.arange(200) < 100, "first", "second")
    of_all = trueness.prevalence(labels, verdicts, labelled="random")

    rates = trueness.prevalence(labels, verdicts, by=half, labelled="random")

    assert list(rates) == ["first", "second", "all cases"]
    assert rates["all cases"].low == of_all.low


def test_labels_alone_are_refused(labels_and_verdicts):
    labels, _ = labels_and_verdicts

    with pytest.raises(InputError, match="prevalence needs a panel, or labels"):
        trueness.prevalence(labels, labelled="random")


def test_how_cases_were_chosen_must_be_said(labels_and_verdicts):
    labels, verdicts = labels_and_verdicts
    number = np.isfinite(labels).sum()

    with pytest.raises(InputError, match=f"How were the {number} labelled"):
        trueness.prevalence(labels, verdicts)
    with pytest.raises(InputError, match="labelled must be one of"):
        trueness.prevalence(labels, verdicts, labelled="somehow")


def test_two_judges_without_labels_are_refused(labels_and_verdicts):
    _, verdicts = labels_and_verdicts

    with pytest.raises(NotEnoughCases, match="Without labels"):
        trueness.prevalence(trueness.panel(None, verdicts))


@pytest.fixture
def hundred_cases():
    """Labels and verdicts of a judge who is right in four of five cases."""
    verdicts = np.repeat([1.0, 1.0, 0.0, 0.0], [40, 10, 10, 40])
    labels = np.repeat([1.0, 0.0, 1.0, 0.0], [40, 10, 10, 40])
    return labels, verdicts


def test_cases_that_come_twice_in_their_cluster_count_once(hundred_cases):
    labels, verdicts = hundred_cases
    once = trueness.prevalence(labels, {"J": verdicts}, labelled="random")

    twice = trueness.prevalence(
        np.tile(labels, 2),
        {"J": np.tile(verdicts, 2)},
        labelled="random",
        cluster=np.tile(np.arange(100), 2),
    )

    assert has_note(twice, "repeats of 100 items")
    assert twice.value == pytest.approx(once.value, abs=0.003)
    assert width(twice) == pytest.approx(width(once), rel=0.05)


def test_clusters_of_one_case_are_cases(hundred_cases):
    labels, verdicts = hundred_cases
    once = trueness.prevalence(labels, {"J": verdicts}, labelled="random")

    alone = trueness.prevalence(
        np.tile(labels, 2),
        {"J": np.tile(verdicts, 2)},
        labelled="random",
        cluster=np.arange(200),
    )

    assert width(alone) == pytest.approx(width(once) / np.sqrt(2), rel=0.05)


@pytest.mark.slow
def test_clusters_without_labels_widen_the_interval(rng):
    _, verdicts = simulate_judges(
        rng, 200, 0.5, sensitivity=[0.9] * 3, specificity=[0.9] * 3, labels=0
    )
    four_times = {name: np.tile(column, 4) for name, column in verdicts.items()}
    as_cases = trueness.panel(None, four_times)
    in_clusters = trueness.panel(None, four_times, cluster=np.tile(np.arange(200), 4))

    of_cases = trueness.prevalence(as_cases).independent
    of_clusters = trueness.prevalence(in_clusters).independent

    assert width(of_clusters) / width(of_cases) == pytest.approx(2, rel=0.15)
