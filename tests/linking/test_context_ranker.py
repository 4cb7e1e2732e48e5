"""Concepts in the order of a mention's context: the scores by loops, what keeps its order, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling, WordWeights

from st_biomed.errors import InputError
from st_biomed.linking import ConceptIndex, ContextRanker
from st_biomed.linking.context_search import ContextSearch
from st_biomed.modules.markers import add_markers, pool_mentions
from st_biomed.records import Term
from st_biomed.terminology import Terminology
from tests.linking.conftest import RECORDS

MENTIONS = ["flumpitis", "gradthitis", "flumpa"]
CONTEXTS = ["a mild flumpitis of the organ", None, "no such word"]


@pytest.fixture
def marked_model(tiny_bert: SentenceTransformer) -> SentenceTransformer:
    """Another encoder than that of the index, with markers."""
    import torch

    torch.manual_seed(3)
    for parameter in tiny_bert.parameters():
        parameter.data += 0.1 * torch.randn_like(parameter)
    return pool_mentions(tiny_bert).eval()


def names_of(concept: str) -> list[str]:
    return sorted({record.text for record in RECORDS if isinstance(record, Term) and record.code == concept})


def unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0])
def test_scores_are_those_of_loops(weight: float, index: ConceptIndex, marked_model: SentenceTransformer) -> None:
    """Catches a mean of names that are not of unit length, names of another concept, and weights that are exchanged."""
    ranker = ContextRanker(marked_model, weight=weight, candidates=4)
    ranker.encoder.bf16 = False
    search = ContextSearch(index, rerank=ranker)
    found = search.search(MENTIONS, CONTEXTS, 4)
    before = index.search(MENTIONS, 4)
    (query,) = unit(marked_model.encode(["a mild [Ms] flumpitis [Me] of the organ"]))
    expected = {}
    for match in before[0]:
        own = [unit(marked_model.encode([name]))[0] for name in names_of(match.concept)]
        expected[match.concept] = (1 - weight) * match.score + weight * float(unit(np.mean(own, 0)) @ query)
    scores = [match.score for match in found[0]]
    assert {match.concept: match.score for match in found[0]} == pytest.approx(expected, abs=1e-5)
    assert scores == sorted(scores, reverse=True)
    assert found[1:] == before[1:] and (search.n_unplaced, search.n_expanded) == (1, 0)


def test_a_name_of_two_concepts_is_decided_by_the_context(
    index: ConceptIndex, marked_model: SentenceTransformer
) -> None:
    """The index gives both the same score; catches a maximum over names, which does, too."""
    ranker = ContextRanker(marked_model)
    first, second = index.search(["flumpitis"], 2)[0]
    assert first.score == second.score and first.name == second.name
    ranked = index.link(["flumpitis"], 2, contexts=["the flumpitis"], rerank=ranker)
    assert set(ranked["concept"][0]) == {first.concept, second.concept}
    assert ranked["score"][0][0] > ranked["score"][0][1]


def test_candidates_and_threshold_hold_for_the_new_order(
    index: ConceptIndex, marked_model: SentenceTransformer
) -> None:
    """Catches k concepts that are ordered among themselves only, and a threshold on the old score."""
    ranker = ContextRanker(marked_model, weight=1, candidates=4)
    search = ContextSearch(index, rerank=ranker)
    four = search.search(["flumpa"], ["the flumpa"], 4)[0]
    assert search.search(["flumpa"], ["the flumpa"], 1)[0] == four[:1]
    middle = (four[1].score + four[2].score) / 2
    assert search.search(["flumpa"], ["the flumpa"], 4, threshold=middle)[0] == four[:2]
    assert search.search(["flumpa"], ["the flumpa"], 4, threshold=round(four[1].score, 8))[0] == four[:2]
    two = search.search(["flumpa"], ["the flumpa"], 4, types=["organ"])[0]
    assert [match.concept for match in two] == [match.concept for match in four if match.types == ("organ",)]


def test_concepts_are_encoded_once(
    index: ConceptIndex, marked_model: SentenceTransformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    ranker = ContextRanker(marked_model)
    search = ContextSearch(index, rerank=ranker)
    first = search.search(["flumpa"], ["the flumpa"])
    calls: list[list[str]] = []
    encode = ranker.encoder.encode
    monkeypatch.setattr(ranker.encoder, "encode", lambda texts, task: calls.append(texts) or encode(texts, task=task))
    assert search.search(["flumpa"], ["the flumpa"]) == first
    assert calls == [["the [Ms] flumpa [Me]"]]


def test_columns_of_contexts(
    index: ConceptIndex, marked_model: SentenceTransformer, caplog: pytest.LogCaptureFixture
) -> None:
    """Rows without a mention or a context between others; catches contexts that slip by a row."""
    texts = [None, "GD", "flumpitis", "flumpa", 3]
    contexts = ["GD", "The gradtha disease (GD).", float("nan"), "absent", "a"]
    found = index.link(texts, contexts=contexts, abbreviations=True, on_error="reject")
    plain = index.link([None, "gradtha disease", "flumpitis", "flumpa", None])
    assert {name: found[name] for name in plain} == plain
    ranked = index.link(texts[:4], contexts=contexts[:4], abbreviations=True, rerank=ContextRanker(marked_model))
    assert ranked["concept"][2:] == plain["concept"][2:4] and ranked["score"][2:] == plain["score"][2:4]
    assert ranked["score"][1] != plain["score"][1]
    assert caplog.records[-1].getMessage() == "contexts: 1 mentions do not stand in theirs"
    bad = index.link(["flumpa"], contexts=[3], abbreviations=True, on_error="reject")
    assert bad["error"] == ["contexts: expected strings, None or NaN, found 3"] and bad["concept"] == [None]


def test_what_cannot_be_ranked_is_refused(
    index: ConceptIndex, zorb: Terminology, tiny_bert: SentenceTransformer, tiny_bert_folder, tmp_path
) -> None:
    with pytest.raises(
        InputError, match=r"the model: its tokenizer has no markers \[Ms\] and \[Me\]; expected a model"
    ):
        ContextRanker(tiny_bert)
    with pytest.raises(InputError, match=f"{tiny_bert_folder}: its tokenizer has no markers"):
        ContextRanker(tiny_bert_folder)
    add_markers(tiny_bert)
    plain = SentenceTransformer(
        modules=[tiny_bert[0], WordWeights(tiny_bert.tokenizer.get_vocab(), {}), Pooling(16, "mean")], device="cpu"
    )
    with pytest.raises(InputError, match="the model: is the plain form of a model, for bare terms"):
        ContextRanker(plain)
    for wrong, line in (
        ({"weight": 1.1}, "weight must be at least 0 and at most 1, found 1.1"),
        ({"candidates": 0}, "candidates must be an integer of at least 1, found 0"),
        ({"window": 0}, "window must be an integer of at least 1, found 0"),
    ):
        with pytest.raises(InputError, match=line):
            ContextRanker(tiny_bert, **wrong)  # type: ignore[arg-type]
    ranker = ContextRanker(tiny_bert)
    dot = ConceptIndex.build(zorb, tiny_bert_folder, tmp_path / "dot", similarity="dot")
    with pytest.raises(InputError, match="rerank: needs an index with cosines as scores, found 'dot'"):
        dot.link(["flumpa"], contexts=["flumpa"], rerank=ranker)
    for limits, line in (
        ({"k": 0}, "k must be an integer"),
        ({"threshold": 3}, "threshold 3: the scores of the index"),
    ):
        with pytest.raises(InputError, match=line):  # the ranker asks the index for more concepts, without a threshold
            index.link(["flumpa"], contexts=["flumpa"], rerank=ranker, **limits)
    with pytest.raises(InputError, match="contexts: are not used, expected abbreviations=True or rerank="):
        index.link(["flumpa"], contexts=["flumpa"])
    with pytest.raises(InputError, match="contexts: expected the texts in which the mentions stand, found none"):
        index.link(["flumpa"], abbreviations=True)
    with pytest.raises(InputError, match="contexts: expected one for each of 2 texts, found 1"):
        index.link(["flumpa", "b"], contexts=["flumpa"], abbreviations=True)
    with pytest.raises(InputError, match="contexts: expected one column of strings, e.g. frame"):
        index.link(["flumpa"], contexts="flumpa", abbreviations=True)
