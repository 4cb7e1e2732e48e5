"""Records of entity linking: mentions, their concepts, and the names of the dictionary."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import numpy as np

from st_biomed.csr import CSR
from st_biomed.errors import InputError, check_several
from st_biomed.records import SourceInfo, Tally
from st_biomed.terminology import Terminology


@dataclass(frozen=True, slots=True)
class Mention:
    """An annotated mention, and the strings that are looked up for it.

    Attributes:
        gold: Its concepts: one set of alternative ids for each group of the annotation. There are several groups if
            the file separates them (``|`` of a composite mention, ``+`` of a concept with several ids), and none if
            the annotator found no concept.
        parts: The strings to look up: ``text``, or several strings after a composite mention was split.
        document: Id of the document; empty if there is none.
        start: Offset of the first character in the document; -1 if it is unknown.
        end: Offset after the last character.
        type: Type of the entity, e.g. ``SpecificDisease``.
        expansion: The long form in the mention's document if ``text`` is (or contains) an abbreviation.
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
        check_several("parts", self.parts)
        check_several("gold", self.gold)
        for ids in self.gold:
            check_several("gold: the ids of a part", ids)
        if not self.parts:
            object.__setattr__(self, "parts", (self.text,))

    @property
    def ids(self) -> frozenset[str]:
        """All gold ids together."""
        return frozenset().union(*self.gold)

    @property
    def is_abbreviation(self) -> bool:
        """Whether ``text`` has the form of an abbreviation: figures are reported for these and for the others.

        It has two to ten characters and at most two words (Schwartz and Hearst's conditions on a short form), at
        least two capitals, and no more small letters than capitals. The document is not used, so the same mentions are
        abbreviations before and after any step of preparation.
        """
        capitals, small = sum(map(str.isupper, self.text)), sum(map(str.islower, self.text))
        return 2 <= len(self.text) <= 10 and len(self.text.split()) <= 2 and capitals >= max(2, small)


class LinkingDictionary:
    """Names and their ids: N entries, in an order that decides ties.

    Args:
        names: The name of each entry, ``[N]``; several entries may have the same name.
        ids: Distinct ids, ``[I]``.
        entry_ids: Entry to its ids, by their index in ``ids``: N rows.

    Attributes:
        names, ids, entry_ids: As given.
    """

    def __init__(self, names: list[str], ids: list[str], entry_ids: CSR) -> None:
        if len(names) != entry_ids.n_rows:
            raise InputError(f"dictionary: {len(names)} names, but ids for {entry_ids.n_rows} entries")
        if len(set(ids)) != len(ids):
            twice = next(id_ for id_, n in Counter(ids).items() if n > 1)
            raise InputError(f"dictionary: ids must be distinct, found {twice!r} twice")
        self.names, self.ids, self.entry_ids = names, ids, entry_ids

    @classmethod
    def from_entries(cls, entries: Iterable[tuple[str, Iterable[str]]]) -> LinkingDictionary:
        """A dictionary from the name and the ids of each entry.

        Raises:
            InputError: There are no entries, an entry without a name or without an id, or one string in place of ids.
        """
        names: list[str] = []
        place: dict[str, int] = {}
        rows: list[int] = []
        columns: list[int] = []
        for name, ids in entries:
            if isinstance(ids, str):
                raise InputError(
                    f"dictionary: the ids of entry {len(names) + 1}: expected a list of strings, found {ids!r}"
                )
            before = len(columns)
            columns.extend(place.setdefault(id_, len(place)) for id_ in ids)
            if not name or len(columns) == before:
                raise InputError(f"dictionary: entry {len(names) + 1} {name!r} has no {'ids' if name else 'name'}")
            rows.extend([len(names)] * (len(columns) - before))
            names.append(name)
        if not names:
            raise InputError("dictionary: is empty, expected at least one name with an id")
        table = CSR.from_pairs(np.array(rows), np.array(columns, dtype=np.int64), len(names))
        return cls(names, list(place), table)

    @classmethod
    def from_terminology(cls, terminology: Terminology) -> LinkingDictionary:
        """Every text of a terminology with the codes of its concepts; equal names are already one entry.

        A concept without a name is no id.
        """
        entry_concepts = terminology.text_concepts
        if not terminology.n_nameless:
            return cls(terminology.strings, terminology.codes, entry_concepts)
        place = np.cumsum(terminology.has_name) - 1
        ids = [code for code, has_name in zip(terminology.codes, terminology.has_name) if has_name]
        return cls(terminology.strings, ids, CSR(entry_concepts.indptr, place[entry_concepts.indices]))

    def __len__(self) -> int:
        return len(self.names)

    def entries(self) -> Iterator[tuple[str, list[str]]]:
        """Name and ids of every entry, in order; for many entries, much faster than :meth:`entry`."""
        indices = self.entry_ids.indices.tolist()
        for name, (start, end) in zip(self.names, pairwise(self.entry_ids.indptr.tolist())):
            yield name, [self.ids[i] for i in indices[start:end]]

    def entry(self, i: int) -> tuple[str, frozenset[str]]:
        """Name and ids of an entry."""
        return self.names[i], frozenset(self.ids[place] for place in self.entry_ids.row(i))

    @cached_property
    def id_index(self) -> Mapping[str, int]:
        """Id to its index in ``ids``."""
        return {id_: i for i, id_ in enumerate(self.ids)}

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
        name: Its name in tables, e.g. ``ncbi-disease``.
        mentions: Mentions by split (``train``, ``dev``, ``test``, or ``all`` if there are none), in the order of the
            file.
        source: License and version.
        documents: Text of each document by its id, for steps that read the context; empty if there is none.
        steps: Names of the applied preparation steps, in order.
        tallies: Counts of the rows of each file or step.
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
            raise InputError(f"{self.name}: no split {name!r}; available are {', '.join(map(repr, self.mentions))}")
        return self.mentions[name]

    def missing(self, split: str) -> list[str]:
        """The sorted gold ids of a split that the dictionary does not have."""
        gold = {id_ for mention in self.split(split) for id_ in mention.ids}
        return sorted(gold - self.dictionary.id_index.keys())
