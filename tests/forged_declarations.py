"""Declarations with one number, claim, count, edge or text changed."""

import copy
import math

# forgeries that change an answer: each returns a changed copy


def changed(content, path, value):
    forged = copy.deepcopy(content)
    place = forged
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return forged


def number_forgeries(content):
    """Change each stated value, end of an interval and bound by a visible amount."""
    for place, number in enumerate(content["measured"]):
        for name in ("value", "low", "high"):
            old = number[name]
            if old is None or isinstance(old, str):
                continue
            new = round(old + 0.2, 4) if old < 0.6 else round(old - 0.2, 4)
            if name == "value" and "bounds" in number:
                new = round(number["bounds"][1] + 0.01, 4)
            yield changed(content, ("measured", place, name), new)
        if "bounds" in number and not isinstance(number["bounds"][0], str):
            new = [round(number["bounds"][0] + 0.011, 4), number["bounds"][1]]
            yield changed(content, ("measured", place, "bounds"), new)
        yield changed(content, ("measured", place, "method"), "Clopper-Pearson")


def last_digit_forgeries(content):
    """Change the last digit that is shown, of numbers that counts tell exactly."""
    for place, number in enumerate(content["measured"]):
        if number["value"] and "bounds" not in number:
            unit = 10.0 ** (math.floor(math.log10(abs(number["value"]))) - 3)
            new = float(f"{number['value'] + unit:.4g}")
            yield changed(content, ("measured", place, "value"), new)


def claim_forgeries(content):
    for place, claim in enumerate(content["claims"]):
        for group, verdict in enumerate(claim["verdicts"]):
            other = "fails" if verdict["verdict"] == "holds" else "holds"
            path = ("claims", place, "verdicts", group)
            yield changed(content, (*path, "verdict"), other)
            yield changed(content, (*path, "value"), verdict["value"] * 0.9)
            yield changed(content, (*path, "bound"), verdict["bound"] * 0.9)
        text = claim["claim"].replace("0.", "0.9").replace("100", "900")
        yield changed(content, ("claims", place, "claim"), text)
        yield changed(content, ("claims", place, "verdicts"), [])


def count_forgeries(content):
    """Change one count of one bin, of all cases or of a group, by one."""
    columns = content["evidence"]["counts"]["columns"]
    path = ("evidence", "counts", "columns")
    for kind in ("neg", "pos", "unknown"):
        for row in range(0, len(columns["score"]), 9):
            more = columns[kind][row] + 1
            yield changed(content, (*path, kind, row), more)
    for group, counts in content["evidence"]["groups"]["hospital"].items():
        path = ("evidence", "groups", "hospital", group, "columns")
        for kind in ("neg", "pos"):
            more = counts["columns"][kind][0] + 1
            yield changed(content, (*path, kind, 0), more)


def table_forgeries(content):
    for place, table in enumerate(content["tables"]):
        for cell in ("tp", "fn"):
            old = table[cell]
            new = [old[0], old[1] + 1] if isinstance(old, list) else old + 1
            yield changed(content, ("tables", place, cell), new)


def edge_forgeries(content):
    """Move an edge of a bin over a threshold, or the outer end of all scores."""
    columns = content["evidence"]["counts"]["columns"]
    path = ("evidence", "counts", "columns")
    row = columns["score"].index(0.3)
    yield changed(content, (*path, "score", row), 0.2995)
    yield changed(content, (*path, "high", row + 1), 0.3)
    yield changed(content, (*path, "score", -1), 1e-9)
    yield changed(content, (*path, "high", 0), 0.9999)
    yield changed(content, (*path, "high", 0), 7.5)


def other_forgeries(content):
    """Leave out a number, a table or a claim's group; other rows, level or k."""
    for name in ("measured", "tables"):
        yield changed(content, (name,), content[name][1:])
        yield changed(content, (name,), [*content[name], content[name][0]])
    yield changed(content, ("flow", "rows"), content["flow"]["rows"] + 1)
    yield changed(content, ("level",), 0.9)
    yield changed(content, ("privacy", "at_least"), 50)
    yield changed(content, ("privacy", "hidden"), [])
    yield changed(content, ("thresholds",), [0.3])
    yield changed(content, ("agreement",), True)
    groups = dict(content["evidence"]["groups"]["hospital"])
    groups.pop("hospital 0")
    yield changed(content, ("evidence", "groups", "hospital"), groups)
    design = {"sampling": "cohort", "prevalence": 0.05, "unlabelled": "left out"}
    yield changed(content, ("evidence", "counts", "design"), design)


FORGERIES = (
    number_forgeries,
    last_digit_forgeries,
    claim_forgeries,
    count_forgeries,
    table_forgeries,
    edge_forgeries,
    other_forgeries,
)
