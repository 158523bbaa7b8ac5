"""A metric is added in one place and in the list of public names, and is everywhere."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import trueness
from trueness.metrics.definitions import METRICS, SYNONYMS

SOURCE = Path(trueness.__file__).parent
FDR = """
fdr = _ratio(
    "fdr",
    "Which share of the flagged cases is negative?",
    (0, 1, 0, 0),
    (1, 1, 0, 0),
    direction="lower",
    aliases=("false_discovery_rate",),
    words="false discovery rate",
    shown=True,
)
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A copy of the package in which somebody added a metric."""
    folder = tmp_path_factory.mktemp("copy")
    skip = shutil.ignore_patterns("__pycache__")
    shutil.copytree(SOURCE, folder / "trueness", ignore=skip)
    place = folder / "trueness" / "metrics" / "definitions.py"
    text = place.read_text()
    place.write_text(text.replace("\nnpv = _ratio(", FDR + "npv = _ratio(", 1))
    names = folder / "trueness" / "__init__.pyi"
    text = names.read_text()
    names.write_text(
        text.replace("    fpr as fpr,", "    fdr as fdr,\n    fpr as fpr,")
    )
    return folder


def run(copy, code, *args):
    environment = {**os.environ, "PYTHONPATH": str(copy)}
    command = [sys.executable, "-W", "ignore", "-c", code, *args]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_objective_constraint_limits_and_criterion(copy):
    code = """
import trueness as tr
t = tr.Tally([4, 3, 2, 1], neg=[0, 1, 1, 3], pos=[3, 2, 1, 0])
print(tr.best_threshold(t, minimize="fdr", subject_to=["recall >= 0.9"]).value)
best = tr.best_threshold(t, "recall", ["false_discovery_rate <= 0.2"])
print(best.confusion.tp, tr.fdr.title)
b = tr.bounds("fdr", t.coarse(2), threshold=3)
print(b.low, b.high)
p = tr.Panel(["A", "B", "C"], [[1, 1, 1], [0, 0, 0], [1, 1, 0], [0, 0, 1]],
             unknown=[90, 90, 9, 9])
print(tr.best_combination(tr.latent_class(p, rng=0), criterion="fdr").formula)
"""
    value, second, limits, formula = run(copy, code).splitlines()
    assert float(value) == 2 / 8  # two of the eight flagged at 2
    assert second.split(maxsplit=1) == ["5", "false discovery rate"]
    low, high = map(float, limits.split())
    assert low <= 1 / 6 <= high
    assert formula


def test_command_line(copy, tmp_path):
    file = tmp_path / "p.csv"
    rows = zip([1, 0, 1, 1, 0, 0], [0.9, 0.8, 0.7, 0.6, 0.2, 0.1], strict=True)
    file.write_text("y,p\n" + "".join(f"{y},{p}\n" for y, p in rows))
    code = "from trueness.cli._start import main; main()"
    options = ["--label", "y", "--score", "p", "--minimize", "fdr"]
    words = ["threshold", str(file), *options, "--subject-to", "recall >= 1", "--json"]
    found = json.loads(run(copy, code, *words))
    assert "fdr" in json.dumps(found)
    assert "0.25" in json.dumps(found)
    for words in (["threshold", "--minimize", "fdr"], ["evaluate", "--at", "0.5"]):
        words[1:1] = [str(file), *options[:4]]
        assert "false discovery rate" in run(copy, code, *words)


def test_report(copy):
    code = """
import numpy as np, trueness
y = np.arange(60) % 3 == 0
s = np.round(np.linspace(0, 1, 60) + y / 2, 2)
print(trueness.report.html(y, s))
"""
    page = run(copy, code)
    places = set(re.findall(r"<(\w+)[^>]*>false discovery rate</\1>", page))
    assert {"dt", "th"} <= places  # the read-out and the table of all metrics
    script = json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])
    columns = script["models"][0]["columns"]
    one = np.array(columns["precision"][1:]) + columns["fdr"][1:]
    np.testing.assert_allclose(one, 1, atol=1e-3)


def test_floats_and_whole_numbers_come_from_one_formula():
    rng = np.random.default_rng(0)
    for _ in range(50):
        tp, fp, fn, tn = (int(v) for v in rng.integers(1, 50, 4))
        c = trueness.Confusion(tp, fp, fn, tn)
        for m in METRICS.values():
            if m.exact is not None:
                over, under = m.exact(tp, fp, fn, tn)
                value = over / under
                if m.root:
                    value = np.copysign(abs(value) ** 0.5, value)
                assert float(m(c)) == pytest.approx(value, rel=1e-14)


def test_every_metric_tells_what_it_is():
    for name, m in METRICS.items():
        assert m.name == name
        assert m.question.endswith((")", "?"))
        assert m.shape != "unknown"
        assert m.title
        for alias in m.aliases:
            assert trueness.metric(alias) is m
            assert SYNONYMS[alias] == name
    assert [m.name for m in METRICS.values() if m.shown]
    assert trueness.recall.is_share
    assert not any(m.is_share for m in (trueness.f1, trueness.flagged, trueness.mcc))
