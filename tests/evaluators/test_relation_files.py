"""Files of relations: the published format, pairs that are written and read again, and what it cannot say."""

from __future__ import annotations

import pytest

from st_biomed.errors import InputError
from st_biomed.evaluators import RelationEvaluator


def test_a_published_file_is_read_with_its_random_pairs_as_negatives(tmp_path):
    """Catches the columns in another order, and ``random`` measured as a relation."""
    (tmp_path / "Glands.txt").write_text("a||b||isa\nb||c||near\nx||y||random\nc||d||isa\nb||a||random\n")
    evaluator = RelationEvaluator.from_file(tmp_path / "Glands.txt", relations=["isa"])
    assert (evaluator.name, evaluator.n_excluded) == ("glands", 1)
    same = RelationEvaluator({"isa": [("a", "b"), ("c", "d")]}, [("x", "y")])
    assert evaluator.pairs_digest == same.pairs_digest
    both = RelationEvaluator.from_file(tmp_path / "Glands.txt", name="all")
    assert (list(both.positives), both.primary_metric) == (["isa", "near"], "all_macro_auc")


def test_pairs_without_a_relation_are_left_out(tmp_path, caplog):
    """Catches the published file refused for its rows without a RELA, and these measured as a relation without a name."""
    (tmp_path / "glands.txt").write_text("a||b||isa\nb||c||\nx||y||random\n")
    with caplog.at_level("INFO"):
        evaluator = RelationEvaluator.from_file(tmp_path / "glands.txt")
    assert list(evaluator.positives) == ["isa"] and "c" not in evaluator.texts
    assert "1 pairs without a relation are left out" in caplog.text


def test_a_file_written_and_read_again_holds_the_same_pairs(tmp_path):
    evaluator = RelationEvaluator({"near": [("Ménière's disease", "a|b")], "isa": [("c", "d")]}, [("x", "y;z")])
    evaluator.to_file(tmp_path / "new" / "pairs.txt")
    assert (tmp_path / "new" / "pairs.txt").read_text("utf-8") == (
        "Ménière's disease||a|b||near\nc||d||isa\nx||y;z||random\n"
    )
    assert RelationEvaluator.from_file(tmp_path / "new" / "pairs.txt").pairs_digest == evaluator.pairs_digest


def test_the_digest_depends_on_every_pair():
    """Catches a digest of the positives alone, or of strings whose borders are lost."""
    nulls = {"near": [("x", "y")]}
    variants = [
        RelationEvaluator({"near": [("a", "b")]}, [("x", "y")]),
        RelationEvaluator({"near": [("a", "b")]}, [("x", "z")]),
        RelationEvaluator({"near": [("a", "b")]}, {"near": [("x", "y")]}),
        RelationEvaluator({"near": [("a", "b")]}, [("x", "y")], nulls=nulls),
        RelationEvaluator({"isa": [("a", "b")]}, [("x", "y")]),
    ]
    assert len({evaluator.pairs_digest for evaluator in variants}) == 5


@pytest.mark.parametrize(
    ("evaluator", "message"),
    [
        (RelationEvaluator({"isa": [("a", "b")]}, {"isa": [("c", "d")]}), "one set of random pairs"),
        (RelationEvaluator({"isa": [("a", "b")]}, [("c", "d")], nulls={"isa": [("c", "d")]}), "and no nulls"),
        (RelationEvaluator({"random": [("a", "b")]}, [("c", "d")]), "'random' stands for unrelated pairs"),
        (RelationEvaluator({"isa": [("a||b", "b")]}, [("c", "d")]), "cannot be written: 'a||b'"),
        (RelationEvaluator({"is\na": [("a", "b")]}, [("c", "d")]), "cannot be written"),
    ],
)
def test_what_the_format_cannot_say_is_not_written(tmp_path, evaluator, message):
    """Catches a file that reads back as another benchmark."""
    with pytest.raises(InputError, match=message.replace("|", r"\|")):
        evaluator.to_file(tmp_path / "pairs.txt")
    assert not (tmp_path / "pairs.txt").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a||b||isa\na||b\n", r"pairs\.txt:2: "),
        ("a||b||isa\n||b||isa\n", r"pairs\.txt:2: expected term\|\|term\|\|relation, found '\|\|b\|\|isa'"),
        ("a||b||isa\n", "negatives: expected at least one unrelated pair, found none among 0"),
        ("a||b||random\n", "positives: expected pairs of at least one relation, found none"),
    ],
)
def test_a_bad_file_is_one_line(tmp_path, content, message):
    (tmp_path / "pairs.txt").write_text(content)
    with pytest.raises(InputError, match=message):
        RelationEvaluator.from_file(tmp_path / "pairs.txt")
