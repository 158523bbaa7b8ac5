"""How does a sentence of the library sound in a shell?

The library speaks to people who write Python: "Pass positive="yes"". On the command
line the same is ``--positive yes``. Every sentence that a command shows goes through
:func:`for_the_shell`; a test holds the outcome against the signs of Python.
"""

from __future__ import annotations

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
}
KNOWN = frozenset(
    [
        *("label", "score", "vote", "node", "positive", "count", "by", "level", "seed"),
        "weight",
        *("maximize", "minimize", "subject_to", "prevalence", "guarantee", "method"),
        *("folds", "criterion", "dependence", "draws", "confidence", "utility", "null"),
        *("power", "half_width", "auc", "p", "cost_fp", "cost_fn", "column", "yes"),
        *("labelled", "judges", "item", "system", "judge"),
    ]
)
_GIVEN = re.compile(
    r"""(?<![\w-])([a-z_]+)=("[^"]*"|'[^']*'|\[[^\]]*\]|\([^)]*\)|[^\s,;)]*[^\s,;).])?"""
)
# whole sentences that make no sense in a shell, and what to say instead
SENTENCES = (
    (
        r"For one class against the rest pass \S+ == (.*?), for each of them \S+ \S+\.",
        r"Make a column that is 1 for \1 and 0 for the rest.",
    ),
    (
        r"Cut the scores first: panel\.vote\(.*?\)\.",
        "Make columns of 0 and 1 first, with a threshold for each score.",
    ),
    (r"Pass positive=\.\.\. to \w+\.", "Type --positive VALUE."),
    (r"Type (trueness\.)?tally\([^)]*\)\.?", "Check --label and --score."),
    (r"label_next says", "--next 50 says"),
    (r", add judges (that do not .*?), or pass prior= to \w+", r", or add judges \1"),
    (r"(Pass|Type) confidence=(\S+?)\.?$", r"Type --guarantee \2."),
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
    text = re.sub(r"\b([Pp])ass (?=[a-z_]+=)", lambda m: _case("type ", m[1]), text)
    text = _GIVEN.sub(_option, text)
    text = re.sub(
        rf"^({'|'.join(sorted(KNOWN))})(?= must\b)",
        lambda m: f"--{m[1].replace('_', '-')}",
        text,
    )
    if label is not None:
        text = text.replace("y_true", f"column {label!r}")
    return text.replace("y_score", "the score").replace("trueness.", "")


def _case(word: str, first: str) -> str:
    return word.capitalize() if first.isupper() else word


def _option(match: re.Match[str]) -> str:
    name = OPTIONS.get(match[1], match[1])
    if name not in KNOWN:
        return match[0]
    given = (match[2] or "").strip("\"'")
    typed = shlex.quote(given) if match[2] and given != "..." else "VALUE"
    return f"--{name.replace('_', '-')} {typed}"
