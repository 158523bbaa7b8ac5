"""Sheets of Excel, a second header, and the total below a frame."""

import zipfile

import numpy as np
import pandas as pd
import pytest

import trueness
from trueness import CleanedWarning, InputError

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
XML = '<?xml version="1.0" encoding="UTF-8"?>'

RNG = np.random.default_rng(6)
Y = (np.arange(40) % 3 == 0).astype(int)
P = np.round(1 / (1 + np.exp(-RNG.normal(Y, 1))), 3)
ROWS = [["y", "p"], *zip(Y.tolist(), P.tolist(), strict=True)]


def cell_of(value):
    if isinstance(value, str):
        return f'<c t="inlineStr"><is><t>{value}</t></is></c>'
    return f"<c><v>{value}</v></c>"


def write_xlsx(path, sheets):
    """Write the least that is a workbook, from names to rows."""
    numbers = range(1, len(sheets) + 1)
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    parts = "".join(
        f'<Override PartName="/xl/worksheets/sheet{k}.xml" '
        f'ContentType="{kind}.worksheet+xml"/>'
        for k in numbers
    )
    listed = "".join(
        f'<sheet name="{name}" sheetId="{k}" r:id="r{k}"/>'
        for k, name in zip(numbers, sheets, strict=True)
    )
    links = "".join(
        f'<Relationship Id="r{k}" Type="{RELATIONS}/worksheet" '
        f'Target="worksheets/sheet{k}.xml"/>'
        for k in numbers
    )
    with zipfile.ZipFile(path, "w") as book:
        book.writestr(
            "[Content_Types].xml",
            f'{XML}<Types xmlns="{PACKAGE}/content-types"><Default Extension="rels" '
            'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            '<Default Extension="xml" ContentType="application/xml"/><Override '
            f'PartName="/xl/workbook.xml" ContentType="{kind}.sheet.main+xml"/>'
            f"{parts}</Types>",
        )
        book.writestr(
            "_rels/.rels",
            f'{XML}<Relationships xmlns="{PACKAGE}/relationships"><Relationship '
            f'Id="r1" Type="{RELATIONS}/officeDocument" Target="xl/workbook.xml"/>'
            "</Relationships>",
        )
        book.writestr(
            "xl/workbook.xml",
            f'{XML}<workbook xmlns="{MAIN}" xmlns:r="{RELATIONS}"><sheets>{listed}'
            "</sheets></workbook>",
        )
        book.writestr(
            "xl/_rels/workbook.xml.rels",
            f'{XML}<Relationships xmlns="{PACKAGE}/relationships">{links}'
            "</Relationships>",
        )
        for k, rows in zip(numbers, sheets.values(), strict=True):
            body = "".join(
                f"<row>{''.join(cell_of(value) for value in row)}</row>" for row in rows
            )
            book.writestr(
                f"xl/worksheets/sheet{k}.xml",
                f'{XML}<worksheet xmlns="{MAIN}"><sheetData>{body}</sheetData>'
                "</worksheet>",
            )
    return path


@pytest.fixture
def workbook(tmp_path):
    turned = [["y", "p"], *[(1 - y, p) for y, p in ROWS[1:]]]
    sheets = {"About": [["our lab"]], "Data": ROWS, "Other": turned}
    return write_xlsx(tmp_path / "preds.xlsx", sheets)


def auc_of(path):
    return trueness.evaluate(path).auc.value


@pytest.mark.filterwarnings("ignore::trueness.CleanedWarning")
class TestExcel:
    def test_the_first_sheet_with_rows_is_read(self, workbook):
        assert auc_of(workbook) == pytest.approx(trueness.auc(Y, P).value)

    def test_titles_above_the_header_are_left_out(self, tmp_path):
        titles = [["Validation study"], ["Hospital, all wards"], []]
        path = write_xlsx(tmp_path / "titles.xlsx", {"Results": [*titles, *ROWS]})

        with pytest.warns(CleanedWarning, match="2 rows above the header: 'Validation"):
            assert auc_of(path) == pytest.approx(trueness.auc(Y, P).value)

    def test_a_sheet_of_words_is_not_taken_for_data(self, tmp_path):
        meanings = [["name", "meaning"], ["y", "outcome"], ["p", "score"]]
        path = write_xlsx(tmp_path / "book.xlsx", {"Codebook": meanings, "Data": ROWS})

        with pytest.warns(CleanedWarning, match="Sheet 'Data' was read"):
            assert auc_of(path) == pytest.approx(trueness.auc(Y, P).value)

    def test_a_sheet_is_named_behind_colons(self, workbook):
        other = auc_of(f"{workbook}::Other")

        assert other == pytest.approx(1 - trueness.auc(Y, P).value)

    def test_a_wrong_sheet_is_an_error_with_the_right_ones(self, workbook):
        with pytest.raises(InputError, match="'About', 'Data', 'Other'"):
            trueness.evaluate(f"{workbook}::Datas")

    def test_a_shell_reads_it_too(self, workbook):
        from shell import answer

        found = answer("evaluate", workbook)["result"]["scores"]["p"]["auc"]["value"]

        assert found == pytest.approx(trueness.auc(Y, P).value)

    def test_what_is_no_workbook_is_an_error(self, tmp_path):
        path = tmp_path / "broken.xlsx"
        path.write_text("y,p\n1,0.5\n")

        with pytest.raises(InputError, match="not a readable spreadsheet"):
            trueness.evaluate(path)


HEADERS = {
    "units below": ("y,p\n0/1,prob.\n", "line 2"),
    "titles above": ("truth,\ny,p\n", "line 1"),
}


@pytest.mark.parametrize(("header", "gone"), HEADERS.values(), ids=HEADERS)
def test_a_second_header_is_left_out(tmp_path, header, gone):
    path = tmp_path / "cases.csv"
    lines = [f"{y},{p}" for y, p in ROWS[1:]]
    path.write_text(header + "\n".join(lines) + "\n")

    with pytest.warns(CleanedWarning, match=f"Left out {gone}"):
        value = auc_of(path)

    assert value == pytest.approx(trueness.auc(Y, P).value)


def test_words_among_numbers_are_no_header(tmp_path):
    path = tmp_path / "cases.csv"
    lines = [f"{'ill' if y else 'well'},{p}" for y, p in ROWS[1:]]
    path.write_text("y,p\n" + "\n".join(lines) + "\n")

    with pytest.warns(CleanedWarning, match="'ill' as positive"):
        assert auc_of(path) == pytest.approx(trueness.auc(Y, P).value)


@pytest.mark.parametrize("kind", [pd.DataFrame, dict])
def test_a_total_below_a_frame_is_no_case(kind):
    columns = {
        "patient": [*map(str, range(40)), "Total"],
        "y": [*Y.tolist(), int(Y.sum())],
        "p": [*P.tolist(), float(P.sum())],
    }

    with pytest.warns(CleanedWarning, match="'Total' is a total"):
        value = trueness.evaluate(kind(columns)).auc.value

    assert value == pytest.approx(trueness.auc(Y, P).value)
