"""What does ``--json`` write? The keys of every command, with their meaning.

A mapping describes an object: its keys are there, always; ``*`` stands for names that
come with the data. A list describes an array of such things. Text is the meaning of a
value. Numbers that do not exist are null; JSON has no infinity, so it is the text "inf"
or "-inf". The number at the end of ``schema`` rises when a key changes or goes away.
"""

from __future__ import annotations

from typing import Any

ESTIMATE = {
    "value": "the estimate",
    "low": "lower end of its interval",
    "high": "upper end of its interval",
    "level": "confidence level of the interval",
    "method": "how the interval was made",
    "sd": "standard error, where the method has one",
}
CONFUSION = {
    "tp": "positives that are flagged",
    "fp": "negatives that are flagged",
    "fn": "positives that are not flagged",
    "tn": "negatives that are not flagged",
}
HEAD = {
    "schema": "karat/COMMAND/VERSION",
    "karat": "version of Karat",
    "file": "the file, as typed",
    "columns": {
        "label": "column of the labels",
        "scores": ["columns of the scores"],
        "count": "column of the counts",
        "by": "column of the groups",
    },
    "positive": "the label that counts as positive, when it was named",
    "cases": {
        "n": "cases in all",
        "negative": "negative cases",
        "positive": "positive cases",
        "unknown": "cases without a label",
        "prevalence": "share of positives among the labelled",
    },
}
MEASURES = {
    "auc": ESTIMATE,
    "average_precision": ESTIMATE,
    "brier": ESTIMATE,
}

# one entry a command: what stands under "result"
RESULTS: dict[str, dict[str, Any]] = {
    "evaluate": {"scores": {"*": MEASURES}, "groups": {"*": {"*": MEASURES}}},
    "threshold": {
        "threshold": "flag a case when its score is this or more",
        "interval": ["every threshold above the first, up to the second, cuts alike"],
        "objective": "what was maximised or minimised",
        "value": "the objective there",
        "constraints": {"*": "value of each bounded metric there"},
        "binding": ["constraints without which it would be better"],
        "intervals": [["all optimal intervals"]],
        "confusion": CONFUSION,
        "metrics": {"*": "every metric at the cut"},
        "prevalence": "the share of positives that the cut is made for",
        "method": "how the cut was found",
        "validation": {
            "threshold": ESTIMATE,
            "corrected": "the objective to be expected on other cases",
            "optimism": "by how much the sample flatters",
            "metrics": {"*": ESTIMATE},
            "holds": {"*": "how often each constraint held on the cases left out"},
            "failed": "share of resamples without any feasible cut",
        },
    },
    "guarantee": {
        "guarantee": {
            "threshold": "flag a case when its score is this or more",
            "interval": ["every threshold above the first, up to the second"],
            "constraint": "what is guaranteed",
            "confidence": "how surely",
            "value": "the metric in the sample",
            "bound": "its one-sided confidence limit",
            "p_value": "exact binomial test of the constraint",
            "confusion": CONFUSION,
            "cases": "cases that the rate is a share of",
            "method": "how the cut was found",
        }
    },
    "calibrate": {
        "method": "how the map was fitted",
        "column": "name of the new column",
        "map": "the map, as karat.load_map reads it",
        "brier": ESTIMATE,
    },
    "compare": {
        "auc": {"*": ESTIMATE},
        "pairs": [
            {
                "first": "a score",
                "second": "another",
                "difference": ESTIMATE,
                "statistic": "difference over its standard error",
                "p_value": "two-sided",
                "p_adjusted": "adjusted for the number of pairs (Holm)",
            }
        ],
        "omnibus": {
            "statistic": "chi-squared: are all equal?",
            "df": "its degrees of freedom",
            "p_value": "its p-value",
        },
        "method": "how they were compared",
        "dominance": [
            {
                "first": "a score",
                "second": "another",
                "verdict": "dominates, is dominated, equal or crosses",
                "p_value": "could what the verdict says be chance?",
                "fpr_better": [["false positive rates where the first is above"]],
                "fpr_worse": [["false positive rates where it is below"]],
                "surely_better": [["... beyond chance"]],
                "surely_worse": [["... beyond chance"]],
                "margin": "the second is nowhere better by more than this",
            }
        ],
    },
    "plan auc": {
        "plan": {
            "n": "cases that are needed",
            "n_pos": "positives among them",
            "n_neg": "negatives among them",
            "sd": "standard error of the AUC with so many",
            "half_width": "half of the width of the interval",
            "power": "chance to find the difference",
            "auc": "the AUC that is expected",
            "null": "the AUC that it is compared with",
            "prevalence": "share of positives",
            "level": "confidence level",
            "method": "how the variance was found",
        }
    },
    "combine": {
        "method": "the combiner that was applied",
        "column": "name of the new column",
        "out_of_sample": {"*": {"auc": ESTIMATE, "gain": ESTIMATE}},
        "against": "what the gain is counted from",
        "folds": "number of folds",
        "single": {"*": ESTIMATE},
    },
    "nogold": {
        "prevalence": ESTIMATE,
        "tests": {"*": {"sensitivity": ESTIMATE, "specificity": ESTIMATE}},
        "identified": "can the data alone answer?",
        "notes": ["what to beware of"],
        "dependence": [
            {
                "first": "a test",
                "second": "another",
                "residual": "how much more they correlate than the model says",
                "p_value": "posterior predictive, two-sided",
                "score_p_value": "score test for a covariance; null if none could show",
            }
        ],
        "combination": {
            "criterion": "what it is best in",
            "formula": "in words",
            "sensitivity": ESTIMATE,
            "specificity": ESTIMATE,
            "probability_best": "share of draws in which none is better",
        },
    },
    "leaves": {
        "leaves": [
            {
                "node": "the leaf",
                "n": "labelled cases in it",
                "majority": "positive, negative or tie",
                "probability": "share of the larger class, estimated",
                "low": "lower end of its interval",
                "high": "upper end of its interval",
                "confidence": "P(C)",
                "utility": "P(U)",
                "verdict": "trust, thin or coin toss",
                "more": "cases that it lacks",
            }
        ],
        "tree": {
            "n": "labelled cases in all",
            "confidence": "P(C) of the tree",
            "utility": "P(U) of the tree",
        },
        "wanted": "wanted level of confidence",
        "level": "level of the intervals",
        "method": "estimate behind the levels",
    },
    "plan leaf": {
        "n": "cases that are needed",
        "asked": {
            "p": "share of the larger class",
            "confidence": "wanted P(C)",
            "utility": "wanted P(U)",
        },
        "reached": {"confidence": "P(C) with so many", "utility": "P(U) with so many"},
    },
}


def differences(schema: Any, value: Any, where: str = "") -> list[str]:
    """Where does an answer differ from its schema? Nothing is missing or more."""
    if isinstance(schema, str) or value is None:
        return []
    if isinstance(schema, list):
        if not isinstance(value, list):
            return [f"{where}: not an array"]
        return [d for v in value for d in differences(schema[0], v, f"{where}[]")]
    if not isinstance(value, dict):
        return [f"{where}: not an object"]
    if "*" in schema:
        return [d for v in value.values() for d in differences(schema["*"], v, where)]
    wrong = [f"{where}.{k}" for k in sorted(schema.keys() ^ value.keys())]
    both = schema.keys() & value.keys()
    return wrong + [d for k in both for d in differences(schema[k], value[k], k)]


def lines(schema: Any, where: str = "") -> list[tuple[str, str]]:
    """Give every path of a schema with its meaning, for the documentation."""
    if isinstance(schema, str):
        return [(where, schema)]
    if isinstance(schema, list):
        return lines(schema[0], f"{where}[]")
    dot = "." if where else ""
    return [row for k, v in schema.items() for row in lines(v, f"{where}{dot}{k}")]
