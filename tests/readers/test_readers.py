"""Reader studies: Van Dyke's against MRMCaov, brute force, designs, simulation."""

from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import trueness
from reference_readers import slow_study
from trueness._core import binomial

KEYS = {"label": "truth", "score": "rating"}


@pytest.fixture(scope="module")
def vandyke():
    """MRMCaov 0.3.0 distributes it: 5 readers, 2 treatments, 114 cases."""
    data = pd.read_csv(trueness.samples.path("readers"))
    data["treatment"] = data["treatment"].map({"spin-echo": 1, "cine": 2})
    for new, by in (("case2", "reader"), ("case3", "treatment")):
        data[new] = data[by].astype(str) + "." + data["case"].astype(str)
    return data


def simulated(rng, readers=5, cases=(30, 30), effect=0.0, tr=0.05, mean=1.5):
    """Roe and Metz (1997): random readers, cases and all their interplays.

    ``tr`` is the variance of treatments by readers, ``effect`` what the first treatment
    adds; a score of a positive lies ``mean`` higher.
    """
    n = sum(cases)
    label = np.repeat([1, 0], cases)
    shape = (2, readers, n)  # treatment, reader, case

    shift = mean + rng.normal(size=(1, readers, 1)) * np.sqrt(0.01)
    shift = shift + rng.normal(size=(2, readers, 1)) * np.sqrt(tr)
    shift = shift + np.array([effect, 0])[:, None, None]
    score = (
        label * shift
        + np.sqrt(0.3) * rng.normal(size=(1, 1, n))
        + np.sqrt(0.3) * rng.normal(size=(2, 1, n))
        + np.sqrt(0.2) * rng.normal(size=(1, readers, n))
        + np.sqrt(0.2) * rng.normal(size=shape)
    )

    treatment, reader, case = np.indices(shape)
    return {
        "reader": reader.ravel(),
        "treatment": treatment.ravel(),
        "case": case.ravel(),
        "label": label[case.ravel()],
        "score": score.ravel(),
    }


# As MRMCaov prints them (Smith and Hillis, the article in its docs/jss): components
# (reader, interplay, Var, Cov1, Cov2, Cov3), F or X2, df2, p; difference's standard
# error and interval; standard errors of the two means.
PRINTED = {
    "jackknife": (
        {},
        (0.0015349993, 0.0002004025, 0.0008022883, 0.0003466137, 0.0003440748,
         0.0002390284),
        (None, 15.25967, 0.05166569), (0.02074862, -0.0879594986, 0.0003588544), None,
    ),
    "delong": (
        {"covariance": "delong"},
        (0.0015364254, 0.0002045840, 0.0007921325, 0.0003420090, 0.0003395265,
         0.0002358497),
        (4.484854, 15.06611, 0.05123303), (0.0206825, -0.0878671960, 0.0002665519),
        (0.03307642, 0.02150464),
    ),
    "unbiased": (
        {"covariance": "unbiased"},
        (0.0015365290, 0.0002077588, 0.0007883925, 0.0003416706, 0.0003390650,
         0.0002356148),
        (4.489614, 15.03418, 0.0511618), (0.02067154, -0.0878519409, 0.0002512968),
        (0.0330712, 0.0214912),
    ),
    "fixed readers": (
        {"fixed": "readers"},
        (0.0015349993, 0.0002004025, 0.0008022883, 0.0003466137, 0.0003440748,
         0.0002390284),
        (5.475953, np.inf, 0.01927984), (0.01871748, -0.08048591, -0.00711473),
        (0.02428971, 0.01677632),
    ),
    "fixed cases": (
        {"fixed": "cases"}, None, (8.704, 4, 0.04195875),
        (0.01484629, -0.08502022, -0.00258042), (0.02482994, 0.01615303),
    ),
    "cases nested within readers": (
        {"case": "case2"},
        (1.293517e-03, 9.213005e-05, 8.079682e-04, 3.490676e-04, 0, 0),
        (8.704, 4, 0.04195875), (0.01484629, -0.08502022, -0.00258042),
        (0.02482994, 0.01615303),
    ),
    "cases nested within treatments": (
        {"case": "case3"},
        (1.642585e-03, 9.078969e-05, 8.058382e-04, 0, 3.455973e-04, 0),
        (2.104491, 68.42325, 0.1514363), (0.03019283, -0.10404242, 0.01644178),
        (0.03320586, 0.02158730),
    ),
    "sensitivity at 3": (
        {"metric": "recall", "threshold": 3},
        (0.0049747475, 0.0007828283, 0.0023681257, 0.0009943883, 0.0010145903,
         0.0006604938),
        (6.689493, 15.71732, 0.02008822), (0.03780451, -0.1780371, -0.0175185),
        (0.05893747, 0.03741657),
    ),
}  # fmt: skip


# how many times over the 45 diseased and 69 healthy cases are there
COPIES = {"cases nested within readers": 5, "cases nested within treatments": 2}


def same_as_printed(values, printed):
    """To the seven digits that R prints; None is not printed."""
    for value, expected in zip(values, printed, strict=True):
        assert expected is None or value == pytest.approx(expected, rel=5e-7, abs=1e-10)


@pytest.mark.parametrize("name", PRINTED)
def test_van_dyke_agrees_with_mrmcaov(vandyke, name):
    options, components, test, difference, standard_errors = PRINTED[name]

    study = trueness.reader_study(vandyke, **{**KEYS, **options})

    if components:
        c = study.components
        same_as_printed(
            (
                c.reader_variance,
                c.interaction_variance,
                c.error_variance,
                c.cov1,
                c.cov2,
                c.cov3,
            ),
            components,
        )
    same_as_printed((study.statistic, study.df2, study.p_value), test)
    if standard_errors:
        same_as_printed([mean.se for mean in study.means], standard_errors)

    estimate = study.pairs[0].difference
    interval = (estimate.se, estimate.low, estimate.high)
    assert interval == pytest.approx(difference, abs=5e-8)


@pytest.mark.parametrize("name", [k for k in PRINTED if k != "sensitivity at 3"])
def test_areas_of_van_dyke_are_those_of_mrmcaov(vandyke, name):
    options, *_ = PRINTED[name]

    study = trueness.reader_study(vandyke, **{**KEYS, **options})

    same_as_printed([mean.value for mean in study.means], (0.8970370, 0.9408374))
    difference = study.pairs[0].difference.value
    assert difference == pytest.approx(-0.04380032, abs=5e-9)


def test_a_mean_sensitivity_ends_at_one(vandyke):
    options, *_ = PRINTED["sensitivity at 3"]

    study = trueness.reader_study(vandyke, **{**KEYS, **options})

    assert study.means[1].low == pytest.approx(0.8328691, abs=5e-8)
    assert study.means[1].high == 1.0


@pytest.mark.parametrize("name", PRINTED)
def test_cases_of_van_dyke_are_counted_in_each_design(vandyke, name):
    options, *_ = PRINTED[name]
    copies = COPIES.get(name, 1)

    study = trueness.reader_study(vandyke, **{**KEYS, **options})

    assert (study.n_pos, study.n_neg) == (45 * copies, 69 * copies)
    if name in COPIES:
        assert study.design == name


def _designs(rng):
    data = pd.DataFrame(simulated(rng, 4, (9, 11)))
    third = pd.DataFrame(simulated(rng, 4, (9, 11))).query("treatment == 0")
    three = pd.concat([data, third.assign(treatment=2)])
    three["score"] = three["score"].round(1)  # ties
    yield "three treatments", three
    yield "missing readings", three[rng.random(len(three)) > 0.1]
    own = data.assign(reader=data.reader + 10 * data.treatment)
    yield "nested readers", own
    yield "unequal readers", own[~own.reader.isin([2, 3])]
    apart = three.assign(reader=three.reader + 10 * three.treatment)
    yield "unequal readers of three", apart[~apart.reader.isin([3, 12, 13])]
    yield "nested both", own.assign(case=own.case + 100 * own.treatment)


@pytest.mark.parametrize("pairs_of", ["own", "pooled"])
@pytest.mark.parametrize("fixed", [{}, {"fixed": "readers"}, {"fixed": "cases"}])
def test_all_designs_by_slow_formulas(rng, fixed, pairs_of):
    for name, data in _designs(rng):
        study = trueness.reader_study(data, pair_variance=pairs_of, **fixed)
        statistic, df, pairs = slow_study(data, pairs_of=pairs_of, **fixed)
        assert study.statistic == pytest.approx(statistic), name
        assert study.df2 == pytest.approx(df), name
        for mine, (d, sd, nu) in zip(study.pairs, pairs, strict=True):
            assert mine.difference.value == pytest.approx(d)
            assert mine.difference.se == pytest.approx(sd)
            assert mine.p_value == pytest.approx(2 * stats.t.sf(abs(d) / sd, nu))


def with_third_treatment(rng):
    """Return a simulated study of two treatments, and readings of a third."""
    data = pd.DataFrame(simulated(rng, 4))
    third = data[data.treatment == 0].assign(treatment=2)
    third["score"] = rng.permutation(third["score"])
    return data, third


def test_one_treatment_has_no_pairs(vandyke):
    one = trueness.reader_study(vandyke[vandyke.treatment == 1], **KEYS)

    both = trueness.reader_study(vandyke, **KEYS)
    assert one.pairs == ()
    assert np.isnan(one.p_value)
    assert one.means[0].low == pytest.approx(both.means[0].low)


def test_three_treatments_have_three_pairs(rng):
    data, third = with_third_treatment(rng)

    study = trueness.reader_study(pd.concat([data, third]))

    assert (len(study.pairs), study.df1) == (3, 2)
    p_value = stats.f.sf(study.statistic, 2, study.df2)
    assert study.p_value == pytest.approx(p_value)


def test_pairs_of_a_treatment_with_its_own_cases_are_taken_by_themselves(rng):
    data, third = with_third_treatment(rng)
    partly_crossed = pd.concat([data, third.assign(case=third.case + 1000)])

    study = trueness.reader_study(partly_crossed)
    pooled = trueness.reader_study(partly_crossed, pair_variance="pooled")

    alone = trueness.reader_study(data)
    assert study.design == "partly crossed"
    assert "share more cases than others" in " ".join(study.notes)
    assert "too small" in pooled.notes[0]
    difference = study.pairs[0].difference
    assert difference.se == pytest.approx(alone.pairs[0].difference.se)


def test_margins(vandyke):
    study = trueness.reader_study(vandyke, margin=0.05, **KEYS)

    pair = study.pairs[0]
    difference = pair.difference
    by_hand = stats.t.sf((difference.value + 0.05) / difference.se, df=15.25967)

    assert pair.p_noninferior == pytest.approx(by_hand, abs=1e-6)
    assert pair.p_noninferior_second < 0.01  # CINE is not worse than spin-echo
    assert pair.p_equivalent == pair.p_noninferior
    assert "reject too often" in study.notes[-1]


def few_faults(fault):
    """Four readers, 5 + 5 cases; with treatment b some positives are missed."""
    return pd.DataFrame(
        [(r, t, c, int(c > 4), float(c > 4) - (t == "b" and fault(r, c)))
         for r in range(4) for t in "ab" for c in range(10)],
        columns=["reader", "treatment", "case", "label", "score"],
    )  # fmt: skip


def test_perfect_readers():
    data = few_faults(lambda r, c: 4 < c < 6 + r % 3)
    study = trueness.reader_study(data, margin=0.3)
    one = study.means[0]  # 5 + 5 cases without a fault
    alone = trueness.auc(trueness.Tally([2, 1], pos=[5, 0], neg=[0, 5]))

    assert one.ci == pytest.approx(alone.ci)
    assert 0 <= study.pairs[0].p_noninferior < 0.05

    # readers that all gain the same show variance between readers is 0
    study = trueness.reader_study(few_faults(lambda r, c: c == 5 + r))

    assert study.statistic == np.inf
    assert "variance between readers is 0" in study.notes[-1]

    gap = study.pairs[0].difference

    assert gap.low < 0 < gap.value < gap.high  # as of one reader, 5 + 5 cases
    assert 0.05 < study.p_value < 1


def test_readers_without_a_fault_leave_a_width():
    """Newcombe's interval of an AUC, Wilson's of rates, Zou and Donner's of two."""
    data = few_faults(lambda r, c: False)
    wilson = lambda n: binomial.wilson(n, n, 0.95)[0]  # noqa: E731
    alone = trueness.auc(trueness.Tally([2, 1], pos=[5, 0], neg=[0, 5]))
    for metric, low in (
        ("auc", alone.low),
        ("recall", wilson(5)),
        ("youden", 2 * wilson(10) - 1),
    ):
        cut = {} if metric == "auc" else {"threshold": 0.5}
        study = trueness.reader_study(data, margin=0.05, metric=metric, **cut)
        assert study.means[0].low == pytest.approx(low)
        assert study.means[0].high == 1
        gap = study.pairs[0].difference
        assert (gap.low, gap.high) == pytest.approx((low - 1, 1 - low))
        assert study.p_value == 1
        assert 0.025 < study.pairs[0].p_noninferior < 0.5

    fixed = trueness.reader_study(data, fixed="cases", metric="recall", threshold=0.5)

    assert fixed.means[0].low == pytest.approx(wilson(4))


def study_of(data, **options):
    return trueness.reader_study(data, **KEYS, **options)


def test_labels_and_frames_of_any_kind_give_one_answer(vandyke):
    pl = pytest.importorskip("polars")
    in_words = vandyke.assign(truth=np.where(vandyke.truth == 1, "sick", "well"))

    by_words = study_of(in_words, positive="sick")
    by_polars = study_of(pl.DataFrame(vandyke))

    expected = study_of(vandyke).p_value
    assert by_words.p_value == by_polars.p_value == expected


def test_the_order_of_rows_does_not_matter(vandyke):
    shuffled = vandyke.sample(frac=1, random_state=1)

    p_value = study_of(shuffled).p_value

    assert p_value == pytest.approx(study_of(vandyke).p_value)


def test_a_study_is_a_table_and_a_text(vandyke):
    study = study_of(vandyke)

    assert len(study.to_frame("dict")["value"]) == 10
    assert "5 readers" in repr(study)


def test_a_reading_without_a_score_is_left_out_and_said(vandyke):
    without_a_score = vandyke.assign(rating=vandyke.rating.where(vandyke.index != 7))

    study = study_of(without_a_score)

    assert "1 reading without a score" in study.notes[0]
    assert study.p_value == study_of(vandyke.drop(index=7)).p_value


def test_fixed_readers_stand_for_themselves(vandyke):
    study = study_of(vandyke, fixed="readers")

    assert "applies to these readers only" in study.notes[0]


@pytest.mark.parametrize(
    ("missing_row", "fixed", "warning"),
    [(7, None, "partly crossed"), (None, "readers", "fixed readers")],
    ids=["a reading is missing", "readers are fixed"],
)
def test_a_plan_says_how_the_pilot_differs(vandyke, missing_row, fixed, warning):
    pilot = study_of(vandyke[vandyke.index != missing_row], fixed=fixed)

    plan = trueness.plan_readers(pilot, difference=0.1)

    assert warning in plan.notes[1]


def power_of(j, alone, total, gap):
    """Hillis et al. (2011): with j readers, and mean squares of which one varies."""
    df = (j - 1) * (total / alone) ** 2
    limit = stats.f.ppf(0.95, 1, df)
    return stats.ncf.sf(limit, 1, df, j * gap**2 / 2 / total)


def test_plan_by_hand_and_monotone(vandyke):
    study = trueness.reader_study(vandyke, **KEYS)
    plan = trueness.plan_readers(study, difference=0.05)

    assert plan.readers.tolist() == list(range(3, 16))

    need = plan.cases[plan.cases > 0]

    assert (np.diff(need) < 0).all()
    assert (plan.power[plan.cases > 0] >= 0.8).all()

    c = study.components
    between = max(c.cov2 - c.cov3, 0)
    alone = max(c.interaction_variance, 0) + c.error_variance - c.cov1 - between
    # as many readers and cases as the pilot
    given = trueness.plan_readers(study, difference=0.05, readers=5, cases=114)
    by_hand = power_of(5, alone, alone + 5 * between, 0.05)

    assert given.power[0] == pytest.approx(by_hand)

    margin = trueness.plan_readers(study, margin=0.05)

    assert margin.cases.tolist() == plan.cases.tolist()


def test_assurance_is_the_mean_power_over_what_the_mean_square_may_be(vandyke):
    """Against an integral over the chi-squared law of the pilot's mean square."""
    pilot = trueness.reader_study(vandyke, **KEYS)
    plan = trueness.plan_readers(pilot, difference=0.05, readers=8, cases=200)
    c = pilot.components
    shrink = 114 / 200
    between = max(c.cov2 - c.cov3, 0)
    errors = c.error_variance - c.cov1 - between

    def power(chi2):
        true = max(c.ms_interaction * 4 / chi2 - errors, 0)  # 2 treatments, 5 readers
        alone = true + shrink * errors
        return power_of(8, alone, alone + 8 * shrink * between, 0.05)

    mean = stats.chi2(4).expect(power)

    assert plan.assurance[0] == pytest.approx(mean, abs=0.002)
    assert plan.assurance[0] < plan.power[0] - 0.02
    assert "assurance" in plan.notes[0]


def test_plan_counts_the_cases_of_each_reader_where_they_are_nested(rng):
    """Twelve readers with 40 cases each err more than four with 80 each."""
    data = simulated(rng, 4, (40, 40), tr=0.0)
    pilot = trueness.reader_study(data | {"case": data["case"] + 80 * data["reader"]})

    assert pilot.n_pos + pilot.n_neg == 320

    c = pilot.components  # then half the cases of a reader
    total = max(c.interaction_variance, 0) + 2 * (c.error_variance - c.cov1)
    plan = trueness.plan_readers(pilot, difference=0.06, readers=12, cases=480)

    assert plan.power[0] == pytest.approx(power_of(12, total, total, 0.06))
    assert "all readers together" in plan.notes[1]

    need = trueness.plan_readers(pilot, difference=0.4, readers=[6, 10]).cases

    assert (need >= [24, 40]).all()  # two of each class for every reader


def study_of_two_groups(rng):
    """Two groups of three readers, each with 80 cases of its own."""
    parts = [simulated(rng, 3, (40, 40)) for _ in range(2)]
    data = {k: np.concatenate([part[k] for part in parts]) for k in parts[0]}
    group = np.repeat([0, 1], parts[0]["case"].size)
    data["reader"] = data["reader"] + 3 * group
    data["case"] = data["case"] + 80 * group
    return data


# 12 readers: the groups, all cases, and the pairs of readers that share their cases
PLANNED_GROUPS = {"three groups": (3, 180, 18 / 66), "one group": (1, 80, 1.0)}


@pytest.mark.parametrize("plan", PLANNED_GROUPS)
def test_plan_of_groups_of_readers_by_hand(rng, plan):
    groups, cases, sharing_pairs = PLANNED_GROUPS[plan]
    pilot = trueness.reader_study(study_of_two_groups(rng))
    c = pilot.components
    # in the pilot 6 of the 15 pairs of readers share their cases
    within = max(c.cov2 - c.cov3, 0) * 15 / 6
    shared = sharing_pairs * within
    shrink = 80 * groups / cases
    alone = max(c.interaction_variance, 0) + shrink * (
        c.error_variance - c.cov1 - shared
    )
    total = alone + 12 * shrink * shared

    planned = trueness.plan_readers(
        pilot, difference=0.06, readers=12, cases=cases, groups=groups
    )

    assert planned.power[0] == pytest.approx(power_of(12, alone, total, 0.06))


def test_groups_of_readers_are_found(rng):
    data = study_of_two_groups(rng)
    pilot = trueness.reader_study(data)
    crossed = trueness.reader_study(simulated(rng, 6, (40, 40)))
    own = trueness.reader_study(data | {"case": data["case"] + 999 * data["reader"]})

    assert pilot.groups == 2
    assert pilot.design == "2 groups of readers with cases of their own"
    assert "2 groups" in trueness.plan_readers(pilot, difference=0.06).notes[1]
    assert crossed.groups == 1
    assert own.groups == 6


def test_groups_that_cannot_be_planned(rng):
    data = study_of_two_groups(rng)
    own = trueness.reader_study(data | {"case": data["case"] + 999 * data["reader"]})
    crossed = trueness.reader_study(simulated(rng, 6, (40, 40)))

    with pytest.raises(trueness.InputError, match="correlation of their errors"):
        trueness.plan_readers(own, difference=0.06, readers=6, groups=2)
    with pytest.raises(trueness.InputError, match="cannot be divided"):
        trueness.plan_readers(crossed, difference=0.06, readers=3, groups=4)


STUDY_ERRORS = {
    "no column 'label'": lambda v: (v, {"label": "label"}),
    "read as numbers": lambda v: (v.assign(c=v.case2.astype(float)), {"case": "c"}),
    "Labels must be 0 and 1": lambda v: (v.assign(truth="x"), {}),
    "has both": lambda v: (v.assign(truth=v.reader % 2), {}),
    "needs a threshold": lambda v: (v, {"metric": "recall"}),
    "for the AUC, recall": lambda v: (v, {**F1, "covariance": "delong"}),
    "covariance must be": lambda v: (v, {"covariance": "gallas"}),
    "no option 'margn'": lambda v: (v, {"margn": 0.1}),
    "at least two readers": lambda v: (v[v.reader == 1], {}),
    "two positive and two negative": lambda v: (v[v.case.astype(int) < 4], {}),
    "a ratio 0 / 0": lambda v: (v, {"metric": "precision", "threshold": 9}),
    "neither. Without all .*: '1'": lambda v: (v[v.reader + v.treatment != 3], {}),
    r"reader 1 has read case 1 more .* 1 m": lambda v: (pd.concat([v, v[:2]]), {}),
    "label '1'; there are 0, 1": lambda v: (v, {"positive": "1"}),
    "score 1,139": lambda v: (v, {"score": v.rating.to_numpy()[1:]}),
    "no metric of that name": lambda v: (v, {"metric": "area"}),
    "at 1 of 1,140 .* such as 'high'": lambda v: (
        v.assign(rating=v.rating.astype(str).where(v.index != 7, "high")), {}),
    "must be numbers": lambda v: (v.assign(rating="x"), {}),
    "have none": lambda v: (v[:0], {}),
    "needs a reader; missing at": lambda v: (
        v.assign(reader=v.reader.where(v.index != 7)), {}),
    "threshold must be": lambda v: (v, {"metric": "recall", "threshold": np.nan}),
    "must have a value": lambda v: (v, {"metric": "lr_positive", "threshold": 5}),
    "must be finite": lambda v: (v.assign(rating=np.inf), {}),
}  # fmt: skip
F1 = {"metric": "f1", "threshold": 3}


@pytest.mark.parametrize("message", STUDY_ERRORS)
def test_errors(vandyke, message):
    data, options = STUDY_ERRORS[message](vandyke)
    kinds = (trueness.InputError, trueness.NotEnoughCases)
    with pytest.raises(kinds, match=message):
        trueness.reader_study(data, **{**KEYS, **options})


def test_errors_of_plans(vandyke):
    v = vandyke
    for message, data, options in (
        ("two treatments", v[v.treatment == 1], {}),
        ("two readers each; found 2 and 1", v[v.reader == 1], {"fixed": "readers"}),
        ("neither readers nor cases vary", v.assign(rating=v.truth), {}),
    ):
        study = trueness.reader_study(data, **KEYS, **options)
        with pytest.raises(trueness.InputError, match=message):
            trueness.plan_readers(study, difference=0.1)

    study = trueness.reader_study(vandyke, metric="AUC", **KEYS)

    assert study.metric == "auc"

    for few in ([3, "x"], 3.5, []):
        with pytest.raises(trueness.InputError, match="readers must be"):
            trueness.plan_readers(study, difference=0.1, readers=few)

    with pytest.raises(trueness.InputError, match="difference to detect"):
        trueness.plan_readers(study)


class Comparison(NamedTuple):
    """One reader compares a positive with a negative case in both treatments."""

    reader: int
    positive: int
    negative: int
    difference: float  # of what the two treatments score
    weight: float

    def shares_nothing_with(self, other):
        return (
            self.reader != other.reader
            and self.positive != other.positive
            and self.negative != other.negative
        )


def comparisons_of(reader, y, scores):
    """Return all comparisons of a reader, whose weights add up to a third."""
    positives = np.flatnonzero(y)
    negatives = np.flatnonzero(~y)
    result = []
    for p, q in product(positives, negatives):
        wins = (scores[:, p] > scores[:, q]) + (scores[:, p] == scores[:, q]) / 2
        result.append(
            Comparison(
                reader=reader,
                positive=100 * reader + p,
                negative=100 * reader + q,
                difference=wins[0] - wins[1],
                weight=1 / (3 * positives.size * negatives.size),
            )
        )

    return result
