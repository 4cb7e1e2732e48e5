"""The attention that trains fastest on a processor in bfloat16."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sentence_transformers import SentenceTransformer
from transformers import PreTrainedModel

LONGEST = 128
"""Tokens up to which the whole attention matrix of a batch takes little memory."""


@contextmanager
def eager_attention(model: SentenceTransformer, *, bf16: bool) -> Iterator[None]:
    """Compute attention by plain matrix products while an encoder of short texts is trained on a processor in bfloat16.

    The backward pass of PyTorch's fused attention multiplies one small matrix for each text and head there, and the matrix
    library prepares each product anew; ``benchmarks/results/attention.md`` has the times. Results are equal up to rounding. Nothing
    changes on other devices, in float32, above 128 tokens, and for encoders that do not use fused attention.

    Args:
        model: The encoder; its attention is as before in the end.
        bf16: Whether the training computes in bfloat16.
    """
    length = model.max_seq_length
    short = length is not None and length <= LONGEST
    fused = [
        module
        for module in model.modules()
        if isinstance(module, PreTrainedModel) and module.config._attn_implementation == "sdpa"
    ]
    if not (bf16 and short and model.device.type == "cpu"):
        fused = []
    for module in fused:
        module.set_attn_implementation("eager")
    try:
        yield
    finally:
        for module in fused:
            module.set_attn_implementation("sdpa")
