"""Tokens per second in training on names alone, and on names with definitions among them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from torch import Tensor

from benchmarks import harness
from benchmarks.embedding_names import terminology
from benchmarks.harness import Table, interleaved, on_device
from st_biomed.encoder import PACKAGED, load_encoder
from st_biomed.losses.embed import embed_columns
from st_biomed.losses.info_nce import InfoNCELoss
from st_biomed.records import Definition, Record
from st_biomed.samplers import DefinitionBatchSampler, SynonymBatchSampler
from st_biomed.terminology import Terminology
from st_biomed.terminology.definition_lookup import DefinitionLookup
from st_biomed.training_data import definitions_dataset, names_dataset

DEVICES = ("cpu", "cuda")
MAX_LENGTH = 64
"""Of both: it cuts no name and few definitions."""

CONCEPTS = 20_000
LENGTHS = (7, 40)
"""Least and most words of a definition: the 10th and the 90th percentile of HPO's (release 2024-04-26)."""


def main(quick: bool = False) -> Table:
    """Whole steps with 512 rows (quick: 16): names alone, names and definitions, and the latter without sorting."""
    size, repeats = (16, 1) if quick else (512, 7)
    model = load_encoder(PACKAGED, max_length=MAX_LENGTH, device=harness.DEVICE)
    model.train()
    defined = with_definitions(terminology(), 200 if quick else CONCEPTS)
    n_tokens: dict[str, int] = {}
    steps: dict[str, Callable[[], object]] = {}
    names = next(iter(SynonymBatchSampler(names_dataset(defined), size, terminology=defined)))
    both = next(iter(DefinitionBatchSampler(definitions_dataset(defined), size, terminology=defined)))
    for way, rows, chunk_cost in (
        ("names", names, None),
        ("names and definitions", both, None),
        ("names and definitions, padded to the longest", both, 10**9),
    ):
        texts = definitions_dataset(defined)[rows]["text"]
        n_tokens[way] = int(model.preprocess(texts)["attention_mask"].sum())
        steps[way] = step(model, defined, texts, torch.tensor(rows), chunk_cost)
    times = interleaved(steps, repeats)
    rate = {way: n_tokens[way] / times[way].median for way in steps}
    return Table(
        f"Training on {size} names and definitions",
        ["batch", "tokens", "a step", "tokens/s", "of names alone"],
        [
            [
                way,
                f"{n_tokens[way]:,}",
                f"{times[way].median * 1e3:,.0f} ms",
                f"{rate[way]:,.0f}",
                f"{rate[way] / rate['names']:.2f}",
            ]
            for way in steps
        ],
        notes=[
            f"Forward and backward of all-MiniLM-L6-v2 and of InfoNCE over all pairs of a batch, in float32. Names are those of "
            f"{defined.n_concepts:,} ICD-10-CM concepts, definitions are other names strung together to {LENGTHS[0]} to {LENGTHS[1]} "
            f"words, cut at {MAX_LENGTH} tokens. Tokens are those of the texts, without padding. Medians of {repeats} "
            "interleaved rounds. Half of a batch is definitions; the last line is what one padded forward costs."
        ],
        peers=["sentence-transformers"],
    )


def step(
    model: SentenceTransformer, defined: Terminology, texts: list[str], labels: Tensor, chunk_cost: int | None
) -> Callable[[], object]:
    """Forward and backward of the model and the loss."""
    loss = InfoNCELoss(None, miner=None, lookup=DefinitionLookup(defined))
    features = on_device(model.preprocess(texts))

    def run() -> None:
        model.zero_grad()
        embeddings = embed_columns(model, [dict(features)], chunk_cost=chunk_cost)
        loss.compute_loss_from_embeddings(embeddings, labels).backward()

    return run


def with_definitions(names: Terminology, n_concepts: int) -> Terminology:
    """The first concepts that have two names, each with a definition made of other names."""
    part = names.subset(np.flatnonzero(names.concept_texts.counts > 1)[:n_concepts])
    rng = np.random.default_rng(0)
    records: list[Record] = list(part.records())
    for code in part.codes:
        words: list[str] = []
        length = int(rng.integers(LENGTHS[0], LENGTHS[1] + 1))
        while len(words) < length:
            words += part.strings[int(rng.integers(part.n_texts))].split()
        records.append(Definition(code, " ".join(words[:length]), source=next(iter(part.sources))))
    return Terminology.from_records(records, next(iter(part.sources.values())))
