"""The columnar terminology: indices, ambiguity, its digest, and how it is read and looked into."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from st_biomed.errors import InputError
from st_biomed.hierarchy import Hierarchy
from st_biomed.records import (
    COLUMNS,
    FORMER_CODE,
    TABLE_OF,
    Definition,
    Parent,
    Record,
    Relation,
    Rows,
    SourceInfo,
    Tally,
    Term,
    Type,
    Xref,
)
from st_biomed.terminology import Terminology
from st_biomed.terminology.distinct_rows import distinct_rows
from tests.terminology.rhinitis import OTHER, RECORDS, SOURCE, content


def test_a_source_is_opened_with_options() -> None:
    """Catches a number that stays text, and a question mark read as part of the path."""
    assert Terminology.open("toy?trees=2&branching=3").digest == Terminology.read("toy", trees=2, branching=3).digest
    with pytest.raises(InputError, match="option trees must be a number like"):
        Terminology.open("toy?trees=two")
    with pytest.raises(InputError, match="option must have the form key=value, found ''"):
        Terminology.open("toy?")


@pytest.mark.parametrize(("n", "shown"), [(6, "S0, S1, S2, S3, S4, S5: "), (9, "S0, S1, S2, S3, S4, S5 and 3 more: ")])
def test_the_text_of_a_union_names_six_sources(n: int, shown: str) -> None:
    """Catches a line of a log that lists all sources of a union, and "and 0 more"."""
    records = [Term(f"S{i}:1", f"flumpa {i}", source=f"S{i}") for i in range(n)]
    assert repr(Terminology.from_records(records, SourceInfo("S0", "Zorb"))).startswith(
        f"Terminology({shown}{n} concepts,"
    )


def test_codes_and_strings_are_sorted_and_distinct(terminology: Terminology) -> None:
    """Catches indices by order of appearance: two reads of one source would disagree."""
    assert terminology.codes == ["O:1", "S:1", "S:10", "S:2"]
    assert terminology.strings == ["acute rhinitis", "cold", "freddo", "illness", "low temperature"]
    assert (terminology.n_concepts, terminology.n_texts, len(terminology)) == (4, 5, 4)


def test_rows_point_at_codes_and_strings(terminology: Terminology) -> None:
    """Catches a column that indexes the wrong table."""
    assert content(terminology) == {SOURCE, *_with_source(RECORDS)}


def test_ambiguous_strings_are_one_text_with_several_concepts(terminology: Terminology) -> None:
    """Catches a text per (concept, string): "cold" would be its own negative."""
    cold = terminology.strings.index("cold")
    assert [terminology.codes[c] for c in terminology.text_concepts.row(cold)] == ["S:1", "S:2"]
    assert [terminology.strings[t] for t in terminology.ambiguous_texts] == ["cold", "illness"]
    assert terminology.concept_names("S:1") == ["cold", "freddo", "low temperature"]


def test_preferred_text_is_the_preferred_term_else_the_shortest() -> None:
    records = [
        Term("S:1", "aa", "synonym"),
        Term("S:1", "zz"),
        Term("S:2", "long name", "synonym"),
        Term("S:2", "nm", "synonym"),
    ]
    terminology = Terminology.from_records(records, SOURCE)
    assert [terminology.strings[t] for t in terminology.preferred_texts] == ["zz", "nm"]


def test_the_preferred_text_of_a_merged_concept_is_english() -> None:
    """Catches a title that becomes the translation because its letters come first."""
    english, italian = (
        Terminology.from_records([Term("S:1", text, "preferred", language)], SOURCE)
        for text, language in (("flumpa disease", "en"), ("alfa", "it"))
    )
    merged = Terminology.merge(italian, english)
    assert [merged.strings[t] for t in merged.preferred_texts] == ["flumpa disease"]


def test_without_cycles_drops_the_edges_of_a_cycle_and_counts_them() -> None:
    """Catches edges beside the cycle that go with it, and a hierarchy that is refused still."""
    edges = [("1", "0"), ("2", "1"), ("3", "2"), ("1", "3"), ("4", "3"), ("5", "1"), ("6", "7"), ("7", "6")]
    records = [Term(f"S:{i}", f"name {i}") for i in range(8)]
    records += [Parent(f"S:{child}", f"S:{parent}") for child, parent in edges]
    part = Terminology.from_records(records, SOURCE).without_cycles()
    kept = [(row["child"], row["parent"]) for row in part.parents.to_pylist()]
    assert kept == [(1, 0), (4, 3), (5, 1)]
    assert part.tallies["without cycles"].dropped == {"parents on a cycle": 5}
    assert part.tallies["without cycles"].adds_up()
    assert part.n_concepts == 8
    assert Hierarchy(part).depth.tolist() == [0, 1, 0, 0, 1, 2, 0, 0]


def test_order_and_repetition_of_records_do_not_matter(terminology: Terminology) -> None:
    """Catches anything that remembers the order of its input."""
    shuffled = RECORDS * 2
    random.Random(0).shuffle(shuffled)
    again = Terminology.from_records(shuffled, SOURCE)
    assert again.digest == terminology.digest
    assert again.tallies["records"].dropped == {
        "repeated terms": 7,
        "repeated parents": 2,
        "repeated relations": 1,
        "repeated types": 2,
        "repeated xrefs": 2,
        "repeated definitions": 3,
    }


@pytest.mark.parametrize(
    "change",
    [
        [Term("S:1", "chill", "synonym")],
        [Term("S:1", "cold", "preferred")],
        [Parent("S:1", "S:10")],
        [Relation("S:1", "worse_in", "S:2")],
        [Type("S:1", "disorder")],
        [Xref("S:1", "Z:9")],
        [Definition("S:1", "Another one.")],
        [Definition("S:2", "A common viral infection of the nose.", "it")],
        [Definition("S:2", "A common viral infection of the nose.", source="O")],
        [SourceInfo("O", "Other", version="3", license="secret")],
    ],
)
def test_digest_changes_with_every_part_of_the_content(terminology: Terminology, change: list[Record]) -> None:
    """Catches a table that the digest forgets."""
    assert Terminology.from_records(RECORDS + change, SOURCE).digest != terminology.digest


def test_what_points_nowhere_is_dropped_and_counted() -> None:
    """Catches silent loss: the tally says what went and why, and adds up."""
    records = [
        Term("S:1", " cold "),
        Term("S:1", "  "),
        Parent("S:1", "S:9"),
        Parent("S:1", "S:1"),
        Relation("S:1", "worse_in", "S:1"),
        Type("S:9", "x"),
        Xref("S:9", "Z:1"),
        Definition("S:9", "Not there."),
        Definition("S:1", " \n "),
    ]
    terminology = Terminology.from_records(records, SOURCE)
    tally = terminology.tallies["records"]
    assert terminology.strings == ["cold"]
    assert tally.adds_up()
    assert tally.dropped == {
        "empty terms": 1,
        "parents equal to their child": 1,
        "relations of a concept to itself": 1,
        "parents of a concept without a term": 1,
        "types of a concept without a term": 1,
        "xrefs of a concept without a term": 1,
        "definitions of a concept without a term": 1,
        "empty definitions": 1,
    }


def test_only_sources_that_rows_come_from_are_listed() -> None:
    """Catches a reader's placeholder source, which would make a release look non-redistributable."""
    records = [OTHER, Term("O:1", "illness", source="O")]
    assert list(Terminology.from_records(records, SOURCE).sources) == ["O"]


# ---------------------------------------------------------------- reading and looking


def test_reading_keeps_the_reader_s_tally() -> None:
    terminology = Terminology.read("toy", trees=1, depth=1)
    assert list(terminology.tallies) == ["toy rows", "records"]
    assert terminology.tallies["toy rows"].n_read == terminology.terms.num_rows


def test_unknown_reader_and_option_are_named_with_the_nearest() -> None:
    with pytest.raises(InputError, match=r"unknown reader 'toys': allowed are .*did you mean 'toy'"):
        Terminology.read("toys")
    with pytest.raises(InputError, match="reader 'toy': trees must be a whole number, found '2'"):
        Terminology.read("toy", trees="2")
    with pytest.raises(InputError, match=r"unknown option of reader 'toy' 'deep': .*did you mean 'depth'"):
        Terminology.read("toy", deep=1)


def test_a_table_without_rows_is_refused(tmp_path: Path) -> None:
    """Catches an empty terminology that fails much later."""
    (tmp_path / "s.csv").write_text("code,string\n")
    with pytest.raises(InputError, match=r"s.csv: no term was read \(0 read"):
        Terminology.read("parent_child", tmp_path / "s.csv")


def test_an_unknown_code_is_an_error_with_an_example(terminology: Terminology) -> None:
    for code in ("S:11", "A:0", "Z:9"):
        with pytest.raises(InputError, match=f"no concept has code '{code}'; codes look like 'O:1'"):
            terminology.concept(code)
    for code in ("1", "o:1", "Z:1"):
        with pytest.raises(InputError, match=f"no concept has code '{code}'; did you mean 'O:1'"):
            terminology.concept(code)
        with pytest.raises(InputError, match=f"^subset: no concept has code '{code}'; did you mean 'O:1'"):
            terminology.subset(codes=["O:1", code])


def test_stats_count_what_is_there(terminology: Terminology) -> None:
    stats = terminology.stats()
    assert {name: stats[name] for name in ("concepts", "texts", "terms", "parents", "relations", "types")} == {
        "concepts": 4,
        "texts": 5,
        "terms": 7,
        "parents": 2,
        "relations": 1,
        "types": 2,
    }
    assert (stats["definitions"], stats["concepts with a definition"]) == (3, 2)
    assert stats["concepts with synonyms"] == 2
    assert stats["ambiguous texts"] == 2
    assert stats["terms by language"] == {"en": 6, "it": 1}


def test_cross_references_of_a_prefix_by_code() -> None:
    """Catches codes of ICD10CM among those of ICD10, a predicate that is not asked for, and merged codes that are lost."""
    xrefs = [("Z:1", "ICD10:B", "xref"), ("Z:1", "ICD10:A", "mapsTo"), ("Z:1", "ICD10CM:C", "xref")]
    xrefs += [("Z:2", "ICD10:B", "xref"), ("Z:3", "ICD10:Q", FORMER_CODE)]
    records = [*(Term(code, f"zorb {code}") for code in ("Z:1", "Z:2", "Z:3", "Z:4", "ICD10:V"))]
    terminology = Terminology.from_records([*records, *(Xref(*row) for row in xrefs)], SOURCE)
    assert terminology.cross_references("ICD10") == {
        "ICD10:V": ["ICD10:V"],
        "Z:1": ["ICD10:A", "ICD10:B"],
        "Z:2": ["ICD10:B"],
        "Z:3": ["ICD10:Q"],
    }
    assert terminology.cross_references("ICD10", ["mapsTo"]) == {"Z:1": ["ICD10:A"]}
    with pytest.raises(InputError, match="unknown prefix of codes 'ICD9': allowed are 'ICD10', 'ICD10CM', 'Z'"):
        terminology.cross_references("ICD9")
    with pytest.raises(InputError, match="unknown predicate 'maps'"):
        terminology.cross_references("ICD10", ["maps"])
    for predicates in ("mapsTo", []):
        with pytest.raises(InputError, match="predicates: expected a list of predicates, found"):
            terminology.cross_references("ICD10", predicates)


def test_tally_survives_json_and_prints_its_reasons() -> None:
    tally = Tally()
    tally.read(3)
    tally.keep()
    tally.drop("too long", 2)
    tally.drop("never", 0)
    assert tally.adds_up()
    assert Tally.from_dict(tally.to_dict()).to_dict() == tally.to_dict()
    assert str(tally) == "3 read, 1 kept, 2 dropped; 2 too long"


def _with_source(records: list[Record]) -> list[Record]:
    """The records with the default source spelled out, as the tables have it."""
    return [
        r._replace(source=r.source or SOURCE.name) if hasattr(r, "_fields") and "source" in r._fields else r
        for r in records
    ]


def test_columns_of_records_give_what_single_records_give(terminology: Terminology) -> None:
    """Catches a table that is assembled otherwise from columns, with and without dictionaries."""
    for encode in (False, True):
        rows: list[Record] = [OTHER]
        for kind, table in TABLE_OF.items():
            records = [record for record in RECORDS if isinstance(record, kind)]
            if not records:
                continue
            columns = {name: pa.array(column) for name, column in zip(COLUMNS[table], zip(*records))}
            if encode:
                columns = {name: column.dictionary_encode() for name, column in columns.items()}
            rows.append(Rows(table, columns))
        again = Terminology.from_records(rows, SOURCE)
        assert again.digest == terminology.digest
        assert again.tallies["records"].to_dict() == terminology.tallies["records"].to_dict()


@pytest.mark.parametrize("large", [False, True])
def test_rows_sort_alike_packed_or_not(large: bool) -> None:
    """Catches an overflow where sizes are too large for one integer."""
    rng = np.random.default_rng(0)
    columns = [rng.integers(0, 5, 400).astype(np.int32) for _ in range(3)]
    found = distinct_rows(columns, [2**21 + large] * 3)
    assert list(zip(*(column.tolist() for column in found))) == sorted(set(zip(*(c.tolist() for c in columns))))
