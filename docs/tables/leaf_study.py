"""Write the study of leaves as two tables, from the results that it stored.

python docs/tables/leaf_study.py
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results" / "study_leaves.json"
VERDICTS = ("trust", "thin", "coin toss")


def rows(question: str) -> dict[str, dict[str, dict]]:
    """Rows of one question, by data and choice."""
    found: dict[str, dict[str, dict]] = {}
    for row in json.loads(RESULTS.read_text())["rows"]:
        if row["question"] == question:
            found.setdefault(row["data"], {})[row["choice"]] = row
    return found


def leaves() -> Iterator[str]:
    yield (
        "| data | verdict | leaves | mean P(C) | majority differs on new cases | mean "
        "P(U) | right on new cases | verdicts from the cases grown on |"
    )
    yield "|" + " --- |" * 8
    for data, choices in rows("leaves").items():
        for verdict in VERDICTS:
            apart = choices.get(f"{verdict}, apart")
            alone = choices.get(f"{verdict}, alone")
            if apart is None:
                continue
            own = "" if alone is None else f"P(U) {alone['utility']}, "
            own += "none" if alone is None else f"right {alone['accuracy']}"
            cells = (data, verdict, apart["leaves"], apart["confidence"])
            cells += (apart["fails"], apart["utility"], apart["accuracy"], own)
            yield "| " + " | ".join(map(str, cells)) + " |"
    yield ""


def pruning() -> Iterator[str]:
    floors = ("0", "0.9", "0.95", "0.99")
    yield (
        "| data | full tree | cost-complexity by cv | "
        + " | ".join(f"floor {f}" for f in floors)
        + " |"
    )
    yield "|" + " --- |" * 7
    for data, choices in rows("pruning").items():
        plain = (choices["full"], choices["cv"])
        cells = [f"{r['accuracy']:.3f} ({r['leaves']:g} leaves)" for r in plain]
        for floor in floors:
            row = choices[f"apart, floor {floor}"]
            cells.append(
                f"{row['accuracy']:.3f} ({row['leaves']:g}), "
                f"{row['difference']:+.4f} ± {row['standard_error']:.4f}"
            )
        yield f"| {data} | " + " | ".join(cells) + " |"
    yield ""


def text(question: str) -> str:
    made = leaves() if question == "leaves" else pruning()
    return "\n".join(made) + "\n"


if __name__ == "__main__":
    for name in ("leaves", "pruning"):
        (Path(__file__).parent / f"leaf_study_{name}.inc").write_text(text(name))
