"""What entity linking is measured on: mentions, the concepts they mean, and the names of the dictionary."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import numpy as np

from st_biomed.csr import CSR
from st_biomed.errors import InputError
from st_biomed.records import SourceInfo, Tally
from st_biomed.terminology import Terminology


@dataclass(frozen=True, slots=True)
class Mention:
    """A mention as it is annotated, and what is looked up for it.

    Attributes:
        text: The annotated string.
        gold: The concepts it means: one set of alternative ids for each group of the annotation. Several groups where
            the file separates them (``|`` of a composite mention, ``+`` of a concept that takes several ids); empty
            where the annotator found none.
        parts: What is looked up: ``text`` itself, or several strings once a composite mention has been taken apart.
        document: Id of the document; empty where there is none.
        start: Offset of the first character in the document; -1 where it is unknown.
        end: Offset behind the last character.
        type: Type of the entity, e.g. ``SpecificDisease``.
        expansion: The long form in the mention's own document where ``text`` is (or holds) an abbreviation.
    """

    text: str
    gold: tuple[frozenset[str], ...]
    parts: tuple[str, ...] = ()
    document: str = ""
    start: int = -1
    end: int = -1
    type: str = ""
    expansion: str = ""

    def __post_init__(self) -> None:
        if not self.parts:
            object.__setattr__(self, "parts", (self.text,))

    @property
    def ids(self) -> frozenset[str]:
        """All gold ids together."""
        return frozenset().union(*self.gold)

    @property
    def is_abbreviation(self) -> bool:
        """Whether ``text`` is written as an abbreviation: figures are reported for these and for the others.

        It has two to ten characters and at most two words (Schwartz and Hearst's conditions on a short form), at
        least two capitals, and no more small letters than capitals. The document plays no part, so that the
        same mentions are meant before and after any step of preparation.
        """
        capitals, small = sum(map(str.isupper, self.text)), sum(map(str.islower, self.text))
        return 2 <= len(self.text) <= 10 and len(self.text.split()) <= 2 and capitals >= max(2, small)


class LinkingDictionary:
    """Names and the ids each stands for: N entries, in an order that decides ties.

    Args:
        names: The name of each entry, ``[N]``; the same name may stand in several entries.
        ids: Distinct ids, ``[I]``.
        entry_ids: Entry to its ids, by their place in ``ids``: N rows.

    Attributes:
        names, ids, entry_ids: As given.
    """

    def __init__(self, names: list[str], ids: list[str], entry_ids: CSR) -> None:
        if len(names) != entry_ids.n_rows:
            raise InputError(f"dictionary: {len(names)} names, but ids for {entry_ids.n_rows} entries")
        if len(set(ids)) != len(ids):
            twice = next(one for one, n in Counter(ids).items() if n > 1)
            raise InputError(f"dictionary: ids must be distinct, found {twice!r} twice")
        self.names, self.ids, self.entry_ids = names, ids, entry_ids

    @classmethod
    def from_entries(cls, entries: Iterable[tuple[str, Iterable[str]]]) -> LinkingDictionary:
        """From the name and the ids of each entry.

        Raises:
            InputError: There is no entry, or one without a name or without an id.
        """
        names: list[str] = []
        place: dict[str, int] = {}
        rows: list[int] = []
        columns: list[int] = []
        for name, ids in entries:
            before = len(columns)
            columns.extend(place.setdefault(one, len(place)) for one in ids)
            if not name or len(columns) == before:
                raise InputError(f"dictionary: entry {len(names) + 1} {name!r} has no {'ids' if name else 'name'}")
            rows.extend([len(names)] * (len(columns) - before))
            names.append(name)
        if not names:
            raise InputError("dictionary: is empty, at least one name with an id is needed")
        table = CSR.from_pairs(np.array(rows), np.array(columns, dtype=np.int64), len(names))
        return cls(names, list(place), table)

    @classmethod
    def from_terminology(cls, terminology: Terminology) -> LinkingDictionary:
        """Every text of a terminology with the codes of its concepts: equal names are one entry already."""
        return cls(terminology.strings, terminology.codes, terminology.text_concepts)

    def __len__(self) -> int:
        return len(self.names)

    def entries(self) -> Iterator[tuple[str, list[str]]]:
        """Name and ids of every entry, in order: for many, much faster than :meth:`entry`."""
        indices = self.entry_ids.indices.tolist()
        for name, (start, end) in zip(self.names, pairwise(self.entry_ids.indptr.tolist())):
            yield name, [self.ids[one] for one in indices[start:end]]

    def entry(self, i: int) -> tuple[str, frozenset[str]]:
        """Name and ids of an entry."""
        return self.names[i], frozenset(self.ids[one] for one in self.entry_ids.row(i))

    @cached_property
    def id_index(self) -> Mapping[str, int]:
        """Id to its place in ``ids``."""
        return {one: i for i, one in enumerate(self.ids)}

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the entries in their order."""
        digest = hashlib.sha256()
        for name, ids in self.entries():
            digest.update("\0".join((name, *sorted(ids))).encode() + b"\n")
        return digest.hexdigest()


@dataclass(frozen=True)
class LinkingDataset:
    """Mentions to link to a dictionary.

    Attributes:
        name: What it is called in tables, e.g. ``ncbi-disease``.
        mentions: By split (``train``, ``dev``, ``test``, or ``all`` where there are none), in the order of the file.
        dictionary: What they are linked to.
        source: License and version.
        documents: Text of each document by its id, for steps that read the context; empty where there is none.
        steps: Names of the preparation steps that were taken, in their order.
        tallies: What became of the rows of each file or step.
    """

    name: str
    mentions: Mapping[str, tuple[Mention, ...]]
    dictionary: LinkingDictionary
    source: SourceInfo
    documents: Mapping[str, str] = field(default_factory=dict)
    steps: tuple[str, ...] = ()
    tallies: Mapping[str, Tally] = field(default_factory=dict)

    def split(self, name: str) -> tuple[Mention, ...]:
        """The mentions of a split.

        Raises:
            InputError: There is no such split.
        """
        if name not in self.mentions:
            raise InputError(f"{self.name}: no split {name!r}; there are {', '.join(map(repr, self.mentions))}")
        return self.mentions[name]

    def missing(self, split: str) -> list[str]:
        """Gold ids of a split that the dictionary does not have, sorted."""
        gold = {one for mention in self.split(split) for one in mention.ids}
        return sorted(gold - self.dictionary.id_index.keys())
