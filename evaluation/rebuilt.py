"""Terminologies with other tables, for the controls of experiments."""

from __future__ import annotations

import pyarrow as pa

from st_biomed.terminology import Terminology


def rebuilt(terminology: Terminology, **tables: pa.Table) -> Terminology:
    """The terminology with some of its tables replaced and read again, so that repeated rows and pairs of a concept with itself are left out."""
    replaced = Terminology(
        {**terminology.tables, **tables}, terminology.sources, terminology.tallies, terminology.readings
    )
    return Terminology.from_records(replaced.records(), next(iter(terminology.sources.values())))
