"""Held-out names by kind: which kind a concept is of, and figures that are those of its names alone."""

from __future__ import annotations

import numpy as np
import pytest

from evaluation.names_by_kind import ANATOMY, CHEMICALS, DISEASES, OTHER, PROCEDURES, kinds_of, linked, table
from st_biomed.errors import InputError
from st_biomed.linking_data import LinkingDataset, LinkingDictionary, Mention
from st_biomed.records import SourceInfo, Term, Type
from st_biomed.terminology import Terminology

INVENTED = SourceInfo("INV", "Invented", license="CC0-1.0")


def dataset(**splits: list[tuple[str, str]]) -> LinkingDataset:
    names = {name: [code] for of_split in splits.values() for name, code in of_split}
    mentions = {
        split: tuple(Mention(name, (frozenset((code,)),)) for name, code in of_split)
        for split, of_split in splits.items()
    }
    return LinkingDataset("held-out-names", mentions, LinkingDictionary.from_entries(list(names.items())), INVENTED)


def test_the_kind_is_that_of_the_source_or_of_the_tree():
    """Catches a concept of MeSH in two trees that counts for one of them, and codes of sources without a kind."""
    codes = ["UBERON:990", "MESH:D990", "MESH:D991", "MESH:D992", "MAXO:990", "ZORB:1"]
    letters = [("MESH:D990", "D"), ("MESH:D991", "A"), ("MESH:D991", "C"), ("MESH:D992", "C"), ("MESH:D992", "G")]
    terminology = Terminology.from_records(
        [
            *(Term(code, f"name {i}") for i, code in enumerate(codes)),
            *(Type(code, letter) for code, letter in letters),
        ],
        INVENTED,
    )
    found = dataset(dev=[(f"a {code}", code) for code in codes[:2]], test=[(f"a {code}", code) for code in codes[2:]])
    assert kinds_of(found, terminology) == [ANATOMY, CHEMICALS, OTHER, DISEASES, PROCEDURES, OTHER]


def test_rows_are_of_the_names_of_their_kind():
    hits = {"base": np.array([0.0, 0, 0, 1]), "ours": np.array([1.0, 1, 0, 0]), "same": np.array([0.0, 0, 0, 1])}
    lines = table(hits, [ANATOMY, ANATOMY, ANATOMY, DISEASES]).splitlines()
    assert lines[2].startswith(f"| {ANATOMY} | 3 | ours | 0.000 | 0.667 | +0.667 (")
    assert lines[3].startswith(f"| {ANATOMY} | 3 | same | 0.000 | 0.000 | +0.000 (+0.000 to +0.000) | 1.000 |")
    assert lines[4].startswith(f"| {DISEASES} | 1 | ours | 1.000 | 0.000 | -1.000 (")
    assert lines[6].startswith("| all | 4 | ours | 0.250 | 0.500 | +0.250 (")


def test_names_of_both_splits_are_linked():
    """Catches a split that is left out, and hits in another order than the names."""
    found = dataset(dev=[("flumpa", "Q:1"), ("gradtha", "Q:2")], test=[("mimp", "Q:3")])

    def measure(evaluator) -> None:
        evaluator.measure(
            lambda texts: np.array([[len(text) == 6, len(text) == 7, len(text) == 4] for text in texts], float)
        )

    assert linked(found, measure).tolist() == [1.0, 1.0, 1.0]
    with pytest.raises(InputError, match="no split 'test'"):
        linked(dataset(dev=[("flumpa", "Q:1")]), measure)
