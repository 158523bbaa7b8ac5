"""What other people call it: names of other libraries and professions.

One table for calls, one for parameters and metrics. Python, the shell, the page and the
documentation read both, so that whoever types a word of another field is told what to
type here.
"""

from __future__ import annotations

# what to type here, and its names in scikit-learn, pROC, yardstick, torchmetrics,
# epidemiology, credit scoring and machine learning
CALLS: dict[str, tuple[str, ...]] = {
    "evaluate(y_true, y_score)": (
        *("score", "summary", "classification", "metrics", "findings", "epi_tests"),
        *("two_by_two", "diagnostic_accuracy", "dxr", "model_performance"),
    ),
    "auc(y_true, y_score)": (
        *("roc_auc_score", "roc_auc", "auroc", "BinaryAUROC", "AUROC", "ci_auc"),
        *("roc_auc_vec", "binary_auroc", "ranking", "c_statistic", "c_index"),
        *("concordance", "concordance_index", "mann_whitney", "auc_score"),
    ),
    "gini(y_true, y_score)": (
        *("accuracy_ratio", "somers_d", "gini_coefficient", "scorecard"),
    ),
    "psi(reference, current)": (
        *("csi_index", "wasserstein", "js_divergence", "ks_drift", "stability_index"),
        "population_stability_index",
        "score_drift",
    ),
    "calibration.jeffreys_test(y_true, pd)": (
        "pd_backtest",
        "binomial_test",
        "jeffreys",
    ),
    "ks(y_true, y_score)": (
        *("ks_statistic", "kolmogorov_smirnov", "ks_2samp", "ks_test", "ks_score"),
    ),
    "decile_table(y_true, y_score)": (
        *("decile_analysis", "information_value", "weight_of_evidence", "woe"),
        *("gains_table", "deciles", "gain_table", "lift_table", "ks_table"),
    ),
    "partial_auc(y_true, y_score, fpr=0.1)": ("pauc", "partial_auc_score", "mcclish"),
    "roc(y_true, y_score)": ("roc_curve", "BinaryROC", "RocCurveDisplay"),
    "average_precision(y_true, y_score)": (
        *("average_precision_score", "pr_auc", "prauc", "auprc", "aupr", "auc_pr"),
        "BinaryAveragePrecision",
    ),
    "precision_recall(y_true, y_score)": (
        *("precision_recall_curve", "pr_curve", "BinaryPrecisionRecallCurve"),
    ),
    "best_threshold(y_true, y_score)": (
        *("cutpoint", "cut_point", "optimal_cut_point"),
        *("threshold", "cutpointr", "cutoff", "optimal_cutpoint", "optimal_cutoff"),
        *("optimal_threshold", "find_threshold", "integer_program", "ilp", "milp"),
    ),
    'best_threshold(y_true, y_score, maximize="recall", subject_to="fpr <= 0.1")': (
        *("tpr_at_fpr", "sensitivity_at_specificity", "recall_at_fpr"),
        "BinarySensitivityAtSpecificity",
    ),
    'best_threshold(y_true, y_score, maximize="recall", '
    'subject_to="precision >= 0.9")': (
        *("recall_at_precision", "precision_at_recall", "BinaryRecallAtFixedPrecision"),
    ),
    "confusion(y_true, y_score, 0.5)": (
        *("confusion_matrix", "conf_mat", "BinaryConfusionMatrix"),
        *("ConfusionMatrixDisplay", "crosstab", "contingency_table"),
    ),
    "indeterminate_results(y_true, results)": (
        *("three_by_two", "table_3x2", "equivocal", "inconclusive", "uninterpretable"),
        *("indeterminate", "intention_to_diagnose", "grey_zone"),
    ),
    "at_threshold(y_true, y_score, 0.5)": (
        *("classification_report", "coords", "precision_recall_fscore_support"),
    ),
    "estimate(y_true, y_score, statistic=f)": (
        *("bootstrap_ci", "bootstrapping"),
        *("bootstrap", "ci", "confint", "inference", "confidence_interval"),
    ),
    "compare_auc(y_true, {'a': a, 'b': b})": (
        *(
            "permutation_test",
            "wilcoxon",
            "auc_difference",
            "nri",
            "idi",
            "net_reclassification_improvement",
        ),
        *("roc_test", "delong_roc_test", "delong", "delong_test", "comparison"),
        *("compare_roc", "roc_compare"),
    ),
    "compare_metric(y_true, {'a': a, 'b': b}, \"accuracy\", method=\"mcnemar\")": (
        *("mcnemar", "mcnemar_test", "mcnemar_exact", "tango", "paired_proportions"),
    ),
    "compare_metric(y_true, {'a': a, 'b': b}, \"precision\", method=\"kosinski\")": (
        *("kosinski", "leisenring", "weighted_generalized_score", "pv_gs", "pv_wgs"),
        *("generalized_score_test", "compare_predictive_values"),
    ),
    "compare_metric(y_true, {'a': a, 'b': b}, \"recall\", effect=\"ratio\")": (
        *("relative_sensitivity", "relative_tpr", "relative_fpr", "rtpr", "rfpr"),
        *("relative_ppv", "relative_predictive_value", "pv_rpv", "sesp_rel"),
    ),
    'compare_groups(y_true, y_score, "selection_rate", threshold=0.5, by=group, '
    'effect="ratio", reference="highest")': (
        *("impact_ratio", "adverse_impact_ratio", "disparate_impact", "four_fifths"),
        *("four_fifths_rule", "adverse_impact", "demographic_parity"),
        *("demographic_parity_ratio", "selection_rate_ratio", "local_law_144"),
    ),
    'compare_groups(y_true, y_score, "recall", threshold=0.5, by=group)': (
        *("equal_opportunity_difference", "true_positive_rate_difference"),
        *("demographic_parity_difference", "equalized_odds_difference", "MetricFrame"),
        *("equalized_odds", "equal_opportunity", "smallest_group", "worst_group"),
    ),
    "calibrate(y_true, y_score)": (
        *("CalibratedClassifierCV", "calibration", "platt", "platt_scaling"),
        *(),
    ),
    "calibration_verdict(y_true, y_score)": ("is_calibrated", "calibrated"),
    'calibration_test(y_true, y_score, method="hosmer-lemeshow")': (
        *("hosmer_lemeshow", "hoslem_test", "hltest", "hl_test"),
    ),
    'calibration_test(y_true, y_score, method="spiegelhalter")': (
        *("spiegelhalter", "spiegelhalter_z"),
    ),
    "calibration_line(y_true, y_score)": (
        *("oe_ratio", "o_e_ratio", "eo_ratio", "observed_expected_ratio"),
        *("calibration_slope", "calibration_intercept", "val_prob", "cox_calibration"),
        "calibration_in_the_large",
    ),
    "reliability(y_true, y_score)": (
        *("calplot", "calibration_belt"),
        *("calibration_curve", "CalibrationDisplay", "reliability_diagram"),
        *("reliability_curve", "calibration_plot"),
    ),
    "calibration_error(y_true, y_score)": (
        *("BinaryCalibrationError", "expected_calibration_error", "ece"),
    ),
    "brier(y_true, y_score)": (
        *("brier_skill_score", "bss"),
        "brier_score_loss",
        "brier_class",
        "brier_score",
    ),
    "log_loss(y_true, y_score)": ("mn_log_loss", "cross_entropy", "logloss"),
    'log_loss(y_true, y_score, clip="scikit-learn")': ("clipped_log_loss",),
    "calibration.nagelkerke_r2(y_true, y_score)": (
        *("nagelkerke", "r2", "pseudo_r2", "r_squared"),
    ),
    "decision_curve(y_true, y_score)": (
        *("number_needed_to_treat", "nnt"),
        *("dca", "decision_curve_analysis", "dcurves"),
    ),
    "decision_curve(y_true, y_score).interventions_avoided": (
        *("net_interventions_avoided", "net_intervention_avoided"),
    ),
    "ranking.precision_recall_area(y_true, y_score)": (
        *("precrec", "prroc", "interpolated_pr_auc", "davis_goadrich"),
    ),
    "ranking.risk_coverage(y_true, y_score)": (
        *("risk_coverage_curve", "aurc", "selective_prediction", "reject_option"),
        "selective_risk",
    ),
    "gain_curve(y_true, y_score)": (
        *("lorenz", "lorenz_curve"),
        *("gains", "cumulative_gain", "cap", "cap_curve", "gain_chart", "gains_chart"),
    ),
    "lift_curve(y_true, y_score)": ("cumulative_lift", "plot_lift_curve", "lift_chart"),
    "fidel(panel) or trueness.compare_combiners(panel)": (
        *("combine", "ensemble", "ensembles", "stacking", "super_learner"),
    ),
    "latent_class(panel)": (
        *("weak_supervision", "snorkel", "crowdsourcing"),
        *("nogold", "hui_walter", "lca", "latent_class_analysis", "dawid_skene"),
        *("no_gold_standard", "imperfect_reference"),
    ),
    'prevalence(panel, labelled="random")': ("rogan_gladen", "ppi", "judge", "judges"),
    "rater_agreement(panel)": (
        *(
            "percent_agreement",
            "conger",
            "fleiss_kappa",
            "krippendorff",
            "krippendorff_alpha",
        ),
        *("kappa_score", "irr"),
    ),
    'rater_agreement(panel, method="gwet")': ("gwet", "gwet_ac1", "ac1"),
    'rater_agreement(panel, method="brennan-prediger")': (
        *("pabak", "brennan_prediger"),
    ),
    'rater_agreement(panel, method="cohen", weights="quadratic")': (
        *("weighted_kappa", "quadratic_weighted_kappa"),
    ),
    "head_to_head(first, second, winner)": (
        *("win_rate", "sign_test", "pairwise_preference", "arena"),
    ),
    "at_horizon(time, event, 5)": (
        *("ipcw", "censoring", "time_dependent_auc", "survival"),
    ),
    "attempts(frame)": ("evals", "evaluation_log"),
    "pass_at_k(attempts, 5)": ("estimate_pass_at_k", "passk"),
    "leaves(y_true, nodes)": ("trees", "leaf", "decision_tree"),
    "reader_study(frame)": (
        *("imrmc", "rjafroc"),
        "readers",
        "mrmc",
        "MRMC",
        "obuchowski_rockette",
    ),
    'across_sites(frame, "auc", site="hospital")': (
        *("sites", "meta_analysis", "metafor", "rma", "random_effects", "multicentre"),
    ),
    'check(y_true, y_score, requirements="auc >= 0.8")': (
        *("monitoring", "contract", "gate", "assert_metrics"),
    ),
    'watch("auc >= 0.8")': (
        *("cusum", "spc", "control_chart", "evidently"),
        "drift",
        "data_drift",
        "monitor",
        "drift_detection",
    ),
    "recall(y_true, y_pred)": (
        "true_positive_rate",
        *("recall_score", "BinaryRecall", "ppa", "tpr_score"),
    ),
    "specificity(y_true, y_pred)": (
        *("npa", "BinarySpecificity", "true_negative_rate"),
    ),
    "precision(y_true, y_pred)": ("precision_score", "BinaryPrecision"),
    "accuracy(y_true, y_pred)": ("accuracy_score", "BinaryAccuracy"),
    "f1(y_true, y_pred)": (
        *("BinaryF1Score", "F1Score", "f_meas", "f_score", "f_measure"),
        "dice_score",
    ),
    "f_beta(2)(y_true, y_pred)": ("fbeta_score", "fbeta", "BinaryFBetaScore"),
    "youden(y_true, y_pred)": (
        "bookmaker_informedness",
        "youden_index",
        "youdens_j",
        "j_index",
    ),
    "mcc(y_true, y_pred)": (
        "phi_coefficient",
        "matthews_corrcoef",
        "BinaryMatthewsCorrCoef",
    ),
    "kappa(y_true, y_pred)": (
        "cohens_kappa",
        "cohen_kappa_score",
        "BinaryCohenKappa",
    ),
    "multiclass_auc(y_true, scores)": (
        *("MulticlassAUROC", "multiclass_roc", "hand_till"),
    ),
    "multiclass_cost(y_true, scores, costs)": ("cost_matrix", "multiclass_costs"),
    "plan_auc(auc=0.8, half_width=0.05)": (
        "power_analysis",
        "power_roc_test",
        "sample_size",
        "power",
    ),
    "plan_rate(0.9, half_width=0.05)": (
        "power_prop_test",
        "pmsampsize",
        "sample_size_proportion",
    ),
    'tally(trueness.scan("cases.csv"), label="y", score="p")': (
        *("read_csv", "read_parquet", "read", "open", "data", "counts", "read_excel"),
    ),
    "plots.roc(y_true, y_score)": (
        "roc_plot",
        *("plot_roc", "ggroc", "plot_roc_curve", "plot", "plots"),
    ),
    'report(data, "report.html")': ("html_report", "reports"),
    'save_map(map, "map.json")': ("save", "dump"),
    'load_map("map.json")': ("load",),
    "estimators.Calibrator(model)": ("estimators",),
    "estimators.ThresholdClassifier(model)": (
        *("TunedThresholdClassifierCV", "FixedThresholdClassifier"),
    ),
    "fermi_dirac(n=100, n_pos=50, auc=0.9)": ("fermi", "chemical_potential"),
    "wisdom_of_crowds(panel)": ("borda", "rank_average", "mean_rank"),
    "best_combination(posterior)": ("logical_combination", "boolean_combination"),
    'best_threshold(y_true, y_score, maximize="recall", '
    'subject_to="cost(fp=1, fn=3) <= 800")': ("bounded_risk",),
    "ranking.leakage(y_true, y_score)": ("leakage_function",),
    'best_threshold(y_true, y_score, maximize="specificity", '
    'subject_to="recall >= 0.9")': (
        *("specificity_at_sensitivity", "specificity_at_recall", "fpr_at_tpr"),
    ),
    'best_threshold(y_true, y_score, maximize="precision", '
    'subject_to="flagged <= 500")': (
        *("precision_at_k", "recall_at_k", "top_k", "capacity"),
    ),
    'guaranteed_threshold(y_true, y_score, "recall >= 0.9")': (
        *("conformal", "conformal_prediction", "conformal_risk_control"),
        *("risk_control", "learn_then_test"),
    ),
    'estimate(y_true, y_score, statistic=f, method="jackknife")': ("jackknife",),
    "compare_auc(y_true, {'a': a, 'b': b}, margin=0.05)": (
        *("non_inferiority", "noninferiority", "equivalence", "equivalence_test"),
        "tost",
    ),
    'calibrate(y_true, y_score, method="isotonic")': (
        *("isotonic", "isotonic_regression", "isotonic_calibration"),
    ),
    'calibrate(y_true, y_score, method="temperature")': ("temperature_scaling",),
    'calibrate(y_true, y_score, method="beta")': ("beta_calibration",),
    'calibrate(y_true, y_score, method="venn-abers")': ("venn_abers",),
    "calibration_index(y_true, y_score)": (
        *("ici", "e50", "e90", "integrated_calibration_index"),
    ),
    "det(y_true, y_score)": ("det_curve", "eer", "equal_error_rate"),
    "ranking.fit_binormal(y_true, y_score)": (
        *("d_prime", "dprime", "signal_detection"),
    ),
    'metric("1 - precision")(y_true, y_pred)': ("false_discovery_rate", "fdr"),
    'metric("1 - npv")(y_true, y_pred)': ("false_omission_rate",),
    'metric("1 - accuracy")(y_true, y_pred)': (
        *("error_rate", "misclassification_rate", "zero_one_loss", "hamming_loss"),
    ),
    'metric("g_mean")(y_true, y_pred)': ("geometric_mean",),
    "fpr(y_true, y_pred)": ("fallout", "false_positive_rate", "false_alarm_rate"),
    "fnr(y_true, y_pred)": ("false_negative_rate",),
    "lr_positive(y_true, y_pred)": (
        *("likelihood_ratio", "positive_likelihood_ratio", "lr_plus"),
    ),
    "lr_negative(y_true, y_pred)": ("negative_likelihood_ratio", "lr_minus"),
    "balanced_accuracy(y_true, y_pred)": ("balanced_accuracy_score",),
    'at_threshold(y_true, y_score, threshold=0.5, method="exact")': (
        *("clopper_pearson", "exact_ci", "binom_test"),
    ),
    "at_threshold(y_true, y_score, threshold=0.5)": ("wilson", "wilson_ci"),
    "tally(y_true, y_score, cluster=patient)": (
        *("design_effect", "icc", "intraclass_correlation", "svydesign"),
        "survey_design",
    ),
    "tally(y_true, y_score, weight=w)": (
        *("ipw", "propensity", "sample_weights", "inverse_probability_weights"),
    ),
    "tally(None, y_score, unlabelled=map)": ("cbpe", "dle", "nannyml"),
    "cross_validate(model, X, y)": (
        *("cross_val_score", "kfold", "k_fold", "nested_cv", "cross_validation"),
    ),
    "summary_roc(studies)": (
        *("sroc", "hsroc", "reitsma", "metadta", "mada", "bivariate_meta_analysis"),
    ),
    "plots.site_forest(answer)": ("forest_plot",),
    "leaderboard(systems)": ("elo", "bradley_terry"),
    "latent_class(panel).log_bayes_factor": ("bayes_factor",),
}

# parameters, metrics and methods of Trueness, and what people type who know them from
# elsewhere
WORDS: dict[str, tuple[str, ...]] = {
    "level": ("conf", "confidence", "conf_level", "confidence_level", "ci", "alpha"),
    "rng": ("seed", "random_state"),
    "replicates": (
        *("bootstrap", "boot_n", "n_boot", "n_bootstrap", "n_bootstraps"),
        "n_resamples",
    ),
    "half_width": ("width",),
    "at_least": ("min", "minimum"),
    "at_most": ("max", "maximum"),
    "data": ("frame", "df"),
    "other": ("b",),
    "band": ("kind",),
    "method": ("rule", "kind"),
    "metric": ("scoring", "measure", "what"),
    "metrics": ("scoring", "metric", "measure", "measures"),
    "maximize": ("metric", "objective", "optimize", "criterion"),
    "minimize": ("cost", "costs", "cost_fp", "cost_fn"),
    "subject_to": ("constraint", "constraints"),
    "cluster": ("group", "groups", "clusters"),
    "by": ("group", "groups"),
    "weight": ("weights",),
    "score": ("scores",),
    "scores": ("score", "columns"),
    "label": ("labels", "target"),
    "y_true": ("labels", "target"),
    "y_score": ("y_pred", "y_prob", "y_hat", "probas"),
    "positive": ("pos", "event_level"),
    "auc": ("roc_auc", "auroc", "c_statistic", "concordance"),
    "average_precision": ("pr_auc", "prauc", "auprc", "aupr", "ap"),
    "recall": ("sens", "ppa", "hit_rate"),
    "specificity": ("spec", "npa", "tnr", "true_negative_rate"),
    "precision": ("positive_predictive_value",),
    "npv": ("negative_predictive_value",),
    "f1": ("f_score", "f_measure", "f1_score", "dice"),
    "youden": ("youden_index", "informedness", "j"),
    "platt": ("logistic",),
    "cv": ("folds", "n_splits"),
    "settings": ("memory_limit", "threads"),
}
