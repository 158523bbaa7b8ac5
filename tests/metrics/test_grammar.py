"""The text form says what the Python form says, and slips are pointed at."""

import pickle
from contextlib import suppress

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import trueness
from trueness import Confusion, InputError
from trueness.metrics.definitions import METRICS
from trueness.metrics.grammar import cases_of, constraint_text, constraints

C = Confusion(tp=3, fp=1, fn=2, tn=4)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("accuracy", 0.7),
        ("  ACCURACY ", 0.7),
        ("0.7*accuracy + 0.3*recall", 0.7 * 0.7 + 0.3 * 0.6),
        ("accuracy*.5+recall/2", 0.65),
        ("2*(recall - fpr) - 1", 2 * (0.6 - 0.2) - 1),
        ("-fpr", -0.2),
        ("--recall", 0.6),
        ("1e1*recall", 6.0),
        ("sensitivity + tnr", 1.4),
        ("f_beta(2)", 0.625),
        ("fbeta(beta=2)", 0.625),
        ("cost(fp=1, fn=5)", 11),
        ("cost(fn=5, fp=1)", 11),
        ("net_benefit(1/4)", 0.275),
        ("(2+1)*ppv", 2.25),
    ],
)
def test_what_text_means(text, value):
    assert trueness.metric(text)(C) == pytest.approx(value)


def test_values_are_passed_on():
    assert trueness.metric(trueness.recall) is trueness.recall

    c = trueness.recall >= 0.9

    assert trueness.constraint(c) is c
    assert [repr(x) for x in constraints("recall >= 0.9")] == ["recall >= 0.9"]
    assert constraints([c, "fpr < 0.1"])[0] is c
    assert constraints(()) == ()


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("recall >= 0.9", "recall >= 0.9"),
        ("0.9 <= recall", "recall >= 0.9"),
        ("flagged <= 500", "flagged <= 500"),
        ("recall - fpr > 0.5 - accuracy", "recall - fpr + accuracy > 0.5"),
        ("cost(fp=1,fn=2) < 1e3", "cost(fp=1, fn=2) < 1000"),
        ("false positive rate <= 10%", "fpr <= 0.1"),
        ("hit rate + 1 >= 1.5", "recall + 1 >= 1.5"),
        ("LR+ >= 10", "lr_positive >= 10"),
    ],
)
def test_constraints_from_text(text, meant):
    assert repr(trueness.constraint(text)) == meant


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("recal", r"position 1 \(at 'recal'\): no metric.*Did you mean 'recall'"),
        ("0.5*accuracy + 0.5*sensitivty", "position 20.*Did you mean 'sensitivity'"),
        ("accuracy recall", r"position 10 \(at 'recall'\): nothing more"),
        ("accuracy +", r"position 11 \(at the end\): a metric or a number"),
        ("recall * fpr", "position 10.*added, and scaled by numbers only"),
        ("1 / recall", "scaled by numbers only"),
        ("recall / 0", "division by zero"),
        ("(recall", r"'\)' was needed"),
        ("recall)", "nothing more was expected"),
        ("0.5", "a metric was needed, and this is the number 0.5"),
        ("", "must be text such as"),
        ("recall >= 0.9", "this is a constraint"),
        ("f_beta", "write f_beta"),
        ("f_beta()", "write f_beta"),
        ("f_beta(1, 2)", "write f_beta"),
        ("f_beta(gamma=1)", "write f_beta"),
        ("cost(1)", r"write cost\(fp=, fn=\)"),
        ("cost(fp=1 fn=2)", r"write cost\(fp=, fn=\)"),
        ("f_beta(0)", "beta must be above zero"),
        ("__import__('os')", "no metric of that name"),
        ("recall; 1", "nothing more was expected"),
        ("1e999*recall", "must be one finite number"),
        ("(" * 60 + "recall" + ")" * 60, "more than 50 nested"),
        ("tp*fp", "sums of counts can be divided"),
        ("f1 / recall", "sums of counts can be divided"),
        ("1 / tp", "a number cannot be divided by a metric"),
        ("profit", "no metric of that name. Did you mean 'cost'"),
        ("zzz", "no metric of that name; known are accuracy"),
        ("nnt", r"Type trueness\.decision_curve\(y_true, y_score\)"),
        ("auc", "auc has no threshold"),
        ("f_beta(1e308)", "beta must be at most 1e100"),
    ],
)
def test_slips_are_pointed_at(text, message):
    with pytest.raises(InputError, match=message):
        trueness.metric(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("recall", "'>=', '<=', '>' or '<' and a bound were needed"),
        ("recall = 0.9", "and a bound were needed"),
        ("0.1 <= recall <= 0.9", "one bound; write two constraints"),
        ("1 >= 0", "a constraint needs a metric"),
        ("recall >=", "a metric or a number was needed"),
        ("recall >= x", "no metric of that name"),
    ],
)
def test_slips_in_constraints(text, message):
    with pytest.raises(InputError, match=message):
        trueness.constraint(text)
    with pytest.raises(InputError, match="A constraint needs a bound"):
        trueness.constraint(trueness.recall)
    with pytest.raises(InputError, match="subject_to must be constraints"):
        constraints(3)


def test_the_position_is_drawn():
    with pytest.raises(InputError) as error:
        trueness.metric("f1 + recal")
    *_, text, caret = str(error.value).splitlines()

    assert text[caret.index("^")] == "r"


WEIGHT = st.floats(-1e6, 1e6, allow_nan=False).filter(bool)
TERMS = st.lists(
    st.tuples(WEIGHT, st.sampled_from([*METRICS, "f_beta(0.3)"])),
    min_size=1,
    max_size=4,
)


@given(TERMS, st.floats(-10, 10))
def test_what_a_metric_prints_is_what_it_reads(terms, constant):
    m = sum(w * trueness.metric(name) for w, name in terms) + constant
    assume(m.terms)

    assert repr(trueness.metric(repr(m))) == repr(m)
    assert trueness.metric(repr(m))(C) == m(C)


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused(text):
    for read in (trueness.metric, trueness.constraint):
        with suppress(InputError):
            read(text)


def test_money_as_people_write_it():
    c = trueness.Confusion(tp=3, fp=1, fn=2, tn=4)
    for text, value in {
        "80*tp - 5*fp": 235,
        "cost(fp=5, fn=100, tp=-80)": 5 + 200 - 240,
        "cost(fp=1, fn=2, tn=-0.5)": 1 + 4 - 2,
        "(80*tp - 5*fp) / cases": 23.5,
        "tp / (tp + fp)": 3 / 4,
        "positives + 10*negatives": 55,
    }.items():
        m = trueness.metric(text)
        assert float(m(c)) == pytest.approx(value)
        again = trueness.metric(repr(m))
        assert float(again(c)) == pytest.approx(value)
        assert float(pickle.loads(pickle.dumps(m))(c)) == pytest.approx(value)  # noqa: S301

    assert repr(trueness.cost(fp=1, fn=10, defer=0.3)) == (
        "cost(fp=1, fn=10) + 0.3*deferred"
    )


@pytest.mark.parametrize(
    ("constraint", "words"),
    [
        ("recall >= 0.8", "recall (sensitivity) at least 80 %"),
        ("fpr <= 0.005", "false positive rate at most 0.5 %"),
        ("recall >= 0.999", "recall (sensitivity) at least 99.9 %"),
        ("flagged <= 1500", "at most 1,500 flagged"),
    ],
)
def test_a_bound_is_written_with_the_digits_that_were_typed(constraint, words):
    assert constraint_text(constraint) == words


@pytest.mark.parametrize(
    ("rate", "cases"),
    [
        ("recall", "positives"),
        ("fnr", "positives"),
        ("specificity", "negatives"),
        ("fpr", "negatives"),
        ("precision", "flagged cases"),
        ("npv", "cases not flagged"),
        ("accuracy", "cases"),
        ("tp", "cases"),
        ("no such name", "cases"),
    ],
)
def test_cases_of_which_a_rate_is_a_proportion(rate, cases):
    one, several = cases_of(rate)

    assert several == cases
    assert one == cases.replace("cases", "case").removesuffix("s")
