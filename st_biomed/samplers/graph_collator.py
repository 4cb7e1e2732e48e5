"""From rows of names to the input of a graph-augmented loss: texts, nodes and edges."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching
from torch import Tensor

from st_biomed.errors import InputError, check_integer
from st_biomed.samplers.neighborhood import MAX_NEIGHBORS, NeighborSampler
from st_biomed.training_data.concept_graph import ConceptGraph


class GraphCollator:
    """Collates the texts of a step and their graph for the trainer of sentence-transformers.

    Rows come in pairs, two names of one concept, from :class:`~st_biomed.samplers.graph.GraphBatchSampler`. A target's
    node has the first name in view u and the second name in view v. Every other node gets a name for each view, drawn
    uniformly from its names in the graph's languages. All distinct texts are tokenized once and truncated to the
    length limit of ``preprocess``.

    The draw depends only on the seed and the texts of the rows. It is therefore the same in every process and data
    loader worker, and a resumed run gets exactly the steps of an uninterrupted one. Epochs differ because the sampler
    combines other pairs; an identical batch gets an identical draw.

    Args:
        graph: The source of neighbors and their names.
        preprocess: Maps texts to features, including tensors ``[T, ...]``: ``model.preprocess``, or
            :func:`~st_biomed.encoder.text_limit.limited_preprocess`.
        max_neighbors: Maximum number of neighbors of a node, for each hop; empty for the targets alone.
        seed: Seed of the draws.

    Raises:
        InputError: A number of neighbors below 1, or a seed that is no integer from 0.
    """

    valid_label_columns = ("label",)
    takes_prompts = False  # those of the training arguments: EpochCallback refuses them

    def __init__(
        self,
        graph: ConceptGraph,
        preprocess: Callable[[list[str]], Mapping[str, Any]],
        *,
        max_neighbors: Sequence[int] = (MAX_NEIGHBORS,),
        seed: int = 0,
    ) -> None:
        check_integer("seed", seed, least=0)
        self.graph = graph
        self.preprocess = preprocess
        self.neighbors = NeighborSampler(graph, max_neighbors)
        self.seed = seed

    def __call__(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """A step of B targets, from ``2B`` rows with ``text`` and ``label``, a text id.

        Returns:
            ``text_*``: what ``preprocess`` makes of the T distinct texts; ``text_node_texts`` int64 ``[1, 2, N]``, the row
            of each node's text in view u and in view v, targets first; ``text_edges`` int64 ``[1, 3, E]``, source node,
            target node and relation; ``label`` int64 ``[B, 2]``, the text ids of the targets' names. The leading 1
            keeps node tensors from being cut with the tokens.

        Raises:
            InputError: An odd number of rows, text ids of another terminology, two rows of different concepts, or a concept
                that would be two targets.
        """
        labels = self._labels(rows)
        rng = np.random.default_rng([self.seed, _number(labels)])
        nodes, edges = self.neighbors.draw(rng, self._targets(rng, labels))
        texts = self._names(rng, nodes)
        texts[:, : len(labels)] = labels.T
        distinct, place = np.unique(texts, return_inverse=True)
        strings = self.graph.terminology.texts["text"].take(distinct).to_pylist()
        return {
            **{f"text_{name}": value for name, value in self.preprocess(strings).items()},
            "text_node_texts": _tensor(place.reshape(texts.shape))[None],
            "text_edges": _tensor(edges)[None],
            "label": _tensor(labels),
            **{name: row[name] for row in rows[:1] for name in ("dataset_name",) if name in row},
        }

    def _labels(self, rows: Sequence[Mapping[str, Any]]) -> np.ndarray:
        """Text ids of the two names of each target, int64 ``[B, 2]``."""
        if len(rows) % 2:
            raise InputError(f"a batch must have two rows of each concept, found {len(rows)} rows: use GraphBatches")
        labels = np.array([row["label"] for row in rows], dtype=np.int64)
        terminology = self.graph.terminology
        name = f"terminology {terminology.digest[:12]}"
        if len(labels) and (labels.min() < 0 or labels.max() >= terminology.n_texts):
            raise InputError(
                f"labels must be text ids from 0 to {terminology.n_texts - 1} of {name}, "
                f"found {labels.min()} to {labels.max()}"
            )
        for row, text in zip(rows, terminology.texts["text"].take(labels).to_pylist()):
            if row["text"] != text:
                raise InputError(
                    f"text {row['label']} of {name} differs from the text of the row: use a dataset made from it"
                )
        return labels.reshape(-1, 2)

    def _targets(self, rng: np.random.Generator, labels: np.ndarray) -> np.ndarray:
        """The concept of each pair of names, no concept twice, ``[B]``.

        Names that have several concepts in common stand for one of these that no other pair needs.
        """
        concepts = self.graph.terminology.text_concepts
        (row, concept), other = concepts.take(labels[:, 0]), concepts.take(labels[:, 1])
        n_concepts = self.graph.n_nodes
        shared = np.isin(row * n_concepts + concept, other[0] * n_concepts + other[1])
        row, concept = row[shared], concept[shared]
        lost = np.setdiff1d(np.arange(len(labels)), row)
        if len(lost):
            raise InputError(
                f"rows {2 * lost[0]} and {2 * lost[0] + 1} of the batch are not names of one concept: use GraphBatches, "
                "for training only"
            )
        candidates, column = np.unique(concept, return_inverse=True)
        order = rng.permutation(len(candidates))  # which of several concepts is left to chance
        choices = csr_array(
            (np.ones(len(row)), (row.astype(np.int32), np.argsort(order)[column].astype(np.int32))),
            shape=(len(labels), len(candidates)),
        )
        choices.sort_indices()  # the first one that is free is taken
        chosen = maximum_bipartite_matching(choices, perm_type="column")
        if (chosen < 0).any():
            twice = int(np.flatnonzero(chosen < 0)[0])
            raise InputError(
                f"rows {2 * twice} and {2 * twice + 1} of the batch are names of a concept that is a target already: "
                "use GraphBatches"
            )
        return candidates[order[chosen]]

    def _names(self, rng: np.random.Generator, nodes: np.ndarray) -> np.ndarray:
        """A text id of each node in each view, ``[2, N]``; 0 for those without a name, which only targets are."""
        names = self.graph.names
        start = names.indptr[nodes]
        count = names.indptr[nodes + 1] - start
        entry = start + (rng.random((2, len(nodes))) * count).astype(np.int64)
        return np.where(count > 0, names.indices[np.minimum(entry, len(names.indices) - 1)], 0).astype(np.int64)


def _number(labels: np.ndarray) -> int:
    """A number that stands for the rows of a batch, the same on every machine."""
    return int.from_bytes(hashlib.sha256(labels.astype("<i8").tobytes()).digest()[:16], "big")


def _tensor(values: np.ndarray) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(values, dtype=np.int64))
