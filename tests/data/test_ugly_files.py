"""Files as programs write them: outputs of other tools, nested records, odd heads."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

import trueness
from trueness import InputError
from trueness.data.cleaning import collected_remarks

RNG = np.random.default_rng(41)
CASES = 60
Y = (np.arange(CASES) % 3 == 0).astype(int)
P = np.round(1 / (1 + np.exp(-RNG.normal(2 * Y - 1, 1.5))), 3)
Q = np.round(1 / (1 + np.exp(-RNG.normal(Y - 1, 1.5))), 3)
PREDICTED = (P >= 0.5).astype(int)
CONFIDENCE = np.maximum(P, 1 - P).round(3)
WORDS = np.where(Y, "Yes", "No")


def csv(**columns):
    """Write columns as CSV; a name may hold any sign but an equals sign."""
    rows = zip(*columns.values(), strict=True)
    return "\n".join([",".join(columns), *(",".join(map(str, r)) for r in rows)]) + "\n"


def objects(*records):
    return "\n".join(map(json.dumps, records)) + "\n"


def scores_of(finding):
    return {
        name: answer["auc"].value
        for name, answer in finding.numbers["scores"].items()
        if answer["auc"] is not None
    }


def evaluate(folder, name, content):
    path = folder / name
    path.write_text(content, encoding="utf-8")
    with collected_remarks():
        return trueness.evaluate(path)


NESTED = [
    {"id": k, "gold": {"label": int(y)}, "pred": {"classes": {"yes": float(p)}}}
    for k, (y, p) in enumerate(zip(Y, P, strict=True))
]
FLAT = [{"y": int(y), "p": float(p)} for y, p in zip(Y, P, strict=True)]
AREA = trueness.auc(Y, P).value

# name of the file, its content, and the areas under the curve that are meant
READ = {
    "parts of parts": ("a.jsonl", objects(*NESTED), {"pred.classes.yes": AREA}),
    "rows in an object": (
        "a.json",
        json.dumps({"model": "m", "predictions": FLAT}),
        {"p": AREA},
    ),
    "a row of units with an empty cell": (
        "a.csv",
        "patient,disease,marker\n-,[0/1],[U/ml]\n"
        + csv(a=range(CASES), y=Y, p=P).partition("\n")[2],
        {"marker": AREA},
    ),
    "probabilities and calibrated ones of both classes": (
        "h2o.csv",
        csv(
            actual=Y,
            predict=PREDICTED,
            p0=(1 - P).round(3),
            p1=P,
            cal_p0=(1 - Q).round(3),
            cal_p1=Q,
        ),
        {"p1": AREA, "cal_p1": trueness.auc(Y, Q).value},
    ),
    "columns called as the classes": (
        "caret.csv",
        csv(
            obs=WORDS,
            pred=np.where(PREDICTED, "Yes", "No"),
            No=(1 - P).round(3),
            Yes=P,
        ),
        {"Yes": AREA},
    ),
    "classes in brackets": (
        "rapidminer.csv",
        csv(
            label=WORDS,
            **{
                "prediction(label)": np.where(PREDICTED, "Yes", "No"),
                "confidence(No)": (1 - P).round(3),
                "confidence(Yes)": P,
            },
        ),
        {"confidence(Yes)": AREA},
    ),
    "classes within names": (
        "vertex.csv",
        csv(churn=Y, churn_0_scores=(1 - P).round(3), churn_1_scores=P),
        {"churn_1_scores": AREA},
    ),
    "a prediction called after its target": (
        "sas.csv",
        csv(BAD=Y, P_BAD1=P, P_BAD0=(1 - P).round(3), I_BAD=PREDICTED),
        {"P_BAD1": AREA},
    ),
    "the observed and the predicted class of SAS": (
        "logistic.csv",
        csv(_FROM_=Y, _INTO_=PREDICTED, IP_0=(1 - P).round(3), IP_1=P),
        {"IP_1": AREA},
    ),
    "a header of two lines by pandas": (
        "a.csv",
        ",truth,model,model\n,y,a,b\n"
        + csv(k=range(CASES), y=Y, p=P, q=Q).partition("\n")[2],
        {"a": AREA, "b": trueness.auc(Y, Q).value},
    ),
    "a header once more in the middle": (
        "a.csv",
        csv(y=Y[:9], p=P[:9]) + csv(y=Y[9:], p=P[9:]),
        {"p": AREA},
    ),
    "units below each header": (
        "a.csv",
        "y,p\n-,[pg/ml]\n" + csv(y=Y, p=P).replace("y,p\n", "") + "y,p\n-,[pg/ml]\n",
        {"p": AREA},
    ),
    "a note with empty cells beside it": (
        "a.csv",
        csv(y=Y, p=P, remark=[""] * CASES) + ",,\nSource: the registry,,\n",
        {"p": AREA},
    ),
    "a default probability beside covariates": (
        "a.csv",
        csv(income=np.round(1e4 * Q, 2), default=Y, pd=P),
        {"pd": AREA},
    ),
    "codes in front of words": (
        "spss.csv",
        csv(Status=np.where(Y, "1 - Dead", "0 - Alive"), PRE_1=P),
        {"PRE_1": AREA},
    ),
    "classes of WEKA": (
        "weka.csv",
        csv(
            actual=np.where(Y, "2:yes", "1:no"),
            predicted=np.where(PREDICTED, "2:yes", "1:no"),
            error=np.where(PREDICTED == Y, "", "+"),
            prediction=P,
        ),
        {"prediction": AREA},
    ),
    "a name that ends like a label": (
        "loans.csv",
        csv(loan_status=np.where(Y, "Default", "Paid"), pd_score=P),
        {"pd_score": AREA},
    ),
}


@pytest.mark.parametrize("case", READ)
def test_outputs_of_programs_are_read(case, tmp_path):
    name, content, expected = READ[case]

    finding = evaluate(tmp_path, name, content)

    assert scores_of(finding) == pytest.approx(expected, abs=2e-3)


def test_a_case_below_a_repeated_header_counts_though_it_equals_the_first(tmp_path):
    header, first_case, *_ = csv(y=Y, p=P).splitlines()
    content = f"{csv(y=Y, p=P)}{header}\n{first_case}\n"

    finding = evaluate(tmp_path, "a.csv", content)

    assert str(finding).startswith(f"{CASES + 1:,} cases:")


POSITIVE = np.where(Y, "POSITIVE", "NEGATIVE")
REFUSED = {
    "confidence in the predicted class": (
        csv(label=WORDS, prediction=np.where(PREDICTED, "Yes", "No"), conf=CONFIDENCE),
        "'conf' seems to hold the confidence in the class of 'prediction'",
        "score",
    ),
    "a prediction called label beside the truth": (
        csv(
            label=np.where(PREDICTED, "POSITIVE", "NEGATIVE"),
            score=CONFIDENCE,
            gold=POSITIVE,
        ),
        "Which column holds the labels",
        "label",
    ),
    "numbers of cases and of positives at each score": (
        "decile,n,cases\n" + "".join(f"{k},{50 + k},{k}\n" for k in range(1, 11)),
        "a column pos with the positives and a column neg",
        None,
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_score_or_no_label_is_asked(case, tmp_path):
    content, sentence, option = REFUSED[case]

    with pytest.raises(InputError, match=sentence) as error:
        evaluate(tmp_path, "a.csv", content)

    assert error.value.option == option


def test_a_confidence_that_is_named_is_taken():
    frame = {"label": Y, "prediction": PREDICTED, "conf": CONFIDENCE}

    estimate = trueness.auc(frame, label="label", score="conf")

    assert estimate.value == trueness.auc(Y, CONFIDENCE).value


def test_lists_of_numbers_beside_scores_are_no_scores(tmp_path):
    path = tmp_path / "features.parquet"
    pq.write_table(pa.table({"y": Y, "p": P, "x": [[1.0, 2.0]] * CASES}), path)

    assert scores_of(trueness.evaluate(path)) == {"p": AREA}


def test_two_words_without_a_label_may_be_labels():
    frame = {"arm": np.where(Y, "drug", "placebo"), "risk": P}

    sentences = " ".join(trueness.evaluate(frame).sentences)

    assert "without a label" in sentences
    assert "If 'arm' holds labels, name it" in sentences


def test_a_header_of_several_lines_names_the_columns_of_a_frame():
    frame = pd.DataFrame({("truth", "y"): Y, ("model", "a"): P, ("Unnamed: 2", "b"): Q})

    finding = trueness.evaluate(frame)

    expected = {"model a": AREA, "b": trueness.auc(Y, Q).value}
    assert scores_of(finding) == pytest.approx(expected)
    named = trueness.auc(frame, label="truth y", score="model a")
    assert named.value == AREA


DESIGN = {
    "several lesions of a patient": ("PatientID", np.arange(CASES) // 3, "cluster"),
    "sampling units of a survey": ("psu", np.arange(CASES) // 10, "cluster"),
    "cases for training": ("split", np.where(Y, "train", "test"), "by"),
    "weights": ("wt", np.where(Y, 1.5, 0.5), "weight"),
}


@pytest.mark.parametrize("case", DESIGN)
def test_a_column_of_the_design_is_mentioned(case):
    column, values, option = DESIGN[case]

    finding = trueness.evaluate({"y": Y, column: values, "score": P})

    assert f'type {option}="{column}".' in str(finding)


def test_strata_are_no_scores():
    points = np.round(10 * P).astype(int)
    frame = {"stratum": np.arange(CASES) // 20, "y": Y, "points": points}

    assert scores_of(trueness.evaluate(frame)) == {
        "points": trueness.auc(Y, points).value
    }


def test_a_time_with_its_unit_asks_for_a_horizon():
    days = np.arange(CASES) + 1

    finding = trueness.evaluate({"time_days": days, "event": Y, "risk": P})

    assert "'time_days' is the time of follow-up" in str(finding)


def test_a_log_is_for_other_questions(tmp_path):
    path = tmp_path / "samples.jsonl"
    path.write_text(objects({"doc_id": 0, "doc": {}, "filtered_resps": [], "acc": 1.0}))

    with pytest.raises(InputError, match="log of lm-evaluation-harness") as error:
        trueness.evaluate(path)

    assert "trueness.attempts(" in str(error.value)
    assert trueness.read_verdicts(path).judges == ("acc",)


FRAME = pd.DataFrame({"y": Y, "p": P})
CLASSES = [
    [{"label": "1", "prob": float(p)}, {"label": "0", "prob": round(1 - float(p), 3)}]
    for p in P
]


@pytest.mark.parametrize("orient", ["columns", "index", "records", "split", "table"])
def test_json_of_pandas_is_a_table(orient, tmp_path):
    FRAME.to_json(tmp_path / "a.json", orient=orient)

    assert scores_of(trueness.evaluate(tmp_path / "a.json")) == {"p": AREA}


def test_predictions_of_mlflow_are_beside_targets(tmp_path):
    frame = pd.DataFrame({"targets": Y, "predictions": PREDICTED, "score": P})
    frame.to_json(tmp_path / "a.json", orient="split", index=False)

    assert scores_of(trueness.evaluate(tmp_path / "a.json")) == {"score": AREA}


@pytest.mark.parametrize("ending", ["jsonl", "parquet", "feather"])
def test_a_list_of_classes_is_a_column_for_each(ending, tmp_path):
    path = tmp_path / f"bigquery.{ending}"
    columns = {"predicted_churn": PREDICTED, "churn": Y, "probs": CLASSES}
    table = pa.table({name: pa.array(list(v)) for name, v in columns.items()})
    if ending == "jsonl":
        path.write_text(objects(*table.to_pylist()))
    elif ending == "parquet":
        pq.write_table(table, path)
    else:
        feather.write_feather(table, path)

    assert scores_of(trueness.evaluate(path)) == {"probs.1": AREA}


def test_parts_of_objects_in_parquet_are_columns(tmp_path):
    path = tmp_path / "a.parquet"
    objects_of_rows = [
        {"label": int(y), "score": float(p)} for y, p in zip(Y, P, strict=True)
    ]
    pq.write_table(pa.table({"out": pa.array(objects_of_rows)}), path)

    assert scores_of(trueness.evaluate(path)) == {"out.score": AREA}


def test_a_file_of_arrow_that_is_none_is_told(tmp_path):
    path = tmp_path / "a.arrow"
    path.write_bytes(b"no arrow")

    with pytest.raises(InputError, match=r"a\.arrow is no file of Arrow"):
        trueness.evaluate(path)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [("a.pkl", "can run any program"), ("a.dta", "a file of Stata"),
     ("a.sas7bdat", "a file of SAS")],
)  # fmt: skip
def test_a_file_of_another_program_is_refused_with_a_way(name, sentence, tmp_path):
    (tmp_path / name).write_bytes(b"\x80\x05")

    with pytest.raises(InputError, match=sentence):
        trueness.evaluate(tmp_path / name)


def test_a_last_case_without_a_result_is_a_case(tmp_path):
    finding = evaluate(
        tmp_path, "a.csv", csv(y=Y, p=P, case=range(CASES)) + ",0.5,P9\n"
    )

    assert "1 without a label" in str(finding)


def test_an_index_test_is_no_index():
    frame = {"Reference": Y, "Index test": np.where(PREDICTED, "reactive", "weak")}

    with pytest.raises(InputError, match="If column 'Index test' holds the results"):
        trueness.evaluate(frame)


def test_attempts_have_a_leaderboard():
    frame = {"item": np.arange(CASES) // 2, "model": ["a", "b"] * 30, "passed": Y}

    with pytest.raises(InputError, match="use leaderboard"):
        trueness.compare(frame)


def test_a_score_as_the_name_of_a_column_is_doubted():
    finding = trueness.evaluate(pd.DataFrame({"1": Y, "0.6104": P}))

    assert "the first row was read as names of columns" in str(finding)


@pytest.mark.parametrize("pair", ["erkrankt/gesund", "genuine/impostor"])
def test_pairs_of_words_are_labels(pair):
    positive, negative = pair.split("/")

    with collected_remarks():
        finding = trueness.evaluate({"truth": np.where(Y, positive, negative), "p": P})

    assert scores_of(finding) == {"p": AREA}
