"""Relations that a benchmark measures, taken out of training."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from st_biomed.records import Tally
from st_biomed.terminology import Terminology


def without_relations(terminology: Terminology, sources: Collection[str]) -> Terminology:
    """The terminology without the relations of some sources; concepts, names and parents stay.

    A pair of concepts that such a source relates is held out in both directions, and of every source that relates it.

    Args:
        terminology: What is trained on.
        sources: Sources whose relations are held out; those without relations change nothing.
    """
    relations = terminology.relations
    heads, tails = (relations[name].to_numpy().astype(np.int64) for name in ("head", "tail"))
    pairs = np.minimum(heads, tails) * terminology.n_concepts + np.maximum(heads, tails)
    measured = pc.is_in(relations["source"], value_set=pa.array(sorted(sources), pa.string())).to_numpy()
    held_out = np.isin(pairs, pairs[measured])
    tally = Tally()
    tally.read(len(pairs))
    tally.drop("relations of pairs that are measured", int(held_out.sum()))
    tally.keep(int((~held_out).sum()))
    tables = {**terminology.tables, "relations": relations.filter(pa.array(~held_out))}
    tallies = {**terminology.tallies, "held-out relations": tally}
    return Terminology(tables, terminology.sources, tallies, terminology.readings)
