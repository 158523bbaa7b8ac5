"""Which command answers a word of another library or profession?

The words are those of the table that Python reads (``CALLS``); here stands what to type
in a shell for each of its calls.
"""

from __future__ import annotations

from collections.abc import Mapping

from trueness._core.synonyms import calls_for, nearest_call

ONE_SCORE = "FILE --label COLUMN --score COLUMN"
TWO_SCORES = "FILE --label COLUMN --score COLUMN --score COLUMN"
TESTS = "FILE --vote COLUMN --vote COLUMN --vote COLUMN"
EVALUATE = f"evaluate {ONE_SCORE}"
AT_THRESHOLD = f"evaluate {ONE_SCORE} --at 0.5"
THRESHOLD = f"threshold {ONE_SCORE}"
CALIBRATION = f"evaluate {ONE_SCORE} --margin 0.05"
SCORECARD = f"scorecard {ONE_SCORE}"
AGREE = "agree FILE --rater COLUMN --rater COLUMN"

# by the call, or by its function where all its calls have the same command; what is not
# here has no command
COMMAND_OF_CALL: Mapping[str, str] = {
    "evaluate": EVALUATE,
    "auc": EVALUATE,
    "average_precision": EVALUATE,
    "brier": EVALUATE,
    "log_loss": EVALUATE,
    'log_loss(y_true, y_score, clip="scikit-learn")': SCORECARD,
    "gini": SCORECARD,
    "ks": SCORECARD,
    "decile_table": SCORECARD,
    "calibration.jeffreys_test": f"{SCORECARD} --jeffreys",
    "psi": f"{SCORECARD} --reference FILE",
    "calibration.nagelkerke_r2": SCORECARD,
    "roc": f"{EVALUATE} --plot roc.svg",
    "plots.roc": f"{EVALUATE} --plot roc.svg",
    "gain_curve": f"{SCORECARD} --plot gain.svg",
    "best_threshold": THRESHOLD,
    'best_threshold(y_true, y_score, maximize="recall", subject_to="fpr <= 0.1")': (
        f'{THRESHOLD} --maximize recall --subject-to "fpr <= 0.1"'
    ),
    'best_threshold(y_true, y_score, maximize="recall", '
    'subject_to="precision >= 0.9")': (
        f'{THRESHOLD} --maximize recall --subject-to "precision >= 0.9"'
    ),
    'best_threshold(y_true, y_score, maximize="recall", '
    'subject_to="cost(fp=1, fn=3) <= 800")': (
        f'{THRESHOLD} --maximize recall --subject-to "cost(fp=1, fn=3) <= 800"'
    ),
    'best_threshold(y_true, y_score, maximize="specificity", '
    'subject_to="recall >= 0.9")': (
        f'{THRESHOLD} --maximize specificity --subject-to "recall >= 0.9"'
    ),
    'best_threshold(y_true, y_score, maximize="precision", '
    'subject_to="flagged <= 500")': (
        f'{THRESHOLD} --maximize precision --subject-to "flagged <= 500"'
    ),
    "guaranteed_threshold": f'{THRESHOLD} --guarantee "recall >= 0.9"',
    'at_threshold(y_true, y_score, threshold=0.5, method="exact")': (
        f"{AT_THRESHOLD} --method exact"
    ),
    "fpr": AT_THRESHOLD,
    "fnr": AT_THRESHOLD,
    "lr_positive": AT_THRESHOLD,
    "lr_negative": AT_THRESHOLD,
    "balanced_accuracy": AT_THRESHOLD,
    "metric": AT_THRESHOLD,
    "det": f"{EVALUATE} --plot roc.svg",
    "calibration_line": CALIBRATION,
    "calibration_index": CALIBRATION,
    'calibrate(y_true, y_score, method="isotonic")': (
        f"calibrate {ONE_SCORE} --method isotonic"
    ),
    'calibrate(y_true, y_score, method="temperature")': (
        f"calibrate {ONE_SCORE} --method temperature"
    ),
    'calibrate(y_true, y_score, method="beta")': (
        f"calibrate {ONE_SCORE} --method beta"
    ),
    'calibrate(y_true, y_score, method="venn-abers")': (
        f"calibrate {ONE_SCORE} --method venn-abers"
    ),
    "tally(y_true, y_score, cluster=patient)": f"{EVALUATE} --cluster COLUMN",
    "tally(y_true, y_score, weight=w)": f"{EVALUATE} --weight COLUMN",
    "tally(None, y_score, unlabelled=map)": (
        "evaluate FILE --score COLUMN --unlabelled map.json"
    ),
    "leaderboard": "evals LOG",
    "confusion": AT_THRESHOLD,
    "at_threshold": AT_THRESHOLD,
    "recall": AT_THRESHOLD,
    "specificity": AT_THRESHOLD,
    "precision": AT_THRESHOLD,
    "accuracy": AT_THRESHOLD,
    "f1": AT_THRESHOLD,
    "youden": AT_THRESHOLD,
    "mcc": AT_THRESHOLD,
    "kappa": AT_THRESHOLD,
    "indeterminate_results": f"{EVALUATE} --indeterminate 0.5:1",
    "compare_auc": f"compare {TWO_SCORES}",
    "compare_metric(y_true, {'a': a, 'b': b}, \"accuracy\", method=\"mcnemar\")": (
        f"compare {TWO_SCORES} --metric accuracy --at 0.5 --method mcnemar"
    ),
    "compare_metric(y_true, {'a': a, 'b': b}, \"precision\", method=\"kosinski\")": (
        f"compare {TWO_SCORES} --metric precision --at 0.5 --method kosinski"
    ),
    "compare_metric(y_true, {'a': a, 'b': b}, \"recall\", effect=\"ratio\")": (
        f"compare {TWO_SCORES} --metric recall --at 0.5 --effect ratio"
    ),
    "compare_groups": f"{AT_THRESHOLD} --by COLUMN",
    "calibrate": f"calibrate {ONE_SCORE}",
    "calibration_verdict": CALIBRATION,
    "calibration_test": CALIBRATION,
    "calibration_error": CALIBRATION,
    "reliability": f"calibrate {ONE_SCORE} --plot reliability.svg",
    "decision_curve": f"curve {ONE_SCORE} --kind decision",
    "ranking.risk_coverage": f"curve {ONE_SCORE} --kind risk-coverage",
    "fidel": f"combine {TWO_SCORES}",
    "wisdom_of_crowds": f"combine {TWO_SCORES} --method wisdom-of-crowds",
    "latent_class": f"nogold {TESTS}",
    "best_combination": f"nogold {TESTS} --combinations",
    "prevalence": "judge FILE --judge COLUMN --label COLUMN --labelled random",
    "rater_agreement": AGREE,
    'rater_agreement(panel, method="gwet")': f"{AGREE} --method gwet",
    'rater_agreement(panel, method="fleiss")': f"{AGREE} --method fleiss",
    'rater_agreement(panel, method="krippendorff")': f"{AGREE} --method krippendorff",
    'rater_agreement(panel, method="conger")': f"{AGREE} --method conger",
    'rater_agreement(panel, method="percent")': f"{AGREE} --method percent",
    'calibrate(y_true, y_score, method="histogram")': (
        f"calibrate {ONE_SCORE} --method histogram"
    ),
    "pass_rate": "evals LOG",
    "compare_combiners": f"combine {TWO_SCORES}",
    "dominates": f"compare {TWO_SCORES}",
    "lift_curve": f"{SCORECARD} --plot gain.svg",
    "multiclass_auc": "evaluate FILE --label COLUMN",
    "plan_auc_difference": "plan difference --first 0.85 --second 0.8 --power 0.8",
    "tally(y_true, y_score, weight=w, cluster=unit)": (
        f"{EVALUATE} --weight COLUMN --cluster COLUMN"
    ),
    'rater_agreement(panel, method="brennan-prediger")': (
        f"{AGREE} --method brennan-prediger"
    ),
    'rater_agreement(panel, method="cohen", weights="quadratic")': (
        f"{AGREE} --method cohen --weights quadratic"
    ),
    "head_to_head": "evals FILE --winner COLUMN",
    "attempts": "evals LOG",
    "pass_at_k": "evals LOG --pass-at 5",
    "at_horizon": "evaluate FILE --score COLUMN --horizon 5 --time COLUMN "
    "--event COLUMN",
    "leaves": "leaves FILE --label COLUMN --node COLUMN",
    "reader_study": "readers FILE --label COLUMN --score COLUMN",
    "across_sites": f"sites {ONE_SCORE.replace('FILE', 'FILE --site COLUMN')}",
    "check": f'check "auc >= 0.8" {ONE_SCORE}',
    "watch": f"watch state.json {ONE_SCORE} --metric auc --at-least 0.8",
    "plan_auc": "plan auc --auc 0.8 --half-width 0.05",
    "plan_rate": "plan rate --rate recall --value 0.9 --half-width 0.05",
    "tally": "look FILE",
    "look": "look FILE",
    "declare": f"declare {ONE_SCORE} -o declaration.html",
    "npv": AT_THRESHOLD,
    "roc_band": f"{EVALUATE} --plot roc.svg",
    "plots.reliability": f"calibrate {ONE_SCORE} --plot reliability.svg",
    "at_threshold(y_true, y_score, threshold=0.5, prevalence=0.1)": (
        f"{AT_THRESHOLD} --prevalence 0.1"
    ),
    "compare_metric(y_true, {'a': a, 'b': b}, \"recall\")": (
        f"compare {TWO_SCORES} --metric recall --at 0.5"
    ),
    'best_threshold(y_true, y_score, minimize="cost(fp=1, fn=5)")': (
        f'{THRESHOLD} --minimize "cost(fp=1, fn=5)"'
    ),
    "best_thresholds": f'{THRESHOLD} --minimize "cost(fp=1, fn=10, defer=0.3)"',
    "validate_threshold": f"{THRESHOLD} --validate",
    "milp_program": f"{THRESHOLD} --method milp",
    "group_thresholds": f'{THRESHOLD} --by COLUMN --subject-to "recall_gap <= 0.02"',
    "compare_runs": "evals LOG LOG",
    "pass_hat_k": "evals LOG --pass-hat 3",
    "plan_labels": "plan labels --half-width 0.05",
    "summary_roc": "sites FILE",
    "confidence_level": "leaves FILE --label COLUMN --node COLUMN",
    "report": "report FILE --label COLUMN -o report.html",
    "fermi_dirac": "fermi --n 100 --positives 50 --auc 0.9",
}


def command_for(typed_word: str) -> str | None:
    """Return what to type for a word of another field, or None.

    >>> command_for("gini")
    'trueness scorecard FILE --label COLUMN --score COLUMN'
    >>> command_for("Weighted-Kappa").partition("COLUMN ")[2]
    '--rater COLUMN --method cohen --weights quadratic'
    """
    for call in calls_for(typed_word):
        return command_of_call(call)

    # the metrics are loaded here: every command would wait for them at the head
    from trueness.metrics.definitions import METRICS

    written = typed_word.replace("-", "_").casefold()
    is_metric = any(
        written in (metric.name, *metric.aliases) for metric in METRICS.values()
    )
    return f"trueness {AT_THRESHOLD}" if is_metric else None


def nearest_command(typed_word: str) -> str | None:
    """Return the command that comes nearest to what Trueness does not compute.

    >>> nearest_command("afroc")
    'trueness readers FILE --label COLUMN --score COLUMN'
    """
    call = nearest_call(typed_word)
    return command_of_call(call) if call else None


def command_of_call(call: str) -> str | None:
    """Return the command that answers a call of the table, or None.

    >>> command_of_call("ks(y_true, y_score)")
    'trueness scorecard FILE --label COLUMN --score COLUMN'
    """
    function = call.partition("(")[0]
    command = COMMAND_OF_CALL.get(call, COMMAND_OF_CALL.get(function))
    return f"trueness {command}" if command else None
