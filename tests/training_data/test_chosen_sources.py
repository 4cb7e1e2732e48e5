"""The parents and the names of chosen sources."""

from __future__ import annotations

import pytest

from st_biomed.errors import InputError
from st_biomed.hierarchy import Hierarchy
from st_biomed.records import Parent, Relation, SourceInfo, Term
from st_biomed.samplers import SynonymBatches
from st_biomed.terminology import Terminology
from st_biomed.training_data import names_dataset, texts_of_sources, with_parents_of

SOURCES = [SourceInfo(name, name) for name in ("TREE", "MTHA", "MTHB")]
"""A hierarchy, and two vocabularies of a metathesaurus that put each other's concepts above their own."""


@pytest.fixture(scope="module")
def whole() -> Terminology:
    terms = [Term(f"TREE:{i}", f"flumpa {i}", source="TREE") for i in range(3)]
    terms += [
        Term(f"META:{i}", f"{word} {i}", "synonym", source=source)
        for i in range(4)
        for word, source in (("terkia", "MTHA"), ("mimpa", "MTHB"), ("zorb", "MTHB"))
    ]
    terms.append(Term("META:0", "flumpa 1", "synonym", source="MTHA"))
    parents = [Parent("TREE:1", "TREE:0", "TREE"), Parent("TREE:2", "TREE:0", "TREE")]
    parents += [Parent("META:0", "META:1", "MTHA"), Parent("META:1", "META:0", "MTHB")]
    parents += [Parent("META:2", "META:3", "MTHA")]
    return Terminology.from_records(
        [*SOURCES, *terms, *parents, Relation("META:0", "treats", "META:1", "MTHA")], SOURCES[0]
    )


def edges(terminology: Terminology) -> set[tuple[str, str]]:
    codes = terminology.codes
    rows = terminology.parents
    return {
        (codes[child], codes[parent]) for child, parent in zip(*(rows[end].to_pylist() for end in ("child", "parent")))
    }


def test_a_cycle_of_other_sources_does_not_matter(whole: Terminology):
    with pytest.raises(InputError, match="cycle"):
        Hierarchy(whole)
    chosen = with_parents_of(whole, ["TREE"])
    assert edges(chosen) == {("TREE:1", "TREE:0"), ("TREE:2", "TREE:0")}
    assert len(Hierarchy(chosen).graph.roots) == 1
    assert chosen.strings == whole.strings and chosen.relations.equals(whole.relations)
    assert chosen.tallies["hierarchy sources"].dropped == {"parents of other sources": 3}
    assert chosen.tallies["hierarchy sources"].adds_up()


def test_several_sources_and_the_prefix_of_codes(whole: Terminology):
    assert edges(with_parents_of(whole, ["TREE", "MTHA"])) == edges(whole) - {("META:1", "META:0")}
    assert edges(with_parents_of(whole, ["META"])) == {e for e in edges(whole) if e[0].startswith("META")}


@pytest.mark.parametrize("sources", [[], ["TREE", "MTHA", "MTHB"], ["TREE", "META"]])
def test_all_sources_change_nothing(whole: Terminology, sources: list[str]):
    assert with_parents_of(whole, sources).digest == whole.digest


def test_an_unknown_source_is_one_line_with_those_that_have_rows(whole: Terminology):
    with pytest.raises(
        InputError, match="unknown hierarchy source 'TREES': allowed are 'META', 'MTHA', 'MTHB', 'TREE'"
    ):
        with_parents_of(whole, ["TREES"])
    with pytest.raises(InputError, match="unknown synonym source 'UMLS'"):
        texts_of_sources(whole, ["UMLS"])


def test_synonyms_are_the_names_of_their_sources(whole: Terminology):
    """Catches names of a hierarchy among the synonyms, and a label that is a row in place of a text id."""
    kept = texts_of_sources(whole, ["META"])
    assert {whole.strings[i] for i in kept.nonzero()[0]} == {
        name for name in whole.strings if name not in ("flumpa 0", "flumpa 2")
    }
    kept = texts_of_sources(whole, ["MTHB"])
    rows = names_dataset(whole, kept)
    assert [whole.strings[label] for label in rows["label"]] == list(rows["text"])
    assert {text.split()[0] for text in rows["text"]} == {"mimpa", "zorb"}
    assert rows._fingerprint != names_dataset(whole)._fingerprint
    sampler = SynonymBatches.of(whole, dataset=rows).sampler(rows, 4, 0)
    assert {rows[i]["text"].split()[0] for batch in sampler for i in batch} == {"mimpa", "zorb"}
