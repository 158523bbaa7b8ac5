"""Files as colleagues send them: what they mean is written by hand beside each."""

import json
import re

import numpy as np
import pytest
from typer.testing import CliRunner

import trueness
from trueness.cli import app
from trueness.data.cleaning import listening

# the truth behind most of the files below: ten cases
TRUTH = [1, 0, 1, 0, 0, 1, 0, 1, 0, 0]
CHANCE = [0.91, 0.12, 0.64, 0.305, 0.4, 0.4, 0.0725, 0.5, 0.64, 0.2]


def auc_by_pairs(truth, score):
    pos = [s for t, s in zip(truth, score, strict=True) if t == 1]
    neg = [s for t, s in zip(truth, score, strict=True) if t == 0]
    return float(np.mean([[(a > b) + (a == b) / 2 for b in neg] for a in pos]))


def table(labels, scores, sep=",", head=("y", "p"), end="\n"):
    rows = [sep.join(head)]
    rows += [sep.join(map(str, r)) for r in zip(labels, scores, strict=True)]
    return end.join(rows) + end


def words(yes, no):
    """Write the truth in words; several spellings take turns."""
    yes, no = ([w] if isinstance(w, str) else w for w in (yes, no))
    return [(yes if t else no)[k % len(yes if t else no)] for k, t in enumerate(TRUTH)]


PERCENT = [f"{100 * c:.2f} %".replace(".", ",") for c in CHANCE]
COMMA = [str(c).replace(".", ",") for c in CHANCE]
TEN, AUC = (4, 6, 0), auc_by_pairs(TRUTH, CHANCE)
HIDDEN = [None if k in (3, 7) else t for k, t in enumerate(TRUTH)]
GONE = [t for k, t in enumerate(TRUTH) if k not in (2, 4)]
LEFT = [c for k, c in enumerate(CHANCE) if k not in (2, 4)]


def without(labels, word):
    return [word if k in (3, 7) else v for k, v in enumerate(labels)]


def blank(scores, word=""):
    return [word if k in (2, 4) else v for k, v in enumerate(scores)]


YES_NO = words("yes", "no")
UNKNOWN = (3, 5, 2), auc_by_pairs(HIDDEN, CHANCE)
DROPPED = (3, 5, 0), auc_by_pairs(GONE, LEFT)
THOUSANDS = [int(c * 900) for c in CHANCE]


def beside(head, rows):
    """Write other columns beside the label and the score."""
    lines = [
        head,
        *(r.format(t, c) for r, t, c in zip(rows, TRUTH, CHANCE, strict=True)),
    ]
    return "\n".join(lines) + "\n"


# content; what was typed beside the file; positives, negatives, unknowns; AUC
UNDERSTOOD = {
    name: (content, {}, TEN, AUC)
    for name, content in {
        "capitals and blanks": table(
            words(["yes", "Yes", " YES "], ["no", " No", "NO"]), CHANCE
        ),
        "German": table(words("ja", "nein"), CHANCE),
        "French": table(words("Oui", "Non"), CHANCE),
        "Spanish": table(words("S\xed", "No"), CHANCE),
        "Portuguese in Latin-1": table(words("Sim", "N\xe3o"), CHANCE).encode(
            "latin-1"
        ),
        "the euro of Windows": table(YES_NO, CHANCE, end="\n")
        .replace("y,p", "y,p,\N{EURO SIGN} \xe4")
        .replace("\n", ",\n")
        .encode("cp1252"),
        "two languages": table(words(["yes", "ja"], ["no", "nein"]), CHANCE),
        "signs": table(words("+", "-"), CHANCE),
        "marks": table(words("\N{CHECK MARK}", "\N{BALLOT X}"), CHANCE),
        "initials": table(words("Y", "N"), CHANCE),
        "pos and neg": table(words(["pos", "Pos."], "neg"), CHANCE),
        "the ill and the healthy": table(words("ill", "healthy"), CHANCE),
        "case and control": table(words("Case", "Control"), CHANCE),
        "with and without": table(words("sepsis", "no sepsis"), CHANCE),
        "not and un": table(words("churned", "not churned"), CHANCE),
        "malignant": table(words("malignant", "benign"), CHANCE),
        "a negative with a hyphen": table(words("responder", "non-responder"), CHANCE),
        "quoted words": table(words('"yes"', '" no"'), CHANCE),
        "a space that does not break": table(
            words("yes\N{NO-BREAK SPACE}", "no"), CHANCE
        ),
        "percentages": table(TRUTH, PERCENT, sep=";"),
        "percentages with points": table(TRUTH, [p.replace(",", ".") for p in PERCENT]),
        "percentages without a space": table(
            TRUTH, [f"{100 * c:.2f}%" for c in CHANCE], sep="\t"
        ),
        "decimal commas": table(TRUTH, COMMA, sep=";"),
        "decimal commas in quotes": table(TRUTH, [f'"{c}"' for c in COMMA]),
        "a minus of a typesetter": table(
            TRUTH, [f"\N{MINUS SIGN}{1 - c:.4f}" for c in CHANCE]
        ),
        "prices": table(TRUTH, [f"\N{EURO SIGN} {c}" for c in CHANCE]),
        "a byte order mark and CRLF": table(YES_NO, CHANCE, end="\r\n").encode(
            "utf-8-sig"
        ),
        "old Macintosh": table(YES_NO, CHANCE, end="\r"),
        "UTF-16": table(YES_NO, CHANCE, sep="\t").encode("utf-16"),
        "UTF-16 without a mark": table(YES_NO, CHANCE).encode("utf-16-be"),
        "Excel's first line": "sep=;\n" + table(YES_NO, COMMA, sep=";"),
        "a title and a comment": "# Export\n\n" + table(YES_NO, CHANCE, sep=";"),
        "a note below": table(YES_NO, CHANCE, sep=";") + "\n\nSource: registry\n",
        "a line that was cut": table(YES_NO, CHANCE, sep=";") + "yes\n",
        "NUL signs": table(YES_NO, CHANCE).replace("no", "no\0"),
        "an index and a total": ","
        + table(YES_NO, CHANCE).replace("\n", "\nr,", 10)
        + "Total,,4.1975\n",
        "two totals": ","
        + table(YES_NO, CHANCE).replace("\n", "\nr,", 10)
        + "Subtotal:,,2.1\nTotal:,,4.1975\n",
        "a total among the labels": table(YES_NO, CHANCE) + "Sum,4.1975\n",
        "empty rows at the end": table(YES_NO, CHANCE, sep=";") + ";\n;\n",
        "a name twice, elsewhere": beside("y,p,note,note", ["{},{},a,b"] * 10),
        "a line break in a field": beside(
            "note,y,p", [f'"a\n{k}",{{}},{{}}' for k in range(10)]
        ),
        "dates in two ways": beside(
            "day,y,p",
            [
                f"2026-11-{k + 1:02},{{}},{{}}" if k % 2 else f"{k}.11.2026,{{}},{{}}"
                for k in range(10)
            ],
        ),
        "a row that begins with a hash": beside(
            "code,y,p", ["#1,{},{}", *["2,{},{}"] * 9]
        ),
    }.items()
} | {
    "ones and zeros among words": (
        table(without(words("1", "0"), "n/a"), CHANCE),
        {},
        *UNKNOWN,
    ),
    "floats as labels": (
        table(without(words("1.0", "0.0"), "?"), CHANCE),
        {},
        *UNKNOWN,
    ),
    "an unknown label": (table(without(YES_NO, "unknown"), CHANCE), {}, *UNKNOWN),
    "three states": (table(without(YES_NO, "Indeterminate"), CHANCE), {}, *UNKNOWN),
    "missing in five ways": (
        table(
            ["yes", "N/A", "yes", "NULL", "-", "yes", "?", "yes", "no", "no"], CHANCE
        ),
        {},
        (4, 2, 4),
        auc_by_pairs([1, None, 1, None, None, 1, None, 1, 0, 0], CHANCE),
    ),
    "incomes": (
        table(words(">50K", ["<=50K", "<=50k "]), CHANCE),
        {"positive": ">50k"},
        TEN,
        AUC,
    ),
    "grades of a school": (
        table(words(["B\xf6se", "b\xf6se"], "Nett"), CHANCE),
        {"positive": "b\xf6se"},
        TEN,
        AUC,
    ),
    "thousands and decimals": (
        table(TRUTH, [f"1.{t + 100},{k}" for k, t in enumerate(THOUSANDS)], sep=";"),
        {},
        TEN,
        auc_by_pairs(TRUTH, [t + k / 10 for k, t in enumerate(THOUSANDS)]),
    ),
    "thousands, and it was asked": (
        table(TRUTH, [f'"1,{t + 100}"' for t in THOUSANDS]),
        {"decimal": "."},
        TEN,
        auc_by_pairs(TRUTH, THOUSANDS),
    ),
    "thin spaces for thousands": (
        table(
            TRUTH,
            [f"{t + 1}\N{NARROW NO-BREAK SPACE}500,5" for t in THOUSANDS],
            sep=";",
        ),
        {},
        TEN,
        auc_by_pairs(TRUTH, THOUSANDS),
    ),
    "blank scores": (table(TRUTH, blank(CHANCE)), {"missing": "drop"}, *DROPPED),
    "words for missing scores": (
        table(TRUTH, blank(CHANCE, "n/a")),
        {"missing": "drop"},
        *DROPPED,
    ),
    "names with spaces and umlauts": (
        table(TRUTH, CHANCE, head=(" Ergebnis der  Pr\xfcfung", "Wahr scheinlich ")),
        {"label": "Ergebnis der Pr\xfcfung", "score": "Wahr scheinlich"},
        TEN,
        AUC,
    ),
}

# content; what was typed; what the sentence must say, in Python and in the shell
ASKED = {
    "two labels that are no pair": (
        table(words("red", "blue"), CHANCE),
        {},
        "positive='blue' or positive='red'",
        "--positive blue or --positive red",
    ),
    "a thousand or one": (
        table(TRUTH, [f'"1,{int(c * 900) + 100}"' for c in CHANCE]),
        {},
        'decimal="," or decimal="."',
        "--decimal , or --decimal .",
    ),
    "half in percent": (
        table(TRUTH, ["16.7 %", *CHANCE[1:]]),
        {},
        "in the same way",
        "in the same way",
    ),
    "commas and points": (
        table(TRUTH, ["0,5", *CHANCE[1:]], sep=";"),
        {},
        "in the same way",
        "in the same way",
    ),
    "blanks": (
        table(TRUTH, blank(CHANCE)),
        {},
        'missing="drop"',
        "--missing-scores drop",
    ),
    "the same name twice": (
        "y,p,p\n"
        + "".join(f"{t},{c},{1 - c}\n" for t, c in zip(TRUTH, CHANCE, strict=True)),
        {},
        r"p \(1\)",
        r"p \(1\)",
    ),
    "words in place of scores": (
        table(TRUTH, ["high", *CHANCE[1:]]),
        {},
        "such as 'high'",
        "such as 'high'",
    ),
    "a spelling": (
        table(["yess", *YES_NO[1:]], CHANCE),
        {},
        "Is one of them misspelt",
        "'yes', 'yess'",
    ),
    "an empty file": ("", {}, "is empty", "is empty"),
    "three kinds": (
        table(["cat", "dog", "cow", *words("cat", "dog")[3:]], CHANCE),
        {},
        "'cat', 'cow', 'dog'",
        "'cat', 'cow', 'dog'",
    ),
}


def write(folder, content):
    path = folder / "colleague.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def in_python(path, typed):
    with listening() as cleaned:
        words = {"label": "y", "score": "p"} | typed
        decimal = words.get("decimal")
        t = trueness.tally(trueness.scan(path, decimal=decimal), **words)
    return t, cleaned


def in_shell(path, typed, *more):
    words = {"label": "y", "score": "p"} | typed
    names = {"missing": "missing-scores"}
    options = [w for k, v in words.items() for w in (f"--{names.get(k, k)}", str(v))]
    return CliRunner().invoke(app, ["evaluate", str(path), *options, "--json", *more])


@pytest.mark.parametrize("name", UNDERSTOOD)
def test_what_a_colleague_sent_is_understood(tmp_path, name):
    content, typed, counts, auc = UNDERSTOOD[name]
    path = write(tmp_path, content)
    t, _ = in_python(path, typed)
    assert (t.n_pos, t.n_neg, t.n_unknown) == counts
    assert trueness.auc(t).value == pytest.approx(auc, abs=1e-12)
    result = in_shell(path, typed)
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    cases = found["cases"]
    assert (cases["positive"], cases["negative"], cases["unknown"]) == counts
    assert found["result"]["scores"][typed.get("score", "p")]["auc"]["value"] == (
        pytest.approx(auc, abs=1e-9)
    )


@pytest.mark.parametrize("name", ASKED)
def test_what_could_mean_two_things_is_asked(tmp_path, name):
    content, typed, python, shell = ASKED[name]
    path = write(tmp_path, content)
    with pytest.raises(trueness.InputError, match=python):
        in_python(path, typed)
    result = in_shell(path, typed)
    assert result.exit_code == 2
    assert re.search(shell, " ".join(result.stderr.split())), result.stderr


def test_what_was_cleaned_is_said_in_one_line_and_refused_with_strict(tmp_path):
    path = write(tmp_path, UNDERSTOOD["missing in five ways"][0])
    shown = CliRunner().invoke(
        app, ["evaluate", str(path), "--label", "y", "--score", "p"]
    )
    (line,) = [x for x in shown.stdout.splitlines() if x.startswith("Cleaned: ")]
    assert "'yes' as positive and 'no' as negative" in line
    assert "as a missing label" in line
    found = json.loads(in_shell(path, {}).stdout)
    assert "as positive" in " ".join(found["cleaned"])
    refused = in_shell(path, {}, "--strict")
    assert refused.exit_code == 2
    assert "leave --strict out" in " ".join(refused.stderr.split())


def test_dropped_scores_are_counted_by_label(tmp_path):
    path = write(tmp_path, UNDERSTOOD["blank scores"][0])
    _, cleaned = in_python(path, {"missing": "drop"})
    assert cleaned == [
        "2 cases without a score were left out (1 positive, 1 negative, 0 without a "
        "label)."
    ]


def test_arrays_and_frames_of_every_kind_are_read_alike(tmp_path):
    import pandas as pd
    import polars as pl

    labels, scores = words(["Yes ", "yes"], "no"), PERCENT
    with pytest.warns(trueness.Cleaned) as warned:
        expected = trueness.tally(labels, scores)
    assert "percentages" in str(warned[0].message)
    columns = {"y": labels, "p": scores}
    for frame in (pd.DataFrame(columns), pl.DataFrame(columns), pl.LazyFrame(columns)):
        with listening() as said:
            assert trueness.tally(frame, label="y", score="p") == expected
        assert len(said) == 2


def test_columns_may_be_named_by_numbers():
    import pandas as pd

    frame = pd.DataFrame({1: TRUTH, 2: CHANCE, 3: CHANCE})
    t = trueness.tally(TRUTH, CHANCE)
    assert trueness.tally(frame, label=1, score=2) == t
    assert trueness.panel(frame, [2, 3], label=1)["3"] == t


def test_a_panel_drops_refuses_or_keeps_what_is_missing():
    columns = {"a": [0.1, None, 0.3], "b": [0.1, 0.2, 0.3]}
    assert trueness.panel([0, 1, 1], columns).n == 3
    with pytest.warns(trueness.Cleaned, match="1 case without a score was left out"):
        assert trueness.panel([0, 1, 1], columns, missing="drop").n == 2
    with pytest.raises(trueness.InputError, match="must not be missing"):
        trueness.panel([0, 1, 1], columns, missing="refuse")


def test_columns_of_one_name_in_a_frame_of_scores_get_a_sentence():
    import pandas as pd

    frame = pd.DataFrame([[0.1, 0.2], [0.3, 0.4]], columns=["a", "a"])
    with pytest.raises(trueness.InputError, match="used twice: 'a'"):
        trueness.panel([0, 1], frame)


def test_a_look_says_what_columns_could_be_and_what_to_type(tmp_path):
    content = "result;risk;site\n" + "".join(
        f"{y};{p};{'AB'[k % 2]}\n"
        for k, (y, p) in enumerate(zip(words("ja", "nein"), PERCENT, strict=True))
    )
    path = write(tmp_path, content)
    found = trueness.look(trueness.scan(path))
    assert found.could_be("label") == ["result"]
    assert found.could_be("score") == ["risk"]
    assert any(q.command == "evaluate" for q in found.questions)
    assert "percentages" in " ".join(found.columns[1].remarks)
    shown = CliRunner().invoke(app, ["look", str(path)])
    assert shown.exit_code == 0
    assert "--label result --score risk" in shown.stdout
    said = json.loads(CliRunner().invoke(app, ["look", str(path), "--json"]).stdout)
    asked = said["result"]["questions"][0]["type"].split()
    # what it says to type can be typed
    assert CliRunner().invoke(app, asked[1:]).exit_code == 0
