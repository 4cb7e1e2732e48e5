"""A concept index is built and searched."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from st_biomed.errors import InputError
from st_biomed.linking import Catalog, ConceptIndex, Conditions, EncodingOptions
from st_biomed.linking.concept_search import ConceptSearch
from st_biomed.linking.vector_index import VectorIndex
from st_biomed.linking_data.records import LinkingDictionary
from st_biomed.records import Record, SourceInfo, Term
from st_biomed.terminology import Terminology


def naive(zorb: Terminology, model: SentenceTransformer, text: str) -> list[tuple[str, float]]:
    """Every concept with the highest cosine of its names."""
    unit = lambda vectors: vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = (unit(model.encode(zorb.strings)) @ unit(model.encode([text])).T)[:, 0]
    best = {code: max(cosines[zorb.concept_texts.row(zorb.concept(code))]) for code in zorb.codes}
    return sorted(best.items(), key=lambda item: -item[1])


@pytest.mark.parametrize("kind", ["exact", "hnsw"])
def test_concepts_come_by_their_nearest_name(
    zorb: Terminology, tiny_bert: SentenceTransformer, tmp_path: Path, kind: str
) -> None:
    """Catches scores of names summed or averaged, and a name that is not the one that matched."""
    options = EncodingOptions(bf16=False)
    built = ConceptIndex.build(zorb, tiny_bert, tmp_path / "index", kind=kind, recall=1.0, encoding=options)
    for index in (built, ConceptIndex.load(tmp_path / "index", tiny_bert)):
        for text in ("flumpa diseases", "gradthas"):
            found = index.search([text], k=4)[0]
            expected = naive(zorb, tiny_bert, text)
            np.testing.assert_allclose([match.score for match in found], [s for _, s in expected], atol=2e-6)
            assert found[0].concept == expected[0][0]
            assert found[0].name in zorb.concept_names(found[0].concept)
    (match,) = index.search(["flumpa disease"], k=1)[0]
    assert match._replace(score=1.0) == ("ZORB:1", 1.0, "flumpa disease", "flumpa disease", ("disorder",))
    assert match.score == pytest.approx(1, abs=1e-2)


def test_texts_keep_their_order_and_equal_ones_are_encoded_once(
    index: ConceptIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = ["vogla", "flumpa", "vogla", "gradthitis", "flumpa"]
    seen: list[str] = []
    encode = index._encoder.encode
    monkeypatch.setattr(index._encoder, "encode", lambda texts, task: seen.extend(texts) or encode(texts, task=task))
    found = index.search(texts, k=1)
    assert seen == ["vogla", "flumpa", "gradthitis"]
    assert [matches[0].name for matches in found[1:]] == ["flumpa", found[0][0].name, "gradthitis", "flumpa"]
    assert index.search([]) == []


def test_an_ambiguous_name_gives_all_its_concepts(index: ConceptIndex) -> None:
    first, second = index.search(["flumpitis"], k=2)[0]
    assert (first.concept, second.concept, first.score) == ("ZORB:1", "ZORB:4", second.score)


def test_a_type_leaves_its_concepts_alone_even_at_an_ambiguous_name(index: ConceptIndex) -> None:
    """Catches a filter of names: ``flumpitis`` names an organ and a disorder."""
    found = index.search(["flumpitis"], k=5, types=["organ"])[0]
    assert [match.concept for match in found] == ["ZORB:4", "ZORB:3"]
    assert {match.concept for match in index.search(["flumpitis"], k=5, types=["disorder"])[0]} == {"ZORB:1", "ZORB:2"}
    with pytest.raises(InputError, match="no concept has type 'gland'"):
        index.search(["flumpa"], types=["gland"])
    with pytest.raises(InputError, match="types: expected a list of semantic types, found 'organ'"):
        index.search(["flumpa"], types="organ")


def test_concepts_that_meet_conditions_are_counted_once(index: ConceptIndex) -> None:
    """Catches the number of their names: the two organs have three."""
    assert (index.check(types=["organ"]), index.check(types=["disorder"]), index.check()) == (2, 2, 4)


def test_below_the_threshold_a_mention_has_no_concept(index: ConceptIndex) -> None:
    scores = [match.score for match in index.search(["flumpa disease"], k=4)[0]]
    assert [match.score for match in index.search(["flumpa disease"], k=4, threshold=scores[1])[0]] == scores[:2]
    assert index.search(["flumpa disease of old"], threshold=1) == [[]]


@pytest.mark.parametrize("kind", ["exact", "hnsw"])
def test_a_concept_of_many_names_hides_no_other(tiny_bert: SentenceTransformer, tmp_path: Path, kind: str) -> None:
    """Catches a search that stops at a fixed number of names: the first three hundred are of one concept."""
    records: list[Record] = [Term("ZORB:1", f"flumpa disease type {i}", "synonym") for i in range(300)]
    records += [Term("ZORB:2", "gradtha"), Term("ZORB:3", "x9")]
    terminology = Terminology.from_records(records, SourceInfo("ZORB", "Zorb"))
    index = ConceptIndex.build(terminology, tiny_bert, tmp_path / "index", kind=kind)
    found = index.search(["flumpa disease type 7", "gradtha"], k=3)
    assert found[0][0].concept == "ZORB:1"
    assert [sorted(match.concept for match in matches) for matches in found] == [["ZORB:1", "ZORB:2", "ZORB:3"]] * 2
    easy, hard = index.search(["gradtha", "flumpa disease type 7"], k=2)  # the first needs no second look
    assert (len(easy), easy[0].concept, len(hard), hard[0].name) == (2, "ZORB:2", 2, "flumpa disease type 7")


def test_a_dictionary_is_indexed_too(dictionary: LinkingDictionary, tiny_bert_folder: Path, tmp_path: Path) -> None:
    index = ConceptIndex.build(dictionary, tiny_bert_folder, tmp_path / "index")
    assert {match.concept for match in index.search(["vogla fever"], k=3)[0]} == set(dictionary.ids)
    with pytest.raises(InputError, match="the index has no semantic types"):
        index.search(["vogla"], types=["organ"])


def test_codes_are_built_loaded_and_searched(
    many_names: Callable[[int], Terminology], tiny_bert: SentenceTransformer, zorb: Terminology, tmp_path: Path
) -> None:
    terminology = many_names(700)
    options = EncodingOptions(bf16=False)
    built = ConceptIndex.build(terminology, tiny_bert, tmp_path / "index", kind="ivfpq", encoding=options)
    loaded = ConceptIndex.load(tmp_path / "index", tiny_bert)
    assert loaded.search(["flumpa vogla 7"]) == built.search(["flumpa vogla 7"])
    names = terminology.strings[::50]
    assert all(matches[0].score > 0.99 for matches in loaded.search(names, k=1))
    assert "700 names of 100 concepts, 16 dimensions, ivfpq: recall@1" in loaded.summary
    with pytest.raises(InputError, match="kind 'ivfpq' needs at least 624 names to learn from, found 7; use 'exact'"):
        ConceptIndex.build(zorb, tiny_bert, tmp_path / "small", kind="ivfpq")


def test_vectors_are_searched_without_a_model(index: ConceptIndex, tmp_path: Path) -> None:
    loaded = ConceptIndex.load(tmp_path / "index")
    rows = np.asarray(loaded.vectors.matrix)
    names = [loaded.search_vectors(rows[[i]], k=1)[0][0].name for i in range(len(rows))]
    assert names == loaded.catalog.texts(slice(None))
    with pytest.raises(InputError, match=r"vectors: expected \[Q, 16\], the dimension of the index, found \[2, 17\]"):
        loaded.search_vectors(np.zeros((2, 17)))
    with pytest.raises(InputError, match="vectors: hold NaN or infinity"):
        loaded.search_vectors(np.full((1, 16), np.nan))


def test_the_recorded_model_is_loaded_when_it_is_needed(
    index: ConceptIndex, tiny_bert: SentenceTransformer, tmp_path: Path
) -> None:
    assert ConceptIndex.load(tmp_path / "index").search(["flumpa"], k=1) == index.search(["flumpa"], k=1)
    ConceptIndex.build(index.catalog, tiny_bert, tmp_path / "other")
    with pytest.raises(InputError, match="was built with a model given as an object; give it to load"):
        ConceptIndex.load(tmp_path / "other").search(["flumpa"])


def test_half_precision_on_disk_is_half_the_size_and_close(
    zorb: Terminology, tiny_bert: SentenceTransformer, tmp_path: Path
) -> None:
    sizes, scores = [], []
    for dtype in ("float32", "float16"):
        index = ConceptIndex.build(
            zorb, tiny_bert, tmp_path / dtype, encoding=EncodingOptions(dtype=dtype, bf16=False)
        )
        sizes.append(index.vectors.matrix.nbytes)
        scores.append([match.score for match in index.search(["flumpas"], k=4)[0]])
    assert sizes[0] == 2 * sizes[1]
    np.testing.assert_allclose(scores[0], scores[1], atol=2e-3)


def test_more_queries_than_are_searched_at_once_keep_their_matches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches matches of a later block that go to the queries of the first."""
    monkeypatch.setattr("st_biomed.linking.concept_search._QUERIES_AT_ONCE", 2)
    catalog = Catalog.of(LinkingDictionary.from_entries([(f"vogla {i}", [f"Z:{i}"]) for i in range(5)]))
    search = ConceptSearch(catalog, VectorIndex(np.eye(5, dtype=np.float32), "exact", "cosine"))
    order = [3, 0, 4, 1, 2]
    found = search.search(np.eye(5, dtype=np.float32)[order], 1, Conditions())
    assert [[match.concept for match in matches] for matches in found] == [[f"Z:{i}"] for i in order]


@pytest.mark.parametrize("cosine", [0.6, 0.7, 0.8, 0.9, 0.28, 0.96])
def test_a_score_that_is_the_threshold_reaches_it(cosine: float) -> None:
    """Catches scores in float32 that are compared with a threshold in float64: 0.7 became 0.699999988."""
    catalog = Catalog.of(LinkingDictionary.from_entries([("vogla", ["Z:1"]), ("tarsta", ["Z:2"])]))
    rows = np.array([[cosine, np.sqrt(1 - cosine**2)], [-1, 0]], np.float32)
    search = ConceptSearch(catalog, VectorIndex(rows, "exact", "cosine"))
    query = np.array([[1, 0]], np.float32)
    assert len(search.search(query, 1, Conditions(), threshold=cosine)[0]) == 1
    assert len(search.search(query, 1, Conditions(), threshold=cosine + 1e-5)[0]) == 0


def test_few_concepts_of_many_names_are_searched_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches all names of all queries in memory, and matches of one part that go to the queries of another."""
    rng = np.random.default_rng(0)
    names = [(f"vogla {i}", [f"Z:{i % 2}"]) for i in range(400)] + [("tarsta", ["Z:2"])]
    rows = rng.normal(size=(401, 8)).astype(np.float32)
    rows[:400, 0], rows[400] = np.abs(rows[:400, 0]), np.eye(8, dtype=np.float32)[0] * -1  # far from every query
    queries = np.abs(rng.normal(size=(50, 8))).astype(np.float32)
    vectors = VectorIndex(rows, "exact", "cosine")
    search = ConceptSearch(Catalog.of(LinkingDictionary.from_entries(names)), vectors)
    whole, sizes, found = search.search(queries, 3, Conditions()), [], vectors.search
    monkeypatch.setattr("st_biomed.linking.concept_search._NAMES_AT_ONCE", 2000)
    monkeypatch.setattr(
        vectors, "search", lambda rows, depth, names: sizes.append(len(rows) * depth) or found(rows, depth, names)
    )
    assert search.search(queries, 3, Conditions()) == whole
    assert max(sizes) <= 2000 and {len(matches) for matches in whole} == {3}


@pytest.mark.parametrize("similarity", ["cosine", "dot", "euclidean"])
def test_a_threshold_is_a_number(similarity: str) -> None:
    search = ConceptSearch(
        Catalog.of(LinkingDictionary.from_entries([("vogla", ["Z:1"])])),
        VectorIndex(np.eye(1, 2, dtype=np.float32), "exact", similarity),
    )
    with pytest.raises(InputError, match="threshold"):
        search.search(np.eye(1, 2, dtype=np.float32), 1, Conditions(), threshold=float("nan"))
