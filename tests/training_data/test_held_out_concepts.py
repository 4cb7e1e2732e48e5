"""Splits by sub-tree: whole, apart, and the same for the same seed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from st_biomed.errors import InputError
from st_biomed.hierarchy import Hierarchy
from st_biomed.linking_data.name_spellings import name_key
from st_biomed.records import Parent, SourceInfo, Term
from st_biomed.terminology import Terminology
from st_biomed.training_data import Splits, split_by_concept, split_by_subtree, without_benchmark
from st_biomed.training_data.held_out_concepts import DEV, TEST, TRAIN

TOY = Terminology.read("toy")


def forest(roots: int = 12, extra=()) -> Terminology:
    """One top, ``roots`` categories below it, two concepts below each."""
    records = [Term("X:top", "top")]
    for r in range(roots):
        records += [Term(f"X:{r:02}", f"category {r}"), Parent(f"X:{r:02}", "X:top")]
        for leaf in "ab":
            records += [Term(f"X:{r:02}.{leaf}", f"leaf {r} {leaf}"), Parent(f"X:{r:02}.{leaf}", f"X:{r:02}")]
    return Terminology.from_records([*records, *extra], SourceInfo("X", "X"))


def side(split: Splits, terminology: Terminology, code: str) -> int:
    return int(split.concept_split[terminology.concept(code)])


def check(split: Splits, terminology: Terminology, roots: np.ndarray) -> None:
    """What holds for every split."""
    parts = {TRAIN: split.train, DEV: split.dev, TEST: split.test}
    codes = {at: set(part.codes) for at, part in parts.items()}
    strings = {at: {text.lower() for text in part.strings} for at, part in parts.items()}
    for a, b in ((TRAIN, DEV), (TRAIN, TEST), (DEV, TEST)):
        assert not codes[a] & codes[b]
        assert not strings[a] & strings[b]
    for at, part in parts.items():
        assert codes[at] <= {terminology.codes[c] for c in np.flatnonzero(split.concept_split == at)}
        assert set(part.strings) == {terminology.strings[t] for t in np.flatnonzero(split.text_split == at)}
    hierarchy = Hierarchy(terminology)
    for root in roots:
        below = np.flatnonzero(hierarchy.children.reach(np.array([root])))
        if split.concept_split[root] == TEST:
            assert (split.concept_split[below] == TEST).all()
        assert (split.concept_split[below] >= split.concept_split[root]).all()
    held = np.flatnonzero(split.concept_split == TEST)
    assert codes[TEST] == {terminology.codes[c] for c in held}
    for c in held:
        assert set(terminology.concept_names(terminology.codes[c])) == set(
            split.test.concept_names(terminology.codes[c])
        )
    assert split.tally.adds_up()
    assert split.tally.n_read == terminology.terms.num_rows
    assert split.tally.n_kept == sum(part.terms.num_rows for part in parts.values())


def test_whole_subtrees_are_held_out_and_nothing_is_shared():
    """Would catch rows drawn one by one: siblings of a test concept in training give its place away."""
    terminology = forest()
    roots = np.flatnonzero(Hierarchy(terminology).depth == 1)
    split = split_by_subtree(terminology, depth=1)
    check(split, terminology, roots)
    assert [int((split.concept_split[roots] == at).sum()) for at in (TRAIN, DEV, TEST)] == [8, 2, 2]
    assert side(split, terminology, "X:top") == TRAIN


def test_the_invented_terminology_with_its_shared_concepts_and_strings():
    hierarchy = Hierarchy(TOY)
    for seed in range(5):
        split = split_by_subtree(hierarchy, depth=1, seed=seed)
        check(split, TOY, np.flatnonzero(hierarchy.depth == 1))
        assert all((split.concept_split == at).any() for at in (TRAIN, DEV, TEST))


@pytest.mark.long
@settings(max_examples=40, deadline=None)
@given(st.data())
def test_any_graph_is_split_without_overlap(data):
    """Would catch what several parents and shared strings do to a split made for trees."""
    n = data.draw(st.integers(12, 30))
    strings = st.sampled_from([f"{word} {k}" for k in range(20) for word in ("Name", "name")])
    records: list[Term | Parent] = []
    for c in range(n):
        records.append(Term(f"X:{c:02}", f"own {c}"))
        records += [Term(f"X:{c:02}", data.draw(strings), "synonym") for _ in range(data.draw(st.integers(0, 2)))]
        for parent in data.draw(st.sets(st.integers(0, c - 1), max_size=2)) if c else ():
            records.append(Parent(f"X:{c:02}", f"X:{parent:02}"))
    terminology = Terminology.from_records(records, SourceInfo("X", "X"))
    hierarchy = Hierarchy(terminology)
    depth = data.draw(st.integers(0, 1))
    roots = np.flatnonzero(hierarchy.depth == depth)
    if len(roots) < 6:
        return
    try:
        split = split_by_subtree(hierarchy, depth=depth, seed=data.draw(st.integers(0, 3)))
    except InputError as error:
        assert "no string is left" in str(error)  # a sub-tree that hangs under held-out ones as a whole
        return
    check(split, terminology, roots)


def test_texts_know_the_nearest_held_out_root_above_them():
    """Would catch the root of another sub-tree, and numbers outside of the held-out ones."""
    toy = Hierarchy(Terminology.read("toy"))
    splits = split_by_subtree(toy, depth=1, dev=0.25, test=0.25)
    np.testing.assert_array_equal(splits.text_subtree >= 0, splits.text_split > 0)
    below = {root: toy.children.reach(np.array([root])) for root in np.flatnonzero(toy.depth == 1)}
    above: dict[int, set[int]] = {}  # roots above any concept of a text
    for concept, text in zip(*(toy.terminology.terms[column].to_numpy() for column in ("concept", "text"))):
        above.setdefault(text, set()).update(root for root in below if root == concept or below[root][concept])
    roots: dict[int, set[int]] = {}  # those above all texts of a number
    for text, number in enumerate(splits.text_subtree):
        if number >= 0:
            roots[number] = roots.get(number, above[text]) & above[text]
    assert roots and all(roots.values())


def test_a_concept_below_a_held_out_root_is_held_out():
    """Would catch a concept that is with the last of its roots, and so perhaps in training."""
    extra = [
        record
        for r in range(12)
        for s in range(r)
        for record in (
            Term(f"X:both{r:02}{s:02}", f"both {r} {s}"),
            Parent(f"X:both{r:02}{s:02}", f"X:{r:02}"),
            Parent(f"X:both{r:02}{s:02}", f"X:{s:02}"),
        )
    ]
    terminology = forest(extra=extra)
    split = split_by_subtree(terminology, depth=1)
    for r in range(12):
        for s in range(r):
            expected = max(side(split, terminology, f"X:{r:02}"), side(split, terminology, f"X:{s:02}"))
            assert side(split, terminology, f"X:both{r:02}{s:02}") == expected


def test_a_string_stays_in_test_alone_whatever_its_case():
    """Would catch a leak through an ambiguous string, or through its capital."""
    plain = split_by_subtree(forest(), depth=1)
    held, kept = plain.test.codes[0], next(code for code in plain.train.codes if code.endswith(".a"))
    extra = [Term(held, "Shared NAME"), Term(kept, "shared name"), Term(kept, "Shared NAME"), Term(kept, "its own")]
    terminology = forest(extra=extra)
    split = split_by_subtree(terminology, depth=1)
    assert "Shared NAME" in split.test.strings
    assert "its own" in split.train.strings
    assert not {"shared name", "Shared NAME"} & set(split.train.strings)
    assert split.tally.dropped == {"train names that are names in test too": 2}
    lost = terminology.strings.index("shared name")
    assert split.text_split[lost] == -1


def test_seeds_and_shares():
    terminology = forest(30)
    split, again, other = (split_by_subtree(terminology, depth=1, seed=seed, dev=0.1, test=0.3) for seed in (1, 1, 2))
    assert np.array_equal(split.concept_split, again.concept_split)
    assert not np.array_equal(split.concept_split, other.concept_split)
    roots = Hierarchy(terminology).depth == 1
    assert [int((split.concept_split[roots] == at).sum()) for at in (DEV, TEST)] == [3, 9]
    assert split.train.digest == again.train.digest


def test_numbers_of_roots_are_held_out():
    """Catches a number that is taken for a share of the roots."""
    terminology = forest(30)
    roots = Hierarchy(terminology).depth == 1
    for dev, test in ((3, 9), (1, 2), (2, 0.3)):
        split = split_by_subtree(terminology, depth=1, dev=dev, test=test)
        expected = [dev, test if test >= 1 else 9]
        assert [int((split.concept_split[roots] == at).sum()) for at in (DEV, TEST)] == expected


def test_roots_can_be_told_by_their_codes():
    terminology = forest()
    by_depth = split_by_subtree(terminology, depth=1)
    by_code = split_by_subtree(terminology, pattern=r"X:\d\d")
    assert np.array_equal(by_depth.concept_split, by_code.concept_split)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "either depth or pattern"),
        ({"depth": 1, "pattern": "X"}, "either depth or pattern"),
        ({"depth": 1, "test": 0.0}, "12 sub-trees cannot be split into dev 0.167 and test 0"),
        ({"depth": 1, "dev": -0.1}, "dev must be a share of the sub-trees or a whole number of them, found -0.1"),
        ({"depth": 1, "test": 2.5}, "test must be a share of the sub-trees or a whole number of them, found 2.5"),
        ({"depth": 1, "dev": 0.01}, "12 sub-trees cannot be split into dev 0.01"),
        ({"depth": 1, "dev": 0.5, "test": 0.5}, "12 sub-trees cannot be split into dev 0.5 and test 0.5"),
        ({"depth": 1, "dev": 8, "test": 4}, "12 sub-trees cannot be split into dev 8 and test 4"),
        ({"depth": 1, "dev": float("nan")}, "dev must be a finite number, found nan"),
        ({"depth": 1, "test": "0.2"}, "test must be a finite number, found '0.2'"),
        ({"depth": 1, "seed": -1}, "seed must be an integer of at least 0, found -1"),
        ({"depth": 7}, "0 sub-trees cannot be split.*choose another depth"),
        ({"depth": 0}, "1 sub-trees cannot be split.*choose another depth"),
        ({"pattern": "Y.*"}, "0 sub-trees cannot be split.*choose another pattern"),
        ({"pattern": "("}, "is not a regular expression"),
    ],
)
def test_what_cannot_be_split_is_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        split_by_subtree(forest(), **arguments)


def test_a_split_prints_its_sizes():
    assert str(split_by_subtree(forest(), depth=1)).startswith(
        "train 25 concepts 25 texts, dev 6 concepts 6 texts, test 6"
    )


def two_sources(n: int = 40) -> Terminology:
    """Twice as many concepts of A as of B; the first names of both sources are the same."""
    terms = [Term(f"A:{i:02}", f"name {i}", source="A") for i in range(n)]
    terms += [Term(f"A:{i:02}", f"other {i}", "synonym", source="A") for i in range(n)]
    terms += [Term(f"B:{i:02}", f"Name {i}" if i < 5 else f"b {i}", source="B") for i in range(n // 2)]
    return Terminology.merge(
        *(
            Terminology.from_records([term for term in terms if term.source == name], SourceInfo(name, name))
            for name in "AB"
        )
    )


def test_concepts_are_held_out_with_the_same_share_of_every_source():
    """Catches one source held out alone, and a string that two parts share."""
    whole = two_sources()
    split = split_by_concept(whole, dev=0.2, test=0.1, seed=3)
    check(split, whole, np.array([], dtype=np.int64))
    from_a = np.array([code.startswith("A") for code in whole.codes])
    for at, share in ((DEV, 0.2), (TEST, 0.1)):
        assert (split.concept_split[from_a] == at).sum() == round(share * 40)
        assert (split.concept_split[~from_a] == at).sum() == round(share * 20)
    again = split_by_concept(whole, dev=0.2, test=0.1, seed=3)
    assert (split.concept_split == again.concept_split).all()
    assert (split.concept_split != split_by_concept(whole, dev=0.2, test=0.1, seed=4).concept_split).any()
    mixed = split_by_concept(whole, dev=0.2, test=0.1, seed=3, by_source=False)
    assert (mixed.concept_split == DEV).sum() == 12


def test_a_benchmark_s_concepts_go_with_all_their_names():
    """Catches a concept that stays under its other name, and a mention compared with its case."""
    whole = two_sources()
    part = without_benchmark(whole, codes=["A:07", "Z:1"], names=["NAME 3", "other 9", "nowhere"])
    assert set(whole.codes) - set(part.codes) == {"A:07", "A:03", "B:03", "A:09"}
    assert "other 3" not in part.strings
    assert without_benchmark(whole, names=["NAME 3"], normalizer="none").digest == whole.digest


def test_a_benchmark_s_concept_goes_by_a_code_that_a_merge_replaced():
    """Catches a concept that stays in training because the benchmark has the code of another terminology."""
    merged = Terminology.merge(two_sources(), codes={"B:04": "A:04"})
    part = without_benchmark(merged, codes=["B:04"])
    assert set(merged.codes) - set(part.codes) == {"A:04"}


@pytest.mark.parametrize(
    ("split", "message"),
    [
        (lambda t: split_by_concept(t, dev=0.6, test=0.4), "leave a share to train"),
        (lambda t: split_by_concept(t, dev=0.01, test=0.01), "too few for dev 0.01"),
        (lambda t: split_by_concept(t, dev=float("nan")), "dev must be a finite number, found nan"),
        (lambda t: split_by_concept(t, test="0.2"), "test must be a finite number, found '0.2'"),
        (lambda t: split_by_concept(Hierarchy(t)), "terminology must be a Terminology, found Hierarchy"),
        (lambda t: split_by_concept(t, seed=-1), "seed must be an integer of at least 0, found -1"),
        (lambda t: without_benchmark(t, names=["x"], normalizer="lowr"), "unknown normalizer 'lowr'"),
        (lambda t: without_benchmark(t, codes=t.codes), "no term is left"),
        (lambda t: without_benchmark(t, codes="A:01"), "codes: expected a list of strings, found 'A:01'"),
        (lambda t: without_benchmark(t, names="zorb"), "names: expected a list of strings, found 'zorb'"),
    ],
)
def test_concept_splits_that_cannot_be_are_refused(split, message):
    with pytest.raises(InputError, match=message):
        split(two_sources())


def test_sub_trees_that_hold_next_to_nothing_are_said_to(caplog: pytest.LogCaptureFixture):
    """Catches an evaluation on a handful of concepts because one tree holds all others."""
    split_by_subtree(forest(), depth=1)
    assert not caplog.records
    large: list[Term | Parent] = [Term(f"X:big{i}", f"big {i}") for i in range(300)]
    large.append(Parent("X:big0", "X:top"))
    lopsided = forest(extra=[*large, *(Parent(f"X:big{i}", "X:big0") for i in range(1, 300))])
    split_by_subtree(lopsided, depth=1, seed=0)
    assert "sub-trees are held out, and with them" in caplog.text


def test_other_spellings_of_a_held_out_name_are_no_names_of_training():
    """Catches white space, Unicode forms and letters of two small forms, by which a name would stand on both sides."""
    pairs = (("zorb  ill", "zorb ill"), ("mal \u00e9", "mal e\u0301"), ("ΝΟΣ", "νος"))
    names = [f"{spelling} {i}" for i in range(8) for pair in pairs for spelling in pair]
    records = [Term(f"X:{c:02}", name) for c, name in enumerate([*names, "own 1", "own 2", "own 3"])]
    split = split_by_concept(Terminology.from_records(records, SourceInfo("X", "X")), dev=0.2, test=0.3, seed=1)
    keys = [{name_key(text) for text in part.strings} for part in (split.train, split.dev, split.test)]
    assert sum(map(len, keys)) == len(set().union(*keys)) == 27
