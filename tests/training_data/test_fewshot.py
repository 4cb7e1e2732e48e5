"""Few-shot names: seeded, disjoint whatever their case, and refused where there are too few."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from st_biomed.errors import InputError
from st_biomed.records import Parent, SourceInfo, Term
from st_biomed.terminology import Terminology
from st_biomed.training_data import few_shot_names

CONCEPTS = {code: [f"{code} name {i}" for i in range(9)] for code in ("X:b", "X:a", "X:c")}


def rows(dataset) -> list[tuple[str, int]]:
    return list(zip(dataset["text"], dataset["label"]))


def test_so_many_names_of_every_concept_in_both():
    """Labels number the concepts as they are given; catches sorted codes and names of another concept."""
    split = few_shot_names(CONCEPTS, 4)
    assert split.codes == ("X:b", "X:a", "X:c")
    for dataset in (split.train, split.validation):
        assert sorted(dataset.column_names) == ["label", "text"]
        assert Counter(dataset["label"]) == {0: 4, 1: 4, 2: 4}
        assert all(text.startswith(split.codes[label]) for text, label in rows(dataset))
    assert split.tally.adds_up() and (split.tally.n_read, split.tally.n_kept) == (27, 24)


@pytest.mark.long
@given(
    st.lists(st.text("abAB ", min_size=1, max_size=4).filter(str.strip), max_size=60),
    st.integers(1, 3),
    st.integers(0, 5),
)
def test_no_name_is_in_both(names, shots, seed):
    """Compared without case and spaces around; catches a draw with replacement, and equal names drawn twice."""
    concepts = {"X:a": [f"a{name}" for name in names], "X:b": [f"b{name}" for name in names]}
    try:
        split = few_shot_names(concepts, shots, seed)
    except InputError:
        assert len({name.strip().lower() for name in concepts["X:a"]}) < 2 * shots
        return
    drawn = [text.strip().lower() for dataset in (split.train, split.validation) for text in dataset["text"]]
    assert len(set(drawn)) == len(drawn) == 4 * shots


def test_the_seed_and_the_names_decide_alone():
    """Catches a draw that depends on the order in which a concept's names come, or on nothing at all."""
    both_cases = {code: [*names, *(name.upper() for name in names)] for code, names in CONCEPTS.items()}
    first = few_shot_names(both_cases, 4, 3)
    again = few_shot_names({code: names[::-1] for code, names in both_cases.items()}, 4, 3)
    assert rows(first.train) == rows(again.train) and rows(first.validation) == rows(again.validation)
    assert rows(first.train) != rows(few_shot_names(both_cases, 4, 4).train)


def test_concepts_have_draws_of_their_own():
    """Catches one order of places for all concepts, as the published code's seeding gives concepts of one size."""
    split = few_shot_names({code: [f"{code} {i:02}" for i in range(40)] for code in ("X:a", "X:b", "X:c")}, 10)
    places = {code: tuple(text[-2:] for text in split.train["text"] if text.startswith(code)) for code in split.codes}
    assert len(set(places.values())) == 3


def test_fewer_shots_are_among_more():
    few, more = few_shot_names(CONCEPTS, 2, 7), few_shot_names(CONCEPTS, 4, 7)
    assert set(few.train["text"]) < set(more.train["text"])
    assert set(few.validation["text"]) < set(more.validation["text"])


@pytest.mark.long
def test_every_name_is_drawn_equally_often():
    drawn = Counter(name for seed in range(200) for name in few_shot_names(CONCEPTS, 3, seed).train["text"])
    assert len(drawn) == 27 and all(45 < count < 90 for count in drawn.values())


def test_a_terminology_stands_for_its_tops():
    records = [Term("X:A", "A"), Term("X:B", "B")]
    for top in "AB":
        for i in range(4):
            records += [Term(f"X:{top}{i}", f"{top} {i}"), Parent(f"X:{top}{i}", f"X:{top}")]
    split = few_shot_names(Terminology.from_records(records, SourceInfo("X", "X")), 2)
    assert split.codes == ("X:A", "X:B") and len(split.train) == len(split.validation) == 4


def test_an_ambiguous_name_is_dropped_everywhere_and_counted():
    """Catches a name kept under the first of its concepts."""
    concepts = {"X:a": ["flu", "a1", "a2"], "X:b": ["Flu ", "b1", "b2"]}
    split = few_shot_names(concepts, 1, ambiguous="drop")
    assert {*split.train["text"], *split.validation["text"]} == {"a1", "a2", "b1", "b2"}
    assert split.tally.dropped["names under several concepts"] == 2 and split.tally.adds_up()


@pytest.mark.parametrize(
    ("concepts", "arguments", "message"),
    [
        (
            CONCEPTS,
            {"shots": 5},
            r"concept 'X:b' has 9 unambiguous names, 5 shots need 10 \(5 to train, 5 to validate\): take at most 4 "
            "shots, or leave the concept out",
        ),
        ({**CONCEPTS, "X:d": ["one"]}, {"shots": 1}, "concept 'X:d' has 1 unambiguous names, .*: give it more names"),
        ({**CONCEPTS, "X:d": []}, {"shots": 1}, "concept 'X:d' has no names: leave it out"),
        (
            {**CONCEPTS, "X:d": "flu"},
            {"shots": 1},
            "concept 'X:d': names must be a sequence of strings that are not empty",
        ),
        (
            {**CONCEPTS, "X:d": ["flu", " "]},
            {"shots": 1},
            "concept 'X:d': names must be a sequence of strings that are not empty",
        ),
        (
            {**CONCEPTS, "X:d": ["gout", "X:A NAME 3"]},
            {"shots": 1},
            "name 'X:A NAME 3' is under two concepts, 'X:a' and 'X:d': keep it under one, or set ambiguous='drop'",
        ),
        ({"X:a": ["a", "b"]}, {"shots": 1}, "concepts must be at least two, found 1"),
        ([("X:a", ["a", "b"])], {"shots": 1}, "concepts must be a Mapping, found list"),
        (CONCEPTS, {"shots": 0}, "shots must be an integer of at least 1, found 0"),
        (CONCEPTS, {"shots": True}, "shots must be an integer of at least 1, found True"),
        (CONCEPTS, {"shots": 1, "seed": -1}, "seed must be an integer of at least 0, found -1"),
        (CONCEPTS, {"shots": 1, "ambiguous": "keep"}, "unknown ambiguous 'keep': allowed are 'drop', 'error'"),
    ],
)
def test_bad_input_is_one_line(concepts, arguments, message):
    with pytest.raises(InputError, match=message) as error:
        few_shot_names(concepts, **arguments)
    assert "\n" not in str(error.value)
