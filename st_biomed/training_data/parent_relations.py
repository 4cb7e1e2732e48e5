"""Parents of chosen sources as relations."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from st_biomed.records import Tally
from st_biomed.terminology import Terminology
from st_biomed.terminology.hierarchical_relations import PARENT_RELATIONS
from st_biomed.terminology.stages import with_stage
from st_biomed.training_data.chosen_sources import rows_of_sources


def with_parent_relations(terminology: Terminology, sources: Sequence[str]) -> Terminology:
    """The terminology with the parents of some sources as relations ``isa`` and ``inverse_isa`` too; parents stay.

    Two of HiPrBERT's 28 relations (section 4.2) are these. UMLS states them as REL = CHD and PAR, of which the reader
    makes parents.

    Args:
        sources: Names of sources, or prefixes of the codes of children (``UMLS`` for all of its vocabularies); empty
            for none.

    Raises:
        InputError: A source without a parent.
    """
    if not sources:
        return terminology
    kept = rows_of_sources(terminology, "parents", "child", sources, "source of relation_parents")
    parents, relations = terminology.parents.filter(pa.array(kept)), terminology.relations
    named, n_stated = pa.array(terminology.has_name), parents.num_rows
    for end in ("child", "parent"):
        parents = parents.filter(pc.take(named, parents[end]))
    added = [
        pa.table(
            {
                "head": parents[head],
                "relation": pa.array([name] * parents.num_rows, pa.string()),
                "tail": parents[tail],
                "source": parents["source"].cast(pa.string()),
            }
        )
        for name, (head, tail) in PARENT_RELATIONS.items()
    ]
    columns = {"head": pa.int32(), "relation": pa.string(), "tail": pa.int32(), "source": pa.string()}
    rows = pa.concat_tables([table.select(list(columns)).cast(pa.schema(columns)) for table in (relations, *added)])
    distinct = rows.group_by(list(columns)).aggregate([]).sort_by([(name, "ascending") for name in columns])
    tally = Tally()
    nameless = len(PARENT_RELATIONS) * (n_stated - parents.num_rows)
    tally.read(rows.num_rows + nameless)
    tally.drop("parents of a concept without a name", nameless)
    tally.drop("parents that are relations already", rows.num_rows - distinct.num_rows)
    tally.keep(distinct.num_rows)
    for place, name in enumerate(columns):
        if pa.types.is_dictionary(relations.schema.field(name).type):
            distinct = distinct.set_column(place, name, distinct[name].combine_chunks().dictionary_encode())
    tables = {**terminology.tables, "relations": distinct}
    stages = with_stage(terminology.tallies, "parent relations", tally)
    return Terminology(tables, terminology.sources, stages, terminology.readings)
