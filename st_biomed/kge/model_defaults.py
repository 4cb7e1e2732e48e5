"""How each model is trained by default: the settings that fit one model and not another, with their sources.

- Products (ComplEx, DistMult, SimplE): 1-vs-all cross entropy, the N3 regularizer and reciprocal relations, as in Lacroix,
  Usunier and Obozinski (2018, sections 3 and 4). In the comparison of Ruffinelli, Broscheit and Gemulla (2020, section 4),
  cross entropy is the best loss of almost every model and graph. SimplE has an inverse of each relation in its score
  (Kazemi and Poole 2018, section 4) and takes no reciprocal ones. Learning rate, N3 weight and number of negatives are
  ours. Of the N3 weight one comparison on validation triples is recorded, with ComplEx
  (``evaluation/results/graph_embeddings.md``); how the other two were chosen is not recorded.
- Distances (TransE of Bordes et al. 2013, RotatE of Sun et al. 2019): self-adversarial negatives with a margin of 9, the
  published setting of both on FB15k-237 (Sun et al. 2019, appendix). The number of negatives and the learning rate are
  ours.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

ONE_VS_ALL_ENTITIES = 20_000
"""Largest graph that is trained with 1-vs-all by default; its cost is the product of triples and entities."""


@dataclass(frozen=True)
class Objective:
    """The settings that fit one model and not another.

    Attributes:
        loss: ``"self_adversarial"`` or ``"one_vs_all"``.
        negatives: Number of entities drawn for each side of a triple; unused with ``"one_vs_all"``.
        reciprocal: Whether heads are predicted with reciprocal relations.
        learning_rate: Learning rate of Adam.
        n3: Weight of the N3 regularizer.
        margin: Gamma of the self-adversarial loss; distances start near it.
    """

    loss: str
    negatives: int
    reciprocal: bool
    learning_rate: float
    n3: float
    margin: float


DISTANCE = Objective("self_adversarial", negatives=64, reciprocal=False, learning_rate=1e-3, n3=0.0, margin=9.0)
PRODUCT = Objective("one_vs_all", negatives=1024, reciprocal=True, learning_rate=1e-2, n3=1e-2, margin=0.0)

MODEL_DEFAULTS: dict[str, Objective] = {
    "transe": DISTANCE,
    "rotate": DISTANCE,
    "complex": PRODUCT,
    "distmult": PRODUCT,
    "simple": replace(PRODUCT, reciprocal=False),
}
"""Model to its settings. Those that a user gives have priority, see :class:`~st_biomed.kge.settings.KGESettings`."""


def default_objective(model: str, n_entities: int) -> Objective:
    """The defaults of a model: its row of the table, without 1-vs-all beyond :data:`ONE_VS_ALL_ENTITIES`."""
    objective = MODEL_DEFAULTS[model]
    return replace(objective, loss="self_adversarial") if n_entities > ONE_VS_ALL_ENTITIES else objective
