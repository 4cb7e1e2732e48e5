"""Relations: are the cosines of related concepts above those of unrelated ones?"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from st_biomed.errors import InputError
from st_biomed.evaluators.base import EmbeddingEvaluator, EvaluationResult, EvaluatorOptions
from st_biomed.evaluators.embedders import EmbedOnce
from st_biomed.evaluators.relation.draw import (
    AS_HIPRBERT,
    DrawnRelationPairs,
    RelationDrawSettings,
    draw_relation_pairs,
)
from st_biomed.evaluators.relation.file import RANDOM, Pairs, pair_lines, read_pairs, write_pairs
from st_biomed.evaluators.relation.text_pairs import TextPairs, unordered_pairs
from st_biomed.losses.citations import HIPRBERT
from st_biomed.metrics.cosine import cosine_of_pairs
from st_biomed.metrics.relation_auc import relation_metrics, relation_rows
from st_biomed.metrics.relation_groups import relation_groups
from st_biomed.metrics.relation_resampler import units_of_relations
from st_biomed.metrics.significance import Units

if TYPE_CHECKING:
    from st_biomed.terminology import Terminology

logger = logging.getLogger(__name__)


class RelationEvaluator(EmbeddingEvaluator):
    """ROC-AUC of the cosines of each relation's pairs against unrelated pairs (HiPrBERT, section 4.2).

    Metrics: ``macro_auc``, the mean over the relations, the primary metric; ``macro_power`` if there are nulls, see
    :func:`~st_biomed.metrics.relation_auc.detection_power`; ``n_relations`` measured and ``n_missing`` left out;
    ``n_excluded``, candidates for negatives or nulls that were rejected because they are related; and for each
    relation ``<relation>/auc``, ``<relation>/n``, the number of its pairs, and ``<relation>/power``.

    Cosines have no direction, so a relation and its inverse have the same pairs. They count as two relations in the mean;
    intervals and tests draw their pairs once for both, see :class:`~st_biomed.metrics.relation_resampler.RelationAUCResampler`.

    Args:
        positives: Relation to its pairs of names, or of codes if vectors are looked up by codes.
        negatives: Unrelated pairs for all relations, or for each relation. Pairs that are also positives of some
            relation in either direction, and pairs of identical strings, are left out and counted.
        nulls: Random pairs of each relation, for its power; treated like the negatives.
        relations: Relations to measure, in this order; by default those with at least ``min_pairs`` pairs.
        min_pairs: Minimum number of pairs of a relation if ``relations`` is not given.
        **options: See :class:`~st_biomed.evaluators.base.EmbeddingEvaluator`.

    Attributes:
        missing: Relations left out and the number of their pairs: 0 for a named relation, otherwise fewer than
            ``min_pairs``.
        drawn: Counts of read, kept and dropped rows if the pairs were drawn from a terminology.

    Raises:
        InputError: An invalid pair, or no relation or no negative is left.

    Example:
        ::

            evaluator = RelationEvaluator.from_terminology(umls, HIPRBERT_28, concepts=held_out, name="umls")
            print(evaluator.table(before=evaluator(base), after=evaluator(model)))
    """

    def __init__(
        self,
        positives: Mapping[str, Pairs],
        negatives: Pairs | Mapping[str, Pairs],
        *,
        nulls: Mapping[str, Pairs] | None = None,
        relations: Sequence[str] | None = None,
        min_pairs: int = 1,
        **options: Unpack[EvaluatorOptions],
    ) -> None:
        super().__init__(primary="macro_auc", **options)
        if min_pairs < 1:
            raise InputError(f"min_pairs must be at least 1, found {min_pairs}")
        if not positives:
            raise InputError("positives: expected pairs of at least one relation, found none")
        if relations is not None and (not relations or isinstance(relations, str)):
            raise InputError(f"relations: expected a list with at least one name, found {relations!r}")
        wanted = list(dict.fromkeys(positives if relations is None else relations))
        least = min_pairs if relations is None else 1
        self.missing = {name: n for name in wanted if (n := len(positives.get(name, ()))) < least}
        kept = [name for name in wanted if name not in self.missing]
        if not kept:
            raise InputError(
                f"relations: none of {_shown(wanted)} has {least} pairs or more; there are {_shown(positives)}"
            )
        if self.missing:
            logger.warning("%s: relations without enough pairs: %s", self.name or "relation", _shown(self.missing))
        table = TextPairs()
        every = {name: table.related(pairs, name) for name, pairs in positives.items()}
        self.positives = {name: every[name] for name in kept}
        self.negatives: np.ndarray | dict[str, np.ndarray]
        if isinstance(negatives, Mapping):
            self.negatives = {name: table.unrelated(negatives.get(name, ()), f"negatives of {name}") for name in kept}
        else:
            self.negatives = table.unrelated(negatives, "negatives")
        self.nulls = None
        if nulls is not None:
            self.nulls = {name: table.unrelated(nulls.get(name, ()), f"nulls of {name}") for name in kept}
        self.n_excluded = table.n_excluded
        self.texts = self._renumbered(table.texts)
        self.drawn: dict[str, dict[str, Any]] = {}

    def _renumbered(self, texts: list[str]) -> list[str]:
        """The texts of the pairs that are measured, after the pairs were given their numbers."""
        sets = [self.positives, *(part for part in (self.negatives, self.nulls) if isinstance(part, dict))]
        arrays = [rows for part in sets for rows in part.values()]
        every = [*arrays, self.negatives] if isinstance(self.negatives, np.ndarray) else arrays
        used = np.unique(np.concatenate([rows.ravel() for rows in every]))
        for part in sets:
            for name, rows in part.items():
                part[name] = np.searchsorted(used, rows)
        if isinstance(self.negatives, np.ndarray):
            self.negatives = np.searchsorted(used, self.negatives)
        return [texts[i] for i in used.tolist()]

    # ------------------------------------------------------------------ making one

    @classmethod
    def from_pairs(cls, pairs: Pairs, of: Sequence[str], negatives: Pairs, **options: Any) -> RelationEvaluator:
        """An evaluator from lists.

        Args:
            pairs: Pairs of names or codes, ``[N]``.
            of: Relation of each pair, ``[N]``.
            **options: As of the class.

        Raises:
            InputError: Lists of different lengths, or an error of the class.
        """
        if len(pairs) != len(of):
            raise InputError(f"pairs and their relations must be equally many, found {len(pairs):,} and {len(of):,}")
        positives: dict[str, list[tuple[str, str]]] = {}
        for pair, relation in zip(pairs, of):
            positives.setdefault(relation, []).append(pair)
        return cls(positives, negatives, **options)

    @classmethod
    def from_file(cls, path: str | Path, **options: Any) -> RelationEvaluator:
        """Read ``term||term||relation`` lines; lines with the relation ``random`` are the negatives.

        Args:
            path: The file; HiPrBERT's evaluation file has this form.
            **options: As of the class; the file's name is the default of ``name``.

        Raises:
            InputError: No such file, a line of another form, or an error of the class.
        """
        positives = read_pairs(path)
        options.setdefault("name", Path(path).name.split(".")[0].lower())
        return cls(positives, positives.pop(RANDOM, []), **options)

    @classmethod
    def from_terminology(
        cls,
        terminology: Terminology,
        relations: Sequence[str] | Mapping[str, Sequence[str]] | None = None,
        draw: RelationDrawSettings = AS_HIPRBERT,
        *,
        concepts: np.ndarray | Sequence[int] | None = None,
        **options: Unpack[EvaluatorOptions],
    ) -> RelationEvaluator:
        """Draw the pairs from a terminology, see :func:`~st_biomed.evaluators.relation.draw.draw_relation_pairs`.

        Args:
            terminology: Concepts, names, relations, parents and types.
            relations: Names of relations such as :data:`~st_biomed.evaluators.relation.lists.HIPRBERT_28`, or label to
                several that count as one; by default all with at least ``min_pairs`` pairs.
            draw: Settings of the draw.
            concepts: See there.
            **options: See :class:`~st_biomed.evaluators.base.EmbeddingEvaluator`.

        Raises:
            InputError: An error of the draw or of the class.
        """
        drawn = draw_relation_pairs(terminology, relations, draw, concepts=concepts)
        return cls.from_drawn(drawn, None if relations is None else list(relations), draw.min_pairs, **options)

    @classmethod
    def from_drawn(
        cls, drawn: DrawnRelationPairs, relations: Sequence[str] | None = None, min_pairs: int = 1, **options: Any
    ) -> RelationEvaluator:
        """An evaluator from pairs that were drawn; the other arguments are those of the class, and its error."""
        pairs = drawn.positives, drawn.negatives
        evaluator = cls(*pairs, nulls=drawn.nulls, relations=relations, min_pairs=min_pairs, **options)
        if drawn.unknown:
            logger.warning("%s: no such relations: %s", evaluator.name or "relation", _shown(drawn.unknown))
        evaluator.missing |= dict.fromkeys(drawn.unknown, 0)
        evaluator.n_excluded += sum(drawn.tallies[stage].n_dropped for stage in ("negatives", "nulls"))
        evaluator.drawn = {stage: tally.to_dict() for stage, tally in drawn.tallies.items()}
        return evaluator

    # ------------------------------------------------------------------ the pairs

    @cached_property
    def pairs_digest(self) -> str:
        """SHA-256 of all pairs."""
        labeled = {name: self._texts(rows) for name, rows in self.positives.items()}
        for kind, pairs in {RANDOM: self.negatives, "null": self.nulls or {}}.items():
            sets = pairs if isinstance(pairs, dict) else {"": pairs}
            labeled |= {f"{kind}||{name}": self._texts(rows) for name, rows in sets.items()}
        return hashlib.sha256(pair_lines(labeled)).hexdigest()

    @cached_property
    def groups(self) -> dict[str, int]:
        """Relation to the number of its group of relations that share pairs, see
        :func:`~st_biomed.metrics.relation_groups.relation_groups`."""
        groups = relation_groups([unordered_pairs(rows) for rows in self.positives.values()])
        return dict(zip(self.positives, groups.tolist()))

    def to_file(self, path: str | Path) -> None:
        """Write ``term||term||relation`` lines, which :meth:`from_file` reads.

        Raises:
            InputError: Content that the format cannot represent: negatives per relation, nulls, ``||`` in a term.
        """
        if isinstance(self.negatives, dict) or self.nulls is not None:
            raise InputError(f"{path}: the format supports one set of random pairs for all relations, and no nulls")
        if RANDOM in self.positives:
            raise InputError(f"{path}: in this format {RANDOM!r} stands for unrelated pairs, not for a relation")
        labeled = {name: self._texts(rows) for name, rows in self.positives.items()}
        write_pairs(path, labeled | {RANDOM: self._texts(self.negatives)})

    def _texts(self, rows: np.ndarray) -> list[tuple[str, str]]:
        return [(self.texts[a], self.texts[b]) for a, b in rows.tolist()]

    # ------------------------------------------------------------------ measuring

    def compute_metrics(self, embed: EmbedOnce) -> EvaluationResult:
        """The metrics listed above; the units are the pairs."""
        vectors = embed(self.texts)

        def cosines(pairs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
            return {name: cosine_of_pairs(vectors, *rows.T) for name, rows in pairs.items()}

        positives, negatives = cosines(self.positives), self.negatives
        unrelated = cosines(negatives) if isinstance(negatives, dict) else cosine_of_pairs(vectors, *negatives.T)
        metrics = relation_metrics(positives, unrelated, None if self.nulls is None else cosines(self.nulls))
        counts = {"n_relations": len(self.positives), "n_missing": len(self.missing), "n_excluded": self.n_excluded}
        macro = {key: metrics.pop(key) for key in ("macro_auc", "macro_power") if key in metrics}
        metrics = macro | {key: float(n) for key, n in counts.items()} | metrics
        measured = [*self.positives.values(), *(negatives.values() if isinstance(negatives, dict) else [negatives])]
        pairs = np.unique(unordered_pairs(np.concatenate(measured)), return_inverse=True)[1]
        return EvaluationResult(
            metrics, {"macro_auc": Units("pair", relation_rows(positives, unrelated, pairs), "macro_auc")}
        )

    @property
    def table_rows(self) -> dict[str, str]:
        """The rows of a table, label to metric, for the mean and each relation's AUC."""
        return {"mean": "macro_auc"} | {name: f"{name}/auc" for name in self.positives}

    def get_config_dict(self) -> dict[str, Any]:
        """Relations, their numbers of pairs and of groups, missing relations, and the digest of the pairs; never their
        texts."""
        negatives, n_groups = self.negatives, len(set(self.groups.values()))
        return {
            "pairs": {name: len(rows) for name, rows in self.positives.items()},
            "negatives": {k: len(v) for k, v in negatives.items()} if isinstance(negatives, dict) else len(negatives),
            "missing": self.missing,
            "excluded": self.n_excluded,
            "resampling": units_of_relations(n_groups),
            "n_groups": n_groups,
            "drawn": self.drawn,
            "pairs_sha256": self.pairs_digest,
            **super().get_config_dict(),
        }

    @property
    def citation(self) -> str:
        return (
            HIPRBERT.lstrip()
            + """@inproceedings{beam2020cui2vec,
    title={Clinical Concept Embeddings Learned from Massive Sources of Multimodal Medical Data},
    author={Beam, Andrew L. and Kompa, Benjamin and Schmaltz, Allen and Fried, Inbar and Weber, Griffin and Palmer, Nathan and Shi, Xu and Cai, Tianxi and Kohane, Isaac S.},
    booktitle={Pacific Symposium on Biocomputing},
    volume={25},
    pages={295--306},
    year={2020}
}"""
        )


def _shown(names: Mapping[str, Any] | Sequence[str]) -> str:
    """The first names of many."""
    shown = list(names)[:10]
    return ", ".join(map(repr, shown)) + (f" and {len(names) - len(shown):,} more" if len(names) > len(shown) else "")
