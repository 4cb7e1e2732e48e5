"""The languages and sources of the names of an index: every name of a concept has the set of those it comes from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from st_biomed.errors import InputError

if TYPE_CHECKING:
    from st_biomed.terminology import Terminology

ORIGINS = "origins.parquet"


class Origin(NamedTuple):
    """A language and a source that have a name of a concept."""

    language: str
    source: str


class Origins(NamedTuple):
    """The origins of E entries, an entry being a name of a concept. Few distinct sets serve millions of entries.

    Attributes:
        sets: The distinct sets of origins.
        of_entry: The set of each entry, int32 ``[E]``.
    """

    sets: list[tuple[Origin, ...]]
    of_entry: np.ndarray

    @classmethod
    def of(cls, terminology: Terminology) -> Origins:
        """The origins of a terminology's names, in the order of its ``text_concepts``."""
        terms = terminology.terms
        entry = terms["text"].to_numpy().astype(np.int64) * terminology.n_concepts + terms["concept"].to_numpy()
        language, source = (terms[name].combine_chunks().dictionary_encode() for name in ("language", "source"))
        pair = language.indices.to_numpy().astype(np.int64) * len(source.dictionary) + source.indices.to_numpy()
        pairs = [
            Origin(language_name, source_name)
            for language_name in language.dictionary.to_pylist()
            for source_name in source.dictionary.to_pylist()
        ]
        order = np.lexsort((pair, entry))
        entry, pair = entry[order], pair[order]
        starts = np.flatnonzero(np.r_[True, entry[1:] != entry[:-1]])[: len(entry)]
        ends = np.r_[starts[1:], len(entry)].tolist()
        flat, place = pair.tolist(), dict[tuple[int, ...], int]()
        keys = (tuple(dict.fromkeys(flat[start:end])) for start, end in zip(starts.tolist(), ends))
        of_entry = np.fromiter((place.setdefault(key, len(place)) for key in keys), dtype=np.int32, count=len(starts))
        return cls([tuple(sorted(pairs[pair_id] for pair_id in key)) for key in place], of_entry)

    def having(self, languages: Sequence[str] | None, sources: Sequence[str] | None) -> np.ndarray:
        """Entries that one of some sources has in one of some languages, boolean ``[E]``.

        Args:
            languages: The languages; ``None`` for all.
            sources: The sources; ``None`` for all.
        """
        chosen = [
            any(
                (languages is None or origin.language in languages) and (sources is None or origin.source in sources)
                for origin in origins
            )
            for origins in self.sets
        ]
        return np.array(chosen, dtype=bool)[self.of_entry]

    def named(self, field: str) -> list[str]:
        """The distinct values of ``language`` or ``source``, sorted."""
        return sorted({getattr(origin, field) for origins in self.sets for origin in origins})

    def words(self) -> Iterator[str]:
        """The sets as text, for a digest."""
        for origins in self.sets:
            yield from (word for origin in origins for word in origin)
            yield "\n"

    # ------------------------------------------------------------------ on disk

    @staticmethod
    def save(origins: Origins | None, folder: Path) -> None:
        """Write the sets as :data:`ORIGINS`; without origins, an empty table."""
        sets = [] if origins is None else origins.sets
        columns = {
            field: [[getattr(origin, field) for origin in origins] for origins in sets] for field in Origin._fields
        }
        kind = pa.list_(pa.string())
        pq.write_table(pa.table({name: pa.array(lists, kind) for name, lists in columns.items()}), folder / ORIGINS)

    @staticmethod
    def load(folder: Path, of_entry: np.ndarray) -> Origins:
        """The origins of some entries.

        Raises:
            InputError: A missing or damaged file.
        """
        try:
            table = pq.read_table(folder / ORIGINS)
        except (OSError, pa.ArrowInvalid) as error:
            raise InputError(f"{folder / ORIGINS}: missing or damaged; build the index again") from error
        lists = zip(table["language"].to_pylist(), table["source"].to_pylist())
        return Origins([tuple(map(Origin, *both)) for both in lists], of_entry)
