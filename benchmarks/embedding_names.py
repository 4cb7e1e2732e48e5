"""Names per second in training: length-sorted chunks against the padding of published scripts and of sentence-transformers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from torch import Tensor

from benchmarks import harness
from benchmarks.harness import Table, interleaved, on_device
from st_biomed.encoder import PACKAGED, computes_bf16, load_encoder
from st_biomed.losses.embed import embed_columns
from st_biomed.losses.multi_similarity import MultiSimilarityLoss
from st_biomed.terminology import Terminology

DEVICES = ("cpu", "cuda")
MAX_LENGTH = 25
"""SapBERT's; the same on all sides."""

Encode = Callable[[dict[str, Any]], dict[str, Any]]


def main(quick: bool = False) -> Table:
    """Forward and backward of 512 real names (quick: 16) in each way, and the whole step of a loss."""
    size, repeats = (16, 1) if quick else (512, 5)
    texts, labels = synonym_pairs(size)
    encoders = {"all-MiniLM-L6-v2": encoder} | (
        {"BERT-base, new weights": bert_base} if harness.DEVICE == "cuda" else {}
    )
    rows = [row for name, make in encoders.items() for row in measured(name, make(), texts, labels, repeats)]
    return Table(
        f"Embedding {size} names in training",
        [
            "encoder",
            "way",
            "precision",
            "a batch",
            "names/s",
            "against two passes",
            "against one pass",
            "against two passes in float32",
            "time / sorted chunks",
        ],
        rows,
        notes=[
            f"Forward and backward on {size} ICD-10-CM names, two of each concept, cut at "
            f"{MAX_LENGTH} tokens. Medians of {repeats} interleaved rounds; a factor is the median over the rounds. "
            "Autocast is entered anew in every forward, as the trainer does. The two ways with a loss are whole "
            "steps with SapBERT's multi-similarity loss and its miner: ours in sorted chunks, and the published script's "
            "way, with pytorch-metric-learning on two padded passes."
        ],
        peers=["sentence-transformers", "transformers", "pytorch-metric-learning"],
    )


def measured(
    name: str, model: SentenceTransformer, texts: list[str], labels: Tensor, repeats: int
) -> Iterator[list[object]]:
    """A row of each way and precision of an encoder."""
    ways: dict[tuple[str, str], Callable[[], object]] = {}
    for precision, encode in precisions(model).items():
        for way, step in steps(model, encode, texts, labels).items():
            ways[way, precision] = step
    times = interleaved({f"{way}, {precision}": step for (way, precision), step in ways.items()}, repeats)
    for way, precision in ways:
        time = times[f"{way}, {precision}"]
        same = [f"{way}, {precision}" for way in ("two passes padded to 25", "one pass, padded to its longest")]
        yield [
            name,
            way,
            precision,
            f"{time.median * 1e3:,.0f} ms",
            f"{len(texts) / time.median:,.0f}",
            *(f"{time.times_faster_than(times[peer]):.2f}x" for peer in same),
            f"{time.times_faster_than(times['two passes padded to 25, float32']):.2f}x",
            f"{times[f'sorted chunks, {precision}'].times_faster_than(time):.3f}",
        ]


def steps(
    model: SentenceTransformer, encode: Encode, texts: list[str], labels: Tensor
) -> dict[str, Callable[[], object]]:
    """Every way to take the names forward and a gradient back."""
    padded = padded_columns(model, texts)
    features, labels = on_device(model.preprocess(texts)), labels.to(harness.DEVICE)
    with torch.no_grad():
        width = model(dict(features))["sentence_embedding"].shape[1]
    gradient = torch.randn(len(texts), width, generator=torch.Generator().manual_seed(0)).to(harness.DEVICE)
    loss, published = MultiSimilarityLoss.from_preset(None, "sapbert"), published_loss()

    def backward(embeddings: list[Tensor]) -> None:
        model.zero_grad()
        torch.cat(embeddings).float().backward(gradient)

    def whole_step() -> None:
        model.zero_grad()
        loss.compute_loss_from_embeddings(embed_columns(encode, [features]), labels).backward()

    def published_step() -> None:
        model.zero_grad()
        published(torch.cat([encode(dict(c))["sentence_embedding"] for c in padded]).float(), labels).backward()

    return {
        "two passes padded to 25": lambda: backward([encode(dict(c))["sentence_embedding"] for c in padded]),
        "one pass, padded to its longest": lambda: backward([encode(dict(features))["sentence_embedding"]]),
        "sorted chunks": lambda: backward(embed_columns(encode, [features])),
        "sorted chunks and the loss": whole_step,
        "two passes padded to 25 and the published loss": published_step,
    }


def published_loss() -> Callable[[Tensor, Tensor], Tensor]:
    """SapBERT's miner and loss as its script takes them from pytorch-metric-learning."""
    from pytorch_metric_learning.losses import MultiSimilarityLoss as Loss
    from pytorch_metric_learning.miners import TripletMarginMiner

    miner, loss = TripletMarginMiner(margin=0.2, type_of_triplets="all"), Loss(alpha=1, beta=60, base=0.5)
    return lambda embeddings, labels: loss(embeddings, labels, miner(embeddings, labels))


def padded_columns(model: SentenceTransformer, texts: list[str]) -> list[dict[str, Any]]:
    """Two columns of half of the names each, every name padded to 25 tokens."""
    half = len(texts) // 2
    tokens = [
        model.tokenizer(part, padding="max_length", truncation=True, max_length=MAX_LENGTH, return_tensors="pt")
        for part in (texts[:half], texts[half:])
    ]
    return [on_device(column) for column in tokens]


def encoder() -> SentenceTransformer:
    """The encoder as it is trained: with dropout."""
    model = load_encoder(PACKAGED, max_length=MAX_LENGTH, device=harness.DEVICE)
    model.train()
    return model


def bert_base() -> SentenceTransformer:
    """An encoder of BERT's size (110 M parameters), which takes the time of a trained one."""
    from transformers import BertConfig, BertModel

    model = encoder()
    part: Any = model[0]
    part.model = BertModel(BertConfig(vocab_size=part.model.config.vocab_size), add_pooling_layer=False)
    return model.to(harness.DEVICE).train()


def precisions(model: SentenceTransformer) -> dict[str, Encode]:
    """The encoder in float32, and under bf16 autocast where the device multiplies bf16."""
    encoders: dict[str, Encode] = {"float32": model}
    if computes_bf16():
        encoders["bf16 autocast"] = torch.autocast(harness.DEVICE, dtype=torch.bfloat16)(model.forward)
    return encoders


@cache
def terminology() -> Terminology:
    return Terminology.read("icd10cm")


def synonym_pairs(size: int) -> tuple[list[str], Tensor]:
    """Two names each of ``size // 2`` random concepts that have two, and their concepts ``[size]``.

    A concept comes again where so many do not exist.
    """
    some = np.flatnonzero(terminology().concept_texts.counts >= 2)
    concepts = np.random.default_rng(0).choice(some, size // 2, replace=size // 2 > len(some))
    first = terminology().concept_texts.indptr[concepts]
    ids = terminology().concept_texts.indices[np.concatenate([first, first + 1])]
    return [terminology().strings[i] for i in ids], torch.from_numpy(np.tile(concepts, 2))


def random_names(size: int) -> list[str]:
    """Names drawn without regard to concepts."""
    ids = np.random.default_rng(0).choice(terminology().n_texts, size, replace=False)
    return [terminology().strings[i] for i in ids]
