from __future__ import annotations

from pathlib import Path

import pytest

from st_biomed.errors import InputError
from st_biomed.terminology import Terminology
from tests.contracts.reader_contract import FIXTURES, ReaderContract

CODES = FIXTURES / "zorb.fsh"


class TestFsh(ReaderContract):
    reader = "fsh"
    path = CODES
    separator = b'"'


def test_names_parents_and_version() -> None:
    """Catches a definition read as the name, and a code below the first of two codes before it."""
    terminology = Terminology.read("fsh", CODES, replace="@=À,piY=più", language="it")
    names = dict(zip(terminology.codes, (terminology.strings[i] for i in terminology.preferred_texts)))
    assert names == {
        "ZORB-CODES:1": "ZORBITÀ",
        "ZORB-CODES:1.1": 'Skark "grande"',
        "ZORB-CODES:1.11": "Skark più",
        "ZORB-CODES:2 b": "Flumpa",
    }
    parents = {(row["child"], row["parent"]) for row in terminology.parents.to_pylist()}
    codes = terminology.codes
    assert {(codes[child], codes[parent]) for child, parent in parents} == {
        ("ZORB-CODES:1.1", "ZORB-CODES:1"),
        ("ZORB-CODES:1.11", "ZORB-CODES:1.1"),
    }
    source = terminology.sources["ZORB-CODES"]
    assert (source.title, source.version) == ("Codes of the zorb", "3.1")
    assert terminology.tallies["fsh rows"].dropped == {"metadata and properties": 3}


def test_with_another_prefix_the_names_go_to_another_terminology() -> None:
    """Catches names that stay apart from the concepts they are meant for."""
    first = Terminology.read("fsh", CODES, name="ONE", prefix="Z")
    second = Terminology.read("fsh", CODES, name="TWO", prefix="Z", replace="ZORBIT@=zorbity")
    both = Terminology.merge(first, second)
    assert both.n_concepts == first.n_concepts == 4
    assert both.n_texts == 5


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("Profile: X\n", r"x.fsh:1: expected 'CodeSystem: NAME', found 'Profile'"),
        ('* #1 "a"\n', r"x.fsh:1: expected 'CodeSystem: NAME', found '\* #1 \"a\"'"),
        ("CodeSystem: X\n", "no code found"),
        ('CodeSystem: X\n* #1 "a"\nCodeSystem: Y\n', "x.fsh:3: a second 'CodeSystem'"),
        ("CodeSystem: X\nId:\n", "x.fsh:2: Id is empty"),
        ("CodeSystem: X\n* #1\n", "x.fsh:2: expected a code and a display"),
        ('CodeSystem: X\n* #1 "a"\n* #1 "b"\n', "x.fsh:3: code 1 is listed twice"),
        ('CodeSystem: X\n* #9 #1 "a"\n', "x.fsh:2: 1 is below 9, which is not listed"),
        ('CodeSystem: X\n* #1 "a\n', "x.fsh:2: expected . #code"),
        ('CodeSystem: X\nTitle: """a\n', 'x.fsh:2: a text that begins with """ has no end'),
        ('CodeSystem: X\n* #1 "a" /* """b\n', r"x.fsh:2: a comment that begins with /\* has no end"),
    ],
)
def test_a_file_that_is_none_is_refused(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "x.fsh").write_text(content)
    with pytest.raises(InputError, match=message):
        Terminology.read("fsh", tmp_path / "x.fsh")


def test_a_caret_within_a_display_is_no_metadata(tmp_path: Path) -> None:
    """Catches concepts dropped as metadata because their names or definitions contain a caret."""
    text = (
        'CodeSystem: X\n* #1 "Factor ^2"\n* #1 #2 "Flumpa" "of ^x"\n* #1 #2 ^property[0].code = #a\n* ^version = "1"\n'
    )
    (tmp_path / "x.fsh").write_text(text)
    terminology = Terminology.read("fsh", tmp_path / "x.fsh")
    assert terminology.codes == ["X:1", "X:2"]
    assert terminology.tallies["fsh rows"].dropped == {"metadata and properties": 2}


def test_inserted_rules_are_metadata(tmp_path: Path) -> None:
    """Catches a code system that is refused since it takes its metadata from a set of rules."""
    text = 'CodeSystem: X\n* insert Metadata\n* #1 "Flumpa"\n  * insert P(1)\n  * #2 "insert x"\n* #1 insert Q\n'
    (tmp_path / "x.fsh").write_text(text)
    terminology = Terminology.read("fsh", tmp_path / "x.fsh")
    assert terminology.strings == ["Flumpa", "insert x"]
    assert terminology.parents.num_rows == 1
    assert terminology.tallies["fsh rows"].dropped == {"metadata and properties": 3}


def test_definitions_aliases_and_comments(tmp_path: Path) -> None:
    """Catches definitions that are lost, an alias that ends the read, and a comment taken for a part of a rule."""
    text = (
        "Alias: $Z = http://zorb.example // of others\n// nothing\nCodeSystem: X // the zorb\nId: x\n"
        'Title: """The\n  zorbs"""\n'
        '* #1 "Flumpa" "a \\"gland\\" // no comment" // a comment\n* #1 #2 "at http://a // b"\t// "\n'
        '* #3 "Terkia" """of two\n  lines // all of it\n""" // end\n* #4 "Mimp" ""\n'
        '/* * #5 "no\n"code"\n\n*/\n* #6 /* one */ "Brull /* two */" // three /*\n* #7 "Snav" /*\n*/\n'
    )
    (tmp_path / "x.fsh").write_text(text)
    read = Terminology.read("fsh", tmp_path / "x.fsh", replace="gland=glands", language="it")
    assert [(read.codes[row["concept"]], row["text"], row["language"]) for row in read.definitions.to_pylist()] == [
        ("X:1", 'a "glands" // no comment', "it"),
        ("X:3", "of two lines // all of it", "it"),
    ]
    assert read.strings == ["Brull /* two */", "Flumpa", "Mimp", "Snav", "Terkia", "at http://a // b"]
    assert read.sources["X"].title == "The zorbs"
    tally = read.tallies["fsh rows"]
    assert (tally.n_kept, tally.dropped) == (8, {"aliases": 1}) and tally.adds_up()


def test_indented_rules_are_below_the_one_before(tmp_path: Path) -> None:
    """Catches a hierarchy by indentation that is lost, and escapes whose letters stay."""
    head, path = "CodeSystem: X\nId: x\n", tmp_path / "x.fsh"
    path.write_text(
        head
        + '* #1 "Flumpa" "of\\nlines\\tand \\u00e8"\n  * #2 "Terkia"\n    * ^property[0].code = #x\n    * #3 "Mimp"\n'
        '  * #4 "Brull"\n* #5 "Snav"\n  * #5 #6 "Zorb"\n'
    )
    read = Terminology.read("fsh", path)
    edges = {(read.codes[row["child"]], read.codes[row["parent"]]) for row in read.parents.to_pylist()}
    assert edges == {("X:2", "X:1"), ("X:3", "X:2"), ("X:4", "X:1"), ("X:6", "X:5")}
    assert read.definitions["text"].to_pylist() == ["of lines and è"]
    path.write_text(head + '* #1 "a \\uD83D\\uDE00" /* x */\n  /* b */ * #2 "b"\n  /* c\n*/  * #3 /* d */ "c" // e\n')
    read = Terminology.read("fsh", path)
    assert read.strings[:3] == ["a \U0001f600", "b", "c"]
    edges = {(read.codes[row["child"]], read.codes[row["parent"]]) for row in read.parents.to_pylist()}
    assert edges == {("X:2", "X:1")}
    for escape in (r"\uD83D", r"\uDE00 \uD83D", r"\u0000"):
        path.write_text(f'{head}* #1 "a {escape}"\n')
        with pytest.raises(InputError, match="x.fsh:3: an escape of .* stands for no character"):
            Terminology.read("fsh", path)
    for rules in ('* #1 "a"\n   * #2 "b"\n', '* #1 "a"\n\t* #2 "b"\n', '* #1 "a"\n    * #2 "b"\n'):
        path.write_text(head + rules)
        with pytest.raises(InputError, match=r"x.fsh:4: expected an indentation of two spaces for each level"):
            Terminology.read("fsh", path)


def test_bad_options_are_refused() -> None:
    with pytest.raises(InputError, match="replace of reader 'fsh' must be FROM=TO,..., found 'A'"):
        Terminology.read("fsh", CODES, replace="A")
    with pytest.raises(InputError, match="reader 'fsh' needs the path"):
        Terminology.read("fsh")


@pytest.mark.realdata
def test_italian_diagnoses(realdata: Path) -> None:
    """16,285 codes, whose garbled accents are mended."""
    path = realdata / "italian" / "hl7it_icd9cm_diagnosi.fsh.gz"
    terminology = Terminology.read(
        "fsh", path, name="ICD9CM_HL7_IT", prefix="ICD9CM", language="it", replace="@=À,PIY=PIÙ"
    )
    assert terminology.n_concepts == 16_285
    assert not [text for text in terminology.strings if "@" in text or "PIY" in text]
