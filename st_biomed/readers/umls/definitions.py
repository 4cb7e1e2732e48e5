"""MRDEF: definitions of concepts by their vocabularies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from st_biomed.readers._columns import among
from st_biomed.readers._normalizers import single_spaced_column
from st_biomed.readers.umls.folder import MetaFolder, curies
from st_biomed.readers.umls.names import iso
from st_biomed.records import Rows


def read_definitions(
    folder: MetaFolder,
    known: np.ndarray,
    *,
    language_of: Mapping[str, str],
    sources: Sequence[str] | None,
    languages: Sequence[str] | None,
) -> Iterator[Rows]:
    """Read MRDEF, which does not state the language of a definition; it is that of its vocabulary.

    Args:
        known: Whether a concept has a kept name, boolean by number.
        language_of: SAB to LAT.
        sources: SAB of the definitions to keep; ``None`` for all.
        languages: LAT of the definitions to keep; ``None`` for all.
    """
    for block in folder.blocks("MRDEF", ("CUI", "SAB", "DEF", "SUPPRESS"), plain=("DEF",)):
        names = block["SAB"].dictionary.to_pylist()
        texts = single_spaced_column(block["DEF"])
        spoken = [name for name in names if name in language_of]
        keep = folder.filter_rows(
            "MRDEF",
            len(block["DEF"]),
            {
                "other sources": None if sources is None else among(block["SAB"], sources),
                "of a source of no known language": among(block["SAB"], spoken),
                "other languages": None
                if languages is None
                else among(block["SAB"], [name for name in spoken if language_of[name] in languages]),
                "suppressed": folder.not_suppressed(block["SUPPRESS"]),
                "empty definitions": pc.not_equal(texts, "").to_numpy(zero_copy_only=False),
            },
        )
        numbers = folder.numbers("MRDEF", block, "CUI")
        keep[keep] = folder.keep_known("MRDEF", known[numbers[keep]]).to_numpy(zero_copy_only=False)
        if not keep.any():
            continue
        source = block["SAB"].filter(pa.array(keep))
        language = iso(pa.array([language_of.get(name, "") for name in names], pa.string()))
        columns = {
            "code": curies(numbers[keep]),
            "text": texts.filter(pa.array(keep)),
            "language": pa.DictionaryArray.from_arrays(source.indices, language),
            "source": source,
        }
        yield Rows("definitions", columns)
