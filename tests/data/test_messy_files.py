"""Files as colleagues send them: what they mean is written by hand beside each."""

import json
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from typer.testing import CliRunner

import trueness
from trueness.cli import app
from trueness.data.cleaning import collected_remarks

# the truth behind most of the files below: ten cases
TRUTH = [1, 0, 1, 0, 0, 1, 0, 1, 0, 0]
CHANCE = [0.91, 0.12, 0.64, 0.305, 0.4, 0.4, 0.0725, 0.5, 0.64, 0.2]


def auc_by_pairs(truth, score):
    pos, neg = (
        [s for t, s in zip(truth, score, strict=True) if t == k] for k in (1, 0)
    )
    return float(np.mean([[(a > b) + (a == b) / 2 for b in neg] for a in pos]))


def table(labels, scores=CHANCE, sep=",", head=("y", "p"), end="\n"):
    rows = [sep.join(map(str, r)) for r in zip(labels, scores, strict=True)]
    return end.join([sep.join(head), *rows]) + end


def words(yes, no):
    """Write the truth in words; several spellings take turns."""
    yes, no = ([w] if isinstance(w, str) else w for w in (yes, no))
    return [(yes if t else no)[k % len(yes if t else no)] for k, t in enumerate(TRUTH)]


def without(values, word, places=(3, 7)):
    return [word if k in places else v for k, v in enumerate(values)]


def beside(head, row):
    """Write other columns beside the label and the score."""
    rows = enumerate(zip(TRUTH, CHANCE, strict=True))
    return "\n".join([head, *(row(k).format(t, c) for k, (t, c) in rows)]) + "\n"


PERCENT = [f"{100 * c:.2f} %".replace(".", ",") for c in CHANCE]
COMMA = [str(c).replace(".", ",") for c in CHANCE]
YES_NO = words("yes", "no")
THOUSANDS = [int(c * 900) for c in CHANCE]
TEN = (4, 6, 0), auc_by_pairs(TRUTH, CHANCE)
UNKNOWN = (3, 5, 2), auc_by_pairs(without(TRUTH, None), CHANCE)
DROPPED = (3, 5, 0), auc_by_pairs(without(TRUTH, None, (2, 4)), CHANCE)
INDEXED = "," + table(YES_NO).replace("\n", "\nr,", 10)

# what ten cases look like that are understood without a word
PLAIN = {
    "capitals and blanks": table(words(["yes", "Yes", " YES "], ["no", " No", "NO"])),
    "German": table(words("ja", "nein")),
    "French": table(words("Oui", "Non")),
    "Spanish": table(words("S\xed", "No")),
    "Portuguese in Latin-1": table(words("Sim", "N\xe3o")).encode("latin-1"),
    "the euro of Windows": table(YES_NO).replace("y,p", "y,p,\N{EURO SIGN} \xe4")
        .replace("\n", ",\n").encode("cp1252"),
    "two languages": table(words(["yes", "ja"], ["no", "nein"])),
    "signs": table(words("+", "-")),
    "marks": table(words("\N{CHECK MARK}", "\N{BALLOT X}")),
    "initials": table(words("Y", "N")),
    "pos and neg": table(words(["pos", "Pos."], "neg")),
    "the ill and the healthy": table(words("ill", "healthy")),
    "case and control": table(words("Case", "Control")),
    "with and without": table(words("sepsis", "no sepsis")),
    "not and un": table(words("churned", "not churned")),
    "malignant": table(words("malignant", "benign")),
    "a negative with a hyphen": table(words("responder", "non-responder")),
    "quoted words": table(words('"yes"', '" no"')),
    "a space that does not break": table(words("yes\N{NO-BREAK SPACE}", "no")),
    "percentages": table(TRUTH, PERCENT, sep=";"),
    "percentages with points": table(TRUTH, [p.replace(",", ".") for p in PERCENT]),
    "percentages without a space":
        table(TRUTH, [f"{100 * c:.2f}%" for c in CHANCE], sep="\t"),
    "decimal commas": table(TRUTH, COMMA, sep=";"),
    "decimal commas in quotes": table(TRUTH, [f'"{c}"' for c in COMMA]),
    "a minus of a typesetter": table(TRUTH, [f"\N{MINUS SIGN}{1 - c}" for c in CHANCE]),
    "prices": table(TRUTH, [f"\N{EURO SIGN} {c}" for c in CHANCE]),
    "a byte order mark and CRLF": table(YES_NO, end="\r\n").encode("utf-8-sig"),
    "old Macintosh": table(YES_NO, end="\r"),
    "UTF-16": table(YES_NO, sep="\t").encode("utf-16"),
    "UTF-16 without a mark": table(YES_NO).encode("utf-16-be"),
    "Excel's first line": "sep=;\n" + table(YES_NO, COMMA, sep=";"),
    "a title and a comment": "# Export\n\n" + table(YES_NO, sep=";"),
    "a note below": table(YES_NO, sep=";") + "\n\nSource: registry\n",
    "a line that was cut": table(YES_NO, sep=";") + "yes\n",
    "NUL signs": table(YES_NO).replace("no", "no\0"),
    "an index and a total": INDEXED + "Total,,4.1975\n",
    "two totals": INDEXED + "Subtotal:,,2.1\nTotal:,,4.1975\n",
    "a total among the labels": table(YES_NO) + "Sum,4.1975\n",
    "empty rows at the end": table(YES_NO, sep=";") + ";\n;\n",
    "a name twice, elsewhere": beside("y,p,note,note", lambda k: "{},{},a,b"),
    "a line break in a field": beside("note,y,p", lambda k: f'"a\n{k}",{{}},{{}}'),
    "dates in two ways": beside("day,y,p", lambda k: (
        f"2026-11-{k + 1:02},{{}},{{}}" if k % 2 else f"{k}.11.2026,{{}},{{}}")),
    "a row that begins with a hash":
        beside("code,y,p", lambda k: "2,{},{}" if k else "#1,{},{}"),
}  # fmt: skip
# content; what was typed beside the file; positives, negatives, unknowns; AUC
UNDERSTOOD = {name: (content, {}, *TEN) for name, content in PLAIN.items()} | {
    "ones, zeros and words": (table(without(words("1", "0"), "n/a")), {}, *UNKNOWN),
    "floats as labels": (table(without(words("1.0", "0.0"), "?")), {}, *UNKNOWN),
    "an unknown label": (table(without(YES_NO, "unknown")), {}, *UNKNOWN),
    "three states": (table(without(YES_NO, "Indeterminate")), {}, *UNKNOWN),
    "missing in five ways": (
        table(["yes", "N/A", "yes", "NULL", "-", "yes", "?", "yes", "no", "no"]), {},
        (4, 2, 4), auc_by_pairs([1, None, 1, None, None, 1, None, 1, 0, 0], CHANCE)),
    "incomes": (table(words(">50K", ["<=50K", "<=50k "])), {"positive": ">50k"}, *TEN),
    "grades of a school": (table(words(["B\xf6se", "b\xf6se"], "Nett")),
                           {"positive": "b\xf6se"}, *TEN),
    "thousands and decimals": (
        table(TRUTH, [f"1.{t + 100},{k}" for k, t in enumerate(THOUSANDS)], sep=";"),
        {}, TEN[0], auc_by_pairs(TRUTH, [t + k / 10 for k, t in enumerate(THOUSANDS)])),
    "thousands, and it was asked": (
        table(TRUTH, [f'"1,{t + 100}"' for t in THOUSANDS]), {"decimal": "."},
        TEN[0], auc_by_pairs(TRUTH, THOUSANDS)),
    "thin spaces for thousands": (
        table(TRUTH, [f"{t + 1}\N{NARROW NO-BREAK SPACE}500,5" for t in THOUSANDS],
              sep=";"), {}, TEN[0], auc_by_pairs(TRUTH, THOUSANDS)),
    "blank scores": (table(TRUTH, without(CHANCE, "", (2, 4))),
                     {"missing_scores": "drop"}, *DROPPED),
    "words for missing scores": (table(TRUTH, without(CHANCE, "n/a", (2, 4))),
                                 {"missing_scores": "drop"}, *DROPPED),
    "names with spaces and umlauts": (
        table(TRUTH, head=(" Ergebnis der  Pr\xfcfung", "Wahr scheinlich ")),
        {"label": "Ergebnis der Pr\xfcfung", "score": "Wahr scheinlich"}, *TEN),
}  # fmt: skip

# content; what the sentence must say, in Python and in the shell
ASKED = {
    "two labels that are no pair": (table(words("red", "blue")),
        'positive="blue" or positive="red"', "--positive blue or --positive red"),
    "a thousand or one": (table(TRUTH, [f'"1,{t + 100}"' for t in THOUSANDS]),
        'decimal="," or decimal="."', "--decimal , or --decimal ."),
    "half in percent": (table(TRUTH, ["16.7 %", *CHANCE[1:]]), "in the same way", None),
    "commas and points": (table(TRUTH, ["0,5", *CHANCE[1:]], sep=";"),
        "in the same way", None),
    "blanks": (table(TRUTH, without(CHANCE, "")), 'missing_scores="drop"',
        "--missing-scores drop"),
    "the same name twice": (beside("y,p,p", lambda k: "{},{},1"), r"p \(1\)", None),
    "words in place of scores": (table(TRUTH, ["high", *CHANCE[1:]]),
        "such as 'high'", None),
    "a spelling": (table(["yess", *YES_NO[1:]]), "Is one of them misspelt",
        "'yes', 'yess'"),
    "an empty file": ("", "is empty", None),
    "three kinds": (table(["cat", "dog", "cow", *words("cat", "dog")[3:]]),
        "'cat', 'cow', 'dog'", None),
}  # fmt: skip


def write(folder, content):
    path = folder / "colleague.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def in_python(path, typed):
    arguments = {"label": "y", "score": "p"} | typed
    with collected_remarks() as cleaned:
        rows = trueness.scan(path, decimal=arguments.get("decimal"))
        return trueness.tally(rows, **arguments), cleaned


def in_shell(path, typed, *more):
    arguments = {"label": "y", "score": "p"} | typed
    options = [
        word
        for k, v in arguments.items()
        for word in (f"--{k.replace('_', '-')}", str(v))
    ]
    return CliRunner().invoke(app, ["evaluate", str(path), *options, "--json", *more])


@pytest.mark.parametrize("name", UNDERSTOOD)
def test_what_a_colleague_sent_is_understood(tmp_path, name):
    content, typed, counts, auc = UNDERSTOOD[name]
    path = write(tmp_path, content)
    t, _ = in_python(path, typed)

    assert (t.n_pos, t.n_neg, t.n_unknown) == counts
    assert trueness.auc(t).value == pytest.approx(auc, abs=1e-12)

    if name in list(PLAIN)[1:-1]:  # the shell reads files by the same function
        return
    result = in_shell(path, typed)
    assert result.exit_code == 0, result.stderr

    outcome = json.loads(result.stdout)
    kinds = ("positive", "negative", "unknown")
    assert tuple(outcome["cases"][k] for k in kinds) == counts

    (said,) = outcome["result"]["scores"].values()
    assert said["auc"]["value"] == pytest.approx(auc, abs=1e-9)


@pytest.mark.parametrize("name", ASKED)
def test_what_could_mean_two_things_is_asked(tmp_path, name):
    content, python, shell = ASKED[name]
    path = write(tmp_path, content)
    with pytest.raises(trueness.InputError, match=python):
        in_python(path, {})

    result = in_shell(path, {})
    assert result.exit_code == 2

    said = " ".join(result.stderr.split())
    assert re.search(shell or python, said), said


def test_what_was_cleaned_is_said_in_one_line_and_refused_with_strict(tmp_path):
    path = write(tmp_path, UNDERSTOOD["missing in five ways"][0])
    typed = ["evaluate", str(path), "--label", "y", "--score", "p"]
    shown = CliRunner().invoke(app, typed)
    (line,) = [x for x in shown.stdout.splitlines() if x.startswith("Cleaned: ")]

    assert "'yes' as positive and 'no' as negative" in line
    assert "as a missing label" in line

    result = json.loads(in_shell(path, {}).stdout)
    assert "as positive" in " ".join(result["cleaned"])

    blank = write(tmp_path, UNDERSTOOD["blank scores"][0])
    assert in_python(blank, {"missing_scores": "drop"})[1] == [
        "2 cases without a score were left out (1 positive, 1 negative, 0 without a "
        "label)."
    ]

    path = write(tmp_path, UNDERSTOOD["missing in five ways"][0])
    refused = in_shell(path, {}, "--strict")
    assert refused.exit_code == 2
    assert "leave --strict out" in " ".join(refused.stderr.split())


def test_arrays_and_frames_of_every_kind_are_read_alike(tmp_path):
    labels = words(["Yes ", "yes"], "no")
    scores = PERCENT
    with pytest.warns(trueness.CleanedWarning) as warned:
        expected = trueness.tally(labels, scores)
    assert "percentages" in str(warned[0].message)

    columns = {"y": labels, "p": scores}
    for frame in (pd.DataFrame(columns), pl.DataFrame(columns), pl.LazyFrame(columns)):
        with collected_remarks() as said:
            assert trueness.tally(frame, label="y", score="p") == expected
        assert len(said) == 2


def test_names_and_gaps_of_frames_of_scores():
    frame = pd.DataFrame({1: TRUTH, 2: CHANCE, 3: CHANCE})
    t = trueness.tally(TRUTH, CHANCE)
    assert trueness.tally(frame, label=1, score=2) == t
    assert trueness.panel(frame, [2, 3], label=1)["3"] == t

    twice = pd.DataFrame([[0.1, 0.2], [0.3, 0.4]], columns=["a", "a"])
    with pytest.raises(trueness.InputError, match="used twice: 'a'"):
        trueness.panel([0, 1], twice)

    columns = {"a": [0.1, None, 0.3], "b": [0.1, 0.2, 0.3]}
    assert trueness.panel([0, 1, 1], columns).n == 3
    with pytest.warns(
        trueness.CleanedWarning, match="1 case without a score was left out"
    ):
        assert trueness.panel([0, 1, 1], columns, missing_scores="drop").n == 2
    with pytest.raises(trueness.InputError, match="must not be missing"):
        trueness.panel([0, 1, 1], columns, missing_scores="refuse")


def test_a_look_says_what_columns_could_be_and_what_to_type(tmp_path):
    site = [f"{p};{'AB'[k % 2]}" for k, p in enumerate(PERCENT)]
    content = table(words("ja", "nein"), site, ";", ("result", "risk", "site"))
    path = write(tmp_path, content)
    look = trueness.look(trueness.scan(path))

    assert look.could_be("label") == ["result"]
    assert look.could_be("score") == ["risk"]
    assert any(q.command == "evaluate" for q in look.questions)
    assert "percentages" in " ".join(look.columns[1].remarks)

    shown = CliRunner().invoke(app, ["look", str(path)])
    assert shown.exit_code == 0
    assert "--label result --score risk" in shown.stdout

    said = json.loads(CliRunner().invoke(app, ["look", str(path), "--json"]).stdout)
    arguments = said["result"]["questions"][0]["type"].split()
    # what it says to type can be typed
    assert CliRunner().invoke(app, arguments[1:]).exit_code == 0
