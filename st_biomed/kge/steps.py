"""One epoch of steps: shuffled batches, shared negatives or all entities, and updates of the used rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from st_biomed.kge.knowledge_graph import KnowledgeGraph
from st_biomed.kge.model import KGEModel
from st_biomed.kge.negatives import TrueTriples, draw_entities
from st_biomed.kge.objectives import nuclear_3_norm, self_adversarial
from st_biomed.kge.settings import KGESettings
from st_biomed.metrics.link_prediction import SIDES

_CELLS = 1 << 24  # scores of all entities at once
_SPARSE_FROM = 4  # entities for each row that a step touches, from which updating these rows alone is faster


class EpochRunner:
    """Runs epochs; the draws of an epoch depend only on the seed and its number.

    Every batch is full; the last one is filled from the beginning of the epoch's order.

    Args:
        model: The model to train, on its device.
    """

    def __init__(self, model: KGEModel, graph: KnowledgeGraph, settings: KGESettings) -> None:
        self.model, self.settings, self.n_entities = model, settings, len(graph.entities)
        self.objective = settings.objective(self.n_entities)
        device = model.entities.weight.device
        self.triples = torch.from_numpy(graph.train).to(device)
        self.chunk = min(settings.chunk, len(self.triples))
        self.rows = min(settings.batch_size, len(self.triples))
        self.rows -= self.rows % self.chunk
        self.n_batches = -(-len(self.triples) // self.rows)
        self.is_sampled = self.objective.loss == "self_adversarial"
        self.true: TrueTriples | None = None
        if self.is_sampled and settings.filter_negatives:
            self.true = TrueTriples(graph.train, self.n_entities, len(graph.relations), device)
        touched = 2 * self.rows + 2 * self.rows // self.chunk * self.objective.negatives
        self.is_sparse = self.is_sampled and self.n_entities >= _SPARSE_FROM * touched
        self.optimizers = self._optimizers()

    def _optimizers(self) -> list[torch.optim.Optimizer]:
        entities, relations = self.model.entities, self.model.relations
        rate = self.objective.learning_rate
        if not self.is_sparse:
            return [torch.optim.Adam([entities.weight, relations.weight], lr=rate)]
        entities.sparse = True
        return [torch.optim.SparseAdam([entities.weight], lr=rate), torch.optim.Adam([relations.weight], lr=rate)]

    def optimizer_states(self) -> list[dict[str, Any]]:
        return [optimizer.state_dict() for optimizer in self.optimizers]

    def load_optimizer_states(self, states: list[dict[str, Any]]) -> None:
        for optimizer, state in zip(self.optimizers, states, strict=True):
            optimizer.load_state_dict(state)

    def run(self, number: int) -> float:
        """Run one epoch and return the mean loss of its steps."""
        device = self.triples.device
        rng = np.random.default_rng((self.settings.seed, 0, number))
        order = torch.from_numpy(np.resize(rng.permutation(len(self.triples)), self.n_batches * self.rows))
        batches = self.triples[order.to(device)].view(self.n_batches, self.rows, 3)
        shape = (len(SIDES), self.rows // self.chunk, self.objective.negatives)
        total = torch.zeros((), device=device)
        for batch in batches:
            for optimizer in self.optimizers:
                optimizer.zero_grad(set_to_none=True)
            if self.is_sampled:
                loss = self._sampled(batch, draw_entities(self.n_entities, shape, rng).to(device))
                loss.backward()
                total += loss.detach()
            else:
                total += self._one_vs_all(batch)
            for optimizer in self.optimizers:
                optimizer.step()
        return float(total) / self.n_batches

    # ------------------------------------------------------------------ losses of a batch

    def _sampled(self, triples: Tensor, negatives: Tensor) -> Tensor:
        """Self-adversarial loss of triples ``[B, 3]`` with negatives ``[2, B / c, n]``: tails, then heads."""
        objective, model = self.objective, self.model
        heads, relations, tails = triples.unbind(dim=1)
        ids = torch.cat([heads, tails, negatives.flatten()])
        vectors = model.entities(ids)  # looked up once, so that there is one gradient of the table
        ends = {"head": vectors[: self.rows], "tail": vectors[self.rows : 2 * self.rows]}
        numbers = {"head": heads, "tail": tails}
        drawn = vectors[2 * self.rows :].view(len(SIDES), -1, objective.negatives, model.dimension)
        losses, positives = [], None
        for i, (side, other) in enumerate((("tail", "head"), ("head", "tail"))):
            rows, as_side = model.relation_of(relations, side)
            queries = model.transform(ends[other], model.relations(rows), as_side)
            if positives is None or model.reciprocal:
                positives = model.compare_pairs(queries, ends[side])
            scores = model.compare(queries.view(-1, self.chunk, model.dimension), drawn[i])
            true = None
            if self.true is not None:
                chunks = (numbers[other].view(-1, self.chunk), relations.view(-1, self.chunk))
                true = self.true.among(*chunks, negatives[i], side).flatten(0, 1)
            losses.append(
                self_adversarial(
                    positives,
                    scores.flatten(0, 1),
                    margin=objective.margin,
                    temperature=self.settings.temperature,
                    true=true,
                )
            )
        loss = torch.stack(losses).mean()
        return loss + self._regularizer(ends["head"], relations, ends["tail"])

    def _one_vs_all(self, triples: Tensor) -> Tensor:
        """Cross entropy of both ends over all entities, a few triples at a time; the gradient is left in the tables."""
        total = torch.zeros((), device=triples.device)
        for part in triples.split(max(1, _CELLS // self.n_entities)):
            heads, relations, tails = part.unbind(dim=1)
            of_heads = F.cross_entropy(self.model.score_all(tails, relations, "head").float(), heads)
            of_tails = F.cross_entropy(self.model.score_all(heads, relations, "tail").float(), tails)
            ends = self.model.entities(heads), self.model.entities(tails)
            loss = (of_heads + of_tails) / 2 + self._regularizer(ends[0], relations, ends[1])
            loss = loss * (len(part) / len(triples))
            loss.backward()
            total += loss.detach()
        return total

    def _regularizer(self, heads: Tensor, relations: Tensor, tails: Tensor) -> Tensor | float:
        """N3 of the factors of both predictions; with reciprocal relations, each prediction has its own relation."""
        if not self.objective.n3:
            return 0.0
        model = self.model
        sides = SIDES if model.reciprocal else SIDES[:1]
        of_relations = [
            model.cubed_moduli(model.relations(model.relation_of(relations, side)[0])) / len(sides) for side in sides
        ]
        cubes = [model.cubed_moduli(heads), *of_relations, model.cubed_moduli(tails)]
        return self.objective.n3 * nuclear_3_norm(cubes)
