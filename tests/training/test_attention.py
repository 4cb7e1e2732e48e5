"""Eager attention during training in bfloat16 on a processor, and what it was before afterwards."""

from __future__ import annotations

import pytest
import torch
from sentence_transformers import SentenceTransformer

from st_biomed.losses.embed import embed_columns
from st_biomed.training.attention import LONGEST, eager_attention

TEXTS = ["acute flumpa", "flumpa", "chronic flumpa of the left borlu with wexin", "borlu"]


def attention(model: SentenceTransformer) -> str:
    return model[0].model.config._attn_implementation


@pytest.fixture
def fused(tiny_bert: SentenceTransformer) -> SentenceTransformer:
    tiny_bert.max_seq_length = 32
    tiny_bert[0].model.set_attn_implementation("sdpa")
    return tiny_bert


def test_attention_is_eager_within_and_fused_again_afterwards(fused: SentenceTransformer):
    """Catches an encoder that is released or measured with the attention of its training."""
    with eager_attention(fused, bf16=True):
        assert attention(fused) == "eager"
    assert attention(fused) == "sdpa"
    with pytest.raises(KeyboardInterrupt), eager_attention(fused, bf16=True):
        raise KeyboardInterrupt
    assert attention(fused) == "sdpa"


def test_nothing_changes_in_float32_or_for_long_texts(fused: SentenceTransformer):
    """Catches matrices of attention that fill the memory, and float32, in which the fused form is faster."""
    with eager_attention(fused, bf16=False):
        assert attention(fused) == "sdpa"
    fused.max_seq_length = LONGEST + 1
    with eager_attention(fused, bf16=True):
        assert attention(fused) == "sdpa"


def test_another_attention_stays(fused: SentenceTransformer):
    fused[0].model.set_attn_implementation("eager")
    with eager_attention(fused, bf16=True):
        assert attention(fused) == "eager"
    assert attention(fused) == "eager"


def test_embeddings_and_gradients_are_equal_up_to_rounding(fused: SentenceTransformer):
    """Catches a mask that only one form applies."""
    fused.eval()

    def computed() -> tuple[torch.Tensor, torch.Tensor]:
        fused.zero_grad()
        features = fused.preprocess(TEXTS)
        embeddings = embed_columns(fused, [features], chunk_cost=10**9)[0]
        embeddings.square().sum().backward()
        weight = fused[0].model.encoder.layer[0].attention.self.query.weight
        assert weight.grad is not None
        return embeddings.detach(), weight.grad.clone()

    expected = computed()
    with eager_attention(fused, bf16=True):
        found = computed()
    for values, others in zip(found, expected):
        torch.testing.assert_close(values, others, rtol=1e-4, atol=1e-5)
