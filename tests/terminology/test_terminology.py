"""The columnar terminology: indices, ambiguity, merging, cutting, storing, and its digest."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from st_biomed import __version__
from st_biomed.errors import InputError
from st_biomed.hierarchy import Hierarchy
from st_biomed.readers import Definition, Parent, Record, Relation, Rows, SourceInfo, Tally, Term, Type, Xref
from st_biomed.records import COLUMNS, TABLE_OF
from st_biomed.terminology import Terminology
from st_biomed.terminology.build import _distinct

SOURCE = SourceInfo("S", "Source", license="CC0-1.0", redistributable=True)
OTHER = SourceInfo("O", "Other", version="2", license="secret")

RECORDS: list[Record] = [
    Term("S:2", "cold"),
    Term("S:2", "acute rhinitis", "synonym"),
    Term("S:1", "low temperature"),
    Term("S:1", "cold", "synonym"),
    Term("S:1", "freddo", "synonym", "it"),
    Term("S:10", "illness"),
    OTHER,
    Term("O:1", "illness", source="O"),
    Parent("S:2", "S:10"),
    Parent("O:1", "S:10", source="O"),
    Relation("S:2", "worse_in", "S:1"),
    Type("S:2", "disorder"),
    Type("O:1", "disorder"),
    Xref("S:2", "Z:9", "exactMatch"),
    Xref("S:2", "Z:10"),
    Definition("S:2", "A common viral infection of the nose."),
    Definition("S:2", "Infezione virale del naso.", "it", "O"),
    Definition("S:1", "A state with less heat than is usual."),
]


@pytest.fixture
def terminology() -> Terminology:
    return Terminology.from_records(RECORDS, SOURCE)


def content(terminology: Terminology) -> set[Record]:
    return set(single(terminology.records()))


def single(records: Iterable[Record]) -> Iterator[Record]:
    for record in records:
        yield from record.one_by_one() if isinstance(record, Rows) else [record]


def test_a_source_is_opened_with_options() -> None:
    """Catches a number that stays text, and a question mark read as part of the path."""
    assert Terminology.open("toy?trees=2&branching=3").digest == Terminology.read("toy", trees=2, branching=3).digest
    with pytest.raises(InputError, match="option trees must be a number like"):
        Terminology.open("toy?trees=two")
    with pytest.raises(InputError, match="option must have the form key=value, found ''"):
        Terminology.open("toy?")


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


# ---------------------------------------------------------------- merge and subset


def test_merge_unites_equal_codes_and_strings_in_any_order(terminology: Terminology) -> None:
    more = Terminology.from_records([Term("S:1", "chill", "synonym"), Term("S:3", "cold")], SOURCE)
    merged = Terminology.merge(terminology, more)
    assert merged.n_concepts == terminology.n_concepts + 1
    assert merged.concept_names("S:1") == ["chill", "cold", "freddo", "low temperature"]
    assert len(merged.text_concepts.row(merged.strings.index("cold"))) == 3
    assert Terminology.merge(more, terminology).digest == merged.digest
    assert Terminology.merge(terminology, terminology).digest == terminology.digest
    assert set(merged.tallies) == {"records of O, S", "records of S", "merge"}


def test_merge_of_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="merge needs at least one terminology"):
        Terminology.merge()


def test_subset_of_everything_is_the_same_terminology(terminology: Terminology) -> None:
    everything = terminology.subset(np.ones(4, dtype=bool), languages=["en", "it"], sources=["S", "O"])
    assert everything.digest == terminology.digest


@pytest.mark.parametrize("as_mask", [False, True])
def test_subset_by_concepts_renumbers_all_tables(terminology: Terminology, as_mask: bool) -> None:
    """Catches old indices left in parents, relations or types."""
    wanted = np.array([terminology.concept("S:2"), terminology.concept("S:10")])
    part = terminology.subset(np.isin(np.arange(4), wanted) if as_mask else wanted)
    assert part.codes == ["S:10", "S:2"]
    assert part.strings == ["acute rhinitis", "cold", "illness"]
    assert {r for r in content(part) if isinstance(r, Parent)} == {Parent("S:2", "S:10", "S")}
    assert not [r for r in content(part) if isinstance(r, Relation)]
    assert part.definition_strings == ["A common viral infection of the nose.", "Infezione virale del naso."]
    assert {r for r in content(part) if isinstance(r, Type)} == {Type("S:2", "disorder")}
    tally = part.tallies["subset"]
    assert tally.adds_up()
    assert tally.dropped["relations of concepts outside the subset"] == 1


def test_subset_by_texts_languages_and_sources(terminology: Terminology) -> None:
    """Catches a concept that stays without any name."""
    italian = terminology.subset(languages=["it"])
    assert (italian.codes, italian.strings) == (["S:1"], ["freddo"])
    other = terminology.subset(sources=["O"])
    assert (other.codes, other.strings, other.parents.num_rows) == (["O:1"], ["illness"], 0)
    assert list(other.sources) == ["O"]
    without_cold = terminology.subset(texts=np.array([s != "cold" for s in terminology.strings]))
    assert "cold" not in without_cold.strings
    assert without_cold.n_concepts == 4


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ({"concepts": [4]}, r"subset: concepts go from 0 to 3, found 4 to 4"),
        ({"concepts": [-1]}, r"subset: concepts go from 0 to 3, found -1"),
        ({"texts": np.ones(4, dtype=bool)}, r"subset: texts mask has shape \(4,\), expected \(5,\)"),
        ({"languages": ["fr"]}, r"subset: no term has language 'fr'; there are \['en', 'it'\]"),
        ({"sources": ["X"]}, r"subset: no term has source 'X'; there are \['O', 'S'\]"),
        ({"languages": ["it"], "sources": ["O"]}, r"subset: no term is left"),
    ],
)
def test_subset_refuses_what_is_not_there(terminology: Terminology, condition: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        terminology.subset(**condition)


# ---------------------------------------------------------------- on disk


def test_a_saved_terminology_comes_back_whole(terminology: Terminology, tmp_path: Path) -> None:
    folder = terminology.save(tmp_path / "t")
    loaded = Terminology.load(folder, verify=True)
    assert content(loaded) == content(terminology)
    assert loaded.digest == terminology.digest
    assert loaded.stats() == terminology.stats()
    assert loaded.tallies["records"].to_dict() == terminology.tallies["records"].to_dict()


def test_saving_again_replaces_and_never_overwrites_anything_else(terminology: Terminology, tmp_path: Path) -> None:
    folder = terminology.save(tmp_path / "t")
    part = terminology.subset(languages=["it"])
    part.save(folder)
    assert Terminology.load(folder, verify=True).digest == part.digest
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("")
    with pytest.raises(InputError, match="has no terminology.json"):
        terminology.save(tmp_path / "full")
    with pytest.raises(InputError, match="is a file, expected a folder"):
        terminology.save(tmp_path / "full" / "thesis.tex")


def test_loading_names_what_is_wrong(terminology: Terminology, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such folder; expected a folder written by"):
        Terminology.load(tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"no terminology.json in it"):
        Terminology.load(tmp_path)
    folder = terminology.save(tmp_path / "t")
    terminology.subset(languages=["it"]).save(tmp_path / "part")
    (tmp_path / "part" / "texts.parquet").replace(folder / "texts.parquet")
    with pytest.raises(InputError, match="texts.parquet: truncated"):
        Terminology.load(folder, verify=True)
    header = folder / "terminology.json"
    header.write_text(header.read_text().replace('"format": 4', '"format": 3'))
    with pytest.raises(InputError, match="format 3, this version reads 4; read or save the terminology again"):
        Terminology.load(folder)


# ---------------------------------------------------------------- reading and looking


def test_reading_keeps_the_reader_s_tally() -> None:
    terminology = Terminology.read("toy", trees=1, depth=1)
    assert list(terminology.tallies) == ["toy rows", "records"]
    assert terminology.tallies["toy rows"].n_read == terminology.terms.num_rows


def test_unknown_reader_and_option_are_named_with_the_nearest() -> None:
    with pytest.raises(InputError, match=r"unknown reader 'toys': allowed are .*did you mean 'toy'"):
        Terminology.read("toys")
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
    found = _distinct(columns, [2**21 + large] * 3)
    assert list(zip(*(column.tolist() for column in found))) == sorted(set(zip(*(c.tolist() for c in columns))))


def test_a_save_that_fails_leaves_the_old_copy_whole(
    terminology: Terminology, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches half a folder left by a process that ends while it writes."""
    folder = terminology.save(tmp_path / "t")
    part = terminology.subset(languages=["it"])
    (tmp_path / ".t.draft-0123abcd").mkdir()
    with monkeypatch.context() as patch:
        patch.setattr("st_biomed.terminology.storage.pq.write_table", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            part.save(folder)
    assert Terminology.load(folder, verify=True).digest == terminology.digest
    assert [path.name for path in tmp_path.iterdir()] == ["t"]


def test_the_reading_is_remembered_without_folders(tmp_path: Path) -> None:
    """Catches options that nobody can look up later, and a person's folders in a file that is passed on."""
    (tmp_path / "strings.csv").write_text("code,string\nA,flu\nB,cold\n")
    (tmp_path / "map.csv").write_text("parent,child\nA,B\n")
    read = Terminology.read("parent_child", tmp_path / "map.csv", strings=str(tmp_path / "strings.csv"), name="X")
    options = {"strings": "strings.csv", "name": "X"}
    expected = [{"reader": "parent_child", "path": "map.csv", "options": options, "version": __version__}]
    loaded = Terminology.load(read.save(tmp_path / "saved"))
    assert loaded.readings == expected
    assert loaded.subset(concepts=[0]).readings == expected
    assert Terminology.merge(loaded, Terminology.read("toy", trees=1)).readings[1]["options"] == {"trees": 1}


def test_subset_by_codes_types_and_sub_trees(terminology: Terminology) -> None:
    assert terminology.subset(codes=["S:1", "S:2"]).codes == ["S:1", "S:2"]
    assert terminology.subset(below=["S:10"]).codes == ["O:1", "S:10", "S:2"]
    assert terminology.subset(types=["disorder"]).codes == ["O:1", "S:2"]
    assert terminology.subset(types=["disorder"], below=["S:2"]).codes == ["S:2"]


def test_a_subset_that_loses_a_source_has_a_hierarchy() -> None:
    """Catches a column that remembers the values of rows that are gone."""
    records = [SourceInfo("A", "A"), SourceInfo("B", "B")]
    for source in "AB":
        records += [Term(f"S:{i}", f"{source} name {i}", "preferred", source=source) for i in range(3)]
        records += [Parent("S:1", "S:0", source), Parent("S:2", "S:0", source)]
    part = Terminology.from_records(records, SOURCE).subset(sources=["A"])
    assert Hierarchy(part).depth.tolist() == [0, 1, 1]
    assert part.tallies["subset"].dropped == {"terms of another source": 3, "parents of another source": 2}
    assert part.tallies["subset"].adds_up()


def test_who_owns_the_codes_stays_on_record() -> None:
    """Catches names of a licensed terminology that seem free because another source has them too."""
    records = [SourceInfo("A", "A", redistributable=True), Term("U:1", "flumpa", source="A"), Term("U:2", "x")]
    whole = Terminology.from_records(records, SourceInfo("U", "Licensed"))
    part = whole.subset(sources=["A"])
    assert set(part.sources) == {"A", "U"}
    assert set(Terminology.merge(part, Terminology.read("toy")).sources) == {"A", "U", "TOY"}
    free = Terminology.from_records(records[:2], SourceInfo("U", "Free", redistributable=True))
    assert set(free.sources) == {"A"}


def test_a_source_that_nobody_describes_may_not_be_redistributed() -> None:
    """Catches a release that is checked against no source at all."""
    part = Terminology.from_records([Term("S:1", "flumpa", source="UNKNOWN")], SourceInfo("T", "T"))
    assert part.sources["UNKNOWN"] == SourceInfo("UNKNOWN", "UNKNOWN", license="not stated")


@pytest.mark.parametrize("place", ["below a file", "beside a thesis"])
def test_nothing_but_a_terminology_is_replaced(terminology: Terminology, tmp_path: Path, place: str) -> None:
    """Catches somebody's own files that go with the terminology they lie beside."""
    (tmp_path / "file").write_text("x")
    if place == "below a file":
        with pytest.raises(InputError, match="file: is a file, expected a folder"):
            terminology.save(tmp_path / "file" / "deep" / "t")
        return
    folder = terminology.save(tmp_path / "t")
    (folder / "thesis.txt").write_text("mine")
    with pytest.raises(InputError, match=r"contains thesis.txt in addition to a terminology, which would be lost"):
        terminology.save(folder)
    assert (folder / "thesis.txt").read_text() == "mine"
    assert Terminology.load(folder, verify=True).digest == terminology.digest
