"""What a file holds, as DuckDB tells it: each question reads the file once."""

import duckdb
import pytest

from trueness.data.relation_tables import RelationTable


class CountedRows:
    """A relation that counts how often its rows are filtered."""

    def __init__(self, rows):
        self.rows = rows
        self.filtered = 0

    def filter(self, condition):
        self.filtered += 1
        return self.rows.filter(condition)

    def __getattr__(self, name):
        return getattr(self.rows, name)


@pytest.fixture
def rows():
    connection = duckdb.connect()
    return CountedRows(
        connection.sql("SELECT * FROM (VALUES (3), (1), (NULL), (2), (1)) t(a)")
    )


def test_all_values_are_known_after_one_question(rows):
    table = RelationTable(rows)

    assert table.distinct("a", 5) == [1, 2, 3]
    assert table.distinct("a", 9) == [1, 2, 3]
    assert table.distinct("a", 3) == [1, 2, 3]
    assert rows.filtered == 1


def test_more_values_than_asked_for_are_told_by_one_more(rows):
    table = RelationTable(rows)

    assert len(table.distinct("a", 1)) == 2
    assert len(table.distinct("a", 0)) == 1
    assert rows.filtered == 1


def test_a_larger_question_is_asked_anew(rows):
    table = RelationTable(rows)

    assert len(table.distinct("a", 1)) == 2
    assert table.distinct("a", 2) == [1, 2, 3]
    assert rows.filtered == 2


def test_the_answer_is_a_list_of_its_own(rows):
    table = RelationTable(rows)

    table.distinct("a", 5).clear()

    assert table.distinct("a", 5) == [1, 2, 3]
