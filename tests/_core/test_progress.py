"""Bars say how far a long pass is: on a terminal, after a second, nowhere else."""

import pytest

import trueness
from trueness._core import progress as _progress
from trueness._core.progress import progress, steps


def test_a_bar_shows_count_and_percentage(terminal):
    screen = terminal()

    assert list(steps("abcd", "Letters", unit="letters")) == list("abcd")

    shown = screen.readouterr()

    assert shown.out == ""
    assert "Letters" in shown.err

    with progress("Rows", 8) as went_by:
        went_by(6)
    shown = screen.readouterr().err

    assert "75%" in shown
    assert "6 of 8 rows" in shown

    with progress("Rows") as went_by:  # without a total there is no percentage
        went_by(6)
    shown = screen.readouterr().err

    assert "6 rows" in shown
    assert "%" not in shown


def test_a_pass_within_a_pass_shares_the_display(terminal):
    screen = terminal()
    with progress("Outer"), progress("Inner", 2, "folds") as went_by:
        went_by(1)
    shown = screen.readouterr().err

    assert shown.count("\x1b[?25l") == 1  # the cursor is hidden once
    assert shown.count("\x1b[?25h") == 1
    assert "1 of 2 folds" in shown


def test_an_error_takes_the_bar_away(terminal):
    screen = terminal()

    with pytest.raises(KeyboardInterrupt), progress("Outer"), progress("Inner"):
        raise KeyboardInterrupt
    assert screen.readouterr().err.count("\x1b[?25h") == 1
    assert _progress._SHOWN.get() is None


def test_what_is_quick_shows_nothing(monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with progress("Quick", 1) as went_by:
        went_by(1)

    assert "Quick" not in capsys.readouterr().err


def test_nothing_is_shown_elsewhere(terminal, monkeypatch):
    screen = terminal()
    monkeypatch.setenv("TERM", "dumb")

    assert list(steps([1, 2], "Numbers")) == [1, 2]

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stderr.isatty", lambda: False)

    assert list(steps([1, 2], "Numbers")) == [1, 2]
    assert screen.readouterr().err == ""


def test_bootstrap_and_posterior_say_how_far_they_are(terminal):
    screen = terminal()
    tally = trueness.Tally([3, 2, 1], pos=[9, 5, 1], neg=[1, 5, 9])
    trueness.validate_threshold(tally, replicates=50, rng=0)

    assert "of 50 samples" in screen.readouterr().err

    votes = trueness.Panel(
        ["a", "b", "c"], [[1, 1, 1], [1, 1, 0], [0, 0, 1], [0, 0, 0]],
        unknown=[40, 9, 8, 43],
    )  # fmt: skip
    trueness.latent_class(votes, rng=0, draws=500)

    assert "From prior to posterior" in screen.readouterr().err
