"""What is claimed, in the grammar of ``check``, and what do published counts say?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from trueness._core.checks.errors import InputError
from trueness.declarations.json_format import MOST_CLAIMS
from trueness.declarations.records import Declaration, StatedClaim, StatedVerdict
from trueness.monitoring.checking import check
from trueness.monitoring.requirements import Requirement, requirement
from trueness.monitoring.verdicts import Verdict

_LONGEST_CLAIM = 300


def read_claims(claims: str | Iterable[str]) -> list[tuple[str, Requirement]]:
    """Return each claim with its requirement; none may name a file."""
    texts = [claims] if isinstance(claims, str) else list(claims)
    if len(texts) > MOST_CLAIMS:
        raise InputError(
            f"A declaration has at most {MOST_CLAIMS} claims; found {len(texts)}.",
            option="claims",
        )

    return [(text, read_claim(text)) for text in dict.fromkeys(texts)]


def read_claim(text: str) -> Requirement:
    """Return the requirement that a claim states; no file is opened for it."""
    if not isinstance(text, str) or len(text) > _LONGEST_CLAIM:
        raise InputError(
            f"A claim is a sentence of at most {_LONGEST_CLAIM} characters.",
            option="claims",
            example="recall >= 0.9 at 0.3",
        )

    if ".json" in text:
        raise InputError(
            f"A claim needs a threshold that is a number; {text!r} names a file.",
            option="claims",
            example="recall >= 0.9 at 0.3",
        )

    return requirement(text)


def judge_claims(
    declaration: Declaration, texts: Sequence[str]
) -> tuple[StatedClaim, ...]:
    """Return the claims with their verdicts by the published counts (Holm)."""
    if not texts:
        return ()

    requirements = {text: read_claim(text) for text in texts}
    answer = check(
        declaration.counts,
        list(requirements.values()),
        groups={column: dict(names) for column, names in declaration.groups.items()},
        level=declaration.level,
    )

    verdicts: dict[str, list[Verdict]] = {}
    for verdict in answer.verdicts:
        verdicts.setdefault(verdict.requirement, []).append(verdict)

    return tuple(
        StatedClaim(text, _verdicts_on(verdicts, required))
        for text, required in requirements.items()
    )


def _verdicts_on(
    verdicts: dict[str, list[Verdict]], required: Requirement
) -> tuple[StatedVerdict, ...]:
    """Return the verdicts on one requirement; a group is named by its column."""
    # a requirement with two bounds has a verdict on each
    sentences = [bound.text for bound in required.bounds()]
    sentences.append(str(required))

    stated_verdicts = []
    for sentence in dict.fromkeys(sentences):
        for verdict in verdicts.get(sentence, []):
            if _is_about(verdict, required):
                stated_verdicts.append(
                    StatedVerdict(
                        verdict.group,
                        verdict.verdict,
                        verdict.value,
                        verdict.low,
                        verdict.high,
                        verdict.bound,
                    )
                )

    return tuple(stated_verdicts)


def _is_about(verdict: Verdict, required: Requirement) -> bool:
    """Return whether a verdict is on this requirement, for its own groups."""
    if required.next_site or not required.by:
        return not verdict.group
    return verdict.group.startswith(f"{required.by}=")
