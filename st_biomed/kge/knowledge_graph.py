"""A knowledge graph for training and evaluation: entities, relations, and triples in three parts."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from st_biomed.errors import InputError, check_integer
from st_biomed.files import check_output, finish_replacement, read_one_version, replacing
from st_biomed.files.sealed import Seal
from st_biomed.kge.splits import SHARES, split_triples
from st_biomed.kge.triples import PAPER, TripleOptions, terminology_triples
from st_biomed.metrics.link_prediction import checked_triples
from st_biomed.records import Tally
from st_biomed.terminology import Terminology

PARTS = ("train", "valid", "test")
HEADER = "graph.json"
FILES = ("entities.parquet", "triples.parquet")
_SEAL = Seal(HEADER, 2, "KnowledgeGraph.save", "save the graph again")


@dataclass(frozen=True, eq=False, repr=False)
class KnowledgeGraph:
    """Entities, relations and triples.

    Attributes:
        entities: Codes, ``[E]``, each once.
        relations: Names, ``[R]``, each once.
        train, valid, test: (head, relation, tail) as indices into these, int64 ``[., 3]``.
        terminology: Digest of the terminology of the graph; empty if there is none.
        tally: Counts of the terminology's triples, kept and dropped by reason.
        dropped: Name of each omitted relation to the reason.

    Raises:
        InputError: No training triple, a repeated code or name, or triples that are not ``[T, 3]`` of such indices.
    """

    entities: Sequence[str]
    relations: Sequence[str]
    train: np.ndarray
    valid: np.ndarray
    test: np.ndarray
    terminology: str = ""
    tally: Tally = field(default_factory=Tally)
    dropped: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for kind in ("entities", "relations"):
            names = tuple(getattr(self, kind))
            if len(set(names)) < len(names):
                raise InputError(f"{kind}: {Counter(names).most_common(1)[0][0]!r} occurs twice")
            object.__setattr__(self, kind, names)
        for part in PARTS:
            triples = checked_triples(getattr(self, part), part, len(self.entities), len(self.relations))
            object.__setattr__(self, part, triples)
        if not len(self.train):
            raise InputError("train: the graph has no training triple")

    @classmethod
    def from_terminology(
        cls,
        terminology: Terminology,
        options: TripleOptions = PAPER,
        *,
        shares: Sequence[float] = SHARES,
        seed: int = 0,
    ) -> KnowledgeGraph:
        """The graph of a terminology, filtered and split.

        Args:
            options: Selection of the triples, see :class:`~st_biomed.kge.triples.TripleOptions`.
            shares, seed: See :func:`~st_biomed.kge.splits.split_triples`.

        Raises:
            InputError: As in these two.
        """
        check_integer("seed", seed, 0)
        entities, relations, triples, tally, dropped = terminology_triples(terminology, options)
        parts = split_triples(triples, shares, seed)
        return cls(entities, relations, *parts, terminology=terminology.digest, tally=tally, dropped=dropped)

    @classmethod
    def open(cls, name: str | Path, options: TripleOptions = PAPER, **split: Any) -> KnowledgeGraph:
        """A saved graph, or the graph of a source for :meth:`Terminology.open`.

        Raises:
            InputError: As in :meth:`load` and :meth:`from_terminology`, or arguments for a graph that is saved already.
        """
        finish_replacement(name)
        if (Path(name) / HEADER).is_file():
            if options != PAPER or split:
                given = ", ".join(["options"] * (options != PAPER) + list(split))
                raise InputError(
                    f"{name}: is a saved graph, which {given} cannot change; build it anew from its terminology"
                )
            return cls.load(name)
        return cls.from_terminology(Terminology.open(name), options, **split)

    # ------------------------------------------------------------------ looking at it

    @property
    def parts(self) -> dict[str, np.ndarray]:
        """Train, valid and test by name."""
        return {part: getattr(self, part) for part in PARTS}

    @property
    def triples(self) -> np.ndarray:
        """All triples, int64 ``[T, 3]``."""
        return np.concatenate(list(self.parts.values()))

    @property
    def shares(self) -> dict[str, float]:
        """The actual shares of the parts."""
        total = sum(map(len, self.parts.values()))
        return {name: len(part) / total for name, part in self.parts.items()}

    def __repr__(self) -> str:
        shares = self.shares
        parts = ", ".join(f"{len(part):,} {name} ({shares[name]:.1%})" for name, part in self.parts.items())
        return f"KnowledgeGraph({len(self.entities):,} entities, {len(self.relations):,} relations; triples: {parts})"

    @property
    def report(self) -> str:
        """One line for each count of the terminology's triples and relations."""
        lines = [f"triples: {self.tally}"] if self.tally.n_read else []
        return "\n".join([*lines, *(f"relation {name}: {why}" for name, why in sorted(self.dropped.items()))])

    @cached_property
    def digest(self) -> str:
        """SHA-256 of codes, names and triples."""
        sha = hashlib.sha256("\0".join([*self.entities, "", *self.relations]).encode())
        for part in self.parts.values():
            sha.update(f"{len(part)}:".encode() + part.astype("<i8").tobytes())
        return sha.hexdigest()

    def renumbered(self, triples: np.ndarray, other: KnowledgeGraph) -> np.ndarray:
        """Triples of another graph as indices into this one's entities and relations, ``[T, 3]``.

        Raises:
            InputError: An entity or a relation that is not in this graph.
        """
        columns = []
        for column, kind in enumerate(("entities", "relations", "entities")):
            place = {name: i for i, name in enumerate(getattr(self, kind))}
            names = [getattr(other, kind)[i] for i in triples[:, column].tolist()]
            if unknown := next((name for name in names if name not in place), None):
                raise InputError(f"{kind}: {unknown!r} is unknown to the graph that was trained on")
            columns.append([place[name] for name in names])
        return np.array(columns, dtype=np.int64).reshape(3, -1).T

    # ------------------------------------------------------------------ on disk

    def save(self, folder: str | Path) -> Path:
        """Write ``graph.json``, ``entities.parquet`` and ``triples.parquet``; an existing graph is replaced.

        Raises:
            InputError: The folder contains something else, or another process writes to it.
        """
        own = {HEADER, *FILES}
        folder = check_output(folder, what="a graph", is_own=own.__contains__, marker=HEADER, overwrite=True)
        with replacing(folder) as draft:
            self.write(draft)
        return folder

    def write(self, folder: Path) -> None:
        """Write the files into an existing folder that nothing else writes to, the header last."""
        pq.write_table(pa.table({"code": pa.array(self.entities, pa.string())}), folder / "entities.parquet")
        part = np.repeat(np.arange(3, dtype=np.int8), [len(part) for part in self.parts.values()])
        columns = dict(zip(("head", "relation", "tail"), self.triples.T))
        pq.write_table(pa.table({"part": part, **columns}), folder / "triples.parquet")
        header = {
            "relations": list(self.relations),
            "terminology": self.terminology,
            "digest": self.digest,
            "tally": self.tally.to_dict(),
            "dropped": self.dropped,
        }
        _SEAL.write(folder, header, FILES)

    @classmethod
    def load(cls, folder: str | Path) -> KnowledgeGraph:
        """Load a graph written by :meth:`save`.

        Raises:
            InputError: No such graph, or a damaged graph.
        """
        return read_one_version(folder, cls._read)

    @classmethod
    def _read(cls, folder: Path) -> KnowledgeGraph:
        header = _SEAL.read(folder)
        _SEAL.check(folder, header, FILES)
        try:
            entities = pq.read_table(folder / "entities.parquet", columns=["code"])["code"].to_pylist()
            table = pq.read_table(folder / "triples.parquet")
            triples = np.stack([table[name].to_numpy() for name in ("head", "relation", "tail")], axis=1)
            part = table["part"].to_numpy()
            graph = cls(
                entities,
                header["relations"],
                train=triples[part == 0],
                valid=triples[part == 1],
                test=triples[part == 2],
                terminology=header["terminology"],
                tally=Tally.from_dict(header["tally"]),
                dropped=dict(header["dropped"]),
            )
            graph.__dict__["digest"] = header["digest"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"{folder}: cannot be read as a knowledge graph ({error})") from error
        return graph
