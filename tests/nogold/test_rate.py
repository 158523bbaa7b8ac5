"""The true rate, from judges that err and a few labels."""

import numpy as np
import pytest
from scipy.special import expit

import trueness
from trueness import InputError
from trueness.findings.systems import difference_sentences, rate_sentences


def judged(rng, n, rate, sens, spec, labels, how="random", shared=0.0):
    """Simulate judges; with chance ``shared`` a case draws one luck for all of them."""
    y = rng.random(n) < rate
    if how == "truth":  # labelled cases beside the others, as many of either class
        y = np.r_[y, np.arange(labels) % 2 == 0]
    luck = rng.random((y.size, len(sens)))
    luck = np.where(rng.random((y.size, 1)) < shared, luck[:, :1], luck)
    x = np.where(y[:, None], luck < sens, luck >= spec).astype(float)
    order = rng.permutation(n) if how != "truth" else np.arange(n, y.size)
    if how == "verdict":
        yes = x[order].mean(axis=1) > 0.5
        order = np.r_[order[yes][: labels // 2], order[~yes][: labels // 2]]
    known = np.full(y.size, np.nan)
    known[order[:labels]] = y[order[:labels]]
    return known, {f"J{k}": x[:, k] for k in range(len(sens))}


def test_all_labels_known_is_a_share():
    p = trueness.Panel(["J"], [[1], [0]], pos=[250, 50], neg=[50, 50])
    r = trueness.prevalence(p, labelled="random")
    # Beta(300.5, 100.5): mean .749, standard deviation .0216
    assert r.value == pytest.approx(0.749, abs=0.003)
    assert r.high - r.low == pytest.approx(2 * 1.96 * 0.0216, rel=0.05)
    assert r.judges["J"].sensitivity.value == pytest.approx(250 / 300, abs=0.01)
    assert r.judges["J"].specificity.value == pytest.approx(50 / 100, abs=0.01)
    assert r.naive == {"J": 0.75}


def test_slow_twin_of_one_judge():
    """The posterior of intercept and slope on a grid, for one judge."""
    p = trueness.Panel(["J"], [[1], [0]], pos=[30, 3], neg=[4, 9], unknown=[700, 254])
    r = trueness.prevalence(p, labelled="random", rng=1)
    share = np.array([734, 266]) / 1000
    x = np.array([1, 0]) - share[0]
    b0, b1 = np.meshgrid(np.linspace(-3, 6, 401), np.linspace(-4, 10, 401))
    q = expit(b0[..., None] + b1[..., None] * x)
    log_p = np.log(q) @ [30, 3] + np.log1p(-q) @ [4, 9]
    log_p += 0.5 * np.log(expit(b0) * expit(-b0)) - b1**2 / (2 * 2.5**2)
    w = np.exp(log_p - log_p.max())
    mean = (w * (q @ share)).sum() / w.sum()
    sd = np.sqrt((w * (q @ share - mean) ** 2).sum() / w.sum())
    assert r.value == pytest.approx(mean, abs=0.003)
    # the shares of the patterns are not known exactly either: a little wider
    assert sd <= r.draws.std() <= 1.08 * sd


def test_one_judge_by_verdict_has_two_shares_that_do_not_know_of_each_other():
    """A third of a case of each class for each verdict, as draws of two betas."""
    p = trueness.Panel(["J"], [[1], [0]], pos=[25, 12], neg=[0, 13], unknown=[825, 125])
    r = trueness.prevalence(p, labelled="by verdict", rng=1)
    rng, third = np.random.default_rng(2), 1 / 3
    yes, no = (rng.beta(a + third, b + third, 10**5) for a, b in ((25, 0), (12, 13)))
    w = rng.beta(850, 150, 10**5)
    low, high = np.quantile(w * yes + (1 - w) * no, [0.025, 0.975])
    assert (r.low, r.high) == pytest.approx((low, high), abs=0.006)


def test_labels_where_judges_agree(rng):
    """They are no random sample, and show no disagreement; all cases do."""
    y, x = judged(rng, 2000, 0.7, [0.85] * 3, [0.75] * 3, 2000)
    some = np.where(np.arange(2000) < 150, y, np.nan)
    agree = np.flatnonzero(np.isin(sum(x.values()), [0, 3]))[:150]
    known = np.full(2000, np.nan)
    known[agree] = y[agree]
    for labels, how, seen in (
        (some, "random", False), (known, "random", True), (known, "by verdict", False)
    ):  # fmt: skip
        r = trueness.prevalence(trueness.panel(labels, x), labelled=how)
        assert any("do not look like a random" in n for n in r.notes) == seen
    every = trueness.prevalence(trueness.panel(y, x), labelled="random")
    assert every.effective_judges.value > 2.7
    worth = r.effective_judges  # by verdict
    assert worth.low <= every.effective_judges.value <= worth.high


def test_judges_and_labels_that_contradict_each_other_are_named():
    rows = [[1], [0]]
    wrong = trueness.Panel(["J"], rows, pos=[5, 45], neg=[40, 10], unknown=[400, 500])
    r = trueness.prevalence(wrong, labelled="random")
    assert any("J is worse than chance" in n for n in r.notes)
    # a yes in 60 and 20 % of the labelled classes, but in 90 % of the others
    far = trueness.Panel(["J"], rows, pos=[30, 20], neg=[10, 40], unknown=[900, 100])
    r = trueness.prevalence(far, labelled="by truth")
    assert any("No rate explains these verdicts" in n for n in r.notes)
    near = trueness.Panel(["J"], rows, pos=[30, 20], neg=[10, 40], unknown=[600, 400])
    r = trueness.prevalence(near, labelled="by truth")
    assert not any("No rate" in n for n in r.notes)
    assert r.high == 1.0  # the share of yes among positives is a rate of 1


@pytest.mark.parametrize("how", ["random", "verdict", "truth"])
def test_right_although_judges_share_their_errors(how):
    rng = np.random.default_rng(5)
    word = {"verdict": "by verdict", "truth": "by truth"}.get(how, how)
    held = 0
    for i in range(40):
        y, x = judged(
            rng, 1000, 0.8, [0.9, 0.85, 0.8], [0.7, 0.8, 0.75], 100, how, shared=0.5
        )
        x["J1"][rng.random(y.size) < 0.2] = np.nan  # a missing verdict
        r = trueness.prevalence(trueness.panel(y, x), labelled=word, rng=i)
        held += r.low <= 0.8 <= r.high
    assert held >= 34  # of 40; 38 are expected, 33 or fewer have a chance of 1 in 300


def test_verdicts_alone_are_not_called_a_corrected_rate(rng):
    """Three judges that repeat each other: no sentence for a paper is sure of it."""
    y = rng.random(600) < 0.7
    luck = rng.random((600, 3))
    luck = np.where(rng.random((600, 1)) < 0.6, luck[:, :1], luck)
    said = np.where(y[:, None], luck < 0.8, luck < 0.3).astype(float)
    columns = {f"J{k}": v for k, v in enumerate(said.T)}
    alone = trueness.prevalence(trueness.panel(None, columns))
    assert not alone.identified
    assert np.isnan(alone.value)
    assert alone.low < 0.7 < alone.high
    assert alone.independent.value > 0
    assert "do not determine the true rate" in rate_sentences(alone)[1]
    assert "if their errors were independent" in rate_sentences(alone)[1]
    assert "nan" not in repr(alone)
    both = {s: trueness.panel(None, columns) for s in ("A", "B")}
    apart = trueness.compare_prevalence(both)
    assert not apart.identified
    assert np.isnan(apart.difference).all()
    assert "do not determine the rates" in difference_sentences(apart)[0]
    known = trueness.panel(np.where(np.arange(600) < 80, y, np.nan), columns)
    sure = trueness.prevalence(known, labelled="random")
    assert sure.identified
    assert "Corrected for the judges' errors it is" in rate_sentences(sure)[1]


def test_a_copied_judge_counts_once(rng):
    y, x = judged(rng, 500, 0.7, [0.8, 0.9], [0.8, 0.7], 80)
    one = trueness.prevalence(trueness.panel(y, x), labelled="random")
    more = trueness.panel(y, {**x, "copy": x["J0"], "again": x["J0"]})
    two = trueness.prevalence(more, labelled="random")
    assert (two.low, two.high) == pytest.approx((one.low, one.high), abs=0.01)
    assert two.effective_judges.value == pytest.approx(
        one.effective_judges.value, abs=0.1
    )
    assert any("not counted a second time" in n for n in two.notes)


def test_a_judge_that_always_says_yes(rng):
    y, x = judged(rng, 600, 0.7, [0.8], [0.8], 100)
    x["yes"] = np.ones(600)
    r = trueness.prevalence(trueness.panel(y, x), labelled="random")
    assert r.low < 0.7 < r.high
    assert r.judges["yes"].sensitivity.value == 1
    assert r.judges["yes"].specificity.value == 0
    assert r.effective_judges.value == 1  # the other one
    assert any("in every case" in n for n in r.notes)


@pytest.mark.parametrize("how", ["random", "by truth"])
def test_judges_worse_than_chance_serve_as_well(how, rng):
    y, x = judged(rng, 4000, 0.7, [0.9], [0.9], 400, "truth" if "by" in how else how)
    good = trueness.prevalence(trueness.panel(y, x), labelled=how)
    bad = trueness.prevalence(trueness.panel(y, {"J0": 1 - x["J0"]}), labelled=how)
    assert good.low < 0.7 + 0.05
    assert good.high > 0.7 - 0.05
    assert bad.value == pytest.approx(good.value, abs=0.02)
    assert bad.high - bad.low == pytest.approx(good.high - good.low, rel=0.2)


def test_labels_all_in_one_class(rng):
    p = trueness.Panel(["J"], [[1], [0]], pos=[40, 10], unknown=[800, 150])
    r = trueness.prevalence(p, labelled="random")
    assert r.high > 0.995
    assert 0.9 < r.low < 0.98
    assert any("None of the labels is negative" in n for n in r.notes)
    with pytest.raises(trueness.NotEnoughCases, match="chosen by truth"):
        trueness.prevalence(p, labelled="by truth")
    # 0 of 100 with a verdict that says nothing: the end is 1 - .025^(1/101)
    p = trueness.Panel(["J"], [[1], [0]], pos=[50, 50], unknown=[10**7, 10**7])
    r = trueness.prevalence(p, labelled="random")
    assert r.low == pytest.approx(0.025 ** (1 / 101), abs=0.003)


def test_by_truth_is_rogan_gladen_when_all_is_large():
    p = trueness.Panel(
        ["J"], [[1], [0]], pos=[9000, 1000], neg=[2000, 8000], unknown=[55000, 45000]
    )
    r = trueness.prevalence(p, labelled="by truth")
    assert r.value == pytest.approx((0.55 + 0.8 - 1) / (0.9 + 0.8 - 1), abs=0.003)
    # the number of labels of each class says nothing: half of them were positive
    assert r.low < 0.5 < r.high


def test_grades_are_calibrated_not_cut(rng):
    y = rng.random(3000) < 0.6
    grade = np.round(rng.normal(np.where(y, 7, 5), 1.5), 1)
    known = np.where(np.arange(3000) < 150, y, np.nan)
    r = trueness.prevalence(trueness.panel(known, {"grader": grade}), labelled="random")
    cut = trueness.prevalence(
        trueness.panel(known, {"grader": (grade > 6).astype(float)}), labelled="random"
    )
    assert r.low < 0.6 < r.high
    assert r.high - r.low < cut.high - cut.low
    assert np.isnan(r.judges["grader"].sensitivity.value)


def test_label_next_looks_where_the_doubt_is():
    rows = [[1, 1], [1, 0], [0, 1], [0, 0]]
    p = trueness.Panel(
        ["A", "B"],
        rows,
        pos=[20, 5, 5, 1],
        neg=[1, 5, 5, 20],
        unknown=[300, 300, 300, 300],
    )
    plan = trueness.prevalence(p, labelled="random").label_next(40)
    assert plan.labels.sum() == 40
    by = dict(zip(plan.pattern, plan.labels, strict=True))
    assert by["10"] > by.get("11", 0)
    assert by["01"] > by.get("00", 0)
    assert plan.width_then < plan.width_now
    with pytest.raises(trueness.NotEnoughCases):
        trueness.prevalence(p, labelled="random").label_next(10_000)
    # grades are named without ambiguity
    rows = [[0.1, 12.0], [0.11, 2.0], [0.100000000001, 12.0], [np.nan, 2.0]]
    p = trueness.Panel(["a", "b"], rows, pos=[2] * 4, neg=[2] * 4, unknown=[9] * 4)
    plan = trueness.prevalence(p, labelled="random").label_next(20)
    grades = ["a=., b=2", "a=0.1, b=12", "a=0.100000000001, b=12", "a=0.11, b=2"]
    assert sorted(plan.pattern) == grades


def test_compare_prevalence(rng):
    data = {}
    for name, rate in (("a", 0.85), ("b", 0.6), ("c", 0.6)):
        y, x = judged(rng, 2000, rate, [0.9, 0.8], [0.8, 0.8], 300)
        data[name] = trueness.panel(y, x)
    c = trueness.compare_prevalence(data, labelled="random")
    assert c.first.tolist() == ["a", "a", "b"]
    assert c.low[0] < 0.25 < c.high[0]
    assert c.low[2] < 0 < c.high[2]
    assert c.probability[0] > 0.99
    assert c.adjusted_p_value[0] < 0.01
    assert (c.simultaneous_low <= c.low).all()
    assert (c.simultaneous_high >= c.high).all()
    with pytest.raises(trueness.InputError, match="at least two"):
        trueness.compare_prevalence({"a": data["a"]}, labelled="random")


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
        truth, verdicts = judged(
            rng, cases, rate, [0.85] * judges, [0.9] * judges, plan.labels
        )
        panel = trueness.panel(truth, verdicts)
        found = trueness.prevalence(panel, labelled="random", rng=seed)
        half_widths.append((found.high - found.low) / 2)

    # 30 studies have a standard error of about 2 % of the mean half width
    assert 0.92 * half_width < np.mean(half_widths) < 1.05 * half_width
    assert plan.width <= 2 * half_width


def test_labels_are_planned_for_errors_that_go_together():
    judges = {"prevalence": 0.7, "judges": 3, "sensitivity": 0.85, "specificity": 0.8}

    plan = trueness.plan_labels(half_width=0.06, **judges)
    alike = trueness.plan_labels(half_width=0.06, correlation=0.5, **judges)

    assert plan.labels < alike.labels <= plan.without_judges


def test_many_judges_are_planned_as_one_verdict():
    plan = trueness.plan_labels(half_width=0.05, prevalence=0.5, judges=100)

    assert plan.labels > 20
    assert "for one verdict" in plan.notes[1]


def test_labels_without_judges_are_those_of_wilsons_interval():
    plan = trueness.plan_labels(half_width=0.05, prevalence=0.9, cases=10**6)

    # half of Wilson's interval of .9: .05007 with 140 cases, .04989 with 141
    assert plan.without_judges == 141


def test_a_plan_of_labels_says_when_all_cases_are_too_few():
    with pytest.raises(
        trueness.NotEnoughCases, match=r"still plus or minus .* than 0\.005"
    ):
        trueness.plan_labels(half_width=0.005, prevalence=0.5, cases=100)


def same_items(rng, n, rates, labels, alike=0.8):
    """Systems that answered the same items, which are as hard for all of them."""
    ease, chosen = rng.random(n), rng.permutation(n)[:labels]
    out = {}
    for name, rate in rates.items():
        own = np.where(rng.random(n) < alike, ease, rng.random(n))
        y = own < rate
        x = np.where(y[:, None], rng.random((n, 2)) < 0.9, rng.random((n, 2)) < 0.2)
        known = np.full(n, np.nan)
        known[chosen] = y[chosen]
        columns = {"J0": x[:, 0] * 1.0, "J1": x[:, 1] * 1.0, "item": np.arange(n)}
        out[name] = trueness.panel(known, columns)
    return out


def test_a_system_paired_with_itself_does_not_differ(rng):
    p = same_items(rng, 400, {"A": 0.7}, 100)["A"]
    c = trueness.compare_prevalence(
        {"A": p, "again": p}, labelled="random", item="item"
    )
    assert c.high[0] - c.low[0] < 0.01
    assert c.low[0] <= 0 <= c.high[0]


def test_paired_difference_of_known_truth_is_that_of_mcnemar():
    """All labels known: the difference of two shares of the same items."""
    both, only_a, only_b, none = 300, 80, 40, 180
    a = np.repeat([1.0, 1.0, 0.0, 0.0], [both, only_a, only_b, none])
    b = np.repeat([1.0, 0.0, 1.0, 0.0], [both, only_a, only_b, none])
    data = {
        n: trueness.panel(y, {"J": y, "item": np.arange(600)})
        for n, y in (("A", a), ("B", b))
    }
    c = trueness.compare_prevalence(data, labelled="random", item="item")
    n, d = 600, (only_a - only_b) / 600
    sd = np.sqrt((only_a + only_b) / n - d**2) / np.sqrt(n)
    assert c.difference[0] == pytest.approx(d, abs=0.005)
    assert c.high[0] - c.low[0] == pytest.approx(2 * 1.96 * sd, rel=0.08)


def test_what_cannot_be_paired_is_said(rng):
    data = same_items(rng, 100, {"A": 0.7, "B": 0.6}, 40)
    b = data["B"]
    rows = b.rows + np.array([0, 0, 1000])
    far = trueness.Panel(b.names, rows, neg=b.neg, pos=b.pos, unknown=b.unknown)
    hidden = {n: p.without_labels() for n, p in data.items()}
    for systems, item, words in (
        (data, "items", "names the column"),
        ({**data, "B": far}, "item", "No item was answered by all"),
        ({**data, "B": b + b}, "item", "occurs 2 times in 'B'"),
        (hidden, "item", "Without labels"),
    ):
        how = None if systems is hidden else "random"
        with pytest.raises(ValueError, match=words):
            trueness.compare_prevalence(systems, labelled=how, item=item)


def test_labels_and_verdicts_are_taken_as_they_are():
    rng = np.random.default_rng(3)
    truth = (rng.random(200) < 0.7).astype(float)
    a, b = (np.where(rng.random(200) < 0.8, truth, 1 - truth) for _ in range(2))
    labels = np.where(rng.random(200) < 0.3, truth, np.nan)
    words = {"labelled": "random"}
    by_hand = trueness.panel(labels, {"a": a, "b": b})
    r = trueness.prevalence(by_hand, **words)
    same = trueness.prevalence(labels, {"a": a, "b": b}, **words)
    assert (same.low, same.high) == (r.low, r.high)
    half = np.where(np.arange(200) < 100, "first", "second")
    by = trueness.prevalence(labels, {"a": a, "b": b}, by=half, **words)
    assert list(by) == ["first", "second", "all cases"]
    assert by["all cases"].low == r.low
    for data, how, error in (
        (labels, words, "prevalence needs a panel, or labels"),
        (by_hand, {}, f"How were the {by_hand.n_pos + by_hand.n_neg} labelled"),
        (by_hand, {"labelled": "somehow"}, "labelled must be one of"),
        (by_hand.without_labels(), {}, "Without labels"),
    ):
        with pytest.raises((InputError, trueness.NotEnoughCases), match=error):
            trueness.prevalence(data, **how)


def test_labels_are_planned_from_arrays_as_from_a_panel():
    """Labels and verdicts by name were met with a TypeError."""
    truth, says = np.tile([0, 1, 1, 0, 1], 20), np.tile([0, 1, 1, 0, 0], 20)
    from_panel = trueness.plan_labels(
        trueness.panel(truth, {"a": says}), half_width=0.1
    )
    assert trueness.plan_labels(truth, {"a": says}, half_width=0.1) == from_panel
    with pytest.raises(InputError, match="plan_labels has no option 'judge'"):
        trueness.plan_labels(half_width=0.1, judge=2)
    with pytest.raises(trueness.InputError, match="judges and cases come from the pan"):
        trueness.plan_labels(truth, {"a": says}, half_width=0.1, judges=3)
    with pytest.raises(trueness.InputError, match=r"half_width must lie below 0\.5"):
        trueness.plan_labels(half_width=0.5)


def test_clusters_by_hand():
    """Every case twice in its cluster: half the cases, so root 2 wider."""
    counts = {"pos": [40, 10], "neg": [10, 40], "unknown": [0, 0]}
    rows = np.repeat([1.0, 1.0, 0.0, 0.0], [40, 10, 10, 40])
    y = np.repeat([1.0, 0.0, 1.0, 0.0], [40, 10, 10, 40])
    once = trueness.prevalence(
        trueness.Panel(["J"], [[1], [0]], **counts), labelled="random"
    )
    ids = np.tile(np.arange(100), 2)
    p = trueness.panel(np.tile(y, 2), {"J": np.tile(rows, 2)}, cluster=ids)
    twice = trueness.prevalence(p, labelled="random")
    assert "repeats of 100 items" in " ".join(twice.notes)
    assert twice.value == pytest.approx(once.value, abs=0.003)
    assert twice.high - twice.low == pytest.approx(once.high - once.low, rel=0.05)
    alone = trueness.prevalence(
        np.tile(y, 2), {"J": np.tile(rows, 2)}, labelled="random",
        cluster=np.arange(200),
    )  # fmt: skip
    assert alone.high - alone.low == pytest.approx(
        (once.high - once.low) / np.sqrt(2), rel=0.05
    )


@pytest.mark.slow
def test_clusters_without_labels_widen_the_interval(rng):
    truth = rng.random(200) < 0.5
    x = np.where(truth[:, None], rng.random((200, 3)) < 0.9, rng.random((200, 3)) < 0.1)
    names = ["a", "b", "c"]
    many = {n: np.tile(c, 4).astype(float) for n, c in zip(names, x.T, strict=True)}
    plain = trueness.prevalence(trueness.panel(None, many))
    p = trueness.panel(None, many, cluster=np.tile(np.arange(200), 4))
    worth = trueness.prevalence(p)
    ratio = (worth.independent.high - worth.independent.low) / (
        plain.independent.high - plain.independent.low
    )
    assert ratio == pytest.approx(2, rel=0.15)
