"""What does ``--json`` write? The keys of every command, with their meaning.

A mapping describes an object: its keys are there, always; ``*`` stands for names that
come with the data. A list describes an array of such things. Anything may be null where
there is nothing to say: a number that does not exist, a part that was not asked for.
JSON has no infinity, so it is the text "inf" or "-inf". The number at the end of
``schema`` rises when a key changes or goes away.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class Value(NamedTuple):
    """One value: what kind, and what it means."""

    kind: str
    meaning: str


KINDS: dict[str, tuple[type, ...]] = {
    "number": (int, float),
    "whole": (int,),
    "text": (str,),
    "yes or no": (bool,),
    "name": (str, int, float, bool),
    "anything": (dict, list, str, int, float, bool),
}


def number(meaning: str) -> Value:
    """A number, or "inf" or "-inf"."""
    return Value("number", meaning)


def whole(meaning: str) -> Value:
    """A count."""
    return Value("whole", meaning)


def text(meaning: str) -> Value:
    """A text."""
    return Value("text", meaning)


def name(meaning: str) -> Value:
    """A value of a column: text or a number."""
    return Value("name", meaning)


ESTIMATE = {
    "value": number("the estimate"),
    "low": number("lower end of its interval"),
    "high": number("upper end of its interval"),
    "level": number("confidence level of the interval"),
    "method": text("how the interval was made"),
    "sd": number("standard error, where the method has one"),
    "notes": [text("what to beware of")],
}
CONFUSION = {
    "tp": whole("positives that are flagged"),
    "fp": whole("negatives that are flagged"),
    "fn": whole("positives that are not flagged"),
    "tn": whole("negatives that are not flagged"),
}
# every command
HEAD = {
    "schema": text("trueness/COMMAND/VERSION"),
    "trueness": text("version of Trueness"),
}
# every command that reads a file
ABOUT = {
    "file": text("the file, as typed"),
    "columns": {
        "label": text("column of the labels"),
        "scores": [text("columns of the scores, of the votes or of the leaves")],
        "count": text("column of the counts"),
        "by": text("column of the groups"),
    },
    "positive": name("the label that counts as positive, when it was named"),
    "cases": {
        "n": whole("cases in all"),
        "negative": whole("negative cases"),
        "positive": whole("positive cases"),
        "unknown": whole("cases without a label"),
    },
}
NO_FILE = ("plan auc", "plan leaf", "demo")
MEASURES = {
    "auc": ESTIMATE,
    "average_precision": ESTIMATE,
    "brier": ESTIMATE,
}
CUT = {
    "threshold": number("flag a case when its score is this or more"),
    "interval": [
        number("every threshold above the first, up to the second, cuts alike")
    ],
    "objective": text("what was maximised or minimised"),
    "value": number("the objective there"),
    "constraints": {"*": number("value of each bounded metric there")},
    "binding": [text("constraints without which it would be better")],
    "intervals": [[number("all optimal intervals")]],
    "confusion": CONFUSION,
    "metrics": {"*": number("every metric at the cut")},
    "prevalence": number("the share of positives that the cut is made for"),
    "method": text("how the cut was found"),
    "validation": {
        "threshold": ESTIMATE,
        "corrected": number("the objective to be expected on other cases"),
        "optimism": number("by how much the sample flatters"),
        "metrics": {"*": ESTIMATE},
        "holds": {"*": number("how often each constraint held on the cases left out")},
        "failed": number("share of resamples without any feasible cut"),
    },
    "guarantee": {
        "confidence": number("how surely all constraints hold at once"),
        "proofs": [
            {
                "constraint": text("what is guaranteed"),
                "confidence": number("how surely, this one alone"),
                "value": number("the metric in the sample"),
                "bound": number("its one-sided confidence limit"),
                "p_value": number("exact binomial test of the constraint"),
                "cases": whole("cases that the rate is a share of"),
                "method": text("how the cuts were tried"),
            }
        ],
    },
}
CALIBRATED = {
    "brier": {
        "before": ESTIMATE,
        "in_sample": ESTIMATE,
        "cross_fitted": ESTIMATE,
        "gain": ESTIMATE,
    },
    "slope": ESTIMATE,
    "intercept": ESTIMATE,
    "folds": whole("folds of the cross-fitting"),
}
COMPARED = {
    "auc": {"*": ESTIMATE},
    "pairs": [
        {
            "first": text("a score"),
            "second": text("another"),
            "difference": ESTIMATE,
            "statistic": number("difference over its standard error"),
            "p_value": number("two-sided"),
            "p_adjusted": number("adjusted for the number of pairs (Holm)"),
        }
    ],
    "omnibus": {
        "statistic": number("chi-squared: are all equal?"),
        "df": whole("its degrees of freedom"),
        "p_value": number("its p-value"),
    },
    "method": text("how they were compared"),
    "dominance": [
        {
            "first": text("a score"),
            "second": text("another"),
            "verdict": text("dominates, is dominated, equal or crosses"),
            "p_value": number("could both curves be equal?"),
            "p_better": number("is the first better in some range? (one-sided)"),
            "p_worse": number("is the second better in some range? (one-sided)"),
            "range_better": [number("... false positive rates where that is clearest")],
            "range_worse": [number("... false positive rates where that is clearest")],
            "fpr_better": [[number("false positive rates where the first is above")]],
            "fpr_worse": [[number("false positive rates where it is below")]],
            "surely_better": [[number("... beyond chance")]],
            "surely_worse": [[number("... beyond chance")]],
            "margin": number("the second is nowhere better by more than this"),
        }
    ],
}
COMBINED = {
    "out_of_sample": {"*": {"auc": ESTIMATE, "gain": ESTIMATE}},
    "against": text("what the gain is counted from"),
    "folds": whole("number of folds"),
}
TREE = {
    "leaves": [
        {
            "node": name("the leaf"),
            "n": whole("labelled cases in it"),
            "majority": text("positive, negative or tie"),
            "probability": number("share of the larger class, estimated"),
            "low": number("lower end of its interval"),
            "high": number("upper end of its interval"),
            "confidence": number("P(C)"),
            "utility": number("P(U)"),
            "verdict": text("trust, thin or coin toss"),
            "more": number("cases that it lacks"),
        }
    ],
    "tree": {
        "n": whole("labelled cases in all"),
        "confidence": number("P(C) of the tree"),
        "utility": number("P(U) of the tree"),
    },
    "wanted": number("wanted level of confidence"),
    "level": number("level of the intervals"),
    "method": text("estimate behind the levels"),
}

# one entry a command: what stands under "result"
RESULTS: dict[str, dict[str, Any]] = {
    "report": {
        "output": text("the file that was written"),
        "bytes": whole("its size"),
        "title": text("its title"),
        "summary": [
            {
                "title": text("a question"),
                "sentences": [text("the answer in plain words")],
            }
        ],
        "sections": [text("what the report has, by title")],
    },
    "evaluate": {"scores": {"*": MEASURES}, "groups": {"*": {"*": MEASURES}}},
    "threshold": {**CUT, "groups": {"*": CUT}},
    "compare": {**COMPARED, "groups": {"*": COMPARED}},
    "calibrate": {
        "method": text("how the map was fitted"),
        "column": text("name of the new column"),
        "map": Value("anything", "the map, as trueness.load_map reads it"),
        **CALIBRATED,
        "groups": {"*": CALIBRATED},
    },
    "combine": {
        "method": text("the combiner that was applied"),
        "column": text("name of the new column"),
        **COMBINED,
        "single": {"*": ESTIMATE},
        "groups": {"*": COMBINED},
    },
    "nogold": {
        "prevalence": ESTIMATE,
        "tests": {"*": {"sensitivity": ESTIMATE, "specificity": ESTIMATE}},
        "identified": Value("yes or no", "can the data alone answer?"),
        "notes": [text("what to beware of")],
        "dependence": [
            {
                "first": text("a test"),
                "second": text("another"),
                "residual": number("how much more they correlate than the model says"),
                "p_value": number("posterior predictive, two-sided"),
                "score_p_value": number("score test for a covariance, where one can"),
            }
        ],
        "combination": {
            "criterion": text("what it is best in"),
            "formula": text("in words"),
            "sensitivity": ESTIMATE,
            "specificity": ESTIMATE,
            "probability_best": number("share of draws in which none is better"),
            "gap": number("how much better another could be on average; 0: exact"),
        },
        "groups": {"*": {"prevalence": ESTIMATE}},
    },
    "leaves": {**TREE, "groups": {"*": TREE}},
    "plan auc": {
        "plan": {
            "n": whole("cases that are needed"),
            "n_pos": whole("positives among them"),
            "n_neg": whole("negatives among them"),
            "sd": number("standard error of the AUC with so many"),
            "half_width": number("half of the width of the interval"),
            "power": number("chance to find the difference"),
            "auc": number("the AUC that is expected"),
            "null": number("the AUC that it is compared with"),
            "prevalence": number("share of positives"),
            "level": number("confidence level"),
            "method": text("how the variance was found"),
        }
    },
    "plan leaf": {
        "n": whole("cases that are needed"),
        "asked": {
            "p": number("share of the larger class"),
            "confidence": number("wanted P(C)"),
            "utility": number("wanted P(U)"),
        },
        "reached": {
            "confidence": number("P(C) with so many"),
            "utility": number("P(U) with so many"),
        },
    },
    "demo": {
        "steps": [{"title": text("a question"), "sentences": [text("what was found")]}],
        "files": [{"path": text("a file that was written"), "what": text("its use")}],
    },
}


def document(command: str) -> dict[str, Any]:
    """Give the schema of all that a command writes."""
    file = {} if command in NO_FILE else ABOUT
    return {**HEAD, **file, "result": RESULTS[command]}


def differences(schema: Any, value: Any, where: str = "") -> list[str]:
    """Where does an answer differ from its schema? Nothing is missing or more."""
    if value is None:
        return []
    if isinstance(schema, Value):
        return [] if _fits(schema.kind, value) else [f"{where}: not {schema.kind}"]
    if isinstance(schema, list):
        if not isinstance(value, list):
            return [f"{where}: not an array"]
        return [d for v in value for d in differences(schema[0], v, f"{where}[]")]
    if not isinstance(value, dict):
        return [f"{where}: not an object"]
    if "*" in schema:
        return [
            d for v in value.values() for d in differences(schema["*"], v, f"{where}.*")
        ]
    wrong = [f"{where}.{k}" for k in sorted(schema.keys() ^ value.keys())]
    both = sorted(schema.keys() & value.keys())
    return wrong + [
        d for k in both for d in differences(schema[k], value[k], f"{where}.{k}")
    ]


def _fits(kind: str, value: Any) -> bool:
    if kind == "number" and value in ("inf", "-inf"):
        return True
    if isinstance(value, bool) and bool not in KINDS[kind]:
        return False
    return isinstance(value, KINDS[kind])


def lines(schema: Any, where: str = "") -> list[tuple[str, str, str]]:
    """Give every path of a schema with kind and meaning, for the documentation."""
    if isinstance(schema, Value):
        return [(where, schema.kind, schema.meaning)]
    if isinstance(schema, list):
        return lines(schema[0], f"{where}[]")
    dot = "." if where else ""
    return [row for k, v in schema.items() for row in lines(v, f"{where}{dot}{k}")]
