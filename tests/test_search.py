"""Words that people search for lead to the page that answers them.

Such words stand in ``docs/search_phrases.txt``, by page. The build adds them to the
index entries of the page, and the names that other libraries and professions use
(``docs/search_words.py``). How they are weighted
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
    "wisdom of crowds": "ensembles",
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
    "multiclass": "estimators",
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
    "best cut off point": "threshold",
    "roc curve confidence interval": "ranking_how_sure",
    "threshold for 90% recall": "threshold",
    "gold standard missing": "nogold",
    "compare two auc": "comparison",
    "confusion matrix calculator": "reports",
    "sample size diagnostic test": "ranking_planning",
    "spark": "scale",
    "bigquery table": "scale",
    "github workflow": "monitoring",
    "imbalanced classes": "ranking",
    "inter rater agreement": "evals",
    "labelling effort": "expected_labels",
    "verification bias": "sampling",
    "stratified sample weights": "sampling",
    "calibration plots": "calibration",
    "hosmer lemeshow": "calibration",
    "nnt": "threshold",
    "net benefit curve": "threshold",
    "pass@1": "evals",
    "judge bias": "nogold_judges",
    "multi-class": "estimators",
    "group fairness four fifths": "comparison_groups",
    "leaf confidence": "trees",
    "leakage function G(x)": "ranking",
    "0-1 ILP threshold": "threshold",
    "bootstrap auc": "ranking_how_sure",
    "roc auc p value": "comparison",
    "precision recall tradeoff": "threshold",
    "f1 score confidence interval": "ranking_how_sure",
    "overfitting threshold": "threshold",
    "gpt as a judge": "nogold_judges",
    "model ranking significance": "evals",
    "prompt a/b test": "evals",
    "how many annotations": "ranking_planning",
    "gini credit scoring": "ranking",
    "population stability": "monitoring",
    "scorecard validation": "ranking",
    "pd backtesting": "calibration",
    "default probabilities calibration": "calibration",
    "odds ratio": "reports",
    "positive likelihood ratio": "reports",
    "ppv low prevalence": "sampling",
    "rogan gladen estimator": "nogold_judges",
    "latent class models": "nogold",
    "multi reader multi case": "readers",
    "radiologist vs ai": "readers",
    "lesion level analysis": "sampling",
    "per-patient clustering": "sampling",
    "subgroup performance": "comparison_groups",
    "disparate impact analysis": "comparison_groups",
    "equal opportunity difference": "comparison_groups",
    "svydesign": "sampling",
    "replicate weights": "sampling",
    "parquet file": "data",
    "import csv file": "data",
    "excel sheet": "data_messy",
    "comma as decimal": "data_messy",
    "n/a values": "data_messy",
    "nan in scores": "data_messy",
    "fail build when auc drops": "monitoring",
    "pytest model quality": "monitoring",
    "exit codes": "command line",
    "install pip": "versions",
    "python 3.12": "versions",
    "roc in R": "the others",
    "vs scikit-learn": "the others",
    "cross validated auc": "estimators",
    "meta analysis of diagnostic tests": "sites",
    "hospital differences": "sites",
    "share counts between hospitals": "declarations",
    "ai act": "declarations",
    "stard checklist": "declarations",
    "pytorch tensors auc": "gpu",
    "isotonic vs platt": "calibration",
    "rank based probabilities": "fermi",
    "ensemble without labels": "ensembles",
    "minimum samples per leaf": "trees",
    "sequential testing": "monitoring",
    "threshold slider": "app",
    "roc convex hull": "ranking",
    "what cutoff should i use": "threshold",
    "auc 95% ci": "ranking_how_sure",
    "auc standard deviation": "ranking_how_sure",
    "is model a better than model b": "comparison",
    "roc comparison test": "comparison",
    "small sample size auc": "ranking_how_sure",
    "how many patients do i need": "ranking_planning",
    "imperfect reference test": "nogold",
    "false positives cost": "threshold",
    "alert fatigue capacity": "threshold",
    "rare outcome": "ranking",
    "weighted auc": "sampling",
    "oversampled training data": "sampling",
    "intraclass correlation": "sampling",
    "google sheets": "data",
    "json export": "reports",
    "feather arrow": "data",
    "read tsv": "data",
    "snowflake sql": "scale",
    "100 million rows": "scale",
    "torch metrics": "gpu",
    "validation set leakage": "estimators",
    "grid search scoring": "estimators",
    "rater disagreement kappa": "evals",
    "cohens kappa confidence interval": "evals",
    "agent benchmark error bars": "evals",
    "elo rating": "evals",
    "crowdsourced labels": "nogold",
    "soft voting": "ensembles",
    "concept drift alarm": "monitoring",
    "ks drift test": "monitoring",
    "weekly model report": "monitoring",
    "slope and intercept calibration": "calibration",
    "overconfident probabilities": "calibration",
    "bayes theorem base rate": "sampling",
    "eu ai act documentation": "declarations",
    "multi site study": "sites",
    "gender bias in model": "comparison_groups",
    "tree pruning confidence": "trees",
    "cut point analysis": "threshold",
    "roc auc interval python": "ranking_how_sure",
    "clopper pearson sensitivity": "ranking_how_sure",
    "paired roc curves test": "comparison",
    "noninferiority margin": "comparison",
    "krippendorf alpha": "evals",
    "judge agreement with humans": "nogold_judges",
    "hallucination rate estimate": "nogold_judges",
    "covid antibody seroprevalence": "nogold_judges",
    "no reference standard available": "nogold",
    "combine tests and or": "nogold",
    "posterior probability disease": "nogold",
    "credit default model gini": "ranking",
    "lift gain chart": "ranking",
    "precision recall auc": "ranking",
    "equal error rate biometrics": "ranking",
    "softmax calibration": "calibration",
    "temperature scaling neural network": "calibration",
    "brier skill": "calibration",
    "observed expected ratio": "calibration",
    "dca plot": "threshold",
    "cost sensitive learning": "threshold",
    "reject uncertain cases": "threshold",
    "k best alerts per day": "threshold",
    "survey design weights": "sampling",
    "multiple images per patient": "sampling",
    "case control ppv": "sampling",
    "delayed ground truth": "expected_labels",
    "performance drop without labels": "expected_labels",
    "gitlab pipeline check": "monitoring",
    "feature drift": "monitoring",
    "forest plot hospitals": "sites",
    "heterogeneity i2": "sites",
    "reader study ai assistance": "readers",
    "adverse impact": "comparison_groups",
    "csv with semicolons": "data_messy",
    "merge shards": "scale",
    "federated hospitals": "declarations",
    "license": "short answers",
    "merge hospitals without sharing rows": "short answers",
    "cite trueness": "short answers",
    "ties": "short answers",
    "lower scores mean positive": "short answers",
    "plot gallery": "gallery",
    "fermi-dirac distribution": "fermi",
    "rank-conditioned class probability": "kim",
    "class-conditioned rank probability": "kim",
    "FiDEL ensemble": "ensembles",
    "absence of a gold standard": "nogold",
    "logical combination of classifiers": "nogold",
    "conditional independence": "nogold",
    "bit code": "keith",
    "swine flu": "keith",
    "ranking criteria": "keith",
    "geometry of ROC": "sameni",
    "leakage function": "ranking",
    "class leakage": "sameni",
    "capacity constraint": "threshold",
    "iso-cost lines": "sameni",
    "levels of confidence and utility": "trees",
    "entropic binomial distribution": "trees",
    "entropic object": "zhang",
    "golf example": "zhang",
    "entropic maximum likelihood estimator": "zhang",
    "0-1 ILP formulation": "ramazi",
    "optimal accuracy threshold": "threshold",
    "Kim Stolovitzky 2021": "kim",
    "Keith Davey Boyd": "keith",
    "Sameni": "sameni",
    "Zhang 2024": "zhang",
    "Ramazi": "ramazi",
    "best cutoff value roc": "threshold",
    "sensitivity 95% specificity": "threshold",
    "net reclassification": "comparison",
    "delong p-value": "comparison",
    "superiority trial": "comparison",
    "auc confidence interval excel": "ranking_how_sure",
    "bootstrapped confidence intervals": "ranking_how_sure",
    "binomial exact ci": "ranking_how_sure",
    "power calculation for auc": "ranking_planning",
    "minimum number of events": "ranking_planning",
    "ks test credit": "ranking",
    "gains chart deciles": "ranking",
    "roc plot": "ranking",
    "skewed classes": "ranking",
    "recalibrate model new hospital": "calibration",
    "logistic calibration slope intercept": "calibration",
    "reliability curve": "calibration",
    "fairness audit": "comparison_groups",
    "equalized odds gap": "comparison_groups",
    "cronbach alpha": "evals",
    "swe-bench pass rate error bars": "evals",
    "llm evaluation statistics": "evals",
    "ai judge calibration human labels": "nogold_judges",
    "bayesian sensitivity specificity": "nogold",
    "dawid skene": "nogold",
    "rank aggregation": "ensembles",
    "stacked generalization": "ensembles",
    "propensity weights": "sampling",
    "partial verification bias": "sampling",
    "labels arrive late": "expected_labels",
    "nannyml cbpe": "expected_labels",
    "data drift detection": "monitoring",
    "release gate": "monitoring",
    "i-squared": "sites",
    "obuchowski": "readers",
    "small cells suppression": "declarations",
    "tripod ai": "declarations",
    "german csv decimal": "data_messy",
    "polars lazyframe": "scale",
    "streamlit dashboard": "app",
    "youden index cutoff python": "threshold",
    "sample size for sensitivity": "ranking_planning",
    "human labels llm judge bias correction": "nogold_judges",
    "sharing aggregate counts privacy": "declarations",
    "pr curve baseline": "ranking",
    "spectrum bias": "sampling",
    "imperfect reference standard": "nogold",
    "accuracy ratio cap curve": "ranking",
    "credit score cutoff approval rate": "threshold",
    "vintage backtest pd": "calibration",
    "noninferiority ai radiologist": "readers",
    "two readers consensus no ground truth": "nogold",
    "number needed to screen": "threshold",
    "fagan nomogram pretest probability": "sampling",
    "hui walter model": "nogold",
    "true prevalence from apparent prevalence": "nogold_judges",
    "horvitz thompson": "sampling",
    "estimate accuracy before labels arrive": "expected_labels",
    "shadow deployment comparison": "comparison",
    "champion challenger test auc": "comparison",
    "canary rollout sequential test": "monitoring",
    "paired test two llms": "evals",
    "win rate confidence interval": "evals",
    "bias audit nyc local law 144": "comparison_groups",
    "calibration within groups": "comparison_groups",
    "intersectional subgroups auc": "comparison_groups",
    "error rate balance": "comparison_groups",
    "calibration belt": "calibration",
    "leave one hospital out": "sites",
    "laplace smoothing leaf": "trees",
    "majority voting theorem": "ensembles",
    "wilson score interval proportion": "ranking_how_sure",
    "zero false negatives confidence interval": "ranking_how_sure",
    "fraud detection alert budget": "threshold",
    "risk coverage curve": "ranking",
    "comparing diagnostic tests same patients": "comparison",
    "relative sensitivity screening": "comparison",
    "eyes of the same patient": "sampling",
    "censored outcomes roc": "sampling",
    "is my model well calibrated test": "calibration",
    "loess calibration curve": "calibration",
    "crowdsourcing worker accuracy": "nogold",
    "how many human labels for llm judge": "nogold_judges",
    "clustered standard errors evals": "evals",
    "split plot reader study": "readers",
    "verify reported auc": "declarations",
    "hash of the data file": "declarations",
    "repeated cross validation confidence interval": "estimators",
    "what is a good auc": "ranking",
    "flip labels": "short answers",
    "multilevel data auc": "sampling",
    "adjusted count classify and count": "nogold_judges",
    "confidence sequence": "monitoring",
    "with and without cad": "readers",
    "changelog": "changes",
    "glossary": "glossary",
    "learn then test": "threshold",
    "post-stratification": "sampling",
    "minimum sensitivity 95% maximize specificity": "threshold",
    "test accuracy without reference standard": "nogold",
    "confidence interval for difference in auc": "comparison",
    "predictive values comparison test": "comparison",
    "statistical test for fairness": "comparison_groups",
    "api reference": "reference",
    # questions in full sentences
    "how do I correct the pass rate of an LLM judge": "nogold_judges",
    "how do I compare two models scored on different test sets": "comparison",
    "how do I change the confidence level": "ranking_how_sure",
    "how do I check fairness between groups": "comparison_groups",
    "how do I share my result without sharing data": "declarations",
    "is the p-value two-sided": "comparison",
    "can I use it with XGBoost": "estimators",
    "how do I plot a calibration curve": "calibration",
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
    "short answers": "faq",
    "changes": "changelog",
    "glossary": "words",
    "reference": "reference",
    "kim": "papers/kim2021",
    "keith": "papers/keith2012",
    "sameni": "papers/sameni2025",
    "zhang": "papers/zhang2024",
    "ramazi": "papers/ramazi",
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

    result = {phrase: site.evaluate(FIND, phrase)[:1] for phrase in FIRST_PAGES}
    site.goto((tmp_path / "search.html").as_uri() + "?q=gpt+as+a+judge")
    shown = site.locator("#search-results li a").first.get_attribute("href")

    site.close()

    assert shown.startswith("howto/nogold_judges.html")

    expected = {phrase: [page_of(page)] for phrase, page in FIRST_PAGES.items()}

    assert result == expected


def test_a_phrase_leads_to_one_page():
    phrases = [
        phrase.lower()
        for typed in search_words.phrases_of_pages().values()
        for phrase in typed
    ]

    assert len(phrases) > 600
    assert len(phrases) == len(set(phrases))


def test_every_entry_is_a_main_one():
    pages = {
        name: search_words.with_search_words(f"howto/{name}", text)
        for name, text in PAGES.items()
    }
    lines = [
        line for text in pages.values() for line in search_words.ENTRIES.findall(text)
    ]
    typed = [entry.strip() for line in lines for entry in line.split(",")]

    assert len(typed) > 1000
    assert [entry for entry in typed if not entry.startswith(MARK)] == []


def test_every_page_has_words_to_be_found_by():
    pages = set(search_words.phrases_of_pages())

    assert pages == set(PAGES) - {"index"}


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
    text = search_words.with_search_words(f"howto/{page}", PAGES[page])

    assert phrase in search_words.entries_of(text)
    assert phrase not in search_words.phrases_of_pages()[page]


def test_a_name_that_a_page_has_is_not_added_to_another():
    on_page = [e for text in PAGES.values() for e in search_words.entries_of(text)]
    added = [
        phrase for words in search_words.words_of_pages().values() for phrase in words
    ]

    entries = [entry.casefold() for entry in (*on_page, *added)]
    assert len(entries) == len(set(entries))
