"""Clustered cases: single cases, the bootstrap, coverage by simulation."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import trueness
from conftest import tied_cases
from trueness import Tally
from trueness.ranking.clusters import (
    CLUSTER,
    auc_influence,
    clustered_auc,
    clusters,
)


def sample(rng, m, auc=0.8, alike=0.5, size=(2, 9), second=0.0):
    """Clusters that share a shift of the scores and lean to one label."""
    cluster = np.repeat(np.arange(m), rng.integers(*size, m))
    n = cluster.size
    y = rng.random(n) < rng.beta(1, 1, m)[cluster]
    shift = np.sqrt(2) * stats.norm.ppf(auc) * y
    noise = np.sqrt(alike) * rng.normal(size=(2, m))[:, cluster]
    own = np.sqrt(1 - alike) * rng.normal(size=(2, n))
    a, b = shift + noise + own
    return y.astype(int), a, b - second * y, cluster


def brute_obuchowski(y, s, cluster):
    """Obuchowski (1997), term by term."""
    p, q = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
    win = (s[p][:, None] > s[q]) + 0.5 * (s[p][:, None] == s[q])
    a, v10, v01 = win.mean(), win.mean(1), win.mean(0)
    n1, n0 = p.size, q.size
    ids = np.unique(cluster)
    up = np.array([(v10[cluster[p] == c] - a).sum() for c in ids])
    down = np.array([(v01[cluster[q] == c] - a).sum() for c in ids])
    m, m1, m0 = ids.size, np.unique(cluster[p]).size, np.unique(cluster[q]).size
    s10 = m1 / ((m1 - 1) * n1) * (up**2).sum()
    s01 = m0 / ((m0 - 1) * n0) * (down**2).sum()
    s11 = m / (m - 1) * (up * down).sum()
    return a, s10 / n1 + s01 / n0 + 2 * s11 / (n1 * n0)


def test_slow_twin(rng):
    y, s, _, cluster = sample(rng, 15)
    s = np.round(s, 1)
    found = trueness.auc(y, s, cluster=cluster)
    value, variance = brute_obuchowski(y, s, cluster)
    assert found.value == pytest.approx(value)
    assert found.sd == pytest.approx(np.sqrt(variance))
    assert found.method == "clusters"
    assert "15 clusters" in found.notes[0]


def test_single_cases_are_delong(rng):
    y, s = tied_cases(rng, 200)
    found = trueness.auc(y, s, cluster=np.arange(200))
    plain = trueness.auc(y, s, method="delong")
    assert found.value == plain.value
    assert found.sd == pytest.approx(plain.sd)
    assert found.low == pytest.approx(trueness.auc(y, s).low, abs=0.01)
    other = s + rng.normal(size=200)
    pair = trueness.compare_auc(y, {"a": s, "b": other}, cluster=np.arange(200)).pairs[
        0
    ]
    same = trueness.compare_auc(y, {"a": s, "b": other}).pairs[0]
    assert pair.difference.sd == pytest.approx(same.difference.sd, rel=0.01)
    assert pair.p_value == pytest.approx(same.p_value, rel=0.1)


def test_data_come_in_every_form(rng):
    y, s, b, cluster = sample(rng, 12)
    array = trueness.auc(y, s, cluster=cluster).to_dict()
    names = np.array([f"patient {k}" for k in cluster])
    frame = pd.DataFrame({"y": y, "s": s, "b": b, "who": names})
    asked = {"label": "y", "cluster": "who"}
    found = trueness.auc(frame, score="s", **asked).to_dict()
    ends = {k: pytest.approx(array[k], rel=1e-12) for k in ("low", "high", "sd")}
    assert found == array | ends  # sums of clusters in another order
    parts = trueness.tally(y, s, by=cluster)
    assert trueness.auc(sum(parts.values()), cluster=parts).low == pytest.approx(
        array["low"]
    )
    both = trueness.auc(frame, scores=["s", "b"], **asked)
    assert both["s"].low == pytest.approx(array["low"])
    found = trueness.compare_auc(frame, scores=["s", "b"], **asked)
    panels = trueness.panel(y, {"s": s, "b": b}, by=cluster)
    counted = trueness.compare_auc(sum(panels.values()), cluster=panels)
    assert counted.p_value == pytest.approx(found.p_value)
    metric = trueness.compare_metric(frame, scores=["s", "b"], metric="f1", **asked)
    again = trueness.compare_metric(sum(panels.values()), "f1", cluster=panels)
    assert again.pairs[0].p_value == pytest.approx(metric.pairs[0].p_value)


def test_agrees_with_the_cluster_bootstrap(rng):
    y, s, b, cluster = sample(rng, 150)
    found = trueness.auc(y, s, cluster=cluster)
    drawn = trueness.cluster_bootstrap(
        trueness.tally(y, s, by=cluster), trueness.auc, replicates=300
    )
    assert found.sd == pytest.approx(drawn.sd, rel=0.15)
    panels = trueness.panel(y, {"a": s, "b": b}, by=cluster)
    p = trueness.compare_metric(sum(panels.values()), "recall", cluster=panels)

    def gap(x):
        return trueness.compare_metric(
            x, "recall", method="bootstrap", replicates=100
        ).pairs[0].difference.value  # fmt: skip

    by_draws = trueness.cluster_bootstrap(panels, gap, replicates=150)
    assert p.pairs[0].difference.value == pytest.approx(by_draws.value)
    assert p.pairs[0].difference.sd == pytest.approx(by_draws.sd, rel=0.25)


@pytest.mark.parametrize(("m", "least"), [(5, 0.88), (10, 0.9), (30, 0.9)])
def test_intervals_cover(rng, m, least):
    held, plain = [], []
    while len(held) < 150:
        y, s, _, cluster = sample(rng, m)
        try:
            v = trueness.auc(y, s, cluster=cluster)
        except trueness.NotEnoughCases:
            continue
        held.append(v.low <= 0.8 <= v.high)
        t = trueness.auc(y, s)
        plain.append(t.low <= 0.8 <= t.high)
    assert np.mean(held) > least
    assert m < 30 or np.mean(plain) < np.mean(held)


def test_paired_tests_keep_their_level(rng):
    p, q = [], []
    for _ in range(120):
        y, a, b, cluster = sample(rng, 12)
        p.append(trueness.compare_auc(y, {"a": a, "b": b}, cluster=cluster).p_value)
        found = trueness.compare_metric(
            y, {"a": a, "b": b}, metric="accuracy", cluster=cluster
        )
        q.append(found.pairs[0].p_value)
    assert np.mean(np.array(p) < 0.05) < 0.1
    assert np.mean(np.array(q) < 0.05) < 0.1


def test_no_spread_has_width_and_is_a_difference():
    parts = {k: Tally([2, 1], pos=[3, 0], neg=[0, 3]) for k in range(10)}
    found = clustered_auc(parts)
    assert found.value == found.high == 1
    assert 0.6 < found.low < 0.9
    y = np.tile([0, 0, 1, 1], 10)
    both = {"good": y * 1.0, "bad": 1.0 - y, "copy": 2.0 * y}
    cluster = np.repeat(np.arange(10), 4)
    areas = trueness.compare_auc(y, both, cluster=cluster, margin=0.1)
    assert areas.pairs[0].p_value < 1e-3
    assert areas.p_value < 1e-2
    assert (areas.pairs[1].p_value, areas.pairs[1].p_equivalent) == (1, 0)
    shares = trueness.compare_metric(y, both, metric="recall", cluster=cluster)
    assert shares.pairs[0].p_value < 1e-3
    assert shares.pairs[1].p_value == 1
    assert shares.values[0].low < 0.95
    d = shares.pairs[1].difference
    assert d.low < 0 < d.high


def test_metrics_at_a_cut(rng):
    y, s, b, cluster = sample(rng, 20)
    found = trueness.at_threshold(y, s, 0.7, cluster=cluster)
    plain = trueness.at_threshold(y, s, 0.7)
    assert found.confusion.tp == plain.confusion.tp
    assert found.metrics.keys() == plain.metrics.keys()
    recall, parts = found["recall"], trueness.tally(y, s, by=cluster)
    assert recall.value == plain["recall"].value
    assert (
        trueness.at_threshold(sum(parts.values()), 0.7, cluster=parts)["recall"].low
        == recall.low
    )
    less = []  # leave out by hand
    for k in np.unique(cluster):
        kept = cluster != k
        less.append(np.mean(s[kept & (y == 1)] >= 0.7))
    m = len(less)
    sd = np.sqrt((m - 1) / m * np.sum((less - np.mean(less)) ** 2))
    assert recall.sd == pytest.approx(sd)
    two = trueness.compare_metric(
        y, {"a": s, "b": b}, metric="recall", thresholds=0.7, cluster=cluster
    )
    assert two.values[0].low == pytest.approx(recall.low)
    held = []
    for _ in range(120):
        y, s, _, cluster = sample(rng, 15, size=(3, 9))
        v = trueness.at_threshold(y, s, 1.19, metrics=["recall"], cluster=cluster)
        held.append(v["recall"].low <= 0.5 <= v["recall"].high)
    assert np.mean(held) > 0.88


def test_clusters_without_a_positive_are_no_part_of_a_recall(rng):
    cluster = np.repeat(np.arange(6), 10)
    y = np.isin(cluster, [1, 4]).astype(int)
    s = rng.integers(0, 2, y.size)
    s[cluster == 1], s[cluster == 4] = [1] * 7 + [0] * 3, [1] * 4 + [0] * 6
    found = trueness.at_threshold(y, s, 0.5, cluster=cluster)["recall"]
    # two clusters leave one degree of freedom; recall 0.4 and 0.7 with one left out
    whole = 11 / 20
    all_six = np.array([0.4, 0.7, *[whole] * 4])
    assert found.sd == pytest.approx(np.sqrt(5 / 6 * 6 * all_six.var()))
    wide = max(found.sd, np.sqrt((0.4 - 0.7) ** 2 / 4))
    half = stats.t(1).ppf(0.975) * wide / (whole * (1 - whole))
    want = 1 / (1 + np.exp(-np.log(whole / (1 - whole)) + half))
    assert found.low == pytest.approx(want)


def test_clusters_without_a_flagged_case_are_no_part_of_a_precision(rng):
    y, s, _, cluster = sample(rng, 6, size=(8, 12))
    cut = float(np.quantile(s, 0.7))
    dull = np.repeat([6, 7, 8], 5)  # nobody is flagged there
    more = [*y, *np.tile([0, 1, 0, 1, 0], 3)], [*s, *np.full(15, cut - 1)]
    asked = {"metrics": ["precision"]}
    alone = trueness.at_threshold(y, s, cut, cluster=cluster, **asked)["precision"]
    both = trueness.at_threshold(*more, cut, cluster=[*cluster, *dull], **asked)
    both = both["precision"]
    assert both.value == alone.value
    # the variance is (m - 1) / m of the sum of squares, and limits have the larger one
    assert (both.low, both.high) == pytest.approx((alone.low, alone.high), abs=0.03)
    assert both.low <= alone.low
    assert both.high >= alone.high


NOT_SHARES = ("lr_positive", "kappa", "markedness", "lift", "youden", "mcc")


@pytest.mark.parametrize("name", NOT_SHARES)
def test_metrics_that_are_no_shares_end_on_the_ellipsoid(rng, name):
    """By hand: the jackknife of three log odds, and very many points at that radius."""
    y, s, _, cluster = sample(rng, 7, size=(8, 12))
    flag, metric = s >= 0.6, trueness.METRICS[name]
    found = trueness.at_threshold(y, s, 0.6, cluster=cluster)[name]

    def odds(keep):  # of recall, of the false positive rate, of the share
        many = y.size / keep.sum()
        tp, fp, fn, tn = (many * (keep & (y == a) & (flag == b)).sum() + 0.5
                          for a, b in ((1, 1), (0, 1), (1, 0), (0, 0)))  # fmt: skip
        return np.log([tp / fn, fp / tn, (tp + fn) / (fp + tn)])

    def value(x):
        r, f, p = 1 / (1 + np.exp(-x.T))
        return metric(
            trueness.Confusion(p * r, (1 - p) * f, p * (1 - r), (1 - p) * (1 - f))
        )

    centre = odds(np.ones(y.size, bool))
    away = np.array([odds(cluster != c) for c in range(7)])
    away -= away.mean(axis=0)
    slope = (value(centre + 1e-5 * np.eye(3)) - value(centre - 1e-5 * np.eye(3))) / 2e-5
    change = away @ slope
    df = max(min(2 * (change @ change) ** 2 / (change**4).sum() - 1, 6), 1)
    root = np.linalg.cholesky(6 / 7 * away.T @ away)
    u = rng.normal(size=(300_000, 3))
    u *= stats.t.ppf(0.975, df) / np.linalg.norm(u, axis=1)[:, None]
    reached = value(centre + u @ root.T)
    ends = reached.min(), reached.max()
    assert (found.low, found.high) == pytest.approx(ends, rel=2e-3)
    wide = 1e-9 * (ends[1] - ends[0])  # chance finds no better point than the search
    assert found.low <= ends[0] + wide
    assert found.high >= ends[1] - wide
    assert found.name == name


def test_limits_of_metrics_that_say_the_same_agree(rng):
    y, s, _, cluster = sample(rng, 9)
    found = trueness.at_threshold(y, s, 0.5, cluster=cluster)
    ends = {k: np.array([found[k].low, found[k].high]) for k in found.metrics}
    assert ends["youden"] == pytest.approx(2 * ends["balanced_accuracy"] - 1, rel=1e-6)
    assert (ends["lift"] > 0).all()


def test_an_empty_cell_of_clusters_leaves_a_width(rng):
    y, s, _, cluster = sample(rng, 6, size=(8, 12))
    none = trueness.at_threshold(y, s, s.max() + 1, cluster=cluster)
    assert np.isnan(none["precision"].value)
    assert 0 < none["recall"].high < 1
    assert none["recall"].low == none["recall"].value == 0
    hard = float(s[y == 0].max()) + 1e-9  # no false positive
    found = trueness.at_threshold(y, np.append(s[:-1], hard + 1), hard, cluster=cluster)
    ratio = found["lr_positive"]
    assert ratio.value == ratio.high == np.inf or ratio.low > 0
    odds = found["diagnostic_odds_ratio"]
    assert 0 < odds.low < odds.high
    both = {"a": s, "b": y + 0.0, "c": y + 0.1}  # without a false positive
    for name in ("lr_positive", "flagged"):
        trueness.compare_metric(y, both, metric=name, thresholds=0.5, cluster=cluster)


def test_a_metric_of_clusters_may_be_below_zero(rng):
    """A classifier at chance must not look better than chance."""
    below = 0
    for _ in range(40):
        y, s, _, cluster = sample(rng, 6, auc=0.5, alike=0.8)
        if min(np.unique(cluster[y == k]).size for k in (0, 1)) > 1:
            found = trueness.at_threshold(y, s, 0.0, metrics=["mcc"], cluster=cluster)
            below += found["mcc"].low > 0
    assert below <= 4


def test_a_million_rows_in_seconds(rng):
    n = 200_000
    y = rng.random(n) < 0.3
    found = trueness.auc(y, rng.normal(size=n) + y, cluster=np.arange(n) // 10)
    assert "20,000 clusters" in found.notes[0]


def test_errors(rng):
    y, s, _, cluster = sample(rng, 10)
    with pytest.raises(trueness.NotEnoughCases, match="two clusters with positives"):
        trueness.auc(y, s, cluster=np.zeros(y.size))
    with pytest.raises(trueness.InputError, match="cluster= or by="):
        trueness.auc(y, s, cluster=cluster, by=cluster)
    with pytest.raises(trueness.InputError, match="mapping from cluster"):
        trueness.auc(trueness.tally(y, s), cluster=cluster)
    with pytest.raises(trueness.InputError, match="cluster= or prevalence="):
        trueness.at_threshold(y, s, 0.5, cluster=cluster, prevalence=0.1)
    frame = pd.DataFrame({"y": y, "s": s})
    with pytest.raises(trueness.InputError, match="no column 'who'"):
        trueness.auc(frame, label="y", score="s", cluster="who")


def patients(rng, m=30, size=8):
    """Draw cases of patients that share much of their score."""
    c = np.repeat(np.arange(m), size)
    y = (rng.random(c.size) < rng.beta(1, 1, m)[c]).astype(int)
    x = y + rng.normal(size=m)[c] + 0.5 * rng.normal(size=c.size)
    return c, y, 1 / (1 + np.exp(-x))


@pytest.mark.parametrize("band", [trueness.roc_band, trueness.precision_recall_band])
def test_bands_of_clusters_are_wider(rng, band):
    c, y, p = patients(rng)
    asked = {"points": 21, "replicates": 300, "method": "bootstrap"}
    own, plain = band(y, p, cluster=c, **asked), band(y, p, **asked)
    # clusters of one case: the same cases, but Student's quantile
    single = band(y, p, cluster=np.arange(y.size), **asked)
    inner = slice(5, 15)
    wide = {k: (b.high - b.low)[inner].mean() for k, b in
            (("own", own), ("plain", plain), ("single", single))}  # fmt: skip
    assert wide["own"] > 1.2 * wide["plain"]
    assert wide["single"] == pytest.approx(wide["plain"], rel=0.25)
    counted = band(trueness.tally(y, p), cluster=trueness.tally(y, p, by=c), **asked)
    assert np.array_equal(counted.low, own.low)


def test_a_band_of_clusters_is_drawn():
    t = trueness.Tally([2, 1], [3, 6], [6, 3])
    parts = {k: t for k in "abc"}
    with pytest.raises(trueness.InputError, match="draws whole clusters"):
        trueness.roc_band(t, cluster=parts, method="kolmogorov")


def test_the_calibration_line_leaves_out_clusters(rng):
    c, y, p = patients(rng)
    line = trueness.calibration_line(y, p, cluster=c)
    plain = trueness.calibration_line(y, p)
    assert line.slope.value == pytest.approx(plain.slope.value)
    # slow twin: fit without each cluster in turn; ours takes one Newton step
    without = np.array([
        [(f := trueness.calibration_line(y[c != k], p[c != k])).slope.value,
         f.intercept.value] for k in range(30)
    ])  # fmt: skip
    sd = np.sqrt(29 * without.var(axis=0))
    assert line.slope.sd == pytest.approx(sd[0], rel=0.15)
    assert line.intercept.sd == pytest.approx(sd[1], rel=0.1)
    assert line.intercept.sd > 1.3 * plain.intercept.sd
    # one case each: nearly the model's own variance
    alone = trueness.calibration_line(y, p, cluster=np.arange(y.size))
    assert alone.slope.sd == pytest.approx(plain.slope.sd, rel=0.3)


def test_few_clusters_are_left_out_of_the_slope_in_full(rng):
    y, s, _, cluster = sample(rng, 8, size=(10, 20))
    p = 1 / (1 + np.exp(-s))
    each = np.array([trueness.calibration_line(y[cluster != c], p[cluster != c])
                     .slope.value for c in range(8)])  # fmt: skip
    away = each - each.mean()
    found = trueness.calibration_line(y, p, cluster=cluster).slope
    assert found.sd == pytest.approx(np.sqrt(7 / 8 * away @ away))


def test_report_and_commands_take_clusters(rng, tmp_path):
    import json

    from typer.testing import CliRunner

    from trueness.cli import app

    c, y, p = patients(rng)
    file = tmp_path / "cases.csv"
    lines = [f"{k},{a},{b},{b * b}" for k, a, b in zip(c, y, p, strict=True)]
    file.write_text("\n".join(["id,y,p,q", *lines]))
    cols = ["--label", "y", "--score", "p", "--score", "q", "--cluster", "id"]
    run = CliRunner().invoke
    found = run(app, ["evaluate", str(file), *cols, "--json"])
    known = trueness.auc(y, p, cluster=c)
    ours = json.loads(found.stdout)["result"]["scores"]["p"]["auc"]
    assert (ours["low"], ours["high"]) == pytest.approx((known.low, known.high))
    assert "design effect" in run(app, ["evaluate", str(file), *cols]).stdout
    assert "share a value of id" in run(app, ["compare", str(file), *cols]).stdout
    bad = run(app, ["evaluate", str(file), *cols[:-1], "patient"])
    assert bad.exit_code
    page = trueness.report.html(y, {"p": p, "q": p * p}, cluster=c)
    assert "design effect" in page
    assert "Obuchowski" in page


def test_a_million_rows_of_clusters(rng):
    n = 10**6
    c, y = rng.integers(0, 10**5, n), rng.random(n) < 0.3
    s = rng.normal(size=n) + y
    a = trueness.auc(y, s, positive=True, cluster=c)
    # these clusters have nothing in common: as if the cases were alone
    alone = trueness.auc(y, s, positive=True)
    assert a.value == alone.value
    assert a.high - a.low == pytest.approx(alone.high - alone.low, rel=0.02)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_auc_without_each_cluster(rng, weighted):
    """The slow twin: scikit-learn's AUC of the cases of the other clusters."""
    from sklearn.metrics import roc_auc_score

    y, s, other, ids = sample(rng, 12)
    w = rng.exponential(size=y.size) + 0.1 if weighted else np.ones(y.size)
    scores = {"a": np.round(s, 1), "b": np.round(other)}
    code = np.unique(ids, return_inverse=True)[1].astype(float)
    panel = trueness.panel(y, {**scores, CLUSTER: code}, weight=w)
    found = auc_influence(clusters(panel, "auc")).change
    for k, score in enumerate(scores.values()):
        whole = roc_auc_score(y, score, sample_weight=w)
        for c in range(int(code.max()) + 1):
            left = code != c
            part = roc_auc_score(y[left], score[left], sample_weight=w[left])
            assert found[c, k] == pytest.approx(whole - part, abs=1e-12)


def test_clusters_that_agree_leave_a_width():
    y, s = np.tile([1, 1, 0, 0], 4), np.tile([0.9, 0.1, 0.2, 0.3], 4)
    found = trueness.at_threshold(
        y, s, 0.5, metrics=["recall"], cluster=np.repeat(range(4), 4)
    )["recall"]
    assert found.low < 0.3 < 0.7 < found.high


def weighted_rows():
    i = np.arange(1, 61)
    y, s = (i * 5 % 7 < 3).astype(int), (i * 3 % 19) / 19
    return y, s, 1 + (i * 7 % 11) / 2, i * 7 % 13


def test_weights_in_clusters_as_the_survey_package():
    """R: svydesign(ids = ~id, weights = ~w), survey 4.1: JK1 replicates, svytotal."""
    y, s, w, ids = weighted_rows()
    words = {"weight": w, "cluster": ids}
    found = trueness.at_threshold(y, s, 0.5, metrics=["recall", "precision"], **words)
    errors = [e.sd for e in found.metrics.values()]
    assert errors == pytest.approx([0.132190336184755, 0.0892294870729741], rel=1e-12)
    # the total of weights times placement values, less the AUC, of each class
    area = trueness.auc(y, s, **words)
    assert area.value == pytest.approx(0.493132617791523, rel=1e-12)
    assert area.sd == pytest.approx(0.078640654786648, rel=1e-12)


def test_ways_to_say_weights_and_clusters():
    y, s, w, ids = weighted_rows()
    want = trueness.auc(y, s, weight=w, cluster=ids)
    frame = pd.DataFrame({"y": y, "s": s, "w": w, "id": ids})
    words = {"label": "y", "score": "s", "weight": "w"}
    assert trueness.auc(frame, **words, cluster="id") == want
    parts = trueness.tally(frame, **words, by="id")
    found = trueness.auc(trueness.tally(frame, **words), cluster=parts)
    assert (found.low, found.high) == pytest.approx((want.low, want.high), rel=1e-12)
    for factor in (1e-9, 1e9):
        found = trueness.auc(y, s, weight=factor * w, cluster=ids)
        assert (found.low, found.high) == pytest.approx((want.low, want.high))
    plain = trueness.auc(y, s, cluster=ids)
    equal = trueness.auc(y, s, weight=np.full(60, 2.5), cluster=ids)
    assert (equal.low, equal.high) == pytest.approx((plain.low, plain.high), rel=1e-9)
    # whole weights are copies, which a cluster may hold
    copies = [np.repeat(c, (2 * w).astype(int)) for c in (y, s, ids)]
    found = trueness.auc(y, s, weight=2 * w, cluster=ids)
    same = trueness.auc(*copies[:2], cluster=copies[2])
    assert (found.low, found.high) == pytest.approx((same.low, same.high), rel=1e-9)


def test_every_analysis_of_clusters_takes_weights():
    y, s, w, ids = weighted_rows()
    s = (s + 0.02) / 1.05
    scores = {"a": s, "b": np.roll(s, 1)}
    words = {"weight": w, "cluster": ids}
    line = trueness.calibration_line(y, s, **words)
    assert line.slope.sd > 0
    for band in (trueness.roc_band, trueness.precision_recall_band):
        found = band(y, s, **words, replicates=100)
        assert (found.low <= found.high).all()
    assert trueness.compare_auc(y, scores, **words).pairs[0].difference.sd > 0
    asked = {"metric": "recall", "thresholds": 0.5}
    assert trueness.compare_metric(y, scores, **words, **asked).pairs[0].p_value > 0


def test_weighted_clusters_are_said_to_be_drawn(rng):
    y, c = rng.integers(0, 2, 80), np.arange(80) // 4
    data = {"weight": rng.exponential(size=80), "cluster": c}
    found = trueness.at_threshold(y, rng.normal(size=80) + y, 0.5, **data)
    assert "that clusters were drawn independently" in found.notes[0]


def test_what_no_cluster_showed_may_weigh_as_much_as_the_heaviest():
    """Twelve clusters without an error, one of which weighs four times as much."""
    y, s, c = np.tile([1, 0, 0], 12), np.tile([1.0, 0.0, 0.0], 12), np.arange(36) // 3
    heavy = {"weight": np.where(c == 3, 2.0, 0.5), "cluster": c}
    n = (2.0 + 11 * 0.5) / 2  # in units of the heaviest
    recall = trueness.at_threshold(y, s, 0.5, metrics=["recall"], **heavy)["recall"]
    assert recall.low == pytest.approx(stats.beta.ppf(0.025, n + 0.5, 0.5))
    # as for cases: nothing changes where all weigh the same, and all are wider here
    plain, equal = {"cluster": c}, {"cluster": c, "weight": np.full(36, 0.7)}
    for ask in (
        trueness.auc,
        lambda *x, **k: trueness.at_threshold(*x, 0.5, **k)["lr_positive"],
    ):
        assert ask(y, s, **equal).low == pytest.approx(ask(y, s, **plain).low)
        assert ask(y, s, **heavy).low < 0.9 * ask(y, s, **plain).low


def test_high_aucs_of_clusters_are_covered_and_not_too_wide(rng):
    """With much weight of a model of one case per cluster they were 13 errors wide."""
    found = []
    for _ in range(120):
        y, s, _, cluster = sample(rng, 10, auc=0.98, alike=0.1, size=(20, 40))
        found.append(trueness.auc(y, s, cluster=cluster))
    assert np.mean([e.low <= 0.98 <= e.high for e in found]) > 0.9
    error = np.std([e.value for e in found])
    assert np.median([e.high - e.low for e in found]) < 9 * error


def test_two_perfect_classifiers_of_clusters_are_no_copies(rng):
    y, cluster = np.tile([0, 0, 1, 1], 10), np.arange(40) // 4
    a, b = y + rng.random((2, 40)) / 2
    ask = {"cluster": cluster}
    gap = trueness.compare_auc(y, {"a": a, "b": b}, **ask).pairs[0].difference
    assert gap.low < -0.1 < 0 < 0.1 < gap.high
    gap = trueness.compare_auc(y, {"a": a, "b": 2 * a}, **ask).pairs[0].difference
    assert gap.low == gap.high == 0


def test_large_differences_near_one_reach_further_from_zero(rng):
    """The side of 0, and so the test of equality, are Student's; margins agree."""
    y, a, b, cluster = sample(rng, 8, auc=0.97, second=1.4)
    ask = {"cluster": cluster}
    found = trueness.compare_auc(y, {"a": a, "b": b}, **ask).pairs[0]
    gap = found.difference
    assert gap.value > 0.05
    assert gap.high - gap.value > 1.05 * (gap.value - gap.low)
    assert (found.p_value < 0.05) == (gap.low > 0)
    # the wrong way round: the mirror image, which is not inferior beyond its limit
    for factor, shown in ((0.99, False), (1.01, True)):
        margin = factor * gap.high
        pair = trueness.compare_auc(y, {"b": b, "a": a}, margin=margin, **ask).pairs[0]
        assert pair.difference.low == pytest.approx(-gap.high)
        assert pair.p_value == pytest.approx(found.p_value)
        assert (pair.p_noninferior < 0.025) == shown


def test_differences_near_one_are_covered(rng):
    """Symmetric limits held .10 in 82 % of such samples of five clusters."""
    shift, held = np.sqrt(2) * stats.norm.ppf([0.99, 0.89]), []
    while len(held) < 150:
        y, a, b, cluster = sample(rng, 5, 0.99, 0.6, (8, 9), shift[0] - shift[1])
        try:
            found = trueness.compare_auc(y, {"a": a, "b": b}, cluster=cluster)
        except trueness.NotEnoughCases:
            continue
        gap = found.pairs[0].difference
        held.append(gap.low <= 0.1 <= gap.high)
    assert np.mean(held) > 0.93


def test_differences_of_shares_near_one_reach_further_from_zero(rng):
    """As those of AUCs: towards 0 Student's limit, away from it that of both shares."""
    y, a, b, cluster = sample(rng, 14, auc=0.96, second=1.4)
    ask = {"metric": "recall", "thresholds": 0.3, "cluster": cluster}
    found = trueness.compare_metric(y, {"a": a, "b": b}, **ask)
    pair, gap = found.pairs[0], found.pairs[0].difference
    assert gap.value > 0.05
    assert gap.high - gap.value > 1.05 * (gap.value - gap.low)
    assert (pair.p_value < 0.05) == (gap.low > 0)
    for factor, shown in ((0.99, False), (1.01, True)):
        margin = factor * gap.high
        other = trueness.compare_metric(y, {"b": b, "a": a}, margin=margin, **ask)
        assert other.pairs[0].difference.low == pytest.approx(-gap.high)
        assert (other.pairs[0].p_noninferior < 0.025) == shown


def test_pairs_and_lines_as_the_survey_package():
    """R: svydesign(ids = ~id, weights = ~w) with JK1 replicates, survey 4.1.

    withReplicates of the differences, and svyglm(y ~ logit, family = quasibinomial).
    """
    y, s, w, ids = weighted_rows()
    p, words = (s + 0.02) / 1.05, {"weight": w, "cluster": ids}
    both, cut = {"a": p, "b": np.roll(p, 1)}, {"thresholds": 0.5}
    for metric, value, error in (
        ("recall", 0.0217391304347826, 0.125655506645677),
        ("precision", 0.00100684655658478, 0.0577314106604443),
    ):
        found = trueness.compare_metric(y, both, metric=metric, **cut, **words)
        gap = found.pairs[0].difference
        assert (gap.value, gap.sd) == pytest.approx((value, error), rel=1e-10)
    slope = trueness.calibration_line(y, p, **words).slope
    assert slope.value == pytest.approx(-0.00871858878972976, rel=1e-9)
    assert slope.sd == pytest.approx(0.224397945091299, rel=1e-8)


def test_a_band_of_perfect_clusters_has_a_height():
    """No redrawn curve varies, so that their quantile left none."""
    y, s, c = np.tile([1, 0, 0], 12), np.tile([1.0, 0.0, 0.0], 12), np.arange(36) // 3
    roc = trueness.roc_band(y, s, cluster=c, replicates=100)
    assert (roc.low[roc.fpr < 1] < 0.95).all()
    assert (roc.high[roc.fpr > 0] == 1).all()
    plain = trueness.roc_band(y, s, method="bootstrap", replicates=100)
    assert (plain.low[plain.fpr < 1] < 0.98).all()
