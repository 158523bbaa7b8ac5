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


# content; what was typed beside the file; positives, negatives, unknowns; AUC
UNDERSTOOD = {
    "capitals and blanks": (
        table(words(["yes", "Yes", " YES "], ["no", " No", "NO"]), CHANCE),
        {},
        TEN,
        AUC,
    ),
    "German": (table(words("ja", "nein"), CHANCE), {}, TEN, AUC),
    "French": (table(words("Oui", "Non"), CHANCE), {}, TEN, AUC),
    "Spanish": (table(words("S\xed", "No"), CHANCE), {}, TEN, AUC),
    "Portuguese in Latin-1": (
        table(words("Sim", "N\xe3o"), CHANCE).encode("latin-1"),
        {},
        TEN,
        AUC,
    ),
    "two languages": (
        table(words(["yes", "ja"], ["no", "nein"]), CHANCE),
        {},
        TEN,
        AUC,
    ),
    "signs": (table(words("+", "-"), CHANCE), {}, TEN, AUC),
    "initials": (table(words("Y", "N"), CHANCE), {}, TEN, AUC),
    "pos and neg": (table(words(["pos", "Pos."], "neg"), CHANCE), {}, TEN, AUC),
    "the ill and the healthy": (table(words("ill", "healthy"), CHANCE), {}, TEN, AUC),
    "case and control": (table(words("Case", "Control"), CHANCE), {}, TEN, AUC),
    "with and without": (table(words("sepsis", "no sepsis"), CHANCE), {}, TEN, AUC),
    "not and un": (table(words("churned", "not churned"), CHANCE), {}, TEN, AUC),
    "malignant": (table(words("malignant", "benign"), CHANCE), {}, TEN, AUC),
    "a negative with a hyphen": (
        table(words("responder", "non-responder"), CHANCE),
        {},
        TEN,
        AUC,
    ),
    "ones and zeros among words": (
        table(without(words("1", "0"), "n/a"), CHANCE),
        {},
        (3, 5, 2),
        auc_by_pairs(HIDDEN, CHANCE),
    ),
    "floats as labels": (
        table(without(words("1.0", "0.0"), "?"), CHANCE),
        {},
        (3, 5, 2),
        auc_by_pairs(HIDDEN, CHANCE),
    ),
    "missing in five ways": (
        table(
            ["yes", "N/A", "yes", "NULL", "-", "yes", "?", "yes", "no", "no"], CHANCE
        ),
        {},
        (4, 2, 4),
        auc_by_pairs([1, None, 1, None, None, 1, None, 1, 0, 0], CHANCE),
    ),
    "an unknown label": (
        table(without(words("yes", "no"), "unknown"), CHANCE),
        {},
        (3, 5, 2),
        auc_by_pairs(HIDDEN, CHANCE),
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
    "quoted words": (table(words('"yes"', '" no"'), CHANCE), {}, TEN, AUC),
    "a space that does not break": (
        table(words("yes\N{NO-BREAK SPACE}", "no"), CHANCE),
        {},
        TEN,
        AUC,
    ),
    "percentages": (table(TRUTH, PERCENT, sep=";"), {}, TEN, AUC),
    "percentages with points": (
        table(TRUTH, [p.replace(",", ".") for p in PERCENT]),
        {},
        TEN,
        AUC,
    ),
    "percentages without a space": (
        table(TRUTH, [f"{100 * c:.2f}%" for c in CHANCE], sep="\t"),
        {},
        TEN,
        AUC,
    ),
    "decimal commas": (table(TRUTH, COMMA, sep=";"), {}, TEN, AUC),
    "decimal commas in quotes": (table(TRUTH, [f'"{c}"' for c in COMMA]), {}, TEN, AUC),
    "thousands and decimals": (
        table(
            TRUTH,
            [f"1.{int(c * 900) + 100},{k}" for k, c in enumerate(CHANCE)],
            sep=";",
        ),
        {},
        TEN,
        auc_by_pairs(
            TRUTH, [int(c * 900) + 100 + k / 10 for k, c in enumerate(CHANCE)]
        ),
    ),
    "thousands, and it was asked": (
        table(TRUTH, [f'"1,{int(c * 900) + 100}"' for c in CHANCE]),
        {"decimal": "."},
        TEN,
        auc_by_pairs(TRUTH, [int(c * 900) for c in CHANCE]),
    ),
    "thin spaces for thousands": (
        table(
            TRUTH,
            [f"{int(c * 900) + 1}\N{NARROW NO-BREAK SPACE}500,5" for c in CHANCE],
            sep=";",
        ),
        {},
        TEN,
        auc_by_pairs(TRUTH, [int(c * 900) for c in CHANCE]),
    ),
    "a minus of a typesetter": (
        table(TRUTH, [f"\N{MINUS SIGN}{1 - c:.4f}" for c in CHANCE]),
        {},
        TEN,
        AUC,
    ),
    "blank scores": (
        table(TRUTH, blank(CHANCE)),
        {"missing": "drop"},
        (3, 5, 0),
        auc_by_pairs(GONE, LEFT),
    ),
    "words for missing scores": (
        table(TRUTH, blank(CHANCE, "n/a")),
        {"missing": "drop"},
        (3, 5, 0),
        auc_by_pairs(GONE, LEFT),
    ),
    "names with spaces and umlauts": (
        table(
            TRUTH, CHANCE, head=(" Ergebnis der  Pr\xfcfung", "Wahr scheinlichkeit ")
        ),
        {"label": "Ergebnis der Pr\xfcfung", "score": "Wahr scheinlichkeit"},
        TEN,
        AUC,
    ),
    "a byte order mark and CRLF": (
        table(words("yes", "no"), CHANCE, end="\r\n").encode("utf-8-sig"),
        {},
        TEN,
        AUC,
    ),
    "UTF-16": (
        table(words("yes", "no"), CHANCE, sep="\t").encode("utf-16"),
        {},
        TEN,
        AUC,
    ),
    "an index and a total": (
        ","
        + table(words("yes", "no"), CHANCE).replace("\n", "\nr,", 10)
        + "Total,,4.1975\n",
        {},
        TEN,
        AUC,
    ),
    "a total among the labels": (
        table(words("yes", "no"), CHANCE) + "Sum,4.1975\n",
        {},
        TEN,
        AUC,
    ),
    "empty rows at the end": (
        table(words("yes", "no"), CHANCE, sep=";") + ";\n;\n",
        {},
        TEN,
        AUC,
    ),
    "a name twice, elsewhere": (
        "y,p,note,note\n"
        + "".join(f"{t},{c},a,b\n" for t, c in zip(TRUTH, CHANCE, strict=True)),
        {},
        TEN,
        AUC,
    ),
    "dates beside": (
        "day,y,p\n"
        + "".join(
            f"2026-11-{k + 1:02},{t},{c}\n"
            for k, (t, c) in enumerate(zip(TRUTH, CHANCE, strict=True))
        ),
        {},
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


def test_there_are_forty_files():
    assert len(UNDERSTOOD) >= 40


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
