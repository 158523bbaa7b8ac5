"""Which analysis cannot use which of the five words of a sample, and why?

One table: analysis, then word, then a sentence. An analysis that is not listed takes
weights, clusters, case-control samples, another prevalence and labels missing at
random.
"""

from __future__ import annotations

_LIKELIHOOD = "Its likelihood is that of independent cases that count alike."
_RANKS = "It is fitted to the ranks of single cases."
_EXACT = "Its bound is exact for a number of independent cases."
_FOLDS = "It deals whole cases into folds."
_ONE_BY_ONE = "Its evidence is a product over single cases, one after another."
_MOMENTS = "Its moments are those of independent cases."
_COUNTED = "It counts, or draws, cases whose label is known."
_TOTALS = "It adds up the cases of groups, each with its own share of positives."
_ESTIMATED = "It estimates the share of positives of the cases as they came."
_STUDY = "Readers and cases are what a study draws, whatever their shares."
_ITEMS = "It counts items, and pairs of ratings, each as one."
_RATED = "It compares ratings with one another; the labels play no part."
_VOTES = "A panel has no single score that could say why a label is missing."

CANNOT: dict[str, dict[str, str]] = {}


def _add(names: str, **reasons: str) -> None:
    for name in names.split():
        CANNOT[name] = {**CANNOT.get(name, {}), **reasons}


_add("fermi_dirac midranks fidel wisdom_of_crowds", weight=_RANKS, cluster=_RANKS)
_add("best_single compare_combiners calibration_gain", weight=_FOLDS, cluster=_FOLDS)
_add("agreement", weight=_MOMENTS, cluster=_MOMENTS)
_add("latent_class plan_labels", weight=_LIKELIHOOD, cluster=_LIKELIHOOD)
_add("prevalence compare_prevalence", weight=_LIKELIHOOD)
_add("fit_binormal binormal_fit",
     weight=_LIKELIHOOD, cluster=_LIKELIHOOD, unlabelled=_LIKELIHOOD)  # fmt: skip
_add("kl_divergence", unlabelled="Its histogram is of labelled cases.")
_add("fermi_dirac", unlabelled=_RANKS)
_add("latent_class plan_labels prevalence compare_prevalence agreement",
     sampling=_ESTIMATED, prevalence=_ESTIMATED)  # fmt: skip
_add("guaranteed_threshold",
     weight=_EXACT, cluster=_EXACT, unlabelled=_EXACT)  # fmt: skip
_add("validate_threshold best_thresholds cost_curve",
     unlabelled=_COUNTED)  # fmt: skip
_add("group_thresholds",
     sampling=_TOTALS, prevalence=_TOTALS, unlabelled=_COUNTED)  # fmt: skip
_add("leaves", weight=_EXACT, cluster=_EXACT, sampling=_ESTIMATED,
     prevalence=_ESTIMATED, unlabelled=_COUNTED)  # fmt: skip
_add("reader_study", weight=_STUDY, cluster=_STUDY, sampling=_STUDY, prevalence=_STUDY,
     unlabelled=_COUNTED)  # fmt: skip
_add("rater_agreement", weight=_ITEMS, sampling=_RATED, prevalence=_RATED)
_add("watch", weight=_ONE_BY_ONE, cluster=_ONE_BY_ONE)
_add("compare_auc compare_metric compare dominates", unlabelled=_VOTES)
_add("calibration_error calibration_index calibration_test calibration_gain "
     "calibration_verdict reliability",
     unlabelled="It counts labelled cases.")  # fmt: skip
