"""Words of other libraries and professions are answered with what to type."""

import pytest

import trueness
from trueness._core.not_computed import ABSENT, NEAREST
from trueness._core.synonyms import CALLS, WORDS

MODULES = {"calibration", "estimators", "plots", "ranking", "samples"}
SYNONYMS = [(name, call) for call, names in CALLS.items() for name in names]


@pytest.mark.parametrize("call", [*CALLS, *NEAREST])
def test_what_to_type_begins_with_a_public_name(call):
    head = call.partition("(")[0].partition(".")[0]

    assert head in {*trueness._MODULES, *MODULES}


def test_a_synonym_stands_once_and_is_no_public_function():
    names = [name for name, _ in SYNONYMS]
    functions = {n for n in trueness.__all__ if callable(getattr(trueness, n))}

    assert len(names) == len(set(names))
    assert not functions & set(names)


@pytest.mark.parametrize(("name", "call"), SYNONYMS)
def test_a_word_of_others_is_answered(name, call):
    try:
        module = getattr(trueness, name)
    except AttributeError as err:
        sentence = str(err)
    else:  # a module of ours by that name says it when it is called
        with pytest.raises(trueness.InputError) as refusal:
            module()
        sentence = str(refusal.value)

    assert f"Type trueness.{call}." in sentence


def test_words_of_parameters_are_not_words_of_trueness_for_another():
    assert all(word not in synonyms for word, synonyms in WORDS.items())


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("sensitivity_score", "recall(y_true, y_pred)"),
        ("compute_gini_coefficient", "gini(y_true, y_score)"),
        ("somersd", "gini(y_true, y_score)"),
        ("Krippendorffs_Alpha", 'rater_agreement(panel, method="krippendorff")'),
        (
            "hosmer_lemshow",
            'calibration_test(y_true, y_score, method="hosmer-lemeshow")',
        ),
        ("spiegelhalters", 'calibration_test(y_true, y_score, method="spiegelhalter")'),
        ("ovo_auc_macro", None),
    ],
)
def test_a_word_is_answered_however_it_is_written(name, call):
    with pytest.raises(AttributeError) as refusal:
        getattr(trueness, name)

    assert (f"Type trueness.{call}." in str(refusal.value)) == (call is not None)


@pytest.mark.parametrize(
    ("name", "call"),
    [(name, call) for call, names in NEAREST.items() for name in names],
)
def test_what_is_not_computed_names_the_nearest_call(name, call):
    with pytest.raises(AttributeError) as refusal:
        getattr(trueness, name)

    assert "It is not part of Trueness; the nearest is" in str(refusal.value)
    assert f"trueness.{call}." in str(refusal.value)


def test_a_word_stands_in_one_table_only():
    names = [name for name, _ in SYNONYMS]
    names += [name for others in NEAREST.values() for name in others] + list(ABSENT)

    assert len(names) == len(set(names))


def test_a_misspelt_name_of_trueness_is_suggested():
    with pytest.raises(AttributeError, match="Did you mean 'best_threshold'"):
        _ = trueness.best_treshold


def test_a_word_without_an_answer_leads_to_the_table_of_contents():
    with pytest.raises(AttributeError, match="lists all names, by question"):
        _ = trueness.permutation_importance

    assert "How good is the ranking" in trueness.__doc__
