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


@pytest.fixture(scope="module")
def images():
    """Images of a patient share most of their score; some weigh more."""
    rng = np.random.default_rng(5)
    y = np.repeat(rng.random(60) < 0.5, 8)
    own = np.repeat(rng.normal(size=60), 8)
    d = pd.DataFrame({"y": y.astype(int), "who": np.repeat(np.arange(60), 8)})
    for name, lift in (("s", 1.4), ("old", 1.2)):
        d[name] = 1 / (
            1 + np.exp(-(lift * y + 0.9 * own + 0.45 * rng.normal(size=480)))
        )
    d["w"] = np.where(rng.random(480) < 0.5, 0.5, 3.0)
    d["site"] = np.where(d["who"] % 2, "x", "y")
    return d


DESIGNS = {
    "counted": {},
    "weighted": {"weight": "w"},
    "clustered": {"cluster": "who"},
    "both": {"weight": "w", "cluster": "who"},
    "case-control": {"cluster": "who", "sampling": "case-control", "prevalence": 0.1},
}
ASKED = [
    {"metric": "auc", "at_least": 0.5},
    {"metric": "brier", "at_most": 0.9},
    {"metric": "precision", "threshold": 0.7, "at_least": 0.01},
    {"metric": "auc", "not_worse_than": "old", "margin": 0.1},
    {"metric": "recall", "threshold": 0.7, "not_worse_than": "old", "margin": 0.1},
]


def toml(value):
    return json.dumps(value)


@pytest.mark.parametrize("design", DESIGNS)
def test_limits_are_those_of_the_analyses_in_python_and_in_files(
    design, images, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    words = DESIGNS[design]
    p = trueness.panel(images, label="y", scores=["s", "old"], **words)
    found = trueness.check(p, ASKED, adjust="none")
    precision = trueness.at_threshold(p["s"], 0.7, metrics=["precision"], level=0.9)
    own = [
        trueness.auc(p["s"], level=0.9),
        trueness.brier(p["s"], level=0.9),
        precision["precision"],
        trueness.compare_auc(p, level=0.9).pairs[0].difference,
        trueness.compare_metric(p, "recall", thresholds=0.7, level=0.9)
        .pairs[0]
        .difference,
    ]
    for k, (v, e) in enumerate(zip(found.verdicts, own, strict=True)):
        exact = design == "counted" and k == 2  # Clopper and Pearson's
        assert v.value == pytest.approx(e.value)
        assert exact or (v.low, v.high) == pytest.approx((e.low, e.high))
    if "cluster" in words:
        assert found.verdicts[0].cases == 60
        assert found.notes[0].startswith("Clusters are assumed to be independent")
    elif words:
        kish = round(images.w.sum() ** 2 / (images.w**2).sum())
        assert found.verdicts[0].cases == kish
    images.to_parquet("p.parquet")
    head = {"label": "y", "score": "s", "adjust": "none", **words}
    lines = [f"{k} = {toml(v)}" for k, v in head.items()]
    for one in ASKED:
        lines += ["[[require]]", *(f"{k} = {toml(v)}" for k, v in one.items())]
    Path("q.toml").write_text("\n".join(lines))
    done = CliRunner().invoke(app, ["check", "q.toml", "p.parquet", "--json"])
    said = json.loads(done.stdout)["result"]["verdicts"]
    for a, b in zip(said, found.verdicts, strict=True):
        assert (a["low"], a["high"]) == pytest.approx((b.low, b.high))


def test_clusters_widen_the_limits(images):
    words = {"label": "y", "score": "s"}
    for asked in ("auc >= 0.5", "recall >= 0.2 at 0.7", "prevalence >= 0.1"):
        t, tied = (
            trueness.tally(images, **words, **w) for w in ({}, {"cluster": "who"})
        )
        a, b = (trueness.check(x, asked).verdicts[0] for x in (t, tied))
        assert a.value == pytest.approx(b.value)
        assert b.high - b.low > 1.5 * (a.high - a.low)


@pytest.mark.parametrize(
    ("head", "metric", "message"),
    [
        ("", "precision", "depends on the prevalence"),
        ("prevalence = 2\n", "precision", "must be a share of positives"),
        ("", "prevalence", "says it beforehand"),
    ],
)
def test_a_contract_says_how_the_cases_came(
    head, metric, message, images, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    images.to_parquet("p.parquet")
    cut = "threshold = 0.5\n" if metric == "precision" else ""
    Path("q.toml").write_text(
        f'{head}label = "y"\nscore = "s"\nsampling = "case-control"\n'
        f'[[require]]\nmetric = "{metric}"\nat_least = 0.01\n{cut}'
    )
    refused = CliRunner().invoke(app, ["check", "q.toml", "p.parquet"])
    assert refused.exit_code == 2
    assert message in refused.stderr


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
