"""Relatedness: do cosines rank term pairs like human scores?"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from st_biomed.errors import InputError, check_name
from st_biomed.evaluators.base import EmbeddingEvaluator, EvaluationResult, EvaluatorOptions
from st_biomed.evaluators.embedders import EmbedOnce
from st_biomed.files.delimited import read_header, read_table
from st_biomed.metrics.cosine import cosine_of_pairs
from st_biomed.metrics.ranking import pearson, spearman
from st_biomed.metrics.significance import Units

_TERMS = (("term1", "term_1"), ("term2", "term_2"))
_SCORES = ("mean", "score", "physicians", "physician")
"""Headers of the published sets, in any case and with spaces as underscores: MayoSRS, UMNSRS and EHR-RelB give
a mean, MiniMayoSRS and its first print (Pedersen et al. 2007) one column for physicians and one for coders."""


class RelatednessEvaluator(EmbeddingEvaluator):
    """Rank correlation between the cosines of term pairs and human scores (SRS sets).

    Metrics: ``spearman`` (ties have their average rank), ``pearson``, ``n`` pairs measured, ``n_missing`` pairs left
    out because a term or the score is missing, and the interval of ``spearman`` over the pairs.

    Args:
        first, second: The terms of each pair, ``[N]`` each; empty, ``None`` or NaN where a term is missing.
        scores: Human scores, ``[N]``: larger is more related.
        **options: See :class:`~st_biomed.evaluators.base.EmbeddingEvaluator`.

    Raises:
        InputError: Lists of different lengths, terms that are not strings, scores that are not numbers or all equal, or fewer than
            three pairs with both terms.

    References: Pakhomov et al. 2011 (MayoSRS), Pakhomov et al. 2010 (UMNSRS), Pedersen et al. 2007 (MiniMayoSRS).

    Example:
        >>> from st_biomed.evaluators import table_embedder
        >>> evaluator = RelatednessEvaluator(["a", "b", "c"], ["b", "c", "a"], [2, 3, 1], name="mine", n_bootstrap=0)
        >>> vectors = table_embedder(["a", "b", "c"], np.array([[1.0, 0.0], [0.8, 0.6], [0.6, 0.8]]))
        >>> round(evaluator.measure(vectors)["mine_spearman"], 3)
        1.0
    """

    def __init__(
        self,
        first: Sequence[str | float | None],
        second: Sequence[str | float | None],
        scores: Sequence[float],
        **options: Unpack[EvaluatorOptions],
    ) -> None:
        super().__init__(primary="spearman", **options)
        if not len(first) == len(second) == len(scores):
            raise InputError(
                f"first, second and scores must be equally many, found {len(first)}, {len(second)} and {len(scores)}"
            )
        numbers = np.array([_number(score, pair) for pair, score in enumerate(scores, 1)], dtype=np.float64)
        left, right = ([_term(term, pair) for pair, term in enumerate(side, 1)] for side in (first, second))
        complete = np.array([bool(a and b) for a, b in zip(left, right)], dtype=bool)
        if complete.sum() < 3:
            raise InputError(f"pairs: at least three with both terms are needed, found {int(complete.sum())}")
        self.n_missing = int((~complete).sum())
        self.scores = numbers[complete]
        if (self.scores == self.scores[0]).all():
            raise InputError(f"scores: all are {self.scores[0]:g}, which no correlation can be measured with")
        row: dict[str, int] = {}
        kept = [(a, b) for a, b in zip(left, right) if a and b]
        self.left, self.right = np.array([[row.setdefault(text, len(row)) for text in pair] for pair in kept]).T
        self.texts = list(row)

    @classmethod
    def from_file(
        cls,
        path: str | Path,
        *,
        terms: tuple[str, str] | None = None,
        score: str | None = None,
        unscored: str = "error",
        **options: Any,
    ) -> RelatednessEvaluator:
        """Read a table of term, term, score, such as the published sets and their translations.

        Args:
            path: CSV or TSV with a header.
            terms: The columns of the terms; by default those of the published sets.
            score: The column of the score; by default the mean, or the physicians' (MiniMayoSRS).
            unscored: ``"error"`` or ``"skip"`` for a row whose score is not a number; skipped rows count as missing.
            **options: As of the class; the file's name is the default of ``name``.

        Raises:
            InputError: No such file or column, or (with file and line) a score that is not a number.
        """
        check_name("unscored", unscored, ("error", "skip"))
        path = Path(path)
        header = ["_".join(name.lower().split()) for name in read_header(path)]
        wanted: list[tuple[str, ...]] = [(name,) if isinstance(name, str) else name for name in (terms or _TERMS)]
        wanted.append((score,) if score else next(((name,) for name in _SCORES if name in header), _SCORES))
        first, second, scores, n_unscored = [], [], [], 0
        for line, (first_term, second_term, number) in read_table(
            path, [tuple("_".join(name.lower().split()) for name in names) for names in wanted]
        ):
            try:
                value = float(number)
            except ValueError:
                value = math.nan
            if not math.isfinite(value):
                if unscored == "skip":
                    n_unscored += 1
                    continue
                raise InputError(f"{path}:{line}: score {number!r} is not a number")
            scores.append(value)
            first.append(first_term)
            second.append(second_term)
        options.setdefault("name", path.name.split(".")[0].lower())
        evaluator = cls(first, second, scores, **options)
        evaluator.n_missing += n_unscored
        return evaluator

    def compute_metrics(self, embed: EmbedOnce) -> EvaluationResult:
        """The metrics listed above; the units are the pairs."""
        cosines = cosine_of_pairs(embed(self.texts), self.left, self.right)
        metrics = {"spearman": spearman(cosines, self.scores), "pearson": pearson(cosines, self.scores)}
        metrics |= {"n": float(len(cosines)), "n_missing": float(self.n_missing)}
        return EvaluationResult(
            metrics, {"spearman": Units("pair", np.stack([cosines, self.scores], axis=1), "spearman")}
        )

    @property
    def table_rows(self) -> dict[str, str]:
        return {key: key for key in ("spearman", "pearson")}

    def get_config_dict(self) -> dict[str, Any]:
        """Sizes and a digest of the pairs and scores, never a text."""
        content = json.dumps([self.texts, self.left.tolist(), self.right.tolist(), self.scores.tolist()])
        digest = hashlib.sha256(content.encode()).hexdigest()
        return {
            "pairs_sha256": digest,
            "n_pairs": len(self.scores),
            "n_missing": self.n_missing,
            **super().get_config_dict(),
        }

    @property
    def citation(self) -> str:
        return """@article{pakhomov2011mayosrs,
    title={Towards a framework for developing semantic relatedness reference standards},
    author={Pakhomov, Serguei V.S. and Pedersen, Ted and McInnes, Bridget and Melton, Genevieve B. and Ruggieri, Alexander and Chute, Christopher G.},
    journal={Journal of Biomedical Informatics},
    volume={44},
    number={2},
    pages={251--265},
    year={2011}
}"""


def _term(term: str | float | None, pair: int) -> str:
    """A term without spaces around it; empty if it is missing.

    Raises:
        InputError: Not a string.
    """
    if term is None or (isinstance(term, float | np.floating) and math.isnan(term)):
        return ""
    if not isinstance(term, str):
        raise InputError(f"terms: pair {pair} has {term!r}, expected a string")
    return term.strip()


def _number(score: float, pair: int) -> float:
    """A score.

    Raises:
        InputError: Not a finite number.
    """
    try:
        number = float(score)
    except (TypeError, ValueError):
        raise InputError(f"scores: pair {pair} has {score!r}, expected a number") from None
    if not math.isfinite(number):
        raise InputError(f"scores: pair {pair} has no finite score")
    return number
