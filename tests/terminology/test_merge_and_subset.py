"""Terminologies united and cut: equal codes and strings meet, and tables are renumbered."""

from __future__ import annotations

import numpy as np
import pytest

from st_biomed.errors import InputError
from st_biomed.hierarchy import Hierarchy
from st_biomed.records import Parent, Relation, SourceInfo, Term, Type
from st_biomed.terminology import Terminology
from st_biomed.terminology.normalization import normalized
from tests.terminology.rhinitis import SOURCE, content


def test_merge_unites_equal_codes_and_strings_in_any_order(terminology: Terminology) -> None:
    more = Terminology.from_records([Term("S:1", "chill", "synonym"), Term("S:3", "cold")], SOURCE)
    merged = Terminology.merge(terminology, more)
    assert merged.n_concepts == terminology.n_concepts + 1
    assert merged.concept_names("S:1") == ["chill", "cold", "freddo", "low temperature"]
    assert len(merged.text_concepts.row(merged.strings.index("cold"))) == 3
    assert Terminology.merge(more, terminology).digest == merged.digest
    assert Terminology.merge(terminology, terminology).digest == terminology.digest
    assert set(merged.tallies) == {"records of O, S", "records of S", "merge"}


def test_a_second_stage_of_one_name_does_not_replace_the_first(terminology: Terminology) -> None:
    """Catches counts of dropped rows that are lost when a terminology is cut, normalized or merged again."""
    more, other = (Terminology.from_records([Term(f"{n}:1", n)], SourceInfo(n, n)) for n in "XY")
    part = terminology.subset(types=["disorder"]).subset(languages=["en"]).without_cycles().without_cycles()
    assert [*part.tallies] == ["records", "subset", "subset (2)", "without cycles", "without cycles (2)"]
    assert part.tallies["subset (2)"].n_read < part.tallies["subset"].n_read
    twice = normalized(normalized(Terminology.merge(Terminology.merge(terminology, more), other), "lower"), "lower")
    stages = ("merge", "merge (2)", "normalize lower", "normalize lower (2)")
    assert twice.tallies.keys() >= {*stages}
    assert twice.tallies["merge"].n_read < twice.tallies["merge (2)"].n_read


def test_a_former_code_of_no_source_adds_none() -> None:
    """Catches the prefix of a code taken for a source that nobody describes."""
    named = Terminology.from_records([Term("X:1", "chill"), Term("X:2", "cold")], SOURCE)
    assert list(Terminology.merge(named, codes={"X:1": "X:2"}).sources) == [SOURCE.name]


def test_subset_finds_a_concept_by_a_code_that_a_merge_replaced() -> None:
    records = [Term("S:1", "chill"), Term("S:2", "cold"), Term("S:3", "icy cold"), Parent("S:3", "S:2")]
    merged = Terminology.merge(Terminology.from_records(records, SOURCE), codes={"S:2": "S:1"})
    assert merged.subset(codes=["S:2"]).codes == ["S:1"]
    assert merged.subset(below=["S:2"]).codes == ["S:1", "S:3"]


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
        ({"concepts": ["S:1"]}, r"subset: concepts are indices or a mask, found <U3; codes are given with codes="),
        ({"concepts": [0.5]}, r"subset: concepts are indices or a mask, found float64"),
        ({"texts": np.ones(4, dtype=bool)}, r"subset: texts mask has shape \(4,\), expected \(5,\)"),
        ({"languages": ["fr"]}, r"subset: no term has language 'fr'; there are \['en', 'it'\]"),
        ({"sources": ["X"]}, r"subset: no term has source 'X'; there are \['O', 'S'\]"),
        ({"languages": ["it"], "sources": ["O"]}, r"subset: no term is left"),
    ],
)
def test_subset_refuses_what_is_not_there(terminology: Terminology, condition: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        terminology.subset(**condition)


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


def test_what_is_no_terminology_is_not_merged():
    """Catches a list of terminologies that comes back as it is."""
    with pytest.raises(InputError, match="^each argument of merge must be a Terminology, found list$"):
        Terminology.merge([Terminology.read("toy")])
    with pytest.raises(InputError, match="^codes must be a Mapping, found list$"):
        Terminology.merge(Terminology.read("toy"), codes=["TOY:1"])  # type: ignore[arg-type]


def test_an_empty_terminology_has_no_code():
    with pytest.raises(InputError, match="no concept has code 'A:1'; the terminology is empty"):
        Terminology.from_records([], SourceInfo("S", "S")).concept("A:1")
