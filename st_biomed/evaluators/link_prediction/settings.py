"""Settings of a link-prediction benchmark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Unpack

import numpy as np

from st_biomed.errors import InputError, check_name
from st_biomed.evaluators.base import EvaluatorOptions
from st_biomed.evaluators.data_folder import data_path, open_terminology, source_names
from st_biomed.evaluators.link_prediction.evaluator import LinkPredictionEvaluator
from st_biomed.files.delimited import read_table

KEYS = ("names", "codes")


@dataclass(frozen=True)
class LinkPredictionSettings:
    """The settings of a link-prediction benchmark.

    Args:
        name: Prefix of the metrics.
        train, valid, test: Tables with the columns ``head``, ``relation`` and ``tail``; ``valid`` may be empty.
        sources: Terminology with the names of the entities' codes; needed if ``keys`` is ``"names"``.
        keys: ``"names"`` for a text encoder (preferred names), or ``"codes"`` for a table of vectors.
        split, ks, per_relation, similarity, translate: See
            :class:`~st_biomed.evaluators.link_prediction.evaluator.LinkPredictionEvaluator`.
    """

    name: str
    train: str
    test: str
    valid: str = ""
    sources: list[str] = field(default_factory=list)
    keys: str = "names"
    split: str = "test"
    ks: list[int] = field(default_factory=lambda: [1, 3, 10])
    per_relation: bool = False
    similarity: str = "cosine"
    translate: bool = False

    def evaluators(
        self, *, as_published: bool = False, **options: Unpack[EvaluatorOptions]
    ) -> list[LinkPredictionEvaluator]:
        """The evaluator; the published scoring is the same.

        Raises:
            InputError: Unknown keys, entities without a name, or an error of the files or the evaluator.
        """
        check_name("keys", self.keys, KEYS)
        if self.keys == "names" and not self.sources:
            raise InputError(f"{self.name}: sources is empty; expected the terminology with the entities' names")
        for part in ("train", "test"):
            if not getattr(self, part):
                raise InputError(f"{self.name}: {part} is empty, expected a table of triples")
        entity: dict[str, int] = {}
        relation: dict[str, int] = {}
        paths = {part: path for part in ("train", "valid", "test") if (path := getattr(self, part))}
        parts = {part: _triples(data_path(path), entity, relation) for part, path in paths.items()}
        options["name"] = self.name
        evaluator = LinkPredictionEvaluator(
            self._names(list(entity)),
            train=parts["train"],
            valid=parts.get("valid"),
            test=parts["test"],
            relations=list(relation),
            split=self.split,
            ks=self.ks,
            per_relation=self.per_relation,
            similarity=self.similarity,
            translate=self.translate,
            **options,
        )
        return [evaluator]

    def source_names(self) -> list[str]:
        """The sources of the terminology with its entities' names; none where they are codes."""
        return source_names(self.sources)

    def _names(self, codes: Sequence[str]) -> list[str]:
        """What stands for each entity."""
        if self.keys == "codes":
            return list(codes)
        terminology = open_terminology(self.sources)
        row = {code: i for i, code in enumerate(terminology.codes)}
        if unknown := [code for code in codes if code not in row]:
            raise InputError(
                f"{self.name}: {len(unknown):,} of {len(codes):,} entities are in none of the sources, e.g. {unknown[0]!r}"
            )
        preferred = terminology.preferred_texts
        if nameless := [code for code in codes if preferred[row[code]] < 0]:
            raise InputError(
                f"{self.name}: {len(nameless):,} of {len(codes):,} entities have no name, e.g. {nameless[0]!r}; "
                "keys: codes needs none"
            )
        return [terminology.strings[preferred[row[code]]] for code in codes]


def _triples(path: Path, entity: dict[str, int], relation: dict[str, int]) -> np.ndarray:
    """Triples of a file as numbers, ``[T, 3]``; new entities and relations are numbered as they come."""
    rows = []
    for line, cells in read_table(path, (("head",), ("relation",), ("tail",))):
        head, name, tail = (cell.strip() for cell in cells)
        if not head or not name or not tail:
            raise InputError(f"{path}:{line}: expected a head, a relation and a tail, found {cells!r}")
        ends = [entity.setdefault(end, len(entity)) for end in (head, tail)]
        rows.append((ends[0], relation.setdefault(name, len(relation)), ends[1]))
    return np.array(rows, dtype=np.int64).reshape(-1, 3)


FAMILY = "relations"
SETTINGS = LinkPredictionSettings
