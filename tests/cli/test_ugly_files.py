"""Files as people have them: what is not needed must not stop a command."""

import duckdb
import numpy as np
import pandas as pd
import pytest

import trueness
from shell import answer, run
from trueness import InputError
from trueness.data.cleaning import collected_remarks

CASES = 40


def rows(rng=0):
    """Labels and scores of some cases, of which both classes overlap."""
    draw = np.random.default_rng(rng)
    label = draw.integers(0, 2, CASES)
    score = np.round(draw.normal(label, 1.0), 3)
    return label.tolist(), score.tolist()


def write_csv(path, **columns):
    """Write columns as CSV; None is an empty field."""
    lines = [",".join(columns)]
    for row in zip(*columns.values(), strict=True):
        lines.append(",".join("" if v is None else str(v) for v in row))
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def zoned(tmp_path):
    """A CSV file with a UTC time in each row, and its AUC by the library."""
    label, score = rows()
    when = [f"2026-11-01T10:{k:02d}:00Z" for k in range(CASES)]
    path = write_csv(tmp_path / "zoned.csv", when=when, y=label, p=score)
    return path, trueness.auc(label, score).value


class TestTimesWithATimeZone:
    @pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl", "duckdb"])
    @pytest.mark.parametrize("named", [True, False])
    def test_do_not_stop_a_command(self, zoned, ending, named):
        path, expected = zoned
        place = path.with_suffix(f".{ending}")
        read = f"SELECT * FROM '{path}'"  # noqa: S608 - a file of this test
        if ending == "duckdb":
            with duckdb.connect(str(place)) as database:
                database.execute(f"CREATE TABLE t AS {read}")
        elif ending != "csv":
            duckdb.sql(
                f"COPY ({read}) TO '{place}'"
                + (" (FORMAT json)" if ending == "jsonl" else "")
            )

        words = ("--label", "y", "--score", "p") if named else ()
        found = answer("evaluate", place, *words)

        assert found["result"]["scores"]["p"]["auc"]["value"] == pytest.approx(expected)

    def test_are_kept_as_they_are_written(self, zoned):
        path, _ = zoned

        opened = trueness.scan(path)

        assert opened.aggregate('min("when")').fetchall() == [("2026-11-01T10:00:00Z",)]

    @pytest.mark.parametrize("option", ["--by", "--cluster"])
    def test_can_be_groups(self, zoned, option):
        path, _ = zoned
        words = ("--label", "y", "--score", "p", option, "when")

        assert run("evaluate", path, *words).exit_code == 0

    def test_of_parquet_are_written_back_as_they_are(self, zoned, tmp_path):
        path, _ = zoned
        source, target = tmp_path / "in.parquet", tmp_path / "out.parquet"
        duckdb.read_csv(str(path)).write_parquet(str(source))

        words = ("--label", "y", "--score", "p", "--output", target)
        result = run("calibrate", source, *words)

        assert result.exit_code == 0, result.stderr
        written = duckdb.read_parquet(str(target))
        kinds = dict(zip(written.columns, map(str, written.types), strict=True))
        assert kinds["when"] == "TIMESTAMP WITH TIME ZONE"


def long_file(path, models=("a", "b"), cases=CASES):
    """A file with a row for each case and model."""
    label, _ = rows()
    draw = np.random.default_rng(1)
    every = [(k, label[k % CASES], m) for m in models for k in range(cases)]
    case, truth, model = zip(*every, strict=True)
    score = np.round(draw.normal(truth), 3)
    return write_csv(path, case=case, truth=truth, model=model, score=score)


class TestLongFiles:
    COLUMNS = ("--label", "truth", "--score", "score")

    @pytest.mark.parametrize("command", ["evaluate", "threshold", "calibrate"])
    @pytest.mark.parametrize("models", [("a", "b"), ("x", "y", "z")])
    def test_stop_and_say_what_to_type(self, tmp_path, command, models):
        path = long_file(tmp_path / "long.csv", models)

        result = run(command, path, *self.COLUMNS)

        assert result.exit_code == 2
        assert f"would count {len(models)} times" in result.stderr
        assert "--cluster case" in result.stderr
        assert "name 'model' as groups" in result.stderr

    def test_are_counted_by_clusters_and_groups(self, tmp_path):
        path = long_file(tmp_path / "long.csv")

        together = ("--cluster", "case", "--by", "model")
        found = answer("evaluate", path, *self.COLUMNS, *together)

        assert found["cases"]["n"] == 2 * CASES
        assert set(found["result"]["groups"]["score"]) == {"a", "b"}

    def test_are_asked_by_cluster_where_look_says_what_to_type(self, tmp_path):
        path = long_file(tmp_path / "long.csv")

        asked = run("look", path).stdout

        assert f"evaluate {path} --label truth --score score --cluster case" in asked

    def test_cannot_be_compared_by_column(self, tmp_path):
        path = long_file(tmp_path / "long.csv")

        result = run("compare", path, *self.COLUMNS)

        assert "into a column of its own" in result.stderr

    def test_with_a_few_rows_missing_stop_too(self, tmp_path):
        path = long_file(tmp_path / "long.csv")
        lines = path.read_text().splitlines()
        path.write_text("\n".join(lines[:-5]) + "\n")

        assert run("evaluate", path, *self.COLUMNS).exit_code == 2

    def test_of_a_contract_name_the_cluster(self, tmp_path):
        path = long_file(tmp_path / "long.csv")
        contract = tmp_path / "quality.toml"
        head = 'label = "truth"\nscore = "score"\n'
        contract.write_text(f'{head}[[require]]\nmetric = "auc"\nat_least = 0.5\n')

        result = run("check", contract, path)

        assert result.exit_code == 2
        assert 'Add cluster = "case"' in result.stderr

    def test_are_not_seen_where_labels_differ_within_a_case(self, tmp_path):
        """Two eyes of a patient are two cases."""
        label, score = rows()
        patient = [k // 2 for k in range(CASES)]
        eye = ["left", "right"] * (CASES // 2)
        columns = {"patient": patient, "eye": eye, "y": label, "p": score}
        path = write_csv(tmp_path / "eyes.csv", **columns)

        result = run("evaluate", path, "--label", "y", "--score", "p")

        assert result.exit_code == 0, result.stderr

    def test_are_not_seen_where_every_case_has_one_row(self, tmp_path):
        label, score = rows()
        sex = ["f", "m"] * (CASES // 2)
        columns = {"id": range(CASES), "sex": sex, "y": label, "p": score}
        path = write_csv(tmp_path / "plain.csv", **columns)

        result = run("evaluate", path, "--label", "y", "--score", "p")

        assert result.exit_code == 0, result.stderr


class TestMissingScores:
    """Ten scores of forty are missing, in lines that are known."""

    LOST = (3, 4, 11, 20, 21, 22, 30, 35, 38, 39)  # rows, counted from 0
    WORDS = ("--label", "y", "--score", "p")

    def columns(self, written):
        label, score = rows()
        score = [round(s) / 2 for s in score]  # equal ones share a row of the counts
        for k in self.LOST:
            score[k] = written
        return {"y": label, "p": score}

    @pytest.mark.parametrize("written", ["", "nan", "n/a", "NULL"])
    def test_are_counted_and_found_in_the_file(self, tmp_path, written):
        path = write_csv(tmp_path / "gaps.csv", **self.columns(written))

        result = run("evaluate", path, *self.WORDS)

        assert result.exit_code == 2
        assert "in 10 of 40 cases" in result.stderr
        assert "See lines 5, 6, 13, 22, 23 and 5 more of the file." in result.stderr

    def test_are_found_below_a_text_with_a_line_break(self, tmp_path):
        path = write_csv(tmp_path / "gaps.csv", **self.columns(""))
        lines = path.read_text().splitlines()
        quoted = [f'{line},"a\nb"' for line in lines[1:]]
        path.write_text("\n".join([f"{lines[0]},note", *quoted]) + "\n")

        result = run("evaluate", path, *self.WORDS)

        # the last line of each record: two lines a case, below the header
        assert "See lines 9, 11, 25, 43, 45 and 5 more" in result.stderr

    def test_of_parquet_are_found_by_row(self, tmp_path):
        text = write_csv(tmp_path / "gaps.csv", **self.columns(""))
        path = tmp_path / "gaps.parquet"
        duckdb.read_csv(str(text)).write_parquet(str(path))

        result = run("evaluate", path, *self.WORDS)

        assert "See rows 4, 5, 12, 21, 22 and 5 more of the file." in result.stderr

    def test_can_be_left_out(self, tmp_path):
        path = write_csv(tmp_path / "gaps.csv", **self.columns(""))

        found = answer("evaluate", path, *self.WORDS, "--missing-scores", "drop")

        assert found["cases"]["n"] == 30

    def test_infinite_scores_are_no_missing_ones(self, tmp_path):
        path = write_csv(tmp_path / "gaps.csv", **self.columns("inf"))

        result = run("evaluate", path, *self.WORDS)

        assert "found infinite scores in 10 of 40 cases" in result.stderr
        assert "drop" not in result.stderr


@pytest.mark.parametrize("command", ["evaluate", "threshold", "report", "calibrate"])
def test_a_column_is_not_measured_by_itself(tmp_path, command):
    label, score = rows()
    path = write_csv(tmp_path / "cases.csv", y=label, p=score)

    result = run(command, path, "--label", "y", "--score", "y")

    assert result.exit_code == 2
    assert "Column 'y' is named both as the label and as a score" in result.stderr


class TestContractsOnCounts:
    """A contract need not name columns of a file that holds counts."""

    REQUIRED = '[[require]]\nmetric = "auc"\nat_least = 0.55\n'

    @pytest.fixture
    def counted(self, tmp_path):
        label, score = rows()
        whole = trueness.tally(label * 10, score * 10)
        path = tmp_path / "counts.csv"
        whole.write(path)
        return whole, path

    @pytest.mark.parametrize("named", ["", 'label = "y"\nscore = "p"\n'])
    def test_are_checked(self, counted, tmp_path, named):
        whole, path = counted
        contract = tmp_path / "quality.toml"
        contract.write_text(named + self.REQUIRED)

        found = answer("check", contract, path)

        assert found["result"]["verdicts"][0]["value"] == trueness.auc(whole).value

    def test_keep_the_prevalence_of_the_contract(self, counted, tmp_path):
        whole, path = counted
        contract = tmp_path / "quality.toml"
        required = '[[require]]\nmetric = "precision"\nthreshold = 0.5\nat_most = 1.0\n'
        contract.write_text(f"prevalence = 0.01\n{required}")

        found = answer("check", contract, path)

        expected = trueness.at_threshold(
            whole.with_design(prevalence=0.01), 0.5
        ).metrics["precision"]
        verdict = found["result"]["verdicts"][0]
        assert verdict["value"] == pytest.approx(expected.value)


TABLE_OF_COUNTS = "test,disease,n\npos,yes,815\npos,no,115\nneg,yes,208\nneg,no,327\n"


def test_a_table_of_counts_is_counted_by_its_counts(tmp_path):
    """Of epiR's example: sensitivity 815 / 1023, specificity 327 / 442."""
    path = tmp_path / "two_by_two.csv"
    path.write_text(TABLE_OF_COUNTS)

    result = run("evaluate", path)
    with pytest.warns(trueness.CleanedWarning):
        from_frame = trueness.evaluate(pd.read_csv(path))

    assert result.exit_code == 0
    assert "1,465 cases" in result.output
    assert "79.7 %" in result.output
    assert "Column 'n' says how many cases each row represents" in result.output
    assert "Not taken: 'n'" not in result.output
    assert "1,465 cases" in " ".join(map(str, from_frame.sentences))


PATTERNS = "A,B,C,n\n" + "".join(
    f"{k // 4},{k // 2 % 2},{k % 2},{10 + 7 * k}\n" for k in range(8)
)


def test_patterns_of_verdicts_are_counted_by_their_counts(tmp_path):
    """Each pattern is there once, and says how many cases have it."""
    path = tmp_path / "patterns.csv"
    path.write_text(PATTERNS)

    result = run("nogold", path)
    posterior = trueness.latent_class(pd.read_csv(path))

    assert "276 cases, 3 tests" in result.output
    assert "Column 'n' says how many cases each row represents" in result.output
    assert "rows have the same verdicts" in " ".join(posterior.notes)


def test_a_covariate_called_n_is_no_count(tmp_path):
    """Single cases have scores of their own, which come with one label each."""
    path = tmp_path / "cases.csv"
    rows = [f"{i % 2},{0.1 + 0.031 * i:.3f},{i}" for i in range(20)]
    path.write_text("y,p,n\n" + "\n".join(rows) + "\n")

    result = run("evaluate", path)

    assert "20 cases" in result.output
    assert "Every row counts as one case." in result.output


def test_a_verdict_of_a_judge_is_no_label(tmp_path):
    path = tmp_path / "verdicts.csv"
    rows = [
        f"{item},{judge},{(item + place) % 2}"
        for item in range(30)
        for place, judge in enumerate("ab")
    ]
    path.write_text("item,judge,verdict\n" + "\n".join(rows) + "\n")

    result = run("evaluate", path)

    assert result.exit_code != 0
    assert "Each row has the verdict of one judge ('judge', 'verdict')" in result.output
    with pytest.raises(InputError, match="verdict of one judge"):
        trueness.evaluate(pd.read_csv(path))


def test_a_code_of_missing_values_among_probabilities_is_told(tmp_path):
    label, score = rows()
    score = [round(1 / (1 + np.exp(-p)), 3) for p in score]
    coded = [-999 if k % 7 == 0 else p for k, p in enumerate(score)]
    path = write_csv(tmp_path / "coded.csv", label=label, score=coded)
    whole = write_csv(tmp_path / "whole.csv", label=label, score=score)

    told = run("evaluate", path).stdout
    report = run("report", path, "-o", tmp_path / "r.html").stdout

    assert "score is -999 in 6 cases, and all others lie between 0 and 1" in told
    assert "score is -999 in 6 cases" in report
    assert "all others lie" not in run("evaluate", whole).stdout


def test_one_and_minus_one_with_their_signs_are_labels(tmp_path):
    label, score = rows()
    signed = ["+1" if y in (1, "1") else "-1" for y in label]
    path = write_csv(tmp_path / "signed.csv", label=signed, score=score)
    plain = write_csv(tmp_path / "plain.csv", label=label, score=score)

    found = answer("evaluate", path)["result"]["scores"]["score"]["auc"]

    assert found == answer("evaluate", plain)["result"]["scores"]["score"]["auc"]


class TestPythonSaysWhyNoScoreIsFound:
    def test_in_a_file_with_a_header_only(self, tmp_path):
        path = tmp_path / "header.csv"
        path.write_text("label,score\n")

        with pytest.raises(trueness.InputError, match="have no rows"):
            trueness.evaluate(path)

    def test_in_an_empty_column(self, tmp_path):
        label, _ = rows()
        path = write_csv(tmp_path / "empty.csv", label=label, score=[""] * len(label))

        with pytest.raises(trueness.InputError, match="Column 'score' is empty"):
            trueness.evaluate(path)

    def test_where_a_word_stands_among_numbers(self, tmp_path):
        label, score = rows()
        odd = ["error", *score[1:]]
        path = write_csv(tmp_path / "odd.csv", label=label, score=odd)

        with pytest.raises(trueness.InputError, match="text in 1 of 40 rows"):
            trueness.evaluate(path)


class TestColumnsSetApartBySpaces:
    """DuckDB would read a line such as "1   0.345" as one number."""

    @pytest.mark.parametrize("spaces", ["   ", " "])
    @pytest.mark.parametrize("decimal", [".", ","])
    def test_are_columns(self, tmp_path, spaces, decimal):
        label, score = rows()
        plain = write_csv(tmp_path / "plain.csv", label=label, score=score)
        lines = [
            f"{y}{spaces}{str(p).replace('.', decimal)}"
            for y, p in zip(label, score, strict=True)
        ]
        path = tmp_path / "spaces.txt"
        path.write_text("\n".join([f"label{spaces}score", *lines]) + "\n")

        found = answer("evaluate", path)

        expected = answer("evaluate", plain)["result"]["scores"]["score"]["auc"]
        assert found["result"]["scores"]["score"]["auc"] == expected
        assert "Spaces were read as the separator of 2 columns" in str(found["cleaned"])

    def test_with_the_names_of_rows_that_r_writes(self, tmp_path):
        path = tmp_path / "from_r.txt"
        path.write_text('"y" "p"\n"1" 0 0.3\n"2" 1 0.8\n"3" 1 0.2\n')

        opened = trueness.scan(path)

        assert opened.columns == ["row", "y", "p"]
        assert opened.fetchall() == [(1, 0, 0.3), (2, 1, 0.8), (3, 1, 0.2)]

    def test_are_not_seen_in_text(self, tmp_path):
        path = tmp_path / "text.txt"
        path.write_text("my note\nhello there you\nno\n")

        assert trueness.scan(path).columns == ["my note"]


class TestColumnsThatAreNoScores:
    @pytest.mark.parametrize("name", ["case_no", "mrn", "lab_number"])
    def test_numbers_of_cases_are_asked_about(self, tmp_path, name):
        label, _ = rows()
        places = np.random.default_rng(2).permutation(CASES) * 7 + 10_000
        path = write_csv(tmp_path / "numbered.csv", label=label, **{name: places})

        result = run("evaluate", path)

        assert result.exit_code == 2
        assert (
            f"The numbers of column '{name}' may only identify cases" in result.stderr
        )

    @pytest.mark.parametrize(
        ("values", "reason"),
        [
            (["2026-01-02", "2026-03-04"], "Column 'score' holds dates"),
            (
                ["likely", "unlikely", "possible"],
                "'score' holds text, such as 'likely'",
            ),
            (
                ["12.5%", "0.3", "0.41"],
                "writes numbers in several ways: '0.3', '12.5%'",
            ),
        ],
    )
    def test_are_told_with_the_reason(self, tmp_path, values, reason):
        label, _ = rows()
        score = [values[k % len(values)] for k in range(CASES)]
        path = write_csv(tmp_path / "odd.csv", label=label, score=score)

        result = run("evaluate", path)

        assert result.exit_code == 2
        assert reason in result.stderr
        assert "--score label" not in result.stderr

    def test_two_numbers_called_like_labels_are_asked_about(self, tmp_path):
        label, score = rows()
        status = [y + 1 for y in label]
        path = write_csv(tmp_path / "coded.csv", status=status, marker=score)

        result = run("evaluate", path)

        assert result.exit_code == 2
        assert "--positive 1 or --positive 2" in result.stderr


class TestProbabilitiesOfBothClasses:
    """``predict_proba`` gives two columns that add up to 1: one score."""

    @pytest.mark.parametrize(
        ("classes", "names"),
        [
            ((0, 1), ("prob_0", "prob_1")),
            ((0, 1), ("p_no", "p_yes")),
            (("benign", "malignant"), ("Proba.benign", "Proba.malignant")),
            ((False, True), ("p0", "p1")),
        ],
    )
    @pytest.mark.parametrize("in_a_file", [True, False])
    def test_are_the_one_of_the_positive(self, tmp_path, classes, names, in_a_file):
        label, score = rows()
        p = np.round(1 / (1 + np.exp(-np.array(score))), 3)
        columns = {"y": [classes[y] for y in label], names[0]: 1 - p, names[1]: p}
        data = pd.DataFrame(columns)
        if in_a_file:
            data.to_csv(tmp_path / "both.csv", index=False)
            data = tmp_path / "both.csv"

        with collected_remarks():
            found = trueness.evaluate(data)

        assert list(found.numbers["scores"]) == [names[1]]
        assert found.auc.value == trueness.auc(label, np.array(p)).value

    def test_are_two_scores_where_they_do_not_add_up(self, tmp_path):
        label, score = rows()
        p = np.round(1 / (1 + np.exp(-np.array(score))), 3)
        data = pd.DataFrame({"y": label, "score_0": p[::-1], "score_1": p})

        found = trueness.evaluate(data)

        assert set(found.numbers["scores"]) == {"score_0", "score_1"}

    def test_a_label_that_is_no_column_is_refused_by_name(self):
        data = pd.DataFrame({"y": [0, 1], "prob_0": [0.7, 0.2], "prob_1": [0.3, 0.8]})

        with pytest.raises(trueness.InputError, match="no column 'yy'") as caught:
            trueness.evaluate(data, label="yy")

        assert caught.value.option == "label"


def test_a_code_of_missing_values_beyond_a_scale_is_told(tmp_path):
    label, score = rows()
    rating = [
        99 if k % 7 == 0 else min(max(round(p) + 2, 1), 5) for k, p in enumerate(score)
    ]
    path = write_csv(tmp_path / "coded.csv", label=label, rating=rating)

    told = run("evaluate", path).stdout

    assert "rating is 99 in 6 cases, and all others lie between 1 and" in told
