"""MCSM: do the nearest neighbors of a concept have its type?"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import pyarrow as pa
from scipy.sparse import csr_array

from st_biomed.errors import InputError, check_name
from st_biomed.evaluators.base import EmbeddingEvaluator, EvaluationResult, EvaluatorOptions
from st_biomed.evaluators.embedders import EmbedOnce
from st_biomed.hierarchy.concept_types import ConceptTypes
from st_biomed.metrics.mcsm import largest_mcsm, mcsm_scores, type_gains, without_self
from st_biomed.metrics.significance import Units
from st_biomed.neighbors import RunningNearest, search_device

if TYPE_CHECKING:
    from st_biomed.terminology import Terminology

KEYS = ("names", "codes")


class MCSMEvaluator(EmbeddingEvaluator):
    """Medical Conceptual Similarity Measure: discounted gain of the k nearest concepts of one type.

    ``MCSM(V, T, k) = 1 / |V(T)| * sum over v in V(T) of sum over i = 1..k of 1_T(v(i)) / log2(i + 1)``

    V are all given concepts, V(T) those of type T, and v(i) is the i-th nearest other concept by cosine, with any
    types. A neighbor counts if T is one of its types. Concepts with equal vectors are distinct, and are neighbors in
    the given order.

    Metrics: ``mcsm``, the mean over the types (the AVG of the Italian paper's Table 4), ``mcsm_micro``, the mean over
    all pairs of a concept and a type, ``maximum``, the value of both if every neighbor counts (11.091 for k = 40,
    less with at most 40 concepts), ``share_of_maximum``, ``mcsm`` divided by it, ``n`` concepts with a type,
    ``n_untyped`` concepts without a type, which are only neighbors, and for each type ``<type>/mcsm`` and
    ``<type>/n``. The measure of a type with n concepts is at most :func:`~st_biomed.metrics.mcsm.largest_mcsm` of k
    and n. The interval is over the concepts with a type, with fixed neighbors.

    Args:
        names: One name per concept, ``[N]``, or its code if vectors are looked up by codes. Equal names are different
            concepts with the same vector.
        types: Names of the types of each concept, ``[N]`` lists, which may be empty, or the same as
            :class:`~st_biomed.hierarchy.concept_types.ConceptTypes`.
        k: Number of neighbors; all other concepts if there are fewer.
        last_type_only: Use only the last type of each concept, as in CODER's script.
        labels: Label of a type in tables, if it differs from the name.
        device: Device of the neighbor search; ``None`` for a GPU if there is one.
        **options: See :class:`~st_biomed.evaluators.base.EmbeddingEvaluator`.

    Raises:
        InputError: ``k`` below 1, fewer than two concepts, a name that is empty or no string, a different number of
            types, or no type at all.

    References: Choi et al. 2016 (the measure), Yuan et al. 2022 (CODER), Amore Bondarenko et al. 2022 (the Italian paper, 4).

    Example:
        ::

            evaluator = MCSMEvaluator.from_terminology(umls, groups="italian", name="umls_it")
            graph = MCSMEvaluator.from_terminology(umls, groups="italian", name="umls_it", keys="codes")
            print(evaluator.table(text=evaluator(model), graph=graph.measure(table_embedder(codes, matrix))))
    """

    def __init__(
        self,
        names: Sequence[str],
        types: Sequence[Sequence[str]] | ConceptTypes,
        *,
        k: int = 40,
        last_type_only: bool = False,
        labels: Mapping[str, str] | None = None,
        device: str | None = None,
        **options: Unpack[EvaluatorOptions],
    ) -> None:
        super().__init__(primary="mcsm", **options)
        if k < 1:
            raise InputError(f"k must be at least 1, found {k}")
        if len(names) != len(types):
            raise InputError(f"names and types must be equally many, found {len(names):,} and {len(types):,}")
        if len(names) < 2:
            raise InputError(f"names: at least two concepts are needed, found {len(names)}")
        for i, name in enumerate(names):
            if not isinstance(name, str):
                raise InputError(f"names[{i}]: expected a string, found {name!r}")
            if not name.strip():
                raise InputError(f"names[{i}]: is empty")
        of_concepts = types if isinstance(types, ConceptTypes) else ConceptTypes.from_lists(types)
        self.types = of_concepts.select(last_type_only=last_type_only)
        self.k = k
        self.last_type_only = last_type_only
        self.labels = dict(labels or {})
        self.device = device
        row: dict[str, int] = {}
        self.rows = np.array([row.setdefault(name, len(row)) for name in names])
        self.texts = list(row)

    @classmethod
    def from_terminology(
        cls,
        terminology: Terminology,
        types: ConceptTypes | None = None,
        *,
        groups: str | Mapping[str, Sequence[str]] | None = None,
        only_types: Sequence[str] | None = None,
        least_concepts: int = 1,
        last_type_only: bool = False,
        keep_untyped: bool = False,
        keys: str = "names",
        **options: Any,
    ) -> MCSMEvaluator:
        """The concepts of a terminology, with their preferred terms.

        Args:
            terminology: The concepts; with names as keys, those without a name are left out. The preferred term is that
                of :attr:`Terminology.preferred_texts`: for Italian names use ``subset(languages=["it"])``.
            types: Types by code, e.g. branches of a hierarchy; by default the semantic types of the terminology.
            groups, only_types, least_concepts, last_type_only: See
                :meth:`ConceptTypes.select <st_biomed.hierarchy.concept_types.ConceptTypes.select>`.
            keep_untyped: Whether concepts without any of these types may be neighbors; by default not, as in CODER's
                script.
            keys: ``"names"``, or ``"codes"`` for vectors that are looked up by codes, such as graph embeddings.
            **options: As of the class.

        Raises:
            InputError: Unknown keys, or an error of the class or of
                :class:`~st_biomed.hierarchy.concept_types.ConceptTypes`.
        """
        check_name("keys", keys, KEYS)
        of_concepts = ConceptTypes.from_terminology(terminology) if types is None else types
        concepts = np.flatnonzero(terminology.has_name) if keys == "names" else np.arange(terminology.n_concepts)
        chosen = of_concepts.for_codes([terminology.codes[concept] for concept in concepts]).select(
            last_type_only=last_type_only, groups=groups, only_types=only_types, least_concepts=least_concepts
        )
        if not keep_untyped:
            concepts = concepts[chosen.typed]
            chosen = chosen.for_codes([terminology.codes[concept] for concept in concepts])
        texts = pa.array(terminology.preferred_texts[concepts])
        names = chosen.codes if keys == "codes" else terminology.texts["text"].take(texts).to_pylist()
        return cls(names, chosen, last_type_only=last_type_only, **options)

    def compute_metrics(self, embed: EmbedOnce) -> EvaluationResult:
        """The metrics listed above; the units are the concepts that have a type."""
        vectors = embed.pass_through(self.texts)
        if len(self.texts) < len(self.rows):
            vectors = vectors[self.rows]
        types, n_types = self.types.types, len(self.types.names)
        search = RunningNearest(vectors, self.k + 1, device=search_device(self.device))
        search.add(vectors)
        gains = type_gains(without_self(search.result()[1].cpu().numpy()), types)
        scores, maximum = mcsm_scores(gains, types, n_types), self.largest
        typed = self.types.typed
        metrics = {"mcsm": scores.macro, "mcsm_micro": scores.micro}
        metrics |= {"maximum": maximum, "share_of_maximum": scores.macro / maximum}
        metrics |= {"n": float(len(typed)), "n_untyped": float(len(self.rows) - len(typed))}
        for name, value, n in zip(self.types.names, scores.of_types.tolist(), scores.n_of_types.tolist()):
            metrics |= {f"{name}/mcsm": value, f"{name}/n": float(n)}
        pairs = np.stack([gains, np.ones_like(gains)], axis=1).ravel()
        columns = np.stack([2 * types.indices, 2 * types.indices + 1], axis=1).ravel()
        starts = np.append(0, 2 * np.cumsum(types.counts[typed]))
        rows = csr_array((pairs, columns, starts), shape=(len(typed), 2 * n_types))
        return EvaluationResult(metrics, {"mcsm": Units("concept", rows, "macro_mean")})

    @cached_property
    def concepts_digest(self) -> str:
        """SHA-256 of the types, whose order is that of the units' columns, and of all concepts with theirs."""
        sha = hashlib.sha256("\0".join([*self.types.names, "\n"]).encode())
        for i, row in enumerate(self.rows.tolist()):
            kinds = (self.types.names[kind] for kind in self.types.types.row(i))
            sha.update("\0".join([self.texts[row], *kinds, "\n"]).encode())
        return sha.hexdigest()

    @property
    def table_rows(self) -> dict[str, str]:
        """The rows of a table, label to metric, for the mean over the types, over all, and each type."""
        rows = {"mean of types": "mcsm", "all concepts": "mcsm_micro"}
        return rows | {self.labels.get(name, name): f"{name}/mcsm" for name in self.types.names}

    @property
    def largest(self) -> float:
        """The value if every neighbor counts: 11.091 for k = 40."""
        return largest_mcsm(self.k, len(self.rows))

    def get_config_dict(self) -> dict[str, Any]:
        """Settings, sizes and a digest of the concepts, never their names."""
        return {
            "k": self.k,
            "n_concepts": len(self.rows),
            "n_types": len(self.types.names),
            "last_type_only": self.last_type_only,
            "concepts_sha256": self.concepts_digest,
            **super().get_config_dict(),
        }

    @property
    def citation(self) -> str:
        return """@article{choi2016learning,
    title={Learning low-dimensional representations of medical concepts},
    author={Choi, Youngduck and Chiu, Chill Yi-I and Sontag, David},
    journal={AMIA Summits on Translational Science Proceedings},
    volume={2016},
    pages={41--50},
    year={2016}
}"""
