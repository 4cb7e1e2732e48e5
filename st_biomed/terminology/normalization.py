"""Names after a normalizer, so that those an encoder cannot tell apart are one text."""

from __future__ import annotations

from collections.abc import Iterator

from st_biomed.readers._normalizers import normalize
from st_biomed.records import Record, Rows
from st_biomed.terminology.build import assemble
from st_biomed.terminology.stages import with_stage
from st_biomed.terminology.terminology import Terminology


def normalized(terminology: Terminology, normalizer: str) -> Terminology:
    """The terminology with every name normalized; definitions stay as they are.

    Names that become equal are one text. Within one concept they are counted as repeated; across concepts the text is
    ambiguous, and a loss with a lookup treats it so. Otherwise an encoder that lower-cases its input would be trained with
    ``Zorb`` and ``zorb`` as two names, and as negatives if their concepts differ.

    Args:
        normalizer: A key of ``NORMALIZERS``: ``none``, ``lower`` or ``coder``.

    Raises:
        InputError: Another normalizer.
    """

    def records() -> Iterator[Record]:
        for record in terminology.records():
            if isinstance(record, Rows) and record.table == "terms":
                record = Rows("terms", {**record.columns, "text": normalize(record.columns["text"], normalizer)})
            yield record

    if normalizer == "none":
        return terminology
    sources = terminology.sources
    made = Terminology(*assemble(records(), next(iter(sources.values())), sources))
    tally = made.tallies["records"]
    tally.note(f"{terminology.n_texts - made.n_texts:,} texts became equal to another one")
    made.tallies = with_stage(terminology.tallies, f"normalize {normalizer}", tally)
    made.readings = terminology.readings
    return made
