"""Clustering pairs: are terms similar if and only if they name the same concept?"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from st_biomed.csr import CSR
from st_biomed.errors import InputError, unknown_name
from st_biomed.evaluators.base import EmbeddingEvaluator, EvaluationResult, EvaluatorOptions
from st_biomed.evaluators.clustering_pair.term_rows import one_term_per_wording, split_rows
from st_biomed.evaluators.embedders import EmbedOnce
from st_biomed.evaluators.text_ids import text_ids
from st_biomed.files.delimited import read_table
from st_biomed.metrics.clustering_pair import PUBLISHED_THETAS, clustering_pair_metrics, concept_counts
from st_biomed.metrics.mcsm import without_self
from st_biomed.metrics.pair_levels import AllPairLevels, GoldPairs, ListedPairLevels, PairLevels, floor_of
from st_biomed.metrics.significance import Units
from st_biomed.neighbors import RunningNearest, search_device

if TYPE_CHECKING:
    from st_biomed.terminology import Terminology

_EXACT_TERMS = 50_000  # 1.2 billion pairs: half a minute on one core
_PUBLISHED = {"mode": "top_k", "k": 29, "min_length": 4, "theta_search": "grid", "theta": None} | {
    "distinct": False,
    "validation": 0.0,
}


class ClusteringPairEvaluator(EmbeddingEvaluator):
    """F1 of finding synonyms by a threshold of their cosine (CODER++; the "clustering pair" of the Italian paper, section 4).

    Two terms that share a concept are a gold pair; two terms whose cosine is above theta are a predicted pair. The
    metrics are those of :func:`~st_biomed.metrics.clustering_pair.clustering_pair_metrics`, the F1 first, and
    ``n_short``. A threshold that is searched on the measured terms, as in the papers, overestimates the F1. For a fair
    figure, pass a ``theta`` that was found on other terms, or keep some terms as ``validation``. Synonyms that differ
    only in case or punctuation are found by string comparison; ``distinct`` takes them out. The papers' accuracy over
    all pairs is 100% for any model and is left out.

    Args:
        terms, concepts: A term and a concept that it names, ``[M]`` each; a term of several concepts is repeated.
        mode: ``"exact"`` uses all pairs; ``"top_k"`` uses pairs in which one term is among the k nearest of the other.
            By default exact up to 50,000 terms. (On a CPU, finding neighbors takes longer than counting all pairs.)
        k: Neighbors of each term, without the term itself; by default 30.
        min_length: Terms of fewer characters are left out and counted; 4 as published.
        theta_search: ``"exact"`` finds the best of all thresholds, ``"grid"`` the best of 0.98, 0.96, ..., 0.60; by
            default exact. Among equally good thresholds the highest is used.
        theta: A fixed threshold, without a search.
        distinct: Whether terms that differ only in case, accents, punctuation or spaces are one term, the first.
        validation: Share of the terms on which theta is searched; they are not measured. 0 to search it on the
            measured terms.
        validation_seed: Seed of the draw of the validation terms.
        as_published: Score like the script of CODER++: the grid, and the top 30 without the first, which is the term
            itself, so k is 29. Terms that are too short are not measured but keep their ranks among the 30. (The
            script also cleans the terms; the readers' normalizer ``coder`` does the same.)
        device: Device of the neighbor search; ``None`` for a GPU if there is one.
        **options: See :class:`~st_biomed.evaluators.base.EmbeddingEvaluator`.

    Attributes:
        texts: The measured terms, ``[N]``.
        short: The terms that are left out.
        validation: The evaluator that finds theta; ``None`` without validation terms.
        n_equal: Terms that ``distinct`` left out.
        terms_digest: SHA-256 of the distinct rows of terms and concepts, in their order.

    Raises:
        InputError: Lists of different lengths, an argument out of range or in conflict with ``as_published`` or
            ``validation``, or no gold pair.
    """

    def __init__(
        self,
        terms: Sequence[str],
        concepts: Sequence[str],
        *,
        mode: str | None = None,
        k: int | None = None,
        min_length: int = 4,
        theta_search: str | None = None,
        theta: float | None = None,
        distinct: bool = False,
        validation: float = 0.0,
        validation_seed: int = 0,
        as_published: bool = False,
        device: str | None = None,
        **options: Unpack[EvaluatorOptions],
    ) -> None:
        super().__init__(primary="f1", **options)
        if len(terms) != len(concepts):
            raise InputError(f"terms and concepts must be equally many, found {len(terms):,} and {len(concepts):,}")
        if no_texts := [term for term in terms if not isinstance(term, str)]:
            raise InputError(f"terms: expected texts, found {no_texts[0]!r}")
        if unknown := [concept for concept in concepts if not isinstance(concept, str) or not concept]:
            raise InputError(f"concepts: expected the concept of each term as a text, found {unknown[0]!r}")
        settings: dict[str, Any] = {
            "mode": mode,
            "k": k,
            "min_length": min_length,
            "theta_search": theta_search,
            "theta": theta,
        }
        _check(settings | {"distinct": distinct or None, "validation": validation or None}, as_published)
        if validation and theta is not None:
            raise InputError(f"expected either theta or validation, found theta {theta} and validation {validation}")
        rows = list(zip(terms, concepts))
        if distinct:
            rows = one_term_per_wording(rows)
        self.distinct, self.n_equal = distinct, len(set(terms)) - len({term for term, _ in rows})
        self.validation: ClusteringPairEvaluator | None = None
        self._split = (validation, validation_seed)
        if validation:
            drawn, rows = split_rows([row for row in rows if len(row[0]) >= min_length], validation, validation_seed)
            found = f"{len(drawn):,} validation terms"
            try:
                self.validation = ClusteringPairEvaluator(*zip(*drawn), **settings, device=device)
            except (InputError, TypeError):
                raise InputError(f"validation: no two of {found} share a concept; choose a larger share") from None
        self.as_published, self.min_length, self.theta, self.device = as_published, min_length, theta, device
        self.k = (29 if as_published else 30) if k is None else k
        self.theta_search = theta_search or ("grid" if as_published else "exact")
        text_of: dict[str, int] = {}
        concept_of: dict[str, int] = {}
        named = [
            (text_of.setdefault(term, len(text_of)), concept_of.setdefault(concept, len(concept_of)))
            for term, concept in rows
            if len(term) >= min_length
        ]
        self.texts = list(text_of)
        self.short = list(dict.fromkeys(term for term in terms if len(term) < min_length))
        text, concept = np.array(named, dtype=np.int64).reshape(-1, 2).T
        self.concepts = CSR.from_pairs(text, concept, len(self.texts))
        self.gold = GoldPairs.of(self.concepts)
        if not len(self.gold.left):
            raise InputError(
                f"concepts: no two of {len(self.texts):,} terms share a concept; at least one such pair is needed"
            )
        self.mode = mode or ("top_k" if as_published or len(self.texts) > _EXACT_TERMS else "exact")
        # In the given order: units, first wordings and validation terms depend on it.
        named_so = "".join(f"{term}\t{concept}\n" for term, concept in dict.fromkeys(zip(terms, concepts)))
        self.terms_digest = hashlib.sha256(named_so.encode()).hexdigest()

    # ------------------------------------------------------------------ making one

    @classmethod
    def from_terminology(
        cls,
        terminology: Terminology,
        texts: np.ndarray | None = None,
        *,
        sample: int | None = None,
        seed: int = 0,
        **options: Any,
    ) -> ClusteringPairEvaluator:
        """All names of a terminology, or of some concepts of it; an ambiguous name has all its concepts.

        Args:
            texts: Text ids or a mask ``[T]``, for instance of held-out names; all by default.
            sample: Draw this many concepts with all their names; by default, or if there are fewer, all of them.
            **options: As of the class.

        Raises:
            InputError: Text ids out of range, a sample below 1, or as in the class.
        """
        ids = text_ids(texts, terminology.n_texts)
        row, concept = terminology.text_concepts.take(ids)
        if sample is not None:
            if sample < 1:
                raise InputError(f"sample must be at least 1, found {sample}")
            if seed < 0:
                raise InputError(f"seed must not be negative, found {seed}")
            drawn = np.random.default_rng(seed).permutation(np.unique(concept))[:sample]
            ids = ids[np.unique(row[np.isin(concept, drawn)])]
            row, concept = terminology.text_concepts.take(ids)
        strings = terminology.texts["text"].take(ids).to_pylist()
        return cls([strings[i] for i in row], [terminology.codes[i] for i in concept], **options)

    @classmethod
    def from_file(
        cls, path: str | Path, *, term: str = "term", concept: str = "concept", **options: Any
    ) -> ClusteringPairEvaluator:
        """Read a table with a term and a concept in each row.

        Args:
            path: CSV or TSV with a header.
            term, concept: The columns.
            **options: As of the class; the file's name is the default of ``name``.

        Raises:
            InputError: No such file or column, a row without term or concept, or as in the class.
        """
        path = Path(path)
        rows = []
        for line, cells in read_table(path, [term, concept]):
            rows.append([cell.strip() for cell in cells])
            if not all(rows[-1]):
                raise InputError(f"{path}:{line}: expected a term and a concept, found {rows[-1]}")
        options.setdefault("name", path.name.split(".")[0].lower())
        return cls([row[0] for row in rows], [row[1] for row in rows], **options)

    # ------------------------------------------------------------------ measuring

    def compute_metrics(self, embed: EmbedOnce) -> EvaluationResult:
        """The metrics listed above; the units are the concepts, see ``concept_counts``."""
        vectors = embed.pass_through(self.texts)
        levels: PairLevels
        if self.mode == "exact":
            levels = AllPairLevels(vectors, self.gold)
        else:
            levels = ListedPairLevels(vectors, self.gold, self._neighbors(vectors, embed))
        searched = PUBLISHED_THETAS if self.theta_search == "grid" else None
        theta = self.theta if self.validation is None else self.validation.compute_metrics(embed).metrics["theta"]
        metrics = clustering_pair_metrics(levels, searched if theta is None else [theta])
        rows = concept_counts(levels, self.gold, self.concepts, metrics["theta"])
        return EvaluationResult(metrics | {"n_short": float(len(self.short))}, {"f1": Units("concept", rows, "f1")})

    def _neighbors(self, vectors: np.ndarray, embed: EmbedOnce) -> np.ndarray:
        """The k nearest other terms of each term, -1 for one that is not measured, ``[N, <= k]``."""
        search = RunningNearest(vectors, self.k + 1, device=search_device(self.device))
        search.add(vectors)
        if self.as_published and self.short:
            search.add(embed.pass_through(self.short))
        found = without_self(search.result()[1].cpu().numpy())
        return np.where(found < len(found), found, -1)

    # ------------------------------------------------------------------ for people

    @property
    def n_texts(self) -> int:
        """Number of measured and of validation texts."""
        return len(self.texts) + (0 if self.validation is None else len(self.validation.texts))

    @property
    def table_rows(self) -> dict[str, str]:
        keys = ("f1", "precision", "recall", "theta", "pr_auc", "average_precision", "recall_ceiling")
        return {key.replace("_", " "): key for key in keys}

    def get_config_dict(self) -> dict[str, Any]:
        """Settings and sizes, never a text."""
        return {
            "mode": self.mode,
            **({"k": self.k} if self.mode == "top_k" else {}),
            **({"theta_search": self.theta_search} if self.theta is None else {"theta": self.theta}),
            "min_length": self.min_length,
            "as_published": self.as_published,
            "n_terms": len(self.texts),
            "n_short": len(self.short),
            **({"distinct": True, "n_equal": self.n_equal} if self.distinct else {}),
            **({"validation": self._split[0], "validation_seed": self._split[1]} if self.validation else {}),
            "n_concepts": int(self.concepts.indices.max()) + 1,
            "n_gold_pairs": len(self.gold.left),
            "terms_sha256": self.terms_digest,
            **super().get_config_dict(),
        }

    @property
    def citation(self) -> str:
        return """@inproceedings{zeng2022coderpp,
    title={Automatic Biomedical Term Clustering by Learning Fine-grained Term Representations},
    author={Zeng, Sihang and Yuan, Zheng and Yu, Sheng},
    booktitle={Proceedings of the 21st Workshop on Biomedical Language Processing},
    year={2022}
}"""


def _check(settings: Mapping[str, Any], as_published: bool) -> None:
    """Refuse what is out of range, or differs from what was published."""
    for name, value in settings.items() if as_published else ():
        if value is not None and value != _PUBLISHED[name]:
            raise InputError(f"as_published: {name} is {_PUBLISHED[name]!r}, found {value!r}; remove one of the two")
    for name, allowed in (("mode", ("exact", "top_k")), ("theta_search", ("exact", "grid"))):
        if settings[name] is not None and settings[name] not in allowed:
            raise unknown_name(name, settings[name], allowed)
    for name in ("k", "min_length"):
        if settings[name] is not None and settings[name] < 1:
            raise InputError(f"{name} must be at least 1, found {settings[name]}")
    if settings["theta"] is not None:
        floor_of(settings["theta"])
