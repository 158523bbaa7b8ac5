"""What other people call it: names of other libraries and professions.

One table for calls, one for parameters and metrics. Python, the shell, the page and the
documentation read both, so that whoever types a word of another field learns what to
type here. What Trueness does not compute stands in ``not_computed``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from trueness._core.not_computed import ABSENT, NEAREST

# what to type here, and its names in scikit-learn, pROC, yardstick, torchmetrics,
# epidemiology, credit scoring and machine learning
CALLS: dict[str, tuple[str, ...]] = {
    "evaluate(y_true, y_score)": (
        *("score", "summary", "classification", "metrics", "findings", "epi_tests"),
        *("two_by_two", "diagnostic_accuracy", "dxr", "model_performance", "describe"),
        *("evaluate_model", "metrics_report", "binary_metrics", "screening_test"),
        *("summarize", "benchmark_model"),
    ),
    "auc(y_true, y_score)": (
        *("c_stat", "auc_ci", "harrells_c", "mannwhitneyu", "roc_auc_score", "roc_auc"),
        *("auroc", "BinaryAUROC", "AUROC", "ci_auc", "roc_auc_vec", "binary_auroc"),
        *("ranking", "c_statistic", "c_index", "concordance", "concordance_index"),
        *("mann_whitney", "auc_score", "auc_roc", "rank_auc", "newcombe", "harrell_c"),
        *("cindex", "discrimination", "area_under_curve", "ROCAUC"),
    ),
    'auc(y_true, y_score, method="hanley-mcneil")': (*("hanley_mcneil", "hanley"),),
    'auc(y_true, y_score, method="delong")': (
        *("delong_ci", "delong_interval", "delong_variance"),
    ),
    "gini(y_true, y_score)": (
        *("gini_norm", "somers_dxy", "accuracy_ratio", "somers_d", "gini_coefficient"),
        *("scorecard", "gini_index", "power_statistic", "discriminatory_power"),
    ),
    "psi(reference, current)": (
        *("psi_index", "csi_index", "stability_index", "population_stability_index"),
        *("score_drift", "characteristic_stability_index", "population_stability"),
    ),
    "calibration.jeffreys_test(y_true, pd)": (
        *("pd_backtest", "binomial_test", "jeffreys"),
    ),
    "ks(y_true, y_score)": (
        *("ks_statistic", "kolmogorov_smirnov", "ks_2samp", "ks_test", "ks_score"),
        *("kolmogorov", "max_ks"),
    ),
    "decile_table(y_true, y_score)": (
        *("bad_rate_by_decile", "bad_rate", "decile_analysis", "gains_table"),
        *("deciles", "gain_table", "lift_table", "ks_table", "rank_ordering"),
        *("quantile_table", "ntile", "capture_rate"),
    ),
    "partial_auc(y_true, y_score, fpr=0.1)": (
        *("pauc", "partial_auc_score", "mcclish"),
    ),
    "roc(y_true, y_score)": (*("roc_curve", "BinaryROC", "RocCurveDisplay"),),
    "average_precision(y_true, y_score)": (
        *("map", "auc_prc", "ap_score", "average_precision_score", "pr_auc", "prauc"),
        *("auprc", "aupr", "auc_pr", "BinaryAveragePrecision"),
        *("mean_average_precision", "pr_area", "area_under_pr"),
    ),
    "precision_recall(y_true, y_score)": (
        *("precision_recall_curve", "pr_curve", "BinaryPrecisionRecallCurve"),
    ),
    "best_threshold(y_true, y_score)": (
        *("best_cutoff", "best_cutpoint", "max_youden", "optimal_operating_point"),
        *("operating_point", "cutpoint", "cut_point", "optimal_cut_point", "threshold"),
        *("cutpointr", "cutoff", "optimal_cutpoint", "optimal_cutoff"),
        *("optimal_threshold", "find_threshold", "integer_program", "ilp", "milp"),
        *("cutoff_value", "threshold_moving", "tune_threshold", "threshold_tuning"),
        *("closest_topleft", "roc01", "cut_off"),
    ),
    'best_threshold(y_true, y_score, maximize="recall", subject_to="fpr <= 0.1")': (
        *("tpr_at_fpr", "sensitivity_at_specificity", "recall_at_fpr"),
        *("BinarySensitivityAtSpecificity", "sens_at_spec", "fixed_fpr"),
        *("neyman_pearson", "recall_at_fixed_fpr", "partial_sensitivity"),
    ),
    'best_threshold(y_true, y_score, maximize="recall", '
    'subject_to="precision >= 0.9")': (
        *("recall_at_precision", "precision_at_recall", "BinaryRecallAtFixedPrecision"),
    ),
    "confusion(y_true, y_score, 0.5)": (
        *("confusion_table", "confusion_matrix", "conf_mat", "BinaryConfusionMatrix"),
        *("ConfusionMatrixDisplay", "crosstab", "contingency_table", "error_matrix"),
        *("tp_fp_fn_tn", "truth_table"),
    ),
    "indeterminate_results(y_true, results)": (
        *("three_by_two", "table_3x2", "equivocal", "inconclusive", "uninterpretable"),
        *("indeterminate", "intention_to_diagnose", "grey_zone"),
    ),
    "at_threshold(y_true, y_score, 0.5)": (
        *("classification_report", "coords", "precision_recall_fscore_support"),
        *("ci_thresholds", "threshold_metrics", "score_report"),
    ),
    "estimate(y_true, y_score, statistic=f)": (
        *("bootstrap_ci", "bootstrapping", "bootstrap", "ci", "confint", "inference"),
        *("confidence_interval", "percentile_bootstrap", "bootstrap_632"),
        *("custom_metric", "any_statistic"),
    ),
    "compare_auc(y_true, {'a': a, 'b': b})": (
        *("auc_difference", "roc_test", "delong_roc_test", "delong", "delong_test"),
        *("comparison", "compare_roc", "roc_compare", "paired_test"),
        *("significance_test", "compare_models", "model_comparison", "ci_difference"),
    ),
    "compare_metric(y_true, {'a': a, 'b': b}, \"recall\")": (
        *("compare_sensitivity", "compare_recall", "sensitivity_difference"),
        *("difference_of_proportions", "two_proportions"),
    ),
    "compare_metric(y_true, {'a': a, 'b': b}, \"accuracy\", method=\"mcnemar\")": (
        *("mcnemar", "mcnemar_test", "mcnemar_exact", "tango", "paired_proportions"),
        *("mcnemar_midp", "discordant_pairs"),
    ),
    "compare_metric(y_true, {'a': a, 'b': b}, \"precision\", method=\"kosinski\")": (
        *("kosinski", "leisenring", "weighted_generalized_score", "pv_gs", "pv_wgs"),
        *("generalized_score_test", "compare_predictive_values"),
    ),
    "compare_metric(y_true, {'a': a, 'b': b}, \"recall\", effect=\"ratio\")": (
        *("relative_sensitivity", "relative_tpr", "relative_fpr", "rtpr", "rfpr"),
        *("relative_ppv", "relative_predictive_value", "pv_rpv", "sesp_rel"),
        *("relative_recall",),
    ),
    'compare_groups(y_true, y_score, "selection_rate", threshold=0.5, '
    'by=group, effect="ratio", reference="highest")': (
        *("impact_ratio", "adverse_impact_ratio", "disparate_impact", "four_fifths"),
        *("four_fifths_rule", "adverse_impact", "demographic_parity"),
        *("demographic_parity_ratio", "selection_rate_ratio", "local_law_144"),
        *("statistical_parity", "statistical_parity_difference", "eighty_percent_rule"),
        *("bias_audit",),
    ),
    'compare_groups(y_true, y_score, "recall", threshold=0.5, by=group)': (
        *("equal_opportunity_difference", "true_positive_rate_difference"),
        *("demographic_parity_difference", "equalized_odds_difference", "MetricFrame"),
        *("equalized_odds", "equal_opportunity", "smallest_group", "worst_group"),
        *("fairness", "equalised_odds", "predictive_parity", "average_odds_difference"),
        *("aequitas", "fairlearn", "subgroup", "slices", "group_fairness"),
    ),
    "calibrate(y_true, y_score)": (
        *("sigmoid_calibration", "calibrated_classifier", "logistic_calibration"),
        *("CalibratedClassifierCV", "calibration", "platt", "platt_scaling"),
        *("recalibrate", "recalibration", "probability_calibration"),
        *("calibrated_probabilities", "isotonic_or_platt"),
    ),
    "calibration_verdict(y_true, y_score)": (
        *("is_calibrated", "calibrated", "overconfidence", "miscalibration"),
    ),
    'calibration_test(y_true, y_score, method="hosmer-lemeshow")': (
        *("hosmer_lemeshow", "hoslem_test", "hltest", "hl_test", "goodness_of_fit"),
        *("gof", "lemeshow"),
    ),
    'calibration_test(y_true, y_score, method="spiegelhalter")': (
        *("spiegelhalter", "spiegelhalter_z"),
    ),
    "calibration_line(y_true, y_score)": (
        *("citl", "calibration_intercept_and_slope", "oe", "oe_ratio", "o_e_ratio"),
        *("eo_ratio", "observed_expected_ratio", "calibration_slope"),
        *("calibration_intercept", "val_prob", "cox_calibration"),
        *("calibration_in_the_large", "expected_observed", "o_over_e"),
        *("standardized_mortality", "smr", "weak_calibration"),
        *("logistic_recalibration", "intercept"),
    ),
    "reliability(y_true, y_score)": (
        *("calplot", "calibration_belt", "calibration_curve", "CalibrationDisplay"),
        *("reliability_diagram", "reliability_curve", "calibration_plot"),
        *("calibration_curve_display",),
    ),
    "calibration_error(y_true, y_score)": (
        *("BinaryCalibrationError", "expected_calibration_error", "ece"),
        *("ece_debiased",),
    ),
    "brier(y_true, y_score)": (
        *("brier_scaled", "scaled_brier", "ipa", "brier_skill_score", "bss"),
        *("brier_score_loss", "brier_class", "brier_score", "brier_decomposition"),
        *("murphy_decomposition", "mean_squared_error", "mse", "corp"),
        *("quadratic_score",),
    ),
    "log_loss(y_true, y_score)": (
        *("bce", "binary_cross_entropy", "bce_loss", "mn_log_loss", "cross_entropy"),
        *("logloss", "ignorance_score", "logarithmic_score", "deviance", "nll"),
        *("negative_log_likelihood", "binary_crossentropy"),
    ),
    'log_loss(y_true, y_score, clip="scikit-learn")': (*("clipped_log_loss",),),
    "calibration.nagelkerke_r2(y_true, y_score)": (
        *("nagelkerke", "r2", "pseudo_r2", "r_squared"),
    ),
    "decision_curve(y_true, y_score)": (
        *("treat_all", "nb", "snb", "net_monetary_benefit", "dca"),
        *("decision_curve_analysis", "dcurves", "clinical_utility"),
        *("threshold_probability", "standardized_net_benefit"),
    ),
    "decision_curve(y_true, y_score).interventions_avoided": (
        *("net_interventions_avoided", "net_intervention_avoided"),
    ),
    "ranking.precision_recall_area(y_true, y_score)": (
        *("precrec", "prroc", "interpolated_pr_auc", "davis_goadrich"),
    ),
    "ranking.risk_coverage(y_true, y_score)": (
        *("risk_coverage_curve", "aurc", "selective_prediction", "reject_option"),
        *("selective_risk", "abstention", "accuracy_rejection"),
    ),
    "gain_curve(y_true, y_score)": (
        *("cumulative_response_curve", "cumulative_gains_curve", "lorenz"),
        *("lorenz_curve", "gains", "cumulative_gain", "cap", "cap_curve", "gain_chart"),
        *("gains_chart", "cumulative_accuracy_profile", "capture_curve"),
    ),
    "lift_curve(y_true, y_score)": (
        *("cumulative_lift", "plot_lift_curve", "lift_chart", "plot_lift"),
        *("uplift_by_decile",),
    ),
    "fidel(panel) or trueness.compare_combiners(panel)": (
        *("combine", "ensemble", "ensembles", "summa"),
    ),
    "latent_class(panel)": (
        *("bayesian_lca", "weak_supervision", "snorkel", "crowdsourcing", "nogold"),
        *("hui_walter", "lca", "latent_class_analysis", "dawid_skene"),
        *("no_gold_standard", "imperfect_reference", "crowd", "ground_truth"),
        *("noisy_labels",),
    ),
    'prevalence(panel, labelled="random")': (
        *("faithfulness", "hallucination", "misclassification_correction"),
        *("rogan_gladen", "ppi", "judge", "judges", "prediction_powered_inference"),
        *("true_prevalence", "apparent_prevalence", "quantification"),
        *("judge_alignment", "llm_judge", "llm_as_a_judge", "hallucination_rate"),
    ),
    "rater_agreement(panel)": (
        *("intercoder_reliability", "intercoder_agreement", "interobserver_agreement"),
        *("krippendorf_alpha", "kappa_score", "irr", "interrater_reliability"),
        *("inter_rater_reliability", "inter_annotator_agreement", "iaa"),
        *("annotator_agreement",),
    ),
    'rater_agreement(panel, method="fleiss")': (*("fleiss_kappa", "fleiss"),),
    'rater_agreement(panel, method="krippendorff")': (
        *("krippendorff", "krippendorff_alpha"),
    ),
    'rater_agreement(panel, method="conger")': (*("conger", "conger_kappa"),),
    'rater_agreement(panel, method="percent")': (
        *("percent_agreement", "raw_agreement"),
    ),
    'rater_agreement(panel, method="gwet")': (*("gwet", "gwet_ac1", "ac1"),),
    'rater_agreement(panel, method="brennan-prediger")': (
        *("pabak", "brennan_prediger"),
    ),
    'rater_agreement(panel, method="cohen", weights="quadratic")': (
        *("qwk", "linear_weighted_kappa", "weighted_kappa", "quadratic_weighted_kappa"),
    ),
    "head_to_head(first, second, winner)": (
        *("win_rate", "sign_test", "pairwise_preference", "arena", "preference_rate"),
        *("win_loss", "side_by_side"),
    ),
    "at_horizon(time, event, 5)": (
        *("ipcw", "censoring", "time_dependent_auc", "survival", "uno_c"),
        *("time_to_event", "time_roc", "survivalroc"),
    ),
    "attempts(frame)": (
        *("evals", "evaluation_log", "eval", "eval_log", "benchmark", "inspect_log"),
    ),
    "pass_rate(attempts)": (*("pass_at_1", "success_rate", "resolve_rate"),),
    "pass_at_k(attempts, 5)": (*("estimate_pass_at_k", "passk", "pass_k"),),
    "leaves(y_true, nodes)": (
        *("trees", "leaf", "decision_tree", "segments", "segment", "node"),
    ),
    "reader_study(frame)": (
        *("dorfman_berbaum_metz", "reader_auc", "multireader", "imrmc", "rjafroc"),
        *("readers", "mrmc", "MRMC", "obuchowski_rockette", "dbm", "hillis"),
        *("readers_vs_ai", "multi_reader"),
    ),
    'across_sites(frame, "auc", site="hospital")': (
        *("sites", "meta_analysis", "metafor", "rma", "random_effects", "multicentre"),
        *("random_effect", "heterogeneity", "i_squared", "tau_squared"),
        *("external_validation", "multicenter", "next_site", "dersimonian_laird"),
    ),
    'check(y_true, y_score, requirements="auc >= 0.8")': (
        *("monitoring", "contract", "gate", "assert_metrics", "quality_gate"),
        *("acceptance_test", "assert_auc", "expect", "thresholds_met"),
    ),
    'watch("auc >= 0.8")': (
        *("performance_drift", "model_monitoring", "cusum", "spc", "control_chart"),
        *("evidently", "drift", "data_drift", "monitor", "drift_detection", "adwin"),
        *("page_hinkley", "ddm", "nannyml_drift", "drift_report", "whylogs"),
        *("alibi_detect", "sequential_test", "monitor_model"),
    ),
    "recall(y_true, y_pred)": (
        *("hitrate", "hit_ratio", "recall_score", "BinaryRecall"),
        *("ppa", "tpr_score", "sensitivity_score", "tpr_metric", "pod"),
        *("probability_of_detection",),
    ),
    "specificity(y_true, y_pred)": (
        *("npa", "BinarySpecificity", "specificity_score"),
        *("tnr_score", "selectivity_score"),
    ),
    "precision(y_true, y_pred)": (
        *("precision_score", "BinaryPrecision", "ppv_score", "success_ratio"),
    ),
    "accuracy(y_true, y_pred)": (*("accuracy_score", "BinaryAccuracy"),),
    "f1(y_true, y_pred)": (
        *("BinaryF1Score", "F1Score", "f_meas", "dice_score"),
        *("dice_coefficient", "sorensen_dice"),
    ),
    "f_beta(2)(y_true, y_pred)": (
        *("f0_5", "f05", "fbeta_score", "fbeta", "BinaryFBetaScore", "f2_score"),
        *("f_beta_score",),
    ),
    "youden(y_true, y_pred)": (
        *("bookmaker_informedness", "youdens_j", "j_index"),
        *("true_skill_statistic", "tss", "peirce_skill_score", "delta_p"),
        *("informedness_score",),
    ),
    "mcc(y_true, y_pred)": (
        *("phi_coefficient", "matthews_corrcoef", "BinaryMatthewsCorrCoef"),
    ),
    "kappa(y_true, y_pred)": (
        *("cohen_kappa_score", "BinaryCohenKappa", "heidke", "hss"),
        *("heidke_skill_score", "chance_corrected_agreement"),
    ),
    "multiclass_auc(y_true, scores)": (
        *("MulticlassAUROC", "multiclass_roc", "hand_till", "auc_mu", "macro_auc"),
        *("ovo", "ovr"),
    ),
    "multiclass_cost(y_true, scores, costs)": (*("cost_matrix", "multiclass_costs"),),
    "plan_auc(auc=0.8, half_width=0.05)": (
        *("power_analysis", "power_roc_test", "sample_size", "power", "plan"),
        *("sample_size_auc", "samplesize", "n_needed", "power_roc", "obuchowski_power"),
    ),
    "plan_rate(0.9, half_width=0.05)": (
        *("power_prop_test", "pmsampsize", "sample_size_proportion"),
        *("sample_size_sensitivity", "buderer"),
    ),
    'tally(trueness.scan("cases.csv"), label="y", score="p")': (
        *("read_csv", "read_parquet", "read", "open", "data", "counts", "read_excel"),
        *("read_sql", "load_data", "read_table", "import_data", "load_csv"),
    ),
    "plots.roc(y_true, y_score)": (
        *("roc_plot", "plot_roc", "ggroc", "plot_roc_curve", "plot", "plots"),
        *("roc_curve_plot", "plot_auc", "roc_figure", "figure"),
    ),
    'report(data, "report.html")': (
        *("html_report", "reports", "dashboard", "pdf", "export"),
    ),
    'save_map(map, "map.json")': (*("save", "dump"),),
    'load_map("map.json")': (*("load",),),
    "estimators.Calibrator(model)": (*("estimators",),),
    "estimators.ThresholdClassifier(model)": (
        *("predict_proba", "decision_threshold", "fit", "predict", "transform"),
        *("train", "TunedThresholdClassifierCV", "FixedThresholdClassifier"),
    ),
    "fermi_dirac(n=100, n_pos=50, auc=0.9)": (
        *("fermi", "chemical_potential", "inverse_temperature", "maximum_entropy"),
        *("rank_to_probability", "fermi_level"),
    ),
    "wisdom_of_crowds(panel)": (
        *("borda", "rank_average", "mean_rank", "wisdom", "rank_aggregation"),
        *("averaging",),
    ),
    "best_combination(posterior)": (
        *("logical_combination", "boolean_combination", "and_or_rule"),
        *("parallel_testing", "serial_testing", "believe_the_positive"),
    ),
    'best_threshold(y_true, y_score, maximize="recall", subject_to="cost(fp=1, '
    'fn=3) <= 800")': (*("bounded_risk",),),
    "ranking.leakage(y_true, y_score)": (*("leakage_function",),),
    'best_threshold(y_true, y_score, maximize="specificity", '
    'subject_to="recall >= 0.9")': (
        *("fpr95", "fpr_at_95_recall", "specificity_at_sensitivity"),
        *("specificity_at_recall", "fpr_at_tpr", "spec_at_sens"),
    ),
    'best_threshold(y_true, y_score, maximize="precision", '
    'subject_to="flagged <= 500")': (
        *("precision_at_k", "recall_at_k", "top_k", "capacity", "precision_at_n"),
        *("hit_rate_at_k", "top_n", "budget", "alert_budget"),
    ),
    'guaranteed_threshold(y_true, y_score, "recall >= 0.9")': (
        *("conformal", "conformal_prediction", "conformal_risk_control"),
        *("risk_control", "learn_then_test"),
    ),
    'estimate(y_true, y_score, statistic=f, method="jackknife")': (*("jackknife",),),
    "compare_auc(y_true, {'a': a, 'b': b}, margin=0.05)": (
        *("non_inferiority", "noninferiority", "equivalence", "equivalence_test"),
        *("tost", "superiority"),
    ),
    'calibrate(y_true, y_score, method="isotonic")': (
        *("isotonic", "isotonic_regression", "isotonic_calibration"),
    ),
    'calibrate(y_true, y_score, method="temperature")': (
        *("temperature_scaling", "temperature"),
    ),
    'calibrate(y_true, y_score, method="histogram")': (*("histogram_binning",),),
    'calibrate(y_true, y_score, method="beta")': (*("beta_calibration",),),
    'calibrate(y_true, y_score, method="venn-abers")': (*("venn_abers",),),
    "calibration_index(y_true, y_score)": (
        *("ici", "e50", "e90", "integrated_calibration_index"),
    ),
    "det(y_true, y_score)": (
        *("far", "frr", "false_acceptance_rate", "false_rejection_rate", "det_plot"),
        *("det_curve", "eer", "equal_error_rate", "miss_rate_curve"),
    ),
    "ranking.fit_binormal(y_true, y_score)": (
        *("d_prime", "dprime", "signal_detection"),
    ),
    'metric("1 - balanced_accuracy")(y_true, y_pred)': (
        *("balanced_error", "balanced_error_rate", "ber"),
    ),
    'metric("1 - precision")(y_true, y_pred)': (
        *("false_alarm_ratio", "false_discovery_rate", "fdr"),
    ),
    'metric("1 - npv")(y_true, y_pred)': (*("false_omission_rate",),),
    'metric("1 - accuracy")(y_true, y_pred)': (
        *("error_rate", "misclassification_rate", "zero_one_loss", "hamming_loss"),
    ),
    'metric("g_mean")(y_true, y_pred)': (*("geometric_mean",),),
    "fpr(y_true, y_pred)": (*("fallout", "false_alarm_rate"),),
    "fnr(y_true, y_pred)": (*("false_negative_proportion", "type_ii_error"),),
    "lr_positive(y_true, y_pred)": (*("likelihood_ratio", "lr_pos"),),
    "lr_negative(y_true, y_pred)": (*("lr_neg",),),
    "balanced_accuracy(y_true, y_pred)": (*("balanced_accuracy_score",),),
    'at_threshold(y_true, y_score, threshold=0.5, method="exact")': (
        *("clopper_pearson", "exact_ci", "binom_test", "clopper"),
    ),
    "at_threshold(y_true, y_score, threshold=0.5)": (
        *("wilson", "wilson_ci", "wilson_interval", "proportion_ci"),
    ),
    "tally(y_true, y_score, cluster=patient)": (
        *("deff", "clustered_data", "per_lesion", "per_patient", "design_effect"),
        *("svydesign", "survey_design", "cluster_bootstrap", "repeated_measures"),
    ),
    "tally(y_true, y_score, weight=w)": (
        *("survey_weights", "weighted_auc", "ipw", "propensity", "sample_weights"),
        *("inverse_probability_weights",),
    ),
    "tally(None, y_score, unlabelled=map)": (
        *("cbpe", "dle", "nannyml", "performance_estimation", "unlabelled_performance"),
        *("expected_performance", "estimate_performance", "without_labels"),
    ),
    "cross_validate(model, X, y)": (
        *("cv", "repeated_kfold", "cross_val_score", "kfold", "k_fold", "nested_cv"),
        *("cross_validation", "cross_val_predict", "StratifiedKFold"),
    ),
    "summary_roc(studies)": (
        *("sroc", "hsroc", "reitsma", "metadta", "mada", "bivariate_meta_analysis"),
    ),
    "plots.site_forest(answer)": (*("forest_plot",),),
    "leaderboard(systems)": (*("ranking_of_models", "chatbot_arena"),),
    "latent_class(panel).log_bayes_factor": (*("bayes_factor",),),
    "pass_hat_k(attempts, 3)": (
        *("pass_power_k", "all_pass", "consistency", "reliability_at_k"),
    ),
    "compare_runs({'new': a, 'old': b})": (
        *("compare_llms", "compare_prompts", "ab_test"),
    ),
    "npv(y_true, y_pred)": (*("npv_score",),),
    'metric("jaccard")(y_true, y_pred)': (
        *("jaccard_score", "jaccard_index", "critical_success_index"),
        *("intersection_over_union",),
    ),
    'metric("lift")(y_true, y_pred)': (*("lift_score", "lift_ratio"),),
    "plots.precision_recall(y_true, y_score)": (
        *("plot_precision_recall_curve", "plot_pr", "pr_plot"),
    ),
    "plots.reliability(y_true, y_score)": (
        *("plot_calibration", "plot_reliability", "plot_calibration_curve"),
    ),
    "plots.score_distributions(y_true, y_score)": (
        *("score_distribution", "histogram", "score_histogram", "density_plot"),
        *("plot_scores",),
    ),
    "declare(y_true, y_score)": (
        *("model_card", "datasheet", "stard", "tripod", "transparency_report"),
    ),
    "look(frame)": (
        *("data_quality", "profile", "info", "eda", "head", "columns", "inspect_data"),
    ),
    'milp_program(y_true, y_score, maximize="f1")': (
        *("integer_programming", "linear_program", "linear_programming", "mip"),
    ),
    'best_threshold(y_true, y_score, minimize="cost(fp=1, fn=5)")': (
        *("cost_sensitive", "expected_cost", "misclassification_cost"),
        *("expected_utility", "profit_curve", "profit", "cost_benefit"),
    ),
    'best_thresholds(y_true, y_score, minimize="cost(fp=1, fn=10, defer=0.3)")': (
        *("triage", "defer", "abstain", "three_way_decision", "two_thresholds"),
        *("human_in_the_loop",),
    ),
    'validate_threshold(y_true, y_score, maximize="f1")': (
        *("optimism", "optimism_bootstrap", "optimism_corrected", "out_of_bag"),
    ),
    "at_prevalence(map, old=0.3, new=0.05)": (
        *("prior_correction", "prior_shift", "label_shift", "saerens"),
        *("prior_probability_shift", "intercept_correction"),
    ),
    "plan_items({'A': a, 'B': b}, difference=0.03)": (
        *("how_many_items", "eval_power", "n_items"),
    ),
    "plan_labels(panel, half_width=0.03)": (
        *("active_learning", "label_budget", "how_many_labels", "labelling_budget"),
    ),
    "plan_readers(study, difference=0.05)": (
        *("mrmc_power", "reader_power", "how_many_readers"),
    ),
    'tipping_point(tally, "recall >= 0.8 at 0.5")': (*("sensitivity_analysis",),),
    "ranking.hull(curve)": (*("convex_hull", "roc_hull", "rocch", "roc_convex_hull"),),
    'pareto(y_true, y_score, ["recall", "precision"])': (
        *("pareto_front", "pareto_frontier", "multi_objective"),
    ),
    'group_thresholds(y_true, y_score, by=group, subject_to="recall_gap <= 0.02")': (
        *("threshold_optimiser", "fair_threshold", "ThresholdOptimizer"),
        *("threshold_per_group", "fair_thresholds"),
    ),
    "roc_band(y_true, y_score)": (
        *("roc_ci", "ci_roc", "ci_se", "ci_sp", "confidence_band", "roc_confidence"),
    ),
    "at_threshold(y_true, y_score, threshold=0.5, prevalence=0.1)": (
        *("bayes", "bayes_theorem", "fagan", "fagan_nomogram", "pretest", "posttest"),
        *("pre_test_probability", "post_test_probability", "ppv_at_prevalence"),
    ),
    "ranking.kl_divergence(y_true, y_score)": (
        *("kl", "kullback_leibler", "relative_entropy"),
    ),
    "estimators.leaf_report(tree, X, y)": ("tree_report", "trust_leaves"),
    "estimators.prune(tree, X, y)": (
        *("prune_tree", "pruning", "cost_complexity_pruning", "ccp"),
    ),
    'estimators.metric_scorer("f1")': (*("make_scorer", "scorer", "get_scorer"),),
    "confidence_level(7, 0.7)": (*("leaf_confidence", "confidence_of_leaf"),),
    "simulate_tally(500, 200, 0.8)": (
        *("make_classification", "simulate", "synthetic_data"),
    ),
    'samples.path("west_nile")': (
        *("datasets", "load_dataset", "sample_data", "example_data"),
    ),
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
    "half_width": ("width", "precision", "margin_of_error", "moe"),
    "power": ("beta",),
    "threshold": ("cutoff", "cut_off", "cutpoint", "cut_point", "at", "thresholds"),
    "thresholds": ("threshold", "cutoff", "cutoffs", "at"),
    "bins": ("n_bins", "num_bins"),
    "binning": ("strategy",),
    "statistic": ("metric", "measure", "func", "what"),
    "measure": ("metric", "statistic"),
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
    "scores": ("score", "columns", "drift", "data_drift", "psi"),
    "label": ("labels", "target"),
    "y_true": ("labels", "target"),
    "y_score": ("y_pred", "y_prob", "y_hat", "probas"),
    "positive": ("pos", "event_level"),
    "auc": (
        "roc_auc",
        "auroc",
        "c_statistic",
        "c_index",
        "concordance",
        "c_stat",
        "gini",
    ),
    "average_precision": ("pr_auc", "prauc", "auprc", "aupr", "ap", "auc_pr"),
    "brier": ("brier_score", "mse", "brier_score_loss"),
    "log_loss": ("logloss", "cross_entropy", "nll"),
    "calibration_error": ("ece", "expected_calibration_error"),
    "calibration_intercept": ("calibration_in_the_large", "citl"),
    "recall": ("sens", "ppa", "hit_rate", "detection_rate"),
    "fpr": ("false_positive_rate", "false_alarm_rate", "fall_out"),
    "fnr": ("false_negative_rate", "miss_rate"),
    "flagged_rate": (
        *("selection_rate", "demographic_parity", "alert_rate", "impact_ratio"),
        *("disparate_impact", "adverse_impact"),
    ),
    "lr_positive": ("lr", "lr_plus", "likelihood_ratio", "positive_likelihood_ratio"),
    "lr_negative": ("lr", "lr_minus", "negative_likelihood_ratio"),
    "mcc": ("matthews", "phi_coefficient"),
    "cost": ("profit", "expected_cost", "utility"),
    "specificity": ("spec", "npa", "tnr", "true_negative_rate"),
    "precision": ("positive_predictive_value", "ppv"),
    "npv": ("negative_predictive_value",),
    "f1": ("f_score", "f_measure", "f1_score", "dice"),
    "youden": ("youden_index", "informedness", "j"),
    "platt": ("logistic",),
    "histogram": ("binning", "histogram_binning"),
    "hosmer-lemeshow": ("hl", "hl_test", "hoslem"),
    "exact": ("clopper_pearson", "clopper", "binomial"),
    "wilson": ("score", "agresti_coull", "wald"),
    "newcombe": ("logit", "wilson", "clopper_pearson", "exact"),
    "bootstrap": ("percentile", "bca"),
    "student": ("t", "t_test", "wald"),
    "equal mass": ("quantile", "equal_frequency", "adaptive"),
    "equal width": ("uniform",),
    "hand-till": ("ovo", "one_vs_one"),
    "macro": ("ovr", "one_vs_rest"),
    "gwet": ("ac1", "gwets_ac1"),
    "krippendorff": ("alpha", "krippendorffs_alpha"),
    "fleiss": ("kappa", "fleiss_kappa", "fleisss_kappa"),
    "cohen": ("kappa", "cohen_kappa", "cohens_kappa"),
    "brennan-prediger": ("pabak",),
    "quadratic": ("squared",),
    "cv": ("folds", "n_splits"),
    "settings": ("memory_limit", "threads"),
}

# what a name of another library adds to the thing that it names
_FILLERS = frozenset(
    {
        *("analysis", "chart", "model", "coef", "coefficient", "curve", "diagram"),
        *("estimate", "estimator", "graph", "index", "measure", "method", "metric"),
        *("plot", "rule", "score", "stat", "statistic", "test", "value", "binary"),
        *("calc", "calculate", "compute", "fn", "func", "function", "get", "from"),
        *("of", "the", "with"),
    }
)


def calls_for(word: str) -> list[str]:
    """Return the calls that answer a word of another library or profession.

    Where no name of the table is the very word, capitals, separators, plurals, the
    order of the parts and fillers such as "score" or "curve" make no difference. A part
    of names is enough if all of them lead to the same call: "hosmer".

    >>> calls_for("AUROC"), calls_for("compute_ks_stat"), calls_for("somersd")
    (['auc(y_true, y_score)'], ['ks(y_true, y_score)'], ['gini(y_true, y_score)'])
    >>> calls_for("nonsense"), calls_for("wasserstein")
    ([], [])
    """
    for form in _FORMS:
        calls = _calls_named(word, _names_of_calls(), form)
        if calls:
            return calls
        if _is_absent(word, form):
            return []

    content = _content(word)
    calls = [
        call
        for call, names in _names_of_calls().items()
        if content and any(content < _content(name) for name in names)
    ]
    return calls if len(calls) == 1 else []


def is_absent(word: str) -> bool:
    """Return whether others compute this, and Trueness does not.

    >>> is_absent("shap"), is_absent("ndcg"), is_absent("auroc")
    (True, True, False)
    """
    return not calls_for(word) and any(_is_absent(word, form) for form in _FORMS)


def nearest_call(word: str) -> str | None:
    """Return the call that comes nearest to what Trueness does not compute.

    >>> nearest_call("Bland-Altman"), nearest_call("shap")
    ('rater_agreement(panel)', None)
    """
    for form in _FORMS:
        calls = _calls_named(word, NEAREST, form)
        if calls:
            return calls[0]
    return None


def _is_absent(word: str, form: Callable[[str], object]) -> bool:
    """Return whether a word, in this form, is one that Trueness does not compute."""
    return form(word) in map(form, ABSENT) or bool(_calls_named(word, NEAREST, form))


def _calls_named(
    word: str,
    names_of_calls: Mapping[str, tuple[str, ...]],
    form: Callable[[str], object],
) -> list[str]:
    """Return the calls that have a word, in this form, among their names."""
    wanted = form(word)
    return [
        call
        for call, names in names_of_calls.items()
        if wanted and wanted in map(form, names)
    ]


def _names_of_calls() -> dict[str, tuple[str, ...]]:
    """Return all names of each call, the first call of a function with its own name."""
    first_calls: dict[str, str] = {}
    for call in CALLS:
        first_calls.setdefault(own_name(call), call)
    return {
        call: names + ((own_name(call),) if first_calls[own_name(call)] == call else ())
        for call, names in CALLS.items()
    }


def own_name(call: str) -> str:
    """Return the name of the function that a call of the table calls.

    >>> own_name("ranking.hull(curve)")
    'hull'
    """
    return call.partition("(")[0].rpartition(".")[2]


def letters(word: str) -> str:
    """Return the letters and digits of a word: somersd of Somers' D."""
    return "".join(re.findall(r"[^\W_]+", word.casefold()))


def _content(word: str) -> frozenset[str]:
    """Return the parts of a word that say which thing is meant, in no order."""
    parts = re.findall(r"[^\W_]+", word.casefold())
    singular = {part.removesuffix("s") if len(part) > 3 else part for part in parts}
    return frozenset(singular - _FILLERS)


# a word as it is written, then its letters, then its parts in any order
_FORMS: tuple[Callable[[str], object], ...] = (str.casefold, letters, _content)
