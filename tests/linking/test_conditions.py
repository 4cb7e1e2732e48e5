"""Conditions on concepts and names, compared with a loop over all terms."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from st_biomed.errors import InputError
from st_biomed.linking import Catalog, ConceptIndex, Conditions, EncodingOptions
from st_biomed.linking.concept_search import ConceptSearch
from st_biomed.linking_data.records import LinkingDictionary
from st_biomed.records import Parent, Record, SourceInfo, Term, Type
from st_biomed.terminology import Terminology
from tests.contracts.reader_contract import FIXTURES

ZORB = SourceInfo("ZORB", "Zorb")
RECORDS: list[Record] = [
    ZORB,
    SourceInfo("VOG", "Vog"),
    Term("ZORB:1", "flumpa disease"),
    Term("ZORB:1", "flumpa disease", "synonym", "en", "VOG"),  # one name of two sources
    Term("ZORB:1", "malattia della flumpa", "synonym", "it", "ZORB"),
    Term("ZORB:1.1", "acute flumpa disease"),
    Term("ZORB:1.1", "flumpa acuta", "synonym", "it", "VOG"),
    Term("ZORB:1.1", "flumpitis", "synonym", "en", "VOG"),
    Term("ZORB:1.2", "chronic flumpa disease"),
    Term("ZORB:1.2", "flumpitis", "synonym", "it", "ZORB"),  # names two concepts, of two sources in two languages
    Term("ZORB:1.2.1", "chronic flumpa disease, skarkic"),
    Term("ZORB:2", "gradtha"),
    Term("ZORB:2", "gradtha", "synonym", "it", "VOG"),  # VOG has it in Italian alone
    Term("ZORB:2.1", "flumpa gradtha", "preferred", "en", "VOG"),
    Term("ZORB:3", "flumpa", "preferred", "en", "VOG"),
    Parent("ZORB:1.1", "ZORB:1"),
    Parent("ZORB:1.2", "ZORB:1"),
    Parent("ZORB:1.2.1", "ZORB:1.2"),
    Parent("ZORB:1.2.1", "ZORB:2"),  # of two parents
    Parent("ZORB:2.1", "ZORB:2"),
    *(Type(f"ZORB:{code}", "disorder") for code in ("1", "1.1", "1.2", "1.2.1")),
    *(Type(f"ZORB:{code}", "organ") for code in ("2", "2.1", "3")),
    *(Type(f"ZORB:{code}", "standard") for code in ("1.1", "1.2.1", "2", "3")),
]
OPTIONS: dict[str, Sequence[object]] = {
    "types": (None, ["organ"], ["disorder"]),
    "leaves": (False, True),
    "standard": (False, True),
    "below": (None, ["ZORB:1"], ["ZORB:2", "ZORB:1.1"]),
    "sources": (None, ["VOG"], ["ZORB", "VOG"]),
    "languages": (None, ["it"], ["en"]),
}
EVERY = [dict(zip(OPTIONS, values)) for values in product(*OPTIONS.values())]
QUERIES = ["flumpitis", "flumpa", "gradtha acuta"]


def met(condition: dict[str, object]) -> set[tuple[str, str]]:
    """Concept and name of each term that meets the conditions, by a loop over the records."""
    parents = {(record.child, record.parent) for record in RECORDS if isinstance(record, Parent)}
    types = [record for record in RECORDS if isinstance(record, Type)]
    out = set()
    for term in RECORDS:
        if not isinstance(term, Term):
            continue
        above = {term.code}
        for _ in RECORDS:
            above |= {parent for child, parent in parents if child in above}
        holds = (
            condition["types"] is None or any(Type(term.code, kind) in types for kind in condition["types"]),
            not condition["leaves"] or all(parent != term.code for _, parent in parents),
            not condition["standard"] or Type(term.code, "standard") in types,
            condition["below"] is None or above & set(condition["below"]),
            condition["sources"] is None or (term.source or "ZORB") in condition["sources"],
            condition["languages"] is None or term.language in condition["languages"],
        )
        if all(holds):
            out.add((term.code, term.text))
    return out


@pytest.fixture(scope="module")
def terminology() -> Terminology:
    return Terminology.from_records(RECORDS, ZORB)


@pytest.fixture(scope="module", params=["exact", "hnsw"])
def index(
    request: pytest.FixtureRequest,
    terminology: Terminology,
    tiny_bert_folder: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> ConceptIndex:
    """Saved and loaded."""
    folder = tmp_path_factory.mktemp("conditions") / "index"
    model = SentenceTransformer(str(tiny_bert_folder), device="cpu")
    options = EncodingOptions(bf16=False)
    ConceptIndex.build(terminology, model, folder, kind=request.param, recall=1.0, encoding=options)
    return ConceptIndex.load(folder, model)


@cache
def every_cosine(index: ConceptIndex) -> list[list[float]]:
    """Cosines of each query with every name."""
    queries = index._encoder.encode(QUERIES, task="query")
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    return (queries @ np.asarray(index.vectors.matrix).T).tolist()


@pytest.mark.parametrize("condition", EVERY, ids=lambda condition: "-".join(map(str, condition.values())))
def test_the_best_k_are_those_of_a_loop(condition: dict[str, object], index: ConceptIndex) -> None:
    """Catches a condition on names that lets a concept in by another name, one that holds after the best k are taken,
    a language of one source and a source of another language, and a concept of two parents that is below one alone."""
    allowed = met(condition)
    if not allowed:
        with pytest.raises(InputError, match=r": no name of the index meets all of these conditions"):
            index.search(["flumpitis"], **condition)
        return
    names = index.catalog.texts(slice(None))
    found = {k: index.search(QUERIES, k=k, **condition) for k in (1, 2, 9)}
    for place, cosines in enumerate(every_cosine(index)):
        cosine = dict(zip(names, cosines))
        best: dict[str, tuple[float, str]] = {}
        for code, name in sorted(allowed):
            best[code] = max(best.get(code, (-2.0, "")), (cosine[name], name))
        for k, matches in ((k, found[k][place]) for k in found):
            expected = sorted((score for score, _ in best.values()), reverse=True)[:k]
            np.testing.assert_allclose([match.score for match in matches], expected, atol=2e-6)
            assert len({match.concept for match in matches}) == len(matches)
            for match in matches:
                assert (match.concept, match.name) in allowed
                assert match.score == pytest.approx(best[match.concept][0], abs=2e-6)


def test_the_conditions_are_many() -> None:
    """Guards the guard: most combinations leave something, and some leave nothing."""
    left = [len(met(condition)) for condition in EVERY]
    assert (len(EVERY), max(left), left.count(0)) == (324, 11, 55)


@pytest.mark.parametrize("kind", ["exact", "hnsw"])
@pytest.mark.parametrize(
    "condition", [{"languages": ["it"]}, {"sources": ["VOG"]}, {"below": ["ZORB:1"], "leaves": True}]
)
def test_k_concepts_come_back_where_k_exist(
    condition: dict[str, object], kind: str, tiny_bert: SentenceTransformer, tmp_path: Path
) -> None:
    """Catches a condition that holds after the best names are taken: three hundred nearer ones do not meet it."""
    records: list[Record] = [ZORB, SourceInfo("VOG", "Vog"), Term("ZORB:1", "root")]
    records += [Term(f"ZORB:2.{i}", f"flumpa disease type {i}") for i in range(300)]
    for i, name in enumerate(("x9", "vogla 77", "a-b-c", "z")):
        records += [Term(f"ZORB:1.{i}", name, "preferred", "it", "VOG"), Parent(f"ZORB:1.{i}", "ZORB:1")]
    terminology = Terminology.from_records(records, ZORB)
    index = ConceptIndex.build(terminology, tiny_bert, tmp_path / "index", kind=kind)
    for k in (1, 3, 4, 9):
        found = index.search(["flumpa disease type 7"], k=k, **condition)[0]
        assert len(found) == min(k, 4) and {match.concept[:7] for match in found} == {"ZORB:1."}


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ({"types": ["gland"]}, "types: no concept has type 'gland'; there are disorder, organ, standard"),
        ({"below": ["1.1"]}, "below: no concept has code '1.1'; did you mean 'ZORB:1.1'?"),
        ({"below": ["zorb:1.2.1"]}, "below: no concept has code 'zorb:1.2.1'; did you mean 'ZORB:1.2.1'?"),
        ({"below": ["ZORB:2", "ZORB:1.29"]}, "below: no concept has code 'ZORB:1.29'; did you mean 'ZORB:1.2.1'?"),
        ({"below": ["ZORB:2.0"]}, "below: no concept has code 'ZORB:2.0'; did you mean 'ZORB:2.1'?"),
        ({"below": ["/ZORB"]}, "below: no concept has code '/ZORB'; did you mean 'ZORB:1'?"),
        ({"sources": ["Zorb"]}, "unknown source 'Zorb': allowed are 'VOG', 'ZORB'; did you mean 'ZORB'?"),
        ({"languages": ["en", "ita"]}, "unknown language 'ita': allowed are 'en', 'it'; did you mean 'it'?"),
        ({"languages": "it"}, "languages: expected a list of languages, found 'it'"),
        ({"below": "ZORB:1"}, "below: expected a list of codes, found 'ZORB:1'"),
        ({"sources": []}, "sources: expected at least one, found none"),
        (
            {"leaves": True, "below": ["ZORB:1"], "types": ["organ"]},
            "types, leaves, below: no name of the index meets",
        ),
    ],
)
def test_what_the_index_does_not_have_is_refused_with_a_hint(
    condition: dict[str, object], message: str, index: ConceptIndex
) -> None:
    for ask in (lambda: index.search(["flumpa"], **condition), lambda: index.check(**condition)):
        with pytest.raises(InputError) as caught:
            ask()
        assert str(caught.value).startswith(message)


def test_an_unknown_condition_is_told(index: ConceptIndex) -> None:
    with pytest.raises(InputError, match="unknown condition 'leaf': allowed are .*; did you mean 'leaves'?"):
        index.search(["flumpa"], leaf=True)


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ({"leaves": True}, "leaves: the index has no hierarchy"),
        ({"below": ["MESH:X0001"]}, "below: the index has no hierarchy"),
        ({"sources": ["MESH"]}, "sources: the index has no sources of names"),
        ({"languages": ["en"]}, "languages: the index has no languages of names"),
    ],
)
def test_a_dictionary_has_neither_hierarchy_nor_languages(
    condition: dict[str, object], message: str, dictionary: LinkingDictionary, tmp_path: Path
) -> None:
    catalog = Catalog.of(dictionary)
    catalog.save(tmp_path)
    for read in (catalog, Catalog.load(tmp_path)):
        with pytest.raises(InputError, match=f"{message}.* because its source has none"):
            Conditions(**condition).entries(read)


def test_without_standard_concepts_none_can_be_asked_for(dictionary: LinkingDictionary) -> None:
    """Catches an answer without any concept, or with all of them, where the source is not OMOP."""
    toy = Terminology.read("toy")
    for catalog in (Catalog.of(dictionary), Catalog.of(toy)):
        with pytest.raises(InputError, match=r"^standard: no concept of the index is marked as standard"):
            Conditions(standard=True).entries(catalog)


def test_the_standard_concepts_of_omop_are_found() -> None:
    """Catches a type of the reader that the condition does not know."""
    catalog = Catalog.of(Terminology.read("omop", FIXTURES / "omop"))
    entries = Conditions(standard=True, types=["Drug"]).entries(catalog)
    found = {catalog.concepts[concept] for concept in catalog.name_concepts.indices[entries]}
    assert found == {"OMOP:1990007", "OMOP:1990008", "OMOP:1990009"}


def test_another_condition_after_the_first_is_not_the_first(index: ConceptIndex) -> None:
    """Catches what is kept of one call and used in the next."""
    all_of = index.search(["flumpitis"], k=9)
    assert {match.concept for match in index.search(["flumpitis"], k=9, languages=["it"])[0]} == {
        "ZORB:1",
        "ZORB:1.1",
        "ZORB:1.2",
        "ZORB:2",
    }
    assert [match.name for match in index.search(["flumpitis"], k=1, languages=["en"])[0]] == ["flumpitis"]
    assert index.search(["flumpitis"], k=9) == all_of


class Interrupted(Conditions):
    """Conditions in whose comparison another thread asks for its own."""

    search: ConceptSearch
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        self.search.allowed(Conditions(languages=["en"]))
        return isinstance(other, Conditions) and vars(other).get("languages") == self.languages


def test_a_call_in_between_does_not_change_what_is_found(terminology: Terminology, index: ConceptIndex) -> None:
    """Catches what is kept read twice, with a call of another thread in between."""
    search = ConceptSearch(Catalog.of(terminology), index.vectors)
    expected = search.allowed(Conditions(languages=["it"]))
    conditions = Interrupted(languages=["it"])
    object.__setattr__(conditions, "search", search)
    assert search.allowed(conditions) is expected
