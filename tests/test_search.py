"""Words that people search for lead to the page that answers them.

The pages name such words in ``{index}`` directives. The search of the documentation
gives a page with a matching main entry (``!drift``) a hundred points times the part of
the entry that was typed, which is more than any match in the text. Entries that are not
main ones come after all matches in texts. ``docs/_static/search_scores.js`` adds the
entries that have most of the words, in any order.
"""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
MARK = "!"
TYPED_ENTRIES = [
    (entry.strip(), page.relative_to(DOCS).with_suffix("").as_posix())
    for page in (DOCS / "howto").glob("*.md")
    for line in re.findall(r"^```\{index\} (.*)$", page.read_text("utf-8"), re.M)
    for entry in line.split(",")
]
ENTRIES = {(typed.removeprefix(MARK).lower(), page) for typed, page in TYPED_ENTRIES}
LEAST_OVERLAP = 0.6  # as in search_scores.js


def pages_found(phrase):
    """Return the pages of matching entries, the best match first."""
    typed = phrase.lower()
    matches = [
        (100 * len(typed) / len(entry), page)
        for entry, page in ENTRIES
        if typed in entry and 2 * len(typed) >= len(entry)
    ]
    asked = set(re.findall(r"\w+", typed))
    for entry, page in ENTRIES:
        words = set(re.findall(r"\w+", entry))
        overlap = 2 * len(asked & words) / (len(asked) + len(words))
        if overlap >= LEAST_OVERLAP:
            matches.append((60 * overlap, page))
    return [page for _, page in sorted(matches, key=lambda match: -match[0])]


@pytest.mark.parametrize(
    ("phrase", "page"),
    [
        ("2x2 table", "reports"),
        ("McNemar", "comparison"),
        ("Excel", "data"),
        ("GitHub Action", "monitoring"),
        ("LLM judge human labels", "nogold_judges"),
        ("class imbalance", "ranking"),
        ("drift", "monitoring"),
        ("AUROC", "ranking"),
        ("c-statistic", "ranking"),
        ("confidence interval for AUC", "ranking_how_sure"),
        ("compare two ROC curves", "comparison"),
        ("DeLong test", "comparison"),
        ("sample size", "ranking_planning"),
        ("power analysis", "ranking_planning"),
        ("calibration curve", "calibration"),
        ("reliability diagram", "calibration"),
        ("expected calibration error", "calibration"),
        ("Hosmer-Lemeshow", "calibration"),
        ("Platt scaling", "calibration"),
        ("optimal threshold", "threshold"),
        ("Youden", "threshold"),
        ("decision curve", "threshold"),
        ("integer linear program", "threshold"),
        ("bounded risk", "threshold"),
        ("chemical potential", "fermi"),
        ("wisdom of crowds", "nogold"),
        ("logical combination", "nogold"),
        ("no gold standard", "nogold"),
        ("latent class", "nogold"),
        ("FiDEL", "ensembles"),
        ("fairness", "comparison_groups"),
        ("four fifths", "comparison_groups"),
        ("Gini", "ranking"),
        ("KS statistic", "ranking"),
        ("population stability index", "monitoring"),
        ("pass@k", "evals"),
        ("Cohen's kappa", "evals"),
        ("MRMC", "readers"),
        ("meta-analysis", "sites"),
        ("CBPE", "expected_labels"),
        ("survey weights", "sampling"),
        ("cross-validation", "estimators"),
        ("model card", "declarations"),
        ("STARD", "declarations"),
        ("sensitivity and specificity", "reports"),
        ("positive predictive value", "reports"),
        ("bootstrap", "ranking_how_sure"),
        ("standard error of AUC", "ranking_how_sure"),
        ("number of patients", "ranking_planning"),
        ("multiple testing", "comparison"),
        ("equivalence", "comparison"),
        ("cost-sensitive threshold", "threshold"),
        ("operating point", "threshold"),
        ("Pareto front", "threshold"),
        ("precision at k", "threshold"),
        ("abstain", "threshold"),
        ("specificity at fixed sensitivity", "threshold"),
        ("calibration in the large", "calibration"),
        ("label shift", "calibration"),
        ("log loss", "calibration"),
        ("probability of default", "calibration"),
        ("credit scoring", "ranking"),
        ("PR AUC", "ranking"),
        ("multiclass", "ranking"),
        ("signal detection", "ranking"),
        ("demographic parity", "comparison_groups"),
        ("statistical parity", "comparison_groups"),
        ("time-dependent AUC", "sampling"),
        ("several lesions per patient", "sampling"),
        ("effective sample size", "sampling"),
        ("delayed labels", "expected_labels"),
        ("active learning", "expected_labels"),
        ("Dawid-Skene", "nogold"),
        ("majority vote", "nogold"),
        ("prediction-powered inference", "nogold_judges"),
        ("Rogan-Gladen", "nogold_judges"),
        ("Fleiss kappa", "evals"),
        ("promptfoo", "evals"),
        ("concept drift", "monitoring"),
        ("unit test for model", "monitoring"),
        ("pytest", "monitoring"),
        ("BigQuery", "scale"),
        ("random forest", "trees"),
        ("forest plot", "sites"),
        ("multicentre study", "sites"),
        ("Jupyter notebook", "reports"),
        ("k-fold", "estimators"),
        ("privacy", "declarations"),
        ("stacking", "ensembles"),
        ("no code", "app"),
    ],
)
def test_a_phrase_leads_to_its_page_first(phrase, page):
    assert pages_found(phrase)[:1] == [f"howto/{page}"]


def test_an_entry_stands_on_one_page():
    entries = [typed.lower() for typed, _ in TYPED_ENTRIES]

    assert len(entries) == len(set(entries))


def test_every_entry_is_a_main_one():
    assert [typed for typed, _ in TYPED_ENTRIES if not typed.startswith(MARK)] == []


def test_the_scores_of_a_search_are_those_of_the_page():
    scores = (DOCS / "_static" / "search_scores.js").read_text("utf-8")

    assert f"const LEAST_OVERLAP = {LEAST_OVERLAP};" in scores
