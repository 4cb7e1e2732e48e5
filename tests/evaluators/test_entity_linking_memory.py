"""Entity linking: vectors of names are not kept, and a text is embedded once for one model."""

from __future__ import annotations

import dataclasses
import weakref

import numpy as np

from st_biomed import neighbors
from st_biomed.evaluators import EntityLinkingEvaluator
from st_biomed.linking_data.records import LinkingDataset, LinkingDictionary
from tests.evaluators.linking_by_hand import at_angles, dataset, hand_made, mention


def many_names(n: int) -> LinkingDataset:
    return dataset(
        [(f"name {i}", [f"MESH:X{i}"]) for i in range(n)], [mention(f"mimpic {i}", f"X{i}") for i in range(9)]
    )


def test_vectors_of_names_are_not_kept(monkeypatch):
    """Four million names do not fit in memory: would catch a cache that keeps them, and one table of all scores."""
    inner, blocks = neighbors._fast_scores, []
    made: list[weakref.ref] = []
    asked: list[tuple[int, int]] = []  # texts of a call, and how many earlier matrices are still there

    def embed(texts):
        asked.append((len(texts), sum(matrix() is not None for matrix in made)))
        vectors = np.random.default_rng(len(made)).random((len(texts), 4), dtype=np.float32)
        made.append(weakref.ref(vectors))
        return vectors

    def recorded(*arguments):
        scores, bound = inner(*arguments)
        blocks.append(tuple(scores.shape))
        return scores, bound

    monkeypatch.setattr(neighbors, "_fast_scores", recorded)
    EntityLinkingEvaluator(many_names(1000), dictionary_chunk=64).measure(embed)
    assert max(size for size, _ in asked) == 64 and sum(size for size, _ in asked) == 1009
    assert max(kept for _, kept in asked) <= 2  # the mentions' vectors and the chunk before
    assert max(rows * columns for rows, columns in blocks) <= 9 * 64
    assert sum(columns for _, columns in blocks) == 1000


def test_a_text_is_embedded_once_for_one_model(tmp_path, tiny_bert, monkeypatch):
    """Would catch a cache that is keyed by less than model and text, or that changes a figure."""
    asked: list[str] = []
    encode = tiny_bert.encode

    def recorded(texts, **options):
        asked.extend(texts)
        return encode(texts, **options)

    monkeypatch.setattr(tiny_bert, "encode", recorded)
    evaluator = EntityLinkingEvaluator(many_names(50), cache_dir=tmp_path / "new", dictionary_chunk=16)
    plain = EntityLinkingEvaluator(many_names(50), dictionary_chunk=16)(tiny_bert)
    asked.clear()
    assert evaluator(tiny_bert) == plain and len(asked) == 59
    assert evaluator(tiny_bert) == plain and len(asked) == 59
    others = LinkingDictionary.from_entries((f"name {i}", [f"MESH:X{i}"]) for i in range(1, 51))
    with_others = dataclasses.replace(many_names(50), dictionary=others)
    for other, n_new in (
        (EntityLinkingEvaluator(with_others, cache_dir=tmp_path / "new"), 1),
        (EntityLinkingEvaluator(many_names(60), cache_dir=tmp_path / "new"), 9),
        (EntityLinkingEvaluator(many_names(50), cache_dir=tmp_path / "new", truncate_dim=8), 59),
        (EntityLinkingEvaluator(many_names(50), cache_dir=tmp_path / "new", cache_dtype="float16"), 59),
        (EntityLinkingEvaluator(many_names(50), cache_dir=tmp_path / "new", bf16=True), 59),
    ):
        asked.clear()
        other(tiny_bert)
        assert len(asked) == n_new
    tiny_bert[0].auto_model.embeddings.word_embeddings.weight.data[3] += 0.1
    asked.clear()
    evaluator(tiny_bert)
    assert len(asked) == 59


def test_half_precision_is_measured_in_the_run_that_writes_it_too(tmp_path, tiny_bert):
    evaluator = EntityLinkingEvaluator(many_names(50), cache_dir=tmp_path, cache_dtype="float16")
    evaluator(tiny_bert)
    scores = evaluator.predictions.scores
    evaluator(tiny_bert)
    np.testing.assert_array_equal(evaluator.predictions.scores, scores)
    assert evaluator.get_config_dict()["cache_dtype"] == "float16"


def test_a_matrix_has_no_digest_and_is_not_cached(tmp_path):
    hand_made(cache_dir=tmp_path).measure(at_angles)
    assert list(tmp_path.iterdir()) == []
