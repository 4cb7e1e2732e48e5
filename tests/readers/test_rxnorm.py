"""RxNorm: names by term type, relations in their direction, and other sources kept apart."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from st_biomed.errors import InputError
from st_biomed.hierarchy import Hierarchy
from st_biomed.readers import parse_options
from st_biomed.terminology import Terminology
from tests.contracts.reader_contract import FIXTURES, ReaderContract
from tests.readers.mutations import check_survives, mutated

FOLDER = FIXTURES / "rxnorm"
FILES = ("RXNCONSO.RRF", "RXNREL.RRF", "RXNSTY.RRF", "RXNSAB.RRF")


class TestRxNorm(ReaderContract):
    reader = "rxnorm"
    path = FOLDER
    options = {"sources": "all", "relations": "all", "keep_suppressed": True}
    of_sources = True


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The files in a folder of one's own, to be changed."""
    shutil.copytree(FOLDER / "rrf", tmp_path / "copy")
    return tmp_path / "copy"


def triples(terminology: Terminology) -> set[tuple[str, str, str]]:
    codes = [code.split(":")[1] for code in terminology.codes]
    return {(codes[r["head"]], r["relation"], codes[r["tail"]]) for r in terminology.relations.to_pylist()}


def preferred(terminology: Terminology, code: str) -> str:
    return terminology.strings[terminology.preferred_texts[terminology.concept(code)]]


def test_the_second_concept_of_a_row_is_the_head() -> None:
    """Catches triples read from left to right: an ingredient would have its drugs as ingredients."""
    assert triples(Terminology.read("rxnorm", FOLDER)) == {
        ("904", "consists_of", "903"),
        ("903", "has_ingredient", "901"),
        ("903", "has_precise_ingredient", "902"),
        ("902", "form_of", "901"),
        ("905", "has_part", "901"),
        ("905", "has_part", "909"),
    }


def test_isa_is_a_parent_whatever_relations_are_asked_for() -> None:
    """Catches the hierarchy turned round, or read from inverse_isa too."""
    for relations in ("", "all"):
        terminology = Terminology.read("rxnorm", FOLDER, relations=relations)
        rows = terminology.parents.to_pylist()
        assert [(terminology.codes[r["child"]], terminology.codes[r["parent"]]) for r in rows] == [
            ("RXNORM:904", "RXNORM:907")
        ]
    assert ("907", "inverse_isa", "904") in triples(terminology)


def edges(terminology: Terminology) -> set[tuple[str, str]]:
    codes = [code.split(":")[1] for code in terminology.codes]
    return {(codes[row["child"]], codes[row["parent"]]) for row in terminology.parents.to_pylist()}


def test_the_relations_of_hiprbert_make_a_hierarchy() -> None:
    """Catches an ingredient below its drugs, and a row that is a parent and a relation."""
    terminology = Terminology.read("rxnorm", FOLDER, parents="hiprbert")
    assert edges(terminology) == {
        ("904", "903"),
        ("903", "901"),
        ("903", "902"),
        ("902", "901"),
        ("905", "901"),
        ("905", "909"),
    }
    assert not terminology.relations.num_rows
    assert terminology.readings[0]["options"]["parents"] == [
        "consists_of",
        "has_precise_ingredient",
        "has_part",
        "has_ingredient",
        "form_of",
    ]
    depth = Hierarchy(terminology).depth
    assert [depth[terminology.concept(f"RXNORM:{code}")] for code in ("901", "902", "903", "904")] == [0, 1, 2, 3]


def test_parents_may_be_of_any_relations() -> None:
    """Catches ``isa`` that is always a parent, and relations that are lost where they are no parents."""
    some = Terminology.read("rxnorm", FOLDER, parents="isa,has_part")
    assert edges(some) == {("904", "907"), ("905", "901"), ("905", "909")}
    assert ("903", "has_ingredient", "901") in triples(some)
    none = Terminology.read("rxnorm", FOLDER, parents="", relations="isa")
    assert (edges(none), triples(none)) == (set(), {("904", "isa", "907")})
    options = parse_options("rxnorm", ["parents=isa,hiprbert"])
    assert len(edges(Terminology.read("rxnorm", FOLDER, **options))) == 7
    assert Terminology.read("rxnorm", FOLDER, parents="isa").digest == Terminology.read("rxnorm", FOLDER).digest


def test_preferred_name_goes_by_term_type_not_by_order() -> None:
    """Catches the first row as the title: a synonym or a prescribable name."""
    terminology = Terminology.read("rxnorm", FOLDER)
    assert preferred(terminology, "RXNORM:901") == "mimpicol"
    assert preferred(terminology, "RXNORM:904") == "mimpicol 5 MG Oral Flumpet"
    assert terminology.concept_names("RXNORM:904") == [
        'mimpicol 5 MG ("Flumpet")',
        "mimpicol 5 MG Oral Flumpet",
        "mimpicol 5 MG oral flumpet",
    ]


def test_own_names_alone_are_read_and_the_rest_is_counted() -> None:
    terminology = Terminology.read("rxnorm", FOLDER)
    assert "RXNORM:910" not in terminology.codes
    assert terminology.stats()["terms by language"] == {"en": 11, "es": 1}
    assert terminology.tallies["rxnorm rows"].dropped == {
        "names of other sources": 4,
        "suppressed names": 3,
        "names in other languages than English and Spanish": 1,
        "repeated names of a concept": 1,
        "relations of other sources": 1,
        "relations between single names": 1,
        "suppressed relations": 1,
        "relations not asked for": 5,
        "relations of a concept without a name": 1,
        "relations of a concept to itself": 1,
        "repeated relations": 1,
        "types of a concept without a name": 1,
        "repeated types": 1,
    }


def test_names_of_other_sources_may_not_be_redistributed() -> None:
    """Catches a licensed name under the public-domain source."""
    terminology = Terminology.read("rxnorm", FOLDER, sources="RXNORM,MTHSPL")
    own, other = terminology.sources["RXNORM"], terminology.sources["RXNORM_MTHSPL"]
    assert (own.redistributable, other.redistributable) == (True, False)
    assert (own.version, other.version) == ("31AA_310304F", "2031_03_02")
    names = [(terminology.strings[r["text"]], r["source"]) for r in terminology.terms.to_pylist()]
    assert {name for name, source in names if source != "RXNORM"} == {
        "MIMPICOL",
        "mimpicol",  # of both
        "TERKIN",
        "Pruglic gradtha extract",
    }
    assert ("910", "has_ingredient", "901") in triples(terminology)
    assert preferred(Terminology.read("rxnorm", FOLDER, sources=["MTHSPL", "RXNORM"]), "RXNORM:909") == "TERKIN"


def test_options_narrow_and_widen_what_is_read() -> None:
    named = Terminology.read("rxnorm", FOLDER, term_types="IN,BN", relations="has_part,tradename_of")
    assert named.codes == ["RXNORM:901", "RXNORM:906", "RXNORM:909"]
    assert triples(named) == {("906", "tradename_of", "901")}
    everything = Terminology.read("rxnorm", FOLDER, keep_suppressed=True)
    assert preferred(everything, "RXNORM:907") == "mimpicol Oral Flumpet"
    assert preferred(everything, "RXNORM:908") == "Drodthex"
    assert ("903", "has_ingredient", "909") in triples(everything)
    assert ("909", "SY", "901") in triples(Terminology.read("rxnorm", FOLDER, relations=["SY"]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sources": "RXNORM,MTHSLP"}, "unknown value of option sources .*'MTHSLP'.*did you mean 'MTHSPL'"),
        ({"term_types": "IN,BM"}, "unknown value of option term_types .*'BM': allowed are .*'BN'"),
    ],
)
def test_a_source_or_term_type_that_no_name_has_is_refused(options: dict[str, str], message: str) -> None:
    """Catches names that are left out without a word after a slip of the pen."""
    with pytest.raises(InputError, match=message):
        Terminology.read("rxnorm", FOLDER, **options)


def test_another_name_is_that_of_codes_and_of_every_source() -> None:
    """Catches rows of a release that cannot be told from those of RXNORM in UMLS."""
    usual, named = (
        Terminology.read("rxnorm", FOLDER, sources="all", relations="all", keep_suppressed=True, **more)
        for more in ({}, {"name": "RX"})
    )
    assert [code.replace("RXNORM:", "RX:") for code in usual.codes] == named.codes
    assert [name.replace("RXNORM", "RX") for name in usual.sources] == list(named.sources)
    for table in ("terms", "parents", "relations"):
        sources = getattr(usual, table)["source"].to_pylist()
        assert [name.replace("RXNORM", "RX") for name in sources] == getattr(named, table)["source"].to_pylist()
    with pytest.raises(InputError, match="name of reader 'rxnorm' must be letters, .* found 'R X'"):
        Terminology.read("rxnorm", FOLDER, name="R X")


def test_types_are_codes_of_the_semantic_network() -> None:
    terminology = Terminology.read("rxnorm", FOLDER)
    rows = [(terminology.codes[r["concept"]], r["type"]) for r in terminology.types.to_pylist()]
    assert rows == [("RXNORM:901", "T109"), ("RXNORM:901", "T121"), ("RXNORM:906", "T121")]


def test_gzipped_files_and_missing_extras_read_the_same(copy: Path) -> None:
    """Catches a file that is looked for in one form only."""
    for name in FILES[:2]:
        (copy / f"{name}.gz").write_bytes(gzip.compress((copy / name).read_bytes()))
        (copy / name).unlink()
    (copy / "RXNSTY.RRF").unlink()
    (copy / "RXNSAB.RRF").unlink()
    bare, whole = Terminology.read("rxnorm", copy), Terminology.read("rxnorm", FOLDER)
    assert (bare.codes, bare.strings, triples(bare)) == (whole.codes, whole.strings, triples(whole))
    assert (bare.types.num_rows, bare.sources["RXNORM"].version) == (0, "")
    other = Terminology.read("rxnorm", copy, sources="MTHSPL").sources["RXNORM_MTHSPL"]
    assert (other.title, other.redistributable) == ("MTHSPL as imported by RxNorm", False)


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("RXNCONSO.RRF", "902|ENG", "x|ENG", r"RXNCONSO.RRF:7: RXCUI must be a number and SAB a source, found 'x'"),
        ("RXNCONSO.RRF", "|Terkex|", "||", r"RXNCONSO.RRF:13: RXCUI 906 has an empty STR"),
        ("RXNCONSO.RRF", "|Terkex|", "|", r"RXNCONSO.RRF:13: 17 cells, expected 18"),
        ("RXNREL.RRF", "RO|904||CUI|consists_of", "|904||CUI|", r"RXNREL.RRF:1: has neither REL nor RELA"),
        ("RXNREL.RRF", "903||CUI", "903|CUI", r"RXNREL.RRF:1: 15 cells, expected 16, split at pipes"),
        ("RXNSTY.RRF", "901|T109", "901|", r"RXNSTY.RRF:2: RXCUI 901 has an empty TUI"),
        ("RXNSAB.RRF", "|RXNORM|RxNorm", "||RxNorm", r"RXNSAB.RRF:1: a source has no RSAB"),
    ],
)
def test_bad_rows_are_named_by_line(copy: Path, file: str, old: str, new: str, message: str) -> None:
    text = (copy / file).read_text("utf-8")
    assert old in text
    (copy / file).write_text(text.replace(old, new, 1), "utf-8")
    with pytest.raises(InputError, match=message):
        Terminology.read("rxnorm", copy)


def test_missing_files_are_named(copy: Path, tmp_path: Path) -> None:
    (copy / "RXNREL.RRF").unlink()
    with pytest.raises(
        InputError, match=r"contains no RXNREL.RRF; empty values of relations and parents read only names"
    ):
        Terminology.read("rxnorm", copy)
    assert Terminology.read("rxnorm", copy, relations="").n_concepts == 8
    with pytest.raises(
        InputError, match=r"contains no RXNREL.RRF; empty values of relations and parents read only names"
    ):
        Terminology.read("rxnorm", copy, relations="", parents="hiprbert")
    with pytest.raises(InputError, match=r"contains no RXNCONSO.RRF$"):
        Terminology.read("rxnorm", tmp_path)
    with pytest.raises(InputError, match=r"RXNSTY.RRF: no such folder; expected the folder with RXNCONSO.RRF"):
        Terminology.read("rxnorm", copy / "RXNSTY.RRF")
    with pytest.raises(InputError, match="needs the path of the folder"):
        Terminology.read("rxnorm")
    with pytest.raises(InputError, match=r"unknown relation of .*RXNREL.RRF: 'has_parts': .*did you mean 'has_part'"):
        Terminology.read("rxnorm", FOLDER, relations="has_parts")
    with pytest.raises(InputError, match=r"unknown relation of .*RXNREL.RRF: 'has_parts': .*did you mean 'has_part'"):
        Terminology.read("rxnorm", FOLDER, parents="hiprbert,has_parts")
    with pytest.raises(InputError, match="sources of reader 'rxnorm' needs at least one source"):
        Terminology.read("rxnorm", FOLDER, sources=" ,")


@pytest.mark.long
@given(data=st.data())
def test_a_damaged_file_is_one_line(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.getbasetemp() / "damaged_rxnorm"
    shutil.copytree(FOLDER, folder, dirs_exist_ok=True)
    file = data.draw(st.sampled_from(FILES))
    damaged = data.draw(mutated((FOLDER / "rrf" / file).read_bytes(), b"|"))
    (folder / "rrf" / file).write_bytes(damaged)
    check_survives("rxnorm", folder, sources="all", relations="all")


def test_a_name_of_several_sources_is_one_of_each(copy: Path) -> None:
    """Catches public names that go when those of a source that may not be redistributed are left out."""
    file = copy / "RXNCONSO.RRF"
    rows = file.read_text("utf-8").splitlines()
    own = next(row.split("|") for row in rows if row.split("|")[11] == "RXNORM" and row.split("|")[16] in ("N", ""))
    other = own.copy()
    other[11] = "MTHSPL"
    file.write_text("\n".join([*rows, "|".join(other)]) + "\n", "utf-8")
    terminology = Terminology.read("rxnorm", copy, sources="all", keep_suppressed=True)
    named = terminology.terms["source"].to_pylist()
    of = [
        named[at]
        for at, (concept, text) in enumerate(
            zip(*(terminology.terms[name].to_pylist() for name in ("concept", "text")))
        )
        if terminology.codes[concept] == f"RXNORM:{own[0]}" and terminology.strings[text] == own[14]
    ]
    assert sorted(of) == ["RXNORM", "RXNORM_MTHSPL"]
