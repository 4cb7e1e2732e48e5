"""A training step with eager attention against PyTorch's fused one, on a processor."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from sentence_transformers import SentenceTransformer

from benchmarks.embedding_names import Encode, encoder, precisions, synonym_pairs
from benchmarks.harness import Table, interleaved
from st_biomed.losses.embed import embed_columns


def main(quick: bool = False) -> Table:
    """Forward and backward of 192 real names (quick: 16) in both forms, without dropout."""
    size, repeats = (16, 1) if quick else (192, 7)
    model = encoder()
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    texts, _ = synonym_pairs(size)
    rows = []
    for precision, encode in precisions(model).items():
        times = interleaved({form: partial(step, model, encode, texts, form) for form in ("sdpa", "eager")}, repeats)
        rows.append(
            [
                precision,
                *(f"{times[form].median:.2f} s" for form in ("sdpa", "eager")),
                f"{times['eager'].times_faster_than(times['sdpa']):.2f}x",
            ]
        )
    return Table(
        "Attention in training",
        ["precision", "fused (`sdpa`)", "eager", "eager, times as fast"],
        rows,
        notes=[
            f"Forward and backward of all-MiniLM-L6-v2 on {size} names of ICD-10-CM in chunks by length, on the processor, without "
            f"dropout (with dropout, PyTorch computes attention by plain products in both forms). Medians of {repeats} interleaved rounds, a factor is the median over the rounds."
        ],
        peers=["sentence-transformers", "transformers"],
    )


def step(model: SentenceTransformer, encode: Encode, texts: list[str], form: str) -> None:
    """One batch forward and backward with a form of attention."""
    transformer: Any = model[0]
    transformer.model.set_attn_implementation(form)
    model.zero_grad()
    embed_columns(encode, [dict(model.preprocess(texts))])[0].float().square().sum().backward()
