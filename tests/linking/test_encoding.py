"""Vectors of many short texts are those of sentence-transformers, whatever the batches."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import StaticEmbedding
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from st_biomed.errors import InputError
from st_biomed.linking import NameEncoder, encoding

TEXTS = ["flumpa", "acute disease of the flumpa with gradtha", "", "x", "gradtha disease", "flumpa", "9" * 80]
TEXTS += ["unspecified disease", "xqzvkwy"]  # the longer has fewer tokens


def test_every_budget_gives_the_host_s_vectors_in_the_order_of_the_texts(
    tiny_bert: SentenceTransformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches rows that come back in the order of their lengths, a lost last group, and a cut that loses tokens."""
    expected = tiny_bert.encode(TEXTS)
    for at_once in (2, 3, 100):
        monkeypatch.setattr(encoding, "_TOKENIZED_AT_ONCE", at_once)
        for budget in (1, 40, 10_000):
            encoder = NameEncoder(tiny_bert, bf16=False, tokens_per_forward=budget)
            np.testing.assert_allclose(encoder.encode(TEXTS, task="document"), expected, atol=1e-6)


def test_a_forward_pass_has_no_more_tokens_than_the_budget(tiny_bert: SentenceTransformer) -> None:
    """Catches a budget of texts: 80 digits fill what thirty words do not."""
    seen: list[int] = []
    tiny_bert.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]["input_ids"].numel()))
    NameEncoder(tiny_bert, bf16=False, tokens_per_forward=64).encode(TEXTS * 5, task="document")
    assert max(seen) <= 64
    assert len(seen) < len(TEXTS * 5)


def test_a_mention_is_a_query_and_a_name_a_document(tiny_bert: SentenceTransformer) -> None:
    """Catches one prompt for both: an index of an asymmetric model would compare what was never trained together."""
    tiny_bert.prompts = {"query": "type ", "passage": "the "}
    encoder = NameEncoder(tiny_bert, bf16=False)
    for task, expected in (("query", tiny_bert.encode_query(TEXTS)), ("document", tiny_bert.encode_document(TEXTS))):
        np.testing.assert_allclose(encoder.encode(TEXTS, task=task), expected, atol=1e-6)
    tiny_bert.prompts, tiny_bert.default_prompt_name = {"usual": "of "}, "usual"
    np.testing.assert_allclose(encoder.encode(TEXTS, task="query"), tiny_bert.encode(TEXTS), atol=1e-6)


def test_a_truncated_dimension_is_kept(tiny_bert: SentenceTransformer) -> None:
    tiny_bert.truncate_dim = 5
    assert NameEncoder(tiny_bert).encode(TEXTS, task="query").shape == (len(TEXTS), 5)


def test_bf16_comes_back_as_float32_and_close(tiny_bert: SentenceTransformer) -> None:
    vectors = NameEncoder(tiny_bert, bf16=True).encode(TEXTS, task="query")
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, tiny_bert.encode(TEXTS), atol=0.05)


def test_dropout_is_off(tiny_bert: SentenceTransformer) -> None:
    """Catches an index whose names were encoded in training mode: the same text would have two vectors."""
    for module in tiny_bert.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.5
    encoder = NameEncoder(tiny_bert, bf16=False)
    tiny_bert.train()  # as a training does that goes on
    np.testing.assert_array_equal(encoder.encode(["flumpa"], task="query"), encoder.encode(["flumpa"], task="query"))


def test_a_model_without_attention_mask_goes_forward_as_it_is() -> None:
    """Static embeddings have flat token ids and offsets, which cannot be regrouped."""
    tokenizer = Tokenizer(WordLevel({"[UNK]": 0, "flumpa": 1, "disease": 2, "gradtha": 3}, "[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    weights = np.random.default_rng(0).standard_normal((4, 6), dtype=np.float32)
    model = SentenceTransformer(modules=[StaticEmbedding(tokenizer, embedding_weights=weights)], device="cpu")
    texts = ["flumpa", "gradtha disease flumpa", "disease"]
    np.testing.assert_allclose(NameEncoder(model).encode(texts, task="query"), model.encode(texts), atol=1e-6)


def test_no_text_has_no_vector_and_what_is_no_model_is_refused(tiny_bert: SentenceTransformer) -> None:
    assert NameEncoder(tiny_bert).encode([], task="query").shape == (0, 0)
    with pytest.raises(InputError, match="expected a SentenceTransformer, found str"):
        NameEncoder("tiny")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="texts: expected a list of strings, found 'flumpa'"):
        NameEncoder(tiny_bert).encode("flumpa", task="query")
    with pytest.raises(InputError, match="tokens_per_forward must be at least 1, found 0"):
        NameEncoder(tiny_bert, tokens_per_forward=0)
