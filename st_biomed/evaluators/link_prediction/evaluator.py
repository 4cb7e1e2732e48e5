"""Link prediction: does a model find the entity that completes a triple of a knowledge graph?"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Unpack

import numpy as np

from st_biomed.errors import InputError, check_name
from st_biomed.evaluators.base import EmbeddingEvaluator, EvaluationResult, EvaluatorOptions
from st_biomed.evaluators.embedders import EmbedOnce
from st_biomed.evaluators.vector_scorer import scorer_from_vectors
from st_biomed.metrics.link_prediction import SIDES, KnownTriples, Scorer, checked_triples, rank_metrics, rank_triples
from st_biomed.metrics.significance import Units
from st_biomed.neighbors import SIMILARITIES

_PARTS = ("train", "valid", "test")


class LinkPredictionEvaluator(EmbeddingEvaluator):
    """Ranks of the correct head and the correct tail of triples among all entities (Bordes et al. 2013, section 4.2).

    Use :meth:`measure_scorer` for a knowledge-graph model. Called with a model or another way to embed, like any
    evaluator, it measures the vectors of the entities' names with
    :func:`~st_biomed.evaluators.vector_scorer.scorer_from_vectors`. This is the baseline of a text encoder, which by
    default ignores relations.

    Metrics: ``filtered_mrr``, the primary metric, ``filtered_mr``, ``filtered_hits@k`` and the corresponding
    ``raw_...``, over both sides of all triples; ``filtered_head_...``, ``raw_tail_...`` for one side; with ``per_relation``
    ``<relation>/filtered_...`` and ``<relation>/n``. Ranks are realistic: the mean of the best and the worst rank
    among equal scores. Filtered ranks leave out other entities that complete a triple of train, valid or test. Every
    entity is a candidate for every query, as in PyKEEN.

    ``n`` triples are measured. ``n_unseen`` of them have an entity or a relation without a training triple.
    ``n_joined_in_train`` have two entities that a training triple connects, in either direction and by any relation;
    such triples leak the answer if inverse relations were not removed before the split.

    Args:
        entities: The text of each entity, ``[E]``: names for a text encoder, or codes for a table of vectors. Names
            may repeat.
        train: Triples (head, relation, tail) as indices, ``[T, 3]``; may be empty.
        test: Triples to measure.
        valid: Validation triples, if any.
        split: ``"test"``, or ``"valid"`` to measure the validation triples.
        relations: Names of the relations, ``[R]``; by default their numbers.
        ks: The k of the hits.
        per_relation: Whether to also report each relation.
        similarity: Similarity of vectors: ``"cosine"``, ``"dot"`` or ``"euclidean"``.
        translate: Whether to move vectors by the mean difference over the training triples of the relation.
        **options: See :class:`~st_biomed.evaluators.base.EmbeddingEvaluator`.

    Raises:
        InputError: An argument out of range, a triple that occurs twice or in two parts, or nothing to measure.

    Example:
        ::

            evaluator = LinkPredictionEvaluator(names, train=train, valid=valid, test=test, name="kg")
            graph = evaluator.measure_scorer(lambda given, relations, side: ...)
            print(evaluator.table(graph=graph, names=evaluator(text_encoder)))
    """

    def __init__(
        self,
        entities: Sequence[str],
        *,
        train: np.ndarray,
        test: np.ndarray,
        valid: np.ndarray | None = None,
        split: str = "test",
        relations: Sequence[str] | None = None,
        ks: Sequence[int] = (1, 3, 10),
        per_relation: bool = False,
        similarity: str = "cosine",
        translate: bool = False,
        **options: Unpack[EvaluatorOptions],
    ) -> None:
        super().__init__(primary="filtered_mrr", **options)
        check_name("split", split, _PARTS[1:])
        check_name("similarity", similarity, SIMILARITIES)
        if not ks or min(ks) < 1:
            raise InputError(f"ks: expected whole numbers from 1, found {list(ks)}")
        if len(entities) < 2:
            raise InputError(f"entities: at least two are needed, found {len(entities)}")
        self.entities, self.split, self.ks = list(entities), split, tuple(ks)
        self.per_relation, self.similarity, self.translate = per_relation, similarity, translate
        none, limit = np.empty((0, 3), np.int64), None if relations is None else len(relations)
        parts = {"train": train, "valid": none if valid is None else valid, "test": test}
        triples = {
            name: checked_triples(part if np.size(part) else none, name, len(entities), limit)
            for name, part in parts.items()
        }
        every = np.concatenate(list(triples.values()))
        _refuse_repeats(every, np.repeat(_PARTS, [len(part) for part in triples.values()]))
        self.train, self.triples = triples["train"], triples[split]
        self._unmeasured = triples["test" if split == "valid" else "valid"]
        if not len(self.triples):
            raise InputError(f"{split}: expected at least one triple to measure, found none")
        n_relations = int(every[:, 1].max()) + 1 if relations is None else len(relations)
        self.relations = list(map(str, range(n_relations))) if relations is None else list(relations)
        self._known = KnownTriples(every, n_relations)

    # ------------------------------------------------------------------ the triples

    @property
    def n_unseen(self) -> int:
        """Measured triples with an entity or a relation that is in no training triple."""
        seen = np.isin(self.triples[:, [0, 2]], self.train[:, [0, 2]]).all(axis=1)
        return int((~(seen & np.isin(self.triples[:, 1], self.train[:, 1]))).sum())

    @property
    def n_joined_in_train(self) -> int:
        """Measured triples whose two entities are connected by a training triple, in either direction."""
        trained, measured = (np.sort(part[:, [0, 2]], axis=1) for part in (self.train, self.triples))
        width = len(self.entities)
        return int(np.isin(measured @ [width, 1], trained @ [width, 1]).sum())

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the texts of the entities, the relations and all triples, which filter the ranks; measured first."""
        sha = hashlib.sha256("\0".join([*self.entities, *self.relations]).encode())
        for triples in (self.triples, self.train, self._unmeasured):
            sha.update(triples.tobytes())
        return sha.hexdigest()

    # ------------------------------------------------------------------ measuring

    def measure_scorer(
        self, scorer: Scorer, output_path: str | None = None, epoch: int = -1, steps: int = -1
    ) -> dict[str, float]:
        """Measure a knowledge-graph model.

        Args:
            scorer: Maps ``given [B]``, ``relations [B]`` and ``side`` to scores ``[B, E]``, higher is better; see
                :class:`~st_biomed.metrics.link_prediction.Scorer`. B is chosen so that a block of scores has about 16
                million numbers.
            output_path, epoch, steps: As in a call with a model.

        Returns:
            Prefixed metrics.

        Raises:
            InputError: Scores of another shape, or NaN among them.
        """
        self._announce(epoch, steps)
        return self._report(self._observed(scorer), output_path, epoch, steps)

    def compute_metrics(self, embed: EmbedOnce) -> EvaluationResult:
        """The metrics listed above; the units are the triples, each with the mean over its two sides."""
        train = self.train if self.translate else None
        return self._observed(scorer_from_vectors(embed(self.entities), self.similarity, train=train))

    def _observed(self, scorer: Scorer) -> EvaluationResult:
        ranks = {
            side: rank_triples(scorer, self.triples, side, n_entities=len(self.entities), known=self._known)
            for side in SIDES
        }
        realistic = {
            setting: np.stack([ranks[side][setting].realistic for side in SIDES], axis=1)
            for setting in ("filtered", "raw")
        }
        metrics = self._metrics_of(realistic)
        for setting, setting_ranks in realistic.items():
            for column, side in enumerate(SIDES):
                metrics |= _prefixed(f"{setting}_{side}_", rank_metrics(setting_ranks[:, column], self.ks))
        counts = {"n": len(self.triples), "n_unseen": self.n_unseen, "n_joined_in_train": self.n_joined_in_train}
        metrics |= {key: float(n) for key, n in counts.items()}
        if self.per_relation:
            for relation in np.unique(self.triples[:, 1]).tolist():
                rows = self.triples[:, 1] == relation
                of_relation = self._metrics_of(
                    {setting: setting_ranks[rows] for setting, setting_ranks in realistic.items()}
                )
                of_relation["n"] = float(rows.sum())
                metrics |= _prefixed(f"{self.relations[relation]}/", of_relation)
        filtered = realistic["filtered"]
        units = {"filtered_mrr": Units("triple", (1 / filtered).mean(axis=1))}
        units |= {f"filtered_hits@{k}": Units("triple", (filtered <= k).mean(axis=1)) for k in self.ks}
        return EvaluationResult(metrics, units)

    def _metrics_of(self, ranks: Mapping[str, np.ndarray]) -> dict[str, float]:
        """Metrics over both sides of each setting, from ranks ``[Q, 2]``."""
        return {
            key: value
            for setting, setting_ranks in ranks.items()
            for key, value in _prefixed(f"{setting}_", rank_metrics(setting_ranks.ravel(), self.ks)).items()
        }

    @property
    def table_rows(self) -> dict[str, str]:
        """The rows of a table, label to metric, for the filtered figures of both sides."""
        return {key: f"filtered_{key}" for key in ("mrr", "mr", *(f"hits@{k}" for k in self.ks))}

    def get_config_dict(self) -> dict[str, Any]:
        """Settings and sizes, never a name of an entity."""
        return {
            "split": self.split,
            "triples_sha256": self.digest,
            "n_entities": len(self.entities),
            "n_relations": len(self.relations),
            "n_train": len(self.train),
            "n_triples": len(self.triples),
            "ks": list(self.ks),
            "per_relation": self.per_relation,
            "similarity": self.similarity,
            "translate": self.translate,
            **super().get_config_dict(),
        }

    @property
    def citation(self) -> str:
        return """@inproceedings{bordes2013translating,
    title={Translating Embeddings for Modeling Multi-relational Data},
    author={Bordes, Antoine and Usunier, Nicolas and Garcia-Duran, Alberto and Weston, Jason and Yakhnenko, Oksana},
    booktitle={Advances in Neural Information Processing Systems},
    volume={26},
    year={2013}
}"""


def _prefixed(prefix: str, metrics: Mapping[str, float]) -> dict[str, float]:
    return {f"{prefix}{key}": value for key, value in metrics.items()}


def _refuse_repeats(triples: np.ndarray, parts: np.ndarray) -> None:
    """Refuse a triple that is there twice, in one part or in two."""
    distinct, first, place = np.unique(triples, axis=0, return_index=True, return_inverse=True)
    if len(distinct) < len(triples):
        again = int((first[place.ravel()] != np.arange(len(triples))).argmax())
        before = int(first[place.ravel()[again]])
        raise InputError(
            f"{parts[again]}: triple {triples[again].tolist()} is in {parts[before]} already; triples must be distinct"
        )
