"""Words that people search for lead to the page that answers them.

The pages name such words in ``{index}`` directives. The search of the documentation
gives a page with a matching entry a hundred points times the part of the entry that was
typed, which is more than any match in the text.
"""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
ENTRIES = {
    (entry.strip().lower(), page.relative_to(DOCS).with_suffix("").as_posix())
    for page in (DOCS / "howto").glob("*.md")
    for line in re.findall(r"^```\{index\} (.*)$", page.read_text("utf-8"), re.M)
    for entry in line.split(",")
}


def pages_found(phrase):
    """Return the pages of matching entries, the best match first."""
    typed = phrase.lower()
    matches = [
        (len(typed) / len(entry), page)
        for entry, page in ENTRIES
        if typed in entry and 2 * len(typed) >= len(entry)
    ]
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
    ],
)
def test_a_phrase_leads_to_its_page_first(phrase, page):
    assert pages_found(phrase)[:1] == [f"howto/{page}"]


def test_an_entry_stands_on_one_page():
    entries = [entry for entry, _ in ENTRIES]

    assert len(entries) == len(set(entries))
