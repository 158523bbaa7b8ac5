"""A report on very many classifiers or groups shows some, and says so."""

import numpy as np

import trueness
from trueness.findings import subject
from trueness.findings.page import page_about


def test_the_best_classifiers_are_kept_in_their_order_with_the_one_that_is_wanted():
    y = np.arange(40) % 2
    noise = np.random.default_rng(0).normal(size=(40, 50))
    scores = {f"m{k}": y * k / 10 + noise[:, k] for k in range(50)}
    panel = trueness.panel(y, scores)
    areas = {n: trueness.auc(y, s).value for n, s in scores.items()}
    best = sorted(areas, key=areas.get)[-subject.MOST_MODELS :]
    kept, words = subject.strongest(panel, "")
    assert set(kept.names) == set(best)
    assert list(kept.names) == [n for n in panel.names if n in best]
    assert words == "the 20 of 50 scores with the highest AUC; 30 were left out"
    assert "m0" in subject.strongest(panel, "m0")[0].names
    assert subject.strongest(kept, "") == (kept, "")


def test_the_page_names_what_was_left_out(monkeypatch):
    monkeypatch.setattr(subject, "MOST_GROUPS", 2)
    groups = {
        g: trueness.simulate_tally(n, n // 2, 0.8, rng=n)
        for g, n in (("a", 30), ("b", 60), ("c", 40))
    }
    whole = groups["a"] + groups["b"] + groups["c"]
    page = page_about(whole, groups=groups)
    facts = dict(page.facts)
    assert facts["groups"] == "the 2 largest of 3; 1 were left out"
    table = next(s for s in page.findings if s.key == "groups").tables[0]
    assert [row[0] for row in table.rows] == ["b", "c"]
