"""What does ``--json`` write? A JSON Schema per command, made from the records.

What a key means and what kind of value it has is read from the fields of the record
that it comes from, and from the ``Attributes`` of its documentation: a field that is
added there is described here at once. Keys are there, always; anything may be null
where there is nothing to say: a number that does not exist, a part that was not asked
for. JSON has no infinity, so it is the text "inf" or "-inf". The number at the end of
``schema`` rises when a key changes or goes away.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import fields, is_dataclass
from functools import cache, partial
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np

from trueness._core.records import Estimate
from trueness.calibration.gain import CalibrationGain
from trueness.cli import _fields
from trueness.comparison.dominance import Dominance
from trueness.comparison.results import Comparison, Pair
from trueness.counts.design import Design
from trueness.ensembles.crossfit import CombinerComparison
from trueness.monitoring.verdicts import Verdict
from trueness.monitoring.watching import Change
from trueness.nogold.combinations.best import Combination
from trueness.nogold.label_plans import LabelNumber, LabelPlan
from trueness.nogold.posterior import LatentPosterior
from trueness.nogold.rate import Rate
from trueness.nogold.rate_comparison import PER_PAIR, RateComparison
from trueness.nogold.verdicts import Judge
from trueness.ranking.planning import Plan
from trueness.readers.analysis import ReaderStudy
from trueness.threshold.guarantees import Proof
from trueness.threshold.operating_point import OperatingPoint
from trueness.threshold.validation import Validation
from trueness.trees.leaf_report import LeafReport
from trueness.trees.levels import TreeLevels

Schema = dict[str, Any]
KINDS: dict[str, Schema] = {
    "number": {"type": ["number", "string", "null"], "pattern": "^-?inf$"},
    "whole": {"type": ["integer", "null"]},
    "text": {"type": ["string", "null"]},
    "yes or no": {"type": ["boolean", "null"]},
    "name": {"type": ["string", "number", "boolean", "null"]},
    "anything": {},
}
_PLAIN = {float: "number", int: "whole", str: "text", bool: "yes or no"}


def value(kind: str, meaning: str) -> Schema:
    """Describe one value: its kind, and what it means."""
    return {**KINDS[kind], "title": kind, "description": meaning}


number, whole, text = (partial(value, kind) for kind in ("number", "whole", "text"))


def keys(**known: Schema) -> Schema:
    """Describe an object with these keys and no others."""
    return {
        "type": ["object", "null"],
        "properties": known,
        "required": list(known),
        "additionalProperties": False,
    }


def each(item: Schema) -> Schema:
    """Describe an object whose keys come with the data."""
    return {"type": ["object", "null"], "additionalProperties": item}


def several(item: Schema) -> Schema:
    """Describe an array."""
    return {"type": ["array", "null"], "items": item}


@cache
def _meanings(record: type) -> dict[str, str]:
    """Read what the fields of a record mean, from its documentation."""
    lines = (inspect.getdoc(record) or "").partition("Attributes\n----------\n")[2]
    found: dict[str, str] = {}
    for block in re.split(r"\n(?=\S)", lines.partition("\n\n")[0]):
        head, _, words = block.partition("\n")
        meaning = " ".join(words.split()).partition(". ")[0].rstrip(".")
        for name in head.partition(" : ")[0].split(", "):
            found[name] = re.sub(r":\w+:`~?([^`]*)`|``([^`]*)``", r"\1\2", meaning)
    return found


def of(record: type, *names: str, row: bool = False) -> Schema:
    """Describe a record, or these fields of it; ``row``: one entry of its arrays."""
    hints, meanings = get_type_hints(record), _meanings(record)
    public = [f.name for f in fields(record) if not f.name.startswith("_")]
    # limits belong to binned tallies, and none comes from a file
    wanted = names or [n for n in public if n not in ("bounds", "limits")]
    return keys(**{n: _typed(hints[n], meanings.get(n, ""), row) for n in wanted})


def field(record: type, name: str, row: bool = False) -> Schema:
    """Describe one field of a record."""
    found: Schema = of(record, name, row=row)["properties"][name]
    return found


def _typed(kind: Any, meaning: str, row: bool) -> Schema:
    """Describe a value of this type."""
    inner = [a for a in get_args(kind) if a not in (NoneType, Ellipsis)]
    origin = get_origin(kind)
    if kind in _PLAIN:
        return value(_PLAIN[kind], meaning)
    if is_dataclass(kind):
        return of(kind)  # type: ignore[arg-type]  # a class, not an instance
    if origin is dict:
        return each(_typed(inner[1], meaning, row))
    if origin is tuple:
        return several(_typed(inner[0], meaning, row))
    if kind is np.ndarray or origin is np.ndarray:
        numeric = "float" in str(kind) or "int" in str(kind)
        item = value("number" if numeric else "name", meaning)
        return item if row else several(item)
    if len(inner) == 1:  # a value or None
        return _typed(inner[0], meaning, row)
    return value("anything", meaning)


ESTIMATE = of(Estimate)
# every command
HEAD = keys(
    schema=text("trueness/COMMAND/VERSION"), trueness=text("version of Trueness")
)
# every command that reads a file
ABOUT = keys(
    file=text("the file, as typed"),
    columns=keys(
        label=text("column of the labels"),
        scores=several(text("columns of the scores, of the votes or of the leaves")),
        count=text("column of the counts"),
        weight=text("column of the weights"),
        cluster=text("column of the clusters"),
        by=text("column of the groups"),
    ),
    design=of(Design),
    positive=value("name", "the label that counts as positive, when it was named"),
    cases=keys(
        n=whole("cases in all"),
        negative=whole("negative cases"),
        positive=whole("positive cases"),
        unknown=whole("cases without a label"),
    ),
)
NO_FILE = ("apply", "plan auc", "plan difference", "plan rate", "plan leaf", "demo")
_MEASURES = keys(auc=ESTIMATE, average_precision=ESTIMATE, brier=ESTIMATE)
_COUNTS = {k: whole(v) for k, v in {
    "tp": "true positives", "fp": "false positives", "fn": "false negatives",
    "tn": "true negatives"}.items()}  # fmt: skip
_CUT = {
    **of(OperatingPoint, *_fields.POINT)["properties"],
    "confusion": keys(**_COUNTS),
    "metrics": each(number("every metric at the threshold")),
    "estimates": each(ESTIMATE),
    "validation": of(Validation, *_fields.VALIDATION),
    "guarantee": keys(
        level=number("confidence with which all constraints hold at once"),
        proofs=several(of(Proof)),
    ),
    "zones": each(value("anything", "two thresholds and what happens in each zone")),
    "group_cuts": each(value("anything", "a threshold for each group, and the proof")),
}  # fmt: skip
_CALIBRATED = {
    "brier": of(CalibrationGain, *_fields.GAIN),
    "slope": ESTIMATE,
    "intercept": ESTIMATE,
    "folds": field(CalibrationGain, "folds"),
}
_COMPARED = {
    "auc": each(ESTIMATE),
    "pairs": several(of(Pair)),
    "omnibus": of(Comparison, *_fields.OMNIBUS),
    "method": field(Comparison, "method"),
    "dominance": several(
        keys(
            first=text("a score"),
            second=text("another"),
            **of(Dominance, *_fields.DOMINANCE)["properties"],
        )
    ),
}
_COMBINED = {
    "out_of_sample": each(
        keys(
            auc=ESTIMATE,
            gain=ESTIMATE,
            gain_over_each=each(ESTIMATE),
            p_value=number("if some single classifier is as good; Holm's correction"),
        )
    ),
    "alone": each(ESTIMATE),
    "against": field(CombinerComparison, "against"),
    "folds": field(CombinerComparison, "folds"),
}
_LEAF = ("node", "n", "majority", "low", "high", "confidence", "utility", "verdict",
         "more")  # fmt: skip
_TREE = {
    "leaves": several(
        keys(
            probability=number("share of the larger class, estimated"),
            **{name: field(LeafReport, name, row=True) for name in _LEAF},
        )
    ),
    "tree": of(TreeLevels, *_fields.TREE),
    **of(LeafReport, *_fields.LEAVES)["properties"],
}
_WATCHED = {
    "alarm": value("yes or no", "whether the alarm was ever raised"),
    "since": text("the batch that raised it"),
    "evidence": number("largest evidence of a change so far"),
    "value": number("the estimate from all batches since the watch began"),
    "low": number("lower end of the confidence sequence"),
    "high": number("upper end of the confidence sequence"),
    "change": of(Change),
}
_STEP = keys(title=text("a question"), sentences=several(text("what was found")))

# one entry per command: what stands under "result"
RESULTS: dict[str, Schema] = {
    "report": keys(
        output=text("the file that was written"),
        bytes=whole("its size"),
        title=text("its title"),
        summary=several(_STEP),
        sections=several(text("what the report has, by title")),
    ),
    "evaluate": keys(
        scores=each(_MEASURES),
        groups=each(each(_MEASURES)),
        multiclass_auc=ESTIMATE,
        at=each(
            keys(
                threshold=number("the threshold that was given"),
                confusion=keys(**_COUNTS),
                metrics=each(ESTIMATE),
            )
        ),
    ),
    "threshold": keys(**_CUT, groups=each(keys(**_CUT))),
    "compare": keys(**_COMPARED, groups=each(keys(**_COMPARED))),
    "readers": keys(
        means=each(ESTIMATE),
        readers=each(each(number("result of a reader, by treatment"))),
        equality=of(ReaderStudy, *_fields.EQUALITY),
        **of(ReaderStudy, *_fields.STUDY)["properties"],
    ),
    "calibrate": keys(
        method=text("how the map was fitted"),
        column=text("name of the new column"),
        map=value("anything", "the map, as it is saved"),
        **_CALIBRATED,
        groups=each(keys(**_CALIBRATED)),
    ),
    "apply": keys(
        map=text("which kind of map"),
        file=text("where the rows came from"),
        output=text("the file that was written"),
        scores=several(text("the columns that it reads")),
        column=text("name of the new column"),
        rows=whole("rows that were scored"),
    ),
    "combine": keys(
        method=text("the combiner that was applied"),
        column=text("name of the new column"),
        **_COMBINED,
        single=each(ESTIMATE),
        groups=each(keys(**_COMBINED)),
    ),
    "nogold": keys(
        prevalence=ESTIMATE,
        tests=each(keys(sensitivity=ESTIMATE, specificity=ESTIMATE)),
        identified=field(LatentPosterior, "identified"),
        notes=several(text("what the answer assumes and what to keep in mind")),
        dependence=field(LatentPosterior, "dependence"),
        log_bayes_factor=field(LatentPosterior, "log_bayes_factor"),
        independent=keys(
            prevalence=ESTIMATE,
            tests=each(keys(sensitivity=ESTIMATE, specificity=ESTIMATE)),
            groups=each(keys(prevalence=ESTIMATE)),
        ),
        combination=of(Combination, *_fields.COMBINATION),
        groups=each(keys(prevalence=ESTIMATE)),
    ),
    "judge": keys(
        systems=each(
            keys(
                rate=ESTIMATE,
                raw=number("share of yes among all verdicts"),
                naive=each(number("share of yes of a judge")),
                judges=each(of(Judge)),
                sentences=several(text("what was found, as a sentence for a paper")),
                next=of(LabelPlan),
                needed=of(LabelNumber),
                **of(Rate, *_fields.RATE)["properties"],
            )
        ),
        differences=several(of(RateComparison, *PER_PAIR, row=True)),
        notes=several(text("what the comparison assumes")),
        sentences=several(text("which systems differ")),
    ),
    "evals": keys(
        systems=each(each(ESTIMATE)),
        items=each(whole("items of a system")),
        attempts=each(whole("attempts of a system")),
        groups=each(each(ESTIMATE)),
        leaderboard=keys(
            system=several(text("the systems, the best first")),
            value=several(number("pass rate")),
            low=several(number("lower limit")),
            high=several(number("upper limit")),
            best_rank=several(whole("first rank that it may have")),
            worst_rank=several(whole("last rank that it may have")),
            group=several(text("letters; systems that share one do not differ")),
        ),
        differences=several(of(Pair)),
    ),
    "leaves": keys(**_TREE, groups=each(keys(**_TREE))),
    "plan auc": keys(plan=of(Plan)),
    "plan difference": keys(plan=of(Plan)),
    "plan rate": keys(plan=of(Plan)),
    "plan leaf": keys(
        n=whole("cases that are needed"),
        asked=keys(
            p=number("share of the larger class"),
            confidence=number("wanted P(C)"),
            utility=number("wanted P(U)"),
        ),
        reached=keys(
            confidence=number("P(C) with so many"), utility=number("P(U) with so many")
        ),
    ),
    "check": keys(
        verdict=text("holds, fails or cannot tell yet, of all together"),
        exit_code=whole("0 holds, 4 fails, 5 cannot tell yet"),
        contract=text("the contract, as typed"),
        level=number("one minus the share of wrong verdicts on a bound"),
        adjust=text("how the number of requirements was allowed for"),
        verdicts=several(of(Verdict)),
        notes=several(text("what was assumed")),
    ),
    "watch": keys(
        watching=text("what is watched"),
        **_WATCHED,
        counted=value("yes or no", "whether this batch was new"),
        looks=whole("how often it was looked at"),
        sentence=text("how it stands"),
        groups=each(keys(**_WATCHED)),
    ),
    "demo": keys(
        steps=several(_STEP),
        files=several(
            keys(path=text("a file that was written"), what=text("its use"))
        ),
    ),
}  # fmt: skip


def document(command: str) -> Schema:
    """Give the JSON Schema of all that a command writes."""
    file = {} if command in NO_FILE else ABOUT["properties"]
    whole_answer = keys(**HEAD["properties"], **file, result=RESULTS[command])
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **whole_answer}


def lines(schema: Schema, where: str = "") -> list[tuple[str, str, str]]:
    """Give every path of a schema with kind and meaning, for the documentation."""
    if "items" in schema:
        return lines(schema["items"], f"{where}[]")
    dot = "." if where else ""
    if "properties" in schema:
        known = schema["properties"].items()
        return [row for k, v in known for row in lines(v, f"{where}{dot}{k}")]
    if isinstance(schema.get("additionalProperties"), dict):
        return lines(schema["additionalProperties"], f"{where}{dot}*")
    return [(where, schema["title"], schema["description"])]
