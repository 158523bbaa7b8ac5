"""How does a sentence of the library sound in a shell?

The library's sentences are true everywhere, but for what is typed: in Python
``positive="yes"``, in a shell ``--positive yes``. That is the one rule. A sentence that
only Python can follow is left out; in a report, which nobody types into, so is every
sentence that says what to type.
"""

from __future__ import annotations

import datetime
import re
import shlex

OPTIONS = re.findall(
    r"\w+",
    "label score vote node positive count by level seed weight maximize minimize "
    "subject_to prevalence guarantee method sampling unlabelled decimal folds fixed "
    "criterion dependence draws confidence utility null power half_width auc p cost_fp "
    "cost_fn column yes labelled judges item system judge cluster covariance metric "
    "threshold margin recall correlation at model pairs reference at_least at_most",
)
# what a shell calls otherwise
NAMES = {
    "scores": "--score",
    "votes": "--vote",
    "replicates": "--draws",
    "rng": "--seed",
    "missing": "--missing-scores",
    "label_next": "--next 50",
    "guaranteed_threshold": "--guarantee",
    "validate_threshold": "--validate",
    "latent_class": "trueness nogold",
    "calibration_gain": "Cross-fitting",
    "best_thresholds": "A pair of thresholds",
    "group_thresholds": "A threshold for each group",
}
# name=value, or a name; what is to be typed has a value
_TYPED = re.compile(
    r"\b(?:([PpTt])(?:ass|ype) )?(?<!-)([a-z_]+)(?:\[\d+\])?="
    r"""(\.\.\.|"[^"]*"|'[^']*'|\[[^\]]*\]|\([^)]*\)|[^\s,;)]*[^\s,;).])?|"""
    rf"^({'|'.join(OPTIONS)})(?= must\b)|"
    rf"\b(?:trueness\.)?({'|'.join(n for n in NAMES if '_' in n)})\b(?!\()"
)
# signs of Python that no option stands for; "cost(fp=1, fn=5)" is typed in a shell too
_PYTHON = re.compile(
    r"(?<!pip install \")\b"
    r"(?:trueness|tally|panel|frame|leaves|scan|map|post|report)[.(\[][\"'\w\[]|"
    r"(?<![-\w])(?!(?:[ft][pn]|defer|beta|odds)=)[a-z_]+=(?=[\"'\d\[{( ])|"
    r"\by_true\b|\by_score\b|\blambda\b"
)


def for_the_shell(sentence: str) -> str:
    """Say a sentence of the library with the words of the command line.

    >>> for_the_shell('Is the positive label right? Pass positive="yes".')
    'Is the positive label right? Type --positive yes.'
    >>> for_the_shell("level must lie in (0, 1); found 95. Type level=0.95.")
    '--level must lie in (0, 1); found 95. Type --level 0.95.'
    """
    text = re.sub(r"\bdatetime\.(date|datetime)\(([\d, ]+)\)", _iso, sentence)
    text = _TYPED.sub(_option, text)
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
    verb, given, value, rule, name = match.groups()
    word = given or rule or name
    if word not in OPTIONS and word not in NAMES:
        return match[0]
    typed = NAMES.get(word, f"--{word.replace('_', '-')}")
    if value or verb:
        plain = (value or "...").strip("\"'")
        typed += f" {'VALUE' if plain == '...' else shlex.quote(plain)}"
    return f"{'Type ' if verb in 'PT' else 'type '}{typed}" if verb else typed
