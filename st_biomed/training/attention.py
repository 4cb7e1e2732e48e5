"""The fastest attention for training on a CPU in bfloat16."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sentence_transformers import SentenceTransformer
from transformers import PreTrainedModel

LONGEST = 128
"""Maximum number of tokens for which the full attention matrix of a batch needs little memory."""


@contextmanager
def eager_attention(model: SentenceTransformer, *, bf16: bool, max_length: int | None = None) -> Iterator[None]:
    """Compute attention by plain matrix products while an encoder of short texts is trained on a CPU in bfloat16.

    On a CPU, the backward pass of PyTorch's fused attention multiplies one small matrix for each text and head, and
    the matrix library prepares each product separately; ``benchmarks/results/attention.md`` has the times. Results are
    equal up to rounding. Nothing changes on other devices, in float32, above 128 tokens, and for encoders without
    fused attention.

    Args:
        model: The encoder; its attention is restored at the end.
        bf16: Whether the training computes in bfloat16.
        max_length: Maximum number of tokens of a text in training; ``None`` for the model's own limit.
    """
    length = model.max_seq_length if max_length is None else max_length
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
