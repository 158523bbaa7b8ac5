"""Words that people search for lead to the page that answers them.

The pages name such words in ``{index}`` directives, and the build adds the names that
other libraries and professions use (``docs/search_words.py``). How they are weighted
stands in ``docs/_static/search_scores.js``; the search runs here as on the site, in a
browser.
"""

import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
sys.path.insert(0, str(DOCS))
import search_words  # noqa: E402 - beside the pages; documentation is no package

PAGES = {page.stem: page.read_text("utf-8") for page in DOCS.glob("howto/*.md")}
MARK = "!"

# what people type, and the page that must come first: of the how-to pages, or another
FIRST_PAGES = {
    "2x2 table": "reports",
    "McNemar": "comparison",
    "Excel": "data",
    "GitHub Action": "monitoring",
    "LLM judge human labels": "nogold_judges",
    "class imbalance": "ranking",
    "drift": "monitoring",
    "AUROC": "ranking",
    "c-statistic": "ranking",
    "confidence interval for AUC": "ranking_how_sure",
    "compare two ROC curves": "comparison",
    "DeLong test": "comparison",
    "sample size": "ranking_planning",
    "power analysis": "ranking_planning",
    "calibration curve": "calibration",
    "reliability diagram": "calibration",
    "expected calibration error": "calibration",
    "Hosmer-Lemeshow": "calibration",
    "Platt scaling": "calibration",
    "optimal threshold": "threshold",
    "Youden": "threshold",
    "decision curve": "threshold",
    "integer linear program": "threshold",
    "bounded risk": "threshold",
    "chemical potential": "fermi",
    "wisdom of crowds": "nogold",
    "logical combination": "nogold",
    "no gold standard": "nogold",
    "latent class": "nogold",
    "FiDEL": "ensembles",
    "fairness": "comparison_groups",
    "four fifths": "comparison_groups",
    "Gini": "ranking",
    "KS statistic": "ranking",
    "population stability index": "monitoring",
    "pass@k": "evals",
    "Cohen's kappa": "evals",
    "MRMC": "readers",
    "meta-analysis": "sites",
    "CBPE": "expected_labels",
    "survey weights": "sampling",
    "cross-validation": "estimators",
    "model card": "declarations",
    "STARD": "declarations",
    "sensitivity and specificity": "reports",
    "positive predictive value": "reports",
    "bootstrap": "ranking_how_sure",
    "standard error of AUC": "ranking_how_sure",
    "number of patients": "ranking_planning",
    "multiple testing": "comparison",
    "equivalence": "comparison",
    "cost-sensitive threshold": "threshold",
    "operating point": "threshold",
    "Pareto front": "threshold",
    "precision at k": "threshold",
    "abstain": "threshold",
    "specificity at fixed sensitivity": "threshold",
    "calibration in the large": "calibration",
    "label shift": "calibration",
    "log loss": "calibration",
    "probability of default": "calibration",
    "credit scoring": "ranking",
    "PR AUC": "ranking",
    "multiclass": "ranking",
    "signal detection": "ranking",
    "demographic parity": "comparison_groups",
    "statistical parity": "comparison_groups",
    "time-dependent AUC": "sampling",
    "several lesions per patient": "sampling",
    "effective sample size": "sampling",
    "delayed labels": "expected_labels",
    "active learning": "expected_labels",
    "Dawid-Skene": "nogold",
    "majority vote": "nogold",
    "prediction-powered inference": "nogold_judges",
    "Rogan-Gladen": "nogold_judges",
    "Fleiss kappa": "evals",
    "promptfoo": "evals",
    "concept drift": "monitoring",
    "unit test for model": "monitoring",
    "pytest": "monitoring",
    "BigQuery": "scale",
    "random forest": "trees",
    "forest plot": "sites",
    "multicentre study": "sites",
    "Jupyter notebook": "reports",
    "k-fold": "estimators",
    "privacy": "declarations",
    "stacking": "ensembles",
    "no code": "app",
}
FIND = """phrase => {
  const results = Search._performSearch(...Search._parseQuery(phrase));
  return results.map(result => result[0]).reverse();
}"""


# pages beside the how-to pages
OTHERS = {
    "the others": "comparison",
    "versions": "support",
    "command line": "_generated/cli",
    "gallery": "_generated/gallery",
}


def page_of(name):
    return OTHERS.get(name, f"howto/{name}")


@pytest.mark.slow
def test_a_phrase_leads_to_its_page_first(browser, tmp_path):
    # built anew: a second build forgets the index entries of unchanged pages
    build = ["-m", "sphinx", "-q", "-b", "html"]
    command = [sys.executable, *build, str(DOCS), str(tmp_path)]
    subprocess.run(command, check=True, capture_output=True)
    site = browser.new_page()
    site.goto((tmp_path / "search.html").as_uri())
    site.wait_for_function("typeof Search === 'object' && Search._index")

    found = {phrase: site.evaluate(FIND, phrase)[:1] for phrase in FIRST_PAGES}
    site.goto((tmp_path / "search.html").as_uri() + "?q=labels+of+a+judge+that+errs")
    shown = site.locator("#search-results li a").first.get_attribute("href")

    site.close()
    assert shown.startswith("howto/nogold_judges.html")
    wanted = {phrase: [page_of(page)] for phrase, page in FIRST_PAGES.items()}
    assert found == wanted


def test_an_entry_stands_on_one_page():
    entries = [
        entry.lower()
        for text in PAGES.values()
        for entry in search_words.entries_of(text)
    ]

    assert len(entries) > 500
    assert len(entries) == len(set(entries))


def test_every_entry_is_a_main_one():
    lines = [
        line for text in PAGES.values() for line in search_words.ENTRIES.findall(text)
    ]
    typed = [entry.strip() for line in lines for entry in line.split(",")]

    assert [entry for entry in typed if not entry.startswith(MARK)] == []


def test_every_page_has_words_to_be_found_by():
    without = [
        name for name, text in PAGES.items() if not search_words.entries_of(text)
    ]

    assert without == ["index"]


def test_names_of_other_libraries_lead_to_pages_that_are_there():
    pages = {page for _, page in search_words.phrases()}

    assert pages - set(PAGES) == set()


@pytest.mark.parametrize(
    ("phrase", "page"),
    [
        ("nnt", "threshold"),
        ("svydesign", "sampling"),
        ("fagan nomogram", "sampling"),
        ("hand till", "estimators"),
        ("clopper pearson", "ranking_how_sure"),
        ("leaf confidence", "trees"),
    ],
)
def test_a_page_gets_the_names_that_it_answers(phrase, page):
    text = search_words.with_search_words(page, PAGES[page])

    assert phrase in search_words.entries_of(text)
    assert phrase not in search_words.entries_of(PAGES[page])


def test_a_name_that_a_page_has_is_not_added_to_another():
    own = {e.lower() for text in PAGES.values() for e in search_words.entries_of(text)}

    added = [
        phrase for words in search_words.words_of_pages().values() for phrase in words
    ]

    assert [phrase for phrase in added if phrase.lower() in own] == []
