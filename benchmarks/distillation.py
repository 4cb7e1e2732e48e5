"""The price of self-distillation in a training step: teacher's vectors that are known already, and first seen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from torch import Tensor

from benchmarks.embedding_names import Encode, encoder, precisions, terminology
from benchmarks.harness import Table, interleaved, on_device
from st_biomed.losses.distilled import DistilledLoss
from st_biomed.losses.embed import embed_columns
from st_biomed.losses.multi_similarity import MultiSimilarityLoss
from st_biomed.losses.self_distillation import SelfDistillationLoss
from st_biomed.training.teacher import TeacherVectors

DEVICES = ("cpu", "cuda")
WAYS = ("without", "known", "a third first seen", "first seen")


class Batch(NamedTuple):
    """Two names each of some concepts.

    Attributes:
        features: What the tokenizer makes of them.
        labels: Their text ids, int64 ``[B]``.
    """

    features: dict[str, Any]
    labels: Tensor


def main(quick: bool = False) -> Table:
    """Steps of 512 names (quick: 16), every round with other names; the ways take the same ones."""
    size, repeats = (16, 1) if quick else (512, 9)
    model = encoder()
    batches = disjoint_batches(model, size, repeats + 1)
    rows = []
    for precision, encode in precisions(model).items():
        ways = steps(model, encode, batches, bf16=precision != "float32")
        times = interleaved(ways, repeats)
        for way in WAYS:
            ratio = times["without"].times_faster_than(times[way])
            rows.append([way, precision, f"{times[way].median * 1e3:,.0f} ms", f"{ratio:.2f}"])
    return Table(
        f"A step of {size} names with self-distillation",
        ["teacher's vectors", "precision", "a step", "time / without"],
        rows,
        notes=[
            f"Forward and backward of all-MiniLM-L6-v2 with SapBERT's multi-similarity loss on {size} ICD-10-CM names, two "
            "of each concept, without and with self-distillation of the cosines of the batch. *Known*: the teacher has "
            "embedded all names before; *first seen*: it embeds all of them in the step, which happens once for each "
            "name of a run; *a third first seen*: a third of the batch is distilled (`--distillation_share`), and the teacher "
            f"embeds these names. Medians of {repeats} interleaved rounds, each with other names; a ratio is the median over the "
            "rounds. Autocast is entered anew in every forward, as the trainer does."
        ],
        peers=["sentence-transformers", "transformers"],
    )


def disjoint_batches(model: SentenceTransformer, size: int, count: int) -> list[Batch]:
    """Batches that have no concept in common."""
    names = terminology().concept_texts
    concepts = np.random.default_rng(0).permutation(np.flatnonzero(names.counts >= 2))[: count * size // 2]
    batches = []
    for some in np.array_split(concepts, count):
        ids = np.concatenate([names.indices[names.indptr[some]], names.indices[names.indptr[some] + 1]])
        features = on_device(model.preprocess([terminology().strings[i] for i in ids]))
        batches.append(Batch(features, torch.from_numpy(ids.astype(np.int64))))
    return batches


def steps(
    model: SentenceTransformer, encode: Encode, batches: list[Batch], *, bf16: bool
) -> dict[str, Callable[[], None]]:
    """A step of each way, with the next batch each time it is called."""
    loss = MultiSimilarityLoss.from_preset(None, "sapbert", lookup=terminology())
    teachers = {way: TeacherVectors(model, terminology().strings, bf16=bf16) for way in WAYS[1:]}
    for batch in batches:
        teachers["known"][batch.labels.numpy()]
    losses: dict[str, Any] = {"without": loss}
    for way, teacher in teachers.items():
        share = 1 / 3 if way == "a third first seen" else 1.0
        losses[way] = DistilledLoss(None, loss, SelfDistillationLoss(None, teacher, share=share))

    def step(way: str) -> Callable[[], None]:
        left = iter(batches)

        def run() -> None:
            features, labels = next(left)
            model.zero_grad()
            losses[way].compute_loss_from_embeddings(embed_columns(encode, [dict(features)]), labels).backward()

        return run

    return {way: step(way) for way in WAYS}
