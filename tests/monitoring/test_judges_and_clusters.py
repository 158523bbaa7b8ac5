"""Gates on rates from judges, on cases in clusters, and on paired AUCs."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import trueness
from trueness.cli._app import app


@pytest.fixture(scope="module")
def judged():
    rng = np.random.default_rng(2)
    n = 800
    good = rng.random(n) < 0.8
    luck = rng.random((n, 3))
    luck = np.where(rng.random((n, 1)) < 0.6, luck[:, :1], luck)  # they err together
    said = np.where(good[:, None], luck < 0.95, luck < 0.6).astype(int)
    human = np.where(np.arange(n) < 150, good.astype(float), np.nan)
    return pd.DataFrame({"a": said[:, 0], "b": said[:, 1], "c": said[:, 2], "y": human})


RATE = {"metric": "prevalence", "judges": ["a", "b", "c"], "labelled": "random"}


def test_a_rate_from_judges_with_labels(judged):
    p = trueness.panel(judged, label="y", scores=["a", "b", "c"])
    r = trueness.prevalence(p, labelled="random")
    high, low = np.quantile(r.draws, [0.95, 0.05])
    for bound, verdict in (
        (low - 0.01, "holds"), (r.value, "cannot tell yet"), (high + 0.01, "fails")
    ):  # fmt: skip
        found = trueness.check(p, [{**RATE, "at_least": bound}])
        assert found.verdict == verdict
    assert "from 3 judges, 150 labels" in found.verdicts[0].reason
    # the raw share, which is too high, would pass a bound that the truth does not meet
    raw = float(np.mean(judged[["a", "b", "c"]].to_numpy()))
    assert trueness.check(p, [{**RATE, "at_least": raw}]).verdict != "holds"


def test_the_same_in_a_contract(judged, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    judged.to_csv("judged.csv", index=False)
    rule = (
        'label = "y"\n[[require]]\nmetric = "prevalence"\njudges = ["a", "b", "c"]\n'
        'labelled = "{}"\nat_least = 0.5\n'
    )
    Path("q.toml").write_text(rule.format("random"))
    found = CliRunner().invoke(app, ["check", "q.toml", "judged.csv"])
    assert found.exit_code == 0, found.stdout + found.stderr
    Path("q.toml").write_text(rule.format("somehow"))
    found = CliRunner().invoke(app, ["check", "q.toml", "judged.csv"])
    assert found.exit_code == 2
    assert "(line 5)" in found.stderr
    assert '"by verdict"' in found.stderr


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"metric": "auc"}, "judges are for prevalence"),
        ({"by": "site"}, "leave out by"),
        ({"judges": []}, "labelled goes with judges"),
    ],
)
def test_mistakes_with_judges(more, message):
    t = trueness.Tally([1.0], pos=[1], neg=[1])
    with pytest.raises(trueness.InputError, match=message):
        trueness.check(t, [{**RATE, "at_least": 0.5, **more}])


def clustered(rng, patients=60, images=8, lift=1.4):
    """Images of a patient share most of their score."""
    y = np.repeat(rng.random(patients) < 0.5, images)
    own = np.repeat(rng.normal(size=patients), images)
    s = lift * y + 0.9 * own + 0.45 * rng.normal(size=y.size)
    return pd.DataFrame(
        {"y": y.astype(int), "s": s, "who": np.repeat(np.arange(patients), images)}
    )


def test_clusters_widen_the_limits_of_auc_and_recall(rng):
    d = clustered(rng)
    asked = ["auc >= 0.5", "recall >= 0.2 at 0.7", "brier <= 0.9"]
    d["s"] = 1 / (1 + np.exp(-d["s"]))
    t = trueness.tally(d, label="y", score="s")
    words = {"label": "y", "score": "s"}
    alone = trueness.check(t, asked, adjust="none").verdicts
    tied = trueness.check(d, asked, **words, cluster="who", adjust="none")
    for a, b in zip(alone, tied.verdicts, strict=True):
        assert a.value == pytest.approx(b.value)
        assert b.high - b.low > 1.5 * (a.high - a.low)
    expected = trueness.auc(d, **words, cluster="who", level=0.9)
    assert tied.verdicts[0].cases == 60
    assert tied.verdicts[0].low == pytest.approx(expected.low)
    assert tied.notes[0].startswith("Clusters are assumed to be independent")


def test_clusters_in_a_contract_with_groups_and_a_baseline(rng, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    d = clustered(rng)
    d["old"] = d["s"] + 0.1 * rng.normal(size=len(d))
    d["site"] = np.where(d["who"] % 2, "x", "y")
    d.to_parquet("p.parquet")
    Path("q.toml").write_text(
        'label = "y"\nscore = "s"\ncluster = "who"\nadjust = "none"\n'
        '[[require]]\nmetric = "auc"\nat_least = 0.5\nby = "site"\n'
        '[[require]]\nmetric = "auc"\nnot_worse_than = "old"\nmargin = 0.1\n'
    )
    found = CliRunner().invoke(app, ["check", "q.toml", "p.parquet"])
    assert found.exit_code == 0, found.stdout + found.stderr
    p = trueness.panel(d, label="y", scores=["s", "old"], cluster="who")
    rule = {"metric": "auc", "not_worse_than": "old", "margin": 0.1}
    v = trueness.check(p, [rule]).verdicts[0]
    c = trueness.compare_auc(p, level=0.9).pairs[0].difference
    assert (v.low, v.high) == pytest.approx((c.low, c.high))


def test_eight_cases_prove_no_equality():
    """Two scores that rank all of eight cases rightly may still differ."""
    y = [1, 1, 1, 0, 0, 0, 0, 0]
    p = trueness.panel(y, {"new": y, "old": y})
    rule = {"metric": "auc", "not_worse_than": "old", "margin": 0.1}
    assert trueness.check(p, [rule]).verdict == "cannot tell yet"


def test_a_margin_that_is_just_lost_is_rarely_called_held():
    """AUC .93 against .95 and a margin of .02, 40 positives among 400 cases."""
    rng = np.random.default_rng(11)
    rule = {"metric": "auc", "not_worse_than": "old", "margin": 0.02}
    held = 0
    for _ in range(300):
        y = rng.random(400) < 0.1
        s = np.sqrt(0.8) * rng.normal(size=400)
        s = s + np.sqrt(0.2) * rng.normal(size=(2, 400))
        p = trueness.panel(
            y.astype(int), {"new": s[0] + 2.087 * y, "old": s[1] + 2.326 * y}
        )
        held += trueness.check(p, [rule]).verdict == "holds"
    assert held <= 30  # 22 of a size of .075, standard deviation 4.5


def test_a_calibration_error_can_be_required():
    """It is the debiased one; it was an error of Python before."""
    t = trueness.Tally([0.9, 0.1], neg=[5, 45], pos=[45, 5])
    found = trueness.check(t, ["calibration_error <= 0.4"]).verdicts[0]
    e = trueness.calibration_error(t, level=0.9).debiased
    assert (found.value, found.high) == (e.value, e.high)
    assert found.verdict == "holds"


def test_weighted_cases(rng, tmp_path, monkeypatch):
    """The limits are those of the analyses themselves."""
    monkeypatch.chdir(tmp_path)
    y = rng.random(400) < 0.4
    d = pd.DataFrame({"y": y.astype(int), "s": rng.normal(size=400) + 1.5 * y})
    d["w"] = np.where(rng.random(400) < 0.5, 0.5, 3.0)
    t = trueness.tally(d, label="y", score="s", weight="w")
    found = trueness.check(t, ["auc >= 0.6", "recall >= 0.5 at 0.7"], adjust="none")
    a = trueness.auc(t, level=0.9)
    recall = trueness.at_threshold(t, 0.7, metrics=["recall"], level=0.9)["recall"]
    limits = [(v.value, v.low) for v in found.verdicts]
    assert limits == [(a.value, a.low), (recall.value, recall.low)]
    assert found.verdicts[0].cases == round(d.w.sum() ** 2 / (d.w**2).sum())
    part = trueness.partial_auc(t, fpr=(0, 0.1), corrected=True, level=0.9)
    found = trueness.check(t, ["partial_auc >= 0.5"]).verdicts[0]
    assert (found.value, found.low) == (part.value, part.low)
    d.to_parquet("p.parquet")
    rule = (
        'label = "y"\nscore = "s"\nweight = "w"\n{}[[require]]\nmetric = "auc"\n'
        "at_least = 0.6\n"
    )
    Path("q.toml").write_text(rule.format(""))
    said = CliRunner().invoke(app, ["check", "q.toml", "p.parquet", "--json"])
    assert said.exit_code == 0, said.stderr
    assert f"{a.low:.4g}"[:5] in said.stdout
    d["site"] = np.arange(400) % 40
    d.to_parquet("p.parquet")
    Path("q.toml").write_text(rule.format('cluster = "site"\n'))
    said = CliRunner().invoke(app, ["check", "q.toml", "p.parquet", "--json"])
    words = {"label": "y", "score": "s", "weight": "w"}
    low = trueness.auc(d, **words, cluster="site", level=0.9).low
    assert f"{low:.4g}"[:5] in said.stdout
    sites = trueness.tally(d, **words, cluster="site")
    assert trueness.check(sites, ["auc >= 0.6"]).verdicts[0].low == pytest.approx(low)


def test_a_contract_says_how_the_cases_came(rng, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    y = rng.random(400) < 0.4
    d = pd.DataFrame({"y": y.astype(float), "s": rng.normal(size=400) + 1.5 * y})
    d["site"] = np.arange(400) // 8
    d.to_parquet("p.parquet")
    rule = '[[require]]\nmetric = "precision"\nthreshold = 0.5\nat_least = 0.01\n'
    head = 'label = "y"\nscore = "s"\ncluster = "site"\nsampling = "case-control"\n'

    def said(text):
        Path("q.toml").write_text(text)
        return CliRunner().invoke(app, ["check", "q.toml", "p.parquet", "--json"])

    found = json.loads(said(f"{head}prevalence = 0.1\n{rule}").stdout)
    came = {"sampling": "case-control", "prevalence": 0.1, "cluster": d["site"]}
    want = trueness.precision(d["y"], d["s"], threshold=0.5, level=0.9, **came)
    assert found["result"]["verdicts"][0]["low"] == pytest.approx(want.low)
    assert found["columns"]["cluster"] == "site"
    assert found["design"]["prevalence"] == 0.1
    refused = said(head + rule)
    assert refused.exit_code == 2
    assert "depends on the prevalence" in refused.stderr
    refused = said(f"prevalence = 2\n{head}{rule}")
    assert "must be a share of positives" in refused.stderr
    share = rule.replace("precision", "prevalence").replace("threshold = 0.5\n", "")
    refused = said(head + share)
    assert "says it beforehand" in refused.stderr


def test_the_share_of_positives_allows_for_clusters():
    """Ten clusters of ten cases that are alike: as sure as ten cases."""
    y, site = np.repeat([1, 0] * 5, 10), np.repeat(np.arange(10), 10)
    t, alike = trueness.tally(y, y), trueness.tally(y, y, cluster=site)
    one, many = (
        trueness.check(x, ["prevalence >= 0.1"]).verdicts[0] for x in (alike, t)
    )
    assert one.value == many.value == 0.5
    assert one.high - one.low > 2.5 * (many.high - many.low)


def test_weighted_cases_against_a_baseline_on_the_same_cases(
    rng, tmp_path, monkeypatch
):
    """The limits are those of the paired comparisons; in files as in Python."""
    monkeypatch.chdir(tmp_path)
    y = rng.random(300) < 0.4
    d = pd.DataFrame({"y": y.astype(int)})
    for name, gap in (("s", 1.5), ("old", 1.2)):
        d[name] = rng.normal(size=300) + gap * y
    d["w"] = np.where(rng.random(300) < 0.5, 0.5, 3.0)
    p = trueness.panel(d, label="y", scores=["s", "old"], weight="w")
    asked = [
        {"metric": "auc", "not_worse_than": "old", "margin": 0.1},
        {"metric": "recall", "threshold": 0.5, "not_worse_than": "old", "margin": 0.1},
    ]
    found = trueness.check(p, asked, adjust="none").verdicts
    twins = [
        trueness.compare_auc(p, level=0.9),
        trueness.compare_metric(p, "recall", thresholds=0.5, level=0.9),
    ]
    for verdict, twin in zip(found, twins, strict=True):
        own = twin.pairs[0].difference
        assert (verdict.value, verdict.low) == pytest.approx((own.value, own.low))
        assert verdict.cases == round(d.w.sum() ** 2 / (d.w**2).sum())
    d.to_parquet("p.parquet")
    Path("q.toml").write_text(
        'label = "y"\nscore = "s"\nweight = "w"\nadjust = "none"\n'
        '[[require]]\nmetric = "auc"\nnot_worse_than = "old"\nmargin = 0.1\n'
    )
    said = CliRunner().invoke(app, ["check", "q.toml", "p.parquet", "--json"])
    assert said.exit_code in (0, 4, 5), said.stderr
    assert f"{found[0].low:.4g}"[:5] in said.stdout


def test_a_level_of_a_coin_is_refused():
    t = trueness.Tally([0.9, 0.1], neg=[5, 45], pos=[45, 5])
    with pytest.raises(trueness.InputError, match="must be above"):
        trueness.check(t, ["auc >= 0.5"], level=0.5)


def test_flagged_adds_weights_as_they_are():
    """Weights of 0.4, 0.4 and 2.9 were once cut to whole numbers, one by one."""
    t = trueness.tally([1, 0, 0, 1], [0.9, 0.8, 0.7, 0.1], weight=[0.4, 0.4, 2.9, 5])
    rule = {"metric": "flagged", "threshold": 0.5}
    found = trueness.check(t, [{**rule, "at_least": 3.6}, {**rule, "at_most": 3.69}])
    assert [v.verdict for v in found.verdicts] == ["holds", "fails"]
    assert found.verdicts[0].value == pytest.approx(0.4 + 0.4 + 2.9)
