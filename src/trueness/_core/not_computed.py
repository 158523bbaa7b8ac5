"""What Trueness does not compute, and which of its calls comes nearest.

The names are those that other libraries and professions use. An answer says that the
quantity is not here, so that nobody takes the nearest one for it.
"""

from __future__ import annotations

# under the call that comes nearest
NEAREST: dict[str, tuple[str, ...]] = {
    "psi(reference, current)": (
        *("wasserstein", "wasserstein_distance", "jensen_shannon", "js_divergence"),
        *("hellinger", "kl_drift", "ks_drift", "energy_distance", "mmd", "vintage"),
    ),
    "compare_auc(y_true, {'a': a, 'b': b})": (
        *("nri", "idi", "net_reclassification", "net_reclassification_improvement"),
        *("integrated_discrimination_improvement", "reclassification", "anova"),
        *("permutation_test", "wilcoxon", "t_test", "wilcoxon_signed_rank"),
        *("likelihood_ratio_test", "lrt", "friedman", "nemenyi"),
    ),
    "dominates(y_true, {'a': a, 'b': b})": ("venkatraman", "venkatraman_test"),
    "compare_metric(y_true, {'a': a, 'b': b}, \"accuracy\", method=\"mcnemar\")": (
        *("cochran_q", "cochrans_q", "stuart_maxwell", "bowker", "chi2", "chi_square"),
        *("chisq_test", "fisher_exact", "fisher_test"),
    ),
    "latent_class(panel)": (
        *("majority_vote", "majority_voting", "glad", "mace", "irt", "rasch"),
        *("item_response", "item_response_theory", "item_discrimination"),
    ),
    "compare_combiners(panel)": (
        *("stacking", "super_learner", "voting", "VotingClassifier", "blending"),
        *("StackingClassifier", "blend", "model_averaging", "boosting", "bagging"),
    ),
    "calibration_error(y_true, y_score)": (
        *("mce", "max_calibration_error", "maximum_calibration_error", "adaptive_ece"),
        *("ace", "sce", "classwise_ece", "static_calibration_error", "sharpness"),
    ),
    "brier(y_true, y_score).parts": ("refinement", "resolution", "crps", "rps"),
    "log_loss(y_true, y_score)": ("focal_loss", "hinge_loss", "hinge", "perplexity"),
    "reader_study(frame)": (
        *("froc", "afroc", "lroc", "jafroc", "rsd", "eroc", "bi_rads"),
    ),
    "lift_curve(y_true, y_score)": (
        *("uplift", "qini", "uplift_curve", "auuc", "qini_curve"),
    ),
    "multiclass_auc(y_true, scores)": (
        *("macro_f1", "f1_macro", "micro_f1", "f1_micro", "weighted_f1", "vus"),
        *("volume_under_surface", "roc_surface", "top_k_accuracy"),
    ),
    "leaderboard(systems)": (
        *("elo", "elo_rating", "bradley_terry", "trueskill", "glicko"),
        *("bootstrapped_elo",),
    ),
    "decile_table(y_true, y_score)": (
        *("information_value", "iv", "weight_of_evidence", "woe", "swap_set"),
        *("swapset", "profitability", "approval_rate", "acceptance_rate"),
    ),
    "at_horizon(time, event, 5)": (
        *("cox", "coxph", "kaplan_meier", "km", "log_rank", "logrank", "hazard_ratio"),
        *("competing_risks", "fine_gray", "aalen_johansen"),
    ),
    "rater_agreement(panel)": (
        *("bland_altman", "icc", "intraclass_correlation", "lin_ccc", "ccc"),
        *("scott_pi", "cronbach_alpha", "cronbachs_alpha", "kr20", "kuder_richardson"),
        *("kendall_w", "limits_of_agreement", "test_retest", "concordance_correlation"),
    ),
    "decision_curve(y_true, y_score)": (
        *("number_needed_to_treat", "nnt", "number_needed_to_screen", "nns"),
        *("absolute_risk_reduction", "attributable_risk", "prevalence_threshold"),
    ),
    "calibration.nagelkerke_r2(y_true, y_score)": (
        *("mcfadden", "mcfadden_r2", "cox_snell", "cox_snell_r2", "tjur_r2", "aic"),
        *("bic",),
    ),
    "compare_metric(y_true, {'a': a, 'b': b}, \"recall\", effect=\"ratio\")": (
        *("relative_risk", "risk_ratio", "prevalence_ratio", "rr"),
    ),
    "tally(y_true, y_score, weight=w, cluster=unit)": (
        *("strata", "stratification", "fpc", "svyglm", "raking", "post_stratification"),
        *("poststratification", "calibration_weights", "replicate_weights", "gee"),
        *("robust_se", "finite_population_correction", "brr", "effective_sample_size"),
    ),
    "estimate(y_true, y_score, statistic=f)": ("bca", "bca_interval", "bootstrap_t"),
    "at_threshold(y_true, y_score, threshold=0.5)": (
        *("agresti_coull", "wald_interval", "incidence", "incidence_rate"),
    ),
    'best_threshold(y_true, y_score, maximize="precision", '
    'subject_to="flagged <= 500")': (
        *("ndcg", "dcg", "mrr", "mean_reciprocal_rank", "average_precision_at_k"),
        *("r_precision", "rprecision", "map_at_k", "bpref", "err", "rbp"),
        *("reciprocal_rank",),
    ),
    "best_threshold(y_true, y_score)": ("index_of_union", "isodose", "min_pvalue"),
    "calibration.jeffreys_test(y_true, pd)": ("traffic_light", "traffic_lights"),
    "ranking.fit_binormal(y_true, y_score)": (
        *("criterion_c", "response_bias", "a_prime", "b_double_prime"),
        *("beta_criterion",),
    ),
    'compare_groups(y_true, y_score, "recall", threshold=0.5, by=group)': (
        *("dif", "differential_item_functioning", "bias", "theil_index"),
        *("counterfactual_fairness",),
    ),
    "attempts(frame)": (
        *("exact_match", "bleu", "rouge", "meteor", "bertscore", "rubric"),
    ),
    "plan_auc_difference(first=0.85, second=0.8, power=0.8)": (
        *("mde", "minimum_detectable_effect", "effect_size"),
    ),
    "kappa(y_true, y_pred)": (
        *("ets", "equitable_threat_score", "gilbert_skill_score", "gss"),
        *("prevalence_adjusted_kappa",),
    ),
}

# what has no counterpart here
ABSENT = frozenset(
    {
        *("shap", "lime", "feature_importance", "permutation_importance", "pdp"),
        *("partial_dependence", "lgd", "ead", "expected_loss", "herfindahl"),
        *("reject_inference", "rmse", "mae", "r2_score", "silhouette"),
        *("mean_absolute_error", "smote", "oversampling", "undersampling"),
        *("grid_search", "hyperparameter_tuning", "feature_selection"),
    }
)
