"""How does a sentence of the library sound in a shell?

The library speaks to people who write Python: "Pass positive="yes"". On the command
line the same is ``--positive yes``, and in a report, which nobody types into, it is
left out. A test holds the outcome against the signs of Python.
"""

from __future__ import annotations

import datetime
import re
import shlex

# options whose names differ from the words of the library
OPTIONS = {
    "scores": "score",
    "votes": "vote",
    "replicates": "draws",
    "rng": "seed",
    "y_true": "label",
    "y_score": "score",
    "missing": "missing-scores",
}
KNOWN = frozenset(
    [
        *("label", "score", "vote", "node", "positive", "count", "by", "level", "seed"),
        "weight",
        *("maximize", "minimize", "subject_to", "prevalence", "guarantee", "method"),
        *("sampling", "unlabelled", "decimal", "missing-scores"),
        *("folds", "criterion", "dependence", "draws", "confidence", "utility", "null"),
        *("power", "half_width", "auc", "p", "cost_fp", "cost_fn", "column", "yes"),
        *("labelled", "judges", "item", "system", "judge", "cluster", "covariance"),
        *("metric", "threshold", "margin", "recall", "correlation", "at", "model"),
        *("fixed", "pairs", "reference"),
    ]
)
# analyses that refuse a word of the sample, and what asks for them in a shell
ANALYSES = {
    "latent_class": "nogold",
    "prevalence": "judge",
    "compare_combiners": "combine",
    "reader_study": "readers",
    "compare_auc": "compare",
    "guaranteed_threshold": "--guarantee",
    "validate_threshold": "--validate",
    "calibration_gain": "Cross-fitting",
    "best_thresholds": "A search for two thresholds",
    "group_thresholds": "A search for a threshold of each group",
}
_GIVEN = re.compile(
    r"""(?<![\w-])([a-z_]+)=("[^"]*"|'[^']*'|\[[^\]]*\]|\([^)]*\)|[^\s,;)]*[^\s,;).])?"""
)
# signs of Python that no option stands for; "cost(fp=1, fn=5)" is typed in a shell too
_PYTHON = re.compile(
    r"(?<!pip install \")\b"
    r"(?:trueness|tally|panel|frame|leaves|scan|map|post|report)[.(\[][\"'\w\[]|"
    r"(?<![-\w])(?!(?:[ft][pn]|defer|beta|odds)=)[a-z_]+=(?=[\"'\d\[{( ])|"
    r"\by_true\b|\by_score\b|\blambda\b"
)
# whole sentences that make no sense in a shell, and what to say instead
SENTENCES = (
    (
        r"For one class against the rest pass \S+ == (.*?), for each of them \S+ \S+\.",
        r"Make a column that is 1 for \1 and 0 for the rest.",
    ),
    (
        r"Apply thresholds to the scores first: panel\.vote\(.*?\)\.",
        "Make columns of 0 and 1 first, with a threshold for each score.",
    ),
    (r"Pass positive=\.\.\. to \w+(?:\.tally)?\.", "Type --positive VALUE."),
    (r"Type (trueness\.)?tally\([^)]*\)\.?", "Check --label and --score."),
    (r"label_next says", "--next 50 says"),
    (
        r"To leave these out, type panel\.observed\(.*?\)\[.*?\]\.",
        "Type --missing-scores drop to leave them out, or give them a score.",
    ),
    (r", add judges (that do not .*?), or pass prior= to \w+", r", or add judges \1"),
    (
        r"come from the labels, as those of trueness\.prevalence do;",
        "come from the labels, with the same rate as trueness judge gives;",
    ),
    (
        r"reverse it with tally\.map\(.*?\); (if the other label is the positive one), "
        r"pass positive=\.\.\. to trueness\.tally",
        r"change its sign; \1, type --positive VALUE",
    ),
    (
        r"; trueness\.latent_class says what can be learnt",
        "; type trueness nogold for what can be learnt",
    ),
    (r"\bvalidate_threshold(?= (?:says|allow))", "--validate"),
    (r"leave fixed= out", "leave --fixed out"),
    (r"\b([Tt]his|[Tt]he) (?:tally|panel|frame)\b(?![.\[(])", r"\1 file"),
    (r"or sampling=\S+ if cases were not chosen by their label", "or leave it out"),
    (r"\bLeave (\w+)= out\b", r"Leave --\1 out"),
    (r"type count= with whole numbers", "type --count COLUMN"),
    (r"^table= must name a table of (\S+);", r"Name a table, as in \1::TABLE;"),
    (r"^table= names a table of a database; ", "::TABLE names a table of a database; "),
    (r"(written by )trueness\.save_map", r"\1calibrate --save or combine --save"),
    (r"type duckdb\.sql\('INSTALL (\w+)'\)", r"type duckdb -c 'INSTALL \1'"),
    (
        r"into FOLDER(/\S+?) and type trueness\.scan\(.*?\}\)",
        r"into ~/.duckdb/extensions\1",
    ),
)


def for_the_shell(sentence: str, label: str | None = None) -> str:
    """Say a sentence of the library with the words of the command line.

    >>> for_the_shell('Is the positive label right? Pass positive="yes".')
    'Is the positive label right? Type --positive yes.'
    >>> for_the_shell("level must lie in (0, 1); found 95. Type level=0.95.")
    '--level must lie in (0, 1); found 95. Type --level 0.95.'
    """
    text = sentence
    for pattern, instead in SENTENCES:
        text = re.sub(pattern, instead, text)
    text = re.sub(r"\b\w+(?= does not take )", lambda m: ANALYSES.get(m[0], m[0]), text)
    text = re.sub(r"\bdatetime\.(date|datetime)\(([\d, ]+)\)", _iso, text)
    text = re.sub(r"\bscores\[\d+\]=", "score=", text)
    text = re.sub(r"\bPass (?=[a-z_]+=)", "Type ", text)
    text = re.sub(r"\bpass (?=[a-z_]+=)", "type ", text)
    text = _GIVEN.sub(_option, text)
    text = re.sub(
        rf"^({'|'.join(sorted(KNOWN))})(?= must\b)",
        lambda m: f"--{m[1].replace('_', '-')}",
        text,
    )
    if label is not None:
        text = text.replace("y_true must", f"column {label!r} must")
        text = text.replace("y_true holds", f"column {label!r} holds")
    text = re.sub(r"\by_score(?= must\b)", "the score", text)
    # what still speaks Python is advice that a shell cannot follow
    said = re.split(r"(?<=[.?!])(?=\s+[A-Z(])", text)
    kept = [part for part in said if not _PYTHON.search(part)]
    return "".join(kept).lstrip() if kept else text


def for_readers(sentence: str) -> str:
    """Leave out what could be typed.

    >>> for_readers("Few cases. Type level=0.9 for narrower limits.")
    'Few cases.'
    """
    said = re.split(r"(?<=[.?!])(?=\s+[A-Z(])", for_the_shell(sentence))
    kept = [part for part in said if not re.search(r"(?<!\w)--[a-z]", part)]
    return "".join(kept).strip()


def _iso(match: re.Match[str]) -> str:
    """Write a date as files do."""
    kind = getattr(datetime, match[1])
    return repr(str(kind(*map(int, match[2].split(",")))))


def _option(match: re.Match[str]) -> str:
    name = OPTIONS.get(match[1], match[1])
    if name not in KNOWN:
        return match[0]
    given = (match[2] or "").strip("\"'")
    typed = shlex.quote(given) if match[2] and given != "..." else "VALUE"
    return f"--{name.replace('_', '-')} {typed}"
