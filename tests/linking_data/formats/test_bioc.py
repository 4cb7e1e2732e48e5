"""BioC as XML and JSON: offsets of any kind, ids under several keys, and XML that may do nothing but be read."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from st_biomed.errors import InputError
from st_biomed.linking_data import LinkingDataset, open_linking
from st_biomed.linking_data.bioc import read_bioc
from tests.contracts.linking_contract import FIXTURES, LinkingContract

FOLDER, JSON = FIXTURES / "bioc", FIXTURES / "bioc_json" / "zorb.BioC.JSON"
NAMES = FOLDER / "names.txt"


class TestXml(LinkingContract):
    format = "bioc"
    path = FOLDER
    dictionary = "names.txt"
    damaged = "Train.BioC.XML"
    separator = b">"


class TestJson(LinkingContract):
    format = "bioc"
    path = JSON
    dictionary = "names.txt"
    damaged = ""
    separator = b","


def collection(text: str, annotations: list[dict[str, Any]], *, offset: int = 0, before: str = "") -> dict[str, Any]:
    """A document, perhaps with a first passage of its own."""
    passages = [{"offset": offset, "text": text, "annotations": annotations, "infons": {}}]
    if before:
        passages.insert(0, {"offset": 0, "text": before})
    return {"documents": [{"id": "1", "passages": passages}]}


def annotation(offset: int, text: str | None, length: int = -1, **infons: Any) -> dict[str, Any]:
    length = len(text or "") if length < 0 else length
    infon = {"type": "Disease", "identifier": "X0001", **infons}
    return {"infons": infon, "text": text, "locations": [{"offset": offset, "length": length}]}


def opened(folder: Path, value: Any, **options: Any) -> LinkingDataset:
    (folder / "a.json").write_text(json.dumps(value), "utf-8")
    return open_linking("bioc", folder / "a.json", dictionary=NAMES, **options)


def found(dataset: LinkingDataset) -> list[tuple[str, str]]:
    """Each mention, and what stands where it is said to stand."""
    return [
        (mention.text, dataset.documents[mention.document][mention.start : mention.end] if mention.start >= 0 else "")
        for mentions in dataset.mentions.values()
        for mention in mentions
    ]


# ---------------------------------------------------------------- what is read


def test_a_corpus_is_read_with_its_splits_types_and_ids() -> None:
    """BioRED's XML; catches ids under another key, a composite id, a sentence without a passage's text."""
    dataset = open_linking("bioc", FOLDER, dictionary=NAMES)
    assert [(split, len(mentions)) for split, mentions in dataset.mentions.items()] == [
        ("train", 11),
        ("dev", 1),
        ("test", 2),
    ]
    train = dataset.split("train")
    assert (train[1].text, train[1].type, train[1].gold) == (
        "mimpic flumpa",
        "DiseaseOrPhenotypicFeature",
        (frozenset({"X0001"}),),
    )
    assert train[6].gold == ()
    assert train[9].gold == (frozenset({"X0101"}), frozenset({"X0102"}))
    assert train[10].gold == (frozenset({"99001"}), frozenset({"99002"}))
    assert dataset.documents["9810001"][34:38] == "zorb"
    assert dataset.tallies["mentions"].to_dict() == {
        "read": 19,
        "kept": 14,
        "dropped": {"annotations without a location": 1, "relations between concepts": 4},
    }


def test_json_is_the_same_corpus() -> None:
    as_xml, as_json = (open_linking("bioc", path, dictionary=NAMES) for path in (FOLDER, JSON))
    assert as_json.split("all") == as_xml.split("train")
    assert as_json.documents == {name: as_xml.documents[name] for name in ("9810001", "9810002")}


def test_pieces_of_a_mention_are_found_where_they_stand() -> None:
    """Catches a discontinuous mention taken for what lies between its pieces."""
    dataset = open_linking("bioc", FOLDER, dictionary=NAMES)
    assert ("mimpic kind", "mimpic and drodthic kind") in found(dataset)
    assert all(stands for _, stands in found(dataset))


def test_one_type_one_key_and_alternatives_are_chosen() -> None:
    dataset = open_linking("bioc", FOLDER, dictionary=NAMES, types="GeneOrGeneProduct", several="alternatives")
    assert [mention.gold for mention in dataset.split("train")] == [
        (frozenset({"99001"}),),
        (frozenset({"99001", "99002"}),),
    ]
    assert dataset.tallies["mentions"].dropped["annotations of type DiseaseOrPhenotypicFeature"] == 10
    by_key = open_linking("bioc", FOLDER, dictionary=NAMES, key="mesh")
    assert [bool(mention.gold) for mention in by_key.split("train")] == [False] * 7 + [True, True, True, False]


@pytest.mark.parametrize(
    "wrapped",
    [
        lambda document, other: [document, other],
        lambda document, other: {"documents": [document, other]},
        lambda document, other: {"PubTator3": [{"_id": "1|None", **document}, other]},
        lambda document, other: [{"source": "PubMed", "documents": [document]}, {"documents": [other]}],
    ],
    ids=["list", "collection", "PubTator3", "list of collections"],
)
@pytest.mark.parametrize("indent", [None, 2])
def test_every_wrapping_of_json_is_taken_apart(tmp_path: Path, wrapped: Any, indent: int | None) -> None:
    document, other = json.loads(JSON.read_text("utf-8"))["documents"]
    (tmp_path / "a.json").write_text(json.dumps(wrapped(document, other), indent=indent), "utf-8")
    assert [document.id for document in read_bioc(tmp_path / "a.json")] == ["9810001", "9810002"]


@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.BioC.JSON.gz"])
def test_json_lines_are_documents_or_collections(tmp_path: Path, name: str) -> None:
    document, other = json.loads(JSON.read_text("utf-8"))["documents"]
    text = f"{json.dumps(document)}\n\n{json.dumps({'documents': [other]})}\n"
    (tmp_path / name).write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    documents = list(read_bioc(tmp_path / name))
    assert [(document.id, Path(document.where.split(": ")[0]).name) for document in documents] == [
        ("9810001", f"{name}:1"),
        ("9810002", f"{name}:3"),
    ]


def test_ids_may_be_numbers_lists_or_nothing(tmp_path: Path) -> None:
    """Catches PubTator3's nulls, and a list that is written as Python writes it."""
    ids = [99001, ["X0001", "X0002"], None, "None", "MESH:D1, MESH:D2", True]
    text = "zorb " * len(ids)
    marked = [annotation(5 * i, "zorb", identifier=identifier) for i, identifier in enumerate(ids)]
    dataset = opened(tmp_path, collection(text, marked))
    assert [[sorted(group) for group in mention.gold] for mention in dataset.split("all")] == [
        [["99001"]],
        [["X0001"], ["X0002"]],
        [],
        [],
        [["MESH:D1"], ["MESH:D2"]],
        [["True"]],
    ]


def test_individual_mentions_are_the_parts_of_a_composite_one(tmp_path: Path) -> None:
    """BC5CDR's; catches a composite mention that counts three times, and parts in another order than the ids."""
    role = "CompositeRole"
    text = "mimpic and skark lesions, zorb lesions, and zorb"
    marked = [
        annotation(0, "mimpic and skark lesions", MESH="X0001|X0002", identifier="", **{role: "CompositeMention"}),
        annotation(11, "skark lesions", identifier="X0002", **{role: "IndividualMention"}),
        {
            "infons": {"type": "Disease", "MESH": "X0001", role: "IndividualMention"},
            "text": "mimpic lesions",
            "locations": [{"offset": 0, "length": 6}, {"offset": 17, "length": 7}],
        },
        annotation(26, "zorb lesions", identifier="X0003", **{role: "IndividualMention"}),
        annotation(44, "zorb", identifier="X0003|X0002", **{role: "CompositeMention"}),
    ]
    dataset = opened(tmp_path, collection(text, marked))
    assert [(mention.text, mention.parts) for mention in dataset.split("all")] == [
        ("mimpic and skark lesions", ("mimpic lesions", "skark lesions")),
        ("zorb lesions", ("zorb lesions",)),
        ("zorb", ("zorb",)),
    ]
    assert dataset.split("all")[0].gold == (frozenset({"X0001"}), frozenset({"X0002"}))
    assert dataset.tallies["mentions"].dropped == {"parts of a composite mention": 2}


# ---------------------------------------------------------------- offsets

TEXT = "Über α-𝛼 zorb, and zorb."


@pytest.mark.parametrize(
    ("place", "length", "note"),
    [
        (lambda before: 1 + len(before), 4, ""),
        (lambda before: 1 + len(before.encode()), 4, "a.json: offsets count bytes of UTF-8"),
        (lambda before: 1 + len(before.encode("utf-16-le")) // 2, 4, "a.json: offsets count units of UTF-16"),
        (lambda before: len(before) - 199, 4, "a.json: offsets count characters from the passage"),
    ],
    ids=["characters", "bytes", "utf-16", "passage"],
)
def test_offsets_may_count_other_things_which_is_said(tmp_path: Path, place: Any, length: int, note: str) -> None:
    """Catches mentions cut at the wrong letters, as older tools of NCBI write bytes, and those in Java UTF-16."""
    first = 200
    before = TEXT[: TEXT.index("zorb")]
    marked = annotation(place(before) + first - 1, "zorb", length)
    dataset = opened(tmp_path, collection(TEXT, [marked], offset=first, before="T" * (first - 1)))
    (mention,) = dataset.split("all")
    assert (mention.start, mention.end) == (first + len(before), first + len(before) + 4)
    assert found(dataset) == [("zorb", "zorb")]
    assert dataset.tallies["mentions"].notes == ([note] if note else [])


def test_a_mention_that_is_not_at_its_offsets_is_kept_without_a_place_and_said(tmp_path: Path) -> None:
    """Catches a corpus of other offsets that is read without a word."""
    dataset = opened(
        tmp_path, collection(TEXT, [annotation(3, "zorb"), annotation(900, "zorb"), annotation(0, "Über")])
    )
    assert [(mention.text, mention.start) for mention in dataset.split("all")] == [
        ("zorb", -1),
        ("zorb", -1),
        ("Über", 0),
    ]
    (note,) = dataset.tallies["mentions"].notes
    assert note.startswith("2 mentions not found at the offsets, first ")
    assert note.endswith("a.json:1: document 1: 'zorb'")


@pytest.mark.parametrize(("offset", "length"), [(9, 5), (8, 5), (8, 6)])
def test_spaces_around_a_mention_are_no_part_of_it(tmp_path: Path, offset: int, length: int) -> None:
    """Catches offsets of the padded string, and a length beyond the end of the passage."""
    dataset = opened(tmp_path, collection("Über α-𝛼 zorb", [annotation(offset, " zorb", length)]))
    assert found(dataset) == [("zorb", "zorb")]


def test_a_mention_without_a_string_is_what_stands_there(tmp_path: Path) -> None:
    dataset = opened(
        tmp_path, collection(TEXT, [annotation(0, None, 4), annotation(4, "", 1), annotation(999, None, 4)])
    )
    assert found(dataset) == [("Über", "Über")]
    assert dataset.tallies["mentions"].dropped == {"annotations without a string": 2}


def test_passages_out_of_order_and_overlapping_stay_apart(tmp_path: Path) -> None:
    """Catches a passage that is written over another one."""
    passages = [
        {"offset": 5, "text": "flumpa", "annotations": [annotation(5, "flumpa")]},
        {"offset": 0, "text": "zorb skark", "annotations": [annotation(0, "zorb")]},
    ]
    dataset = opened(tmp_path, {"documents": [{"id": 1, "passages": passages}]})
    assert dataset.documents["1"] == "zorb skark flumpa"
    assert sorted(found(dataset)) == [("flumpa", "flumpa"), ("zorb", "zorb")]


def test_annotations_of_the_document_and_of_sentences_are_read(tmp_path: Path) -> None:
    passage = {"offset": 0, "text": "zorb skark", "sentences": [{"offset": 0, "annotations": [annotation(0, "zorb")]}]}
    document = {"id": "1", "passages": [passage], "annotations": [annotation(5, "skark")]}
    assert found(opened(tmp_path, document)) == [("zorb", "zorb"), ("skark", "skark")]


# ---------------------------------------------------------------- folders


def copied(source: str, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(FOLDER / source, target)


@pytest.mark.parametrize(
    "names",
    [
        ("CDR_TrainingSet.BioC.xml", "CDR_DevelopmentSet.BioC.xml", "CDR_TestSet.BioC.xml"),
        (
            "BC7T2-NLMChem-corpus-train.BioC.xml",
            "BC7T2-NLMChem-corpus-dev.BioC.xml",
            "BC7T2-NLMChem-corpus-test.BioC.xml",
        ),
        ("train/1.xml", "validation/1.xml", "test/1.xml"),
        ("Train/1.xml", "Dev/1.xml", "latest_TEST.XML"),
    ],
)
def test_names_of_files_and_folders_tell_the_split(tmp_path: Path, names: tuple[str, ...]) -> None:
    for source, name in zip(("Train.BioC.XML", "Dev.BioC.XML", "Test.BioC.XML"), names):
        copied(source, tmp_path / name)
    (tmp_path / "BioC.dtd").write_text("<!-- not read -->")
    dataset = open_linking("bioc", tmp_path, dictionary=NAMES)
    assert [(split, len(mentions)) for split, mentions in dataset.mentions.items()] == [
        ("train", 11),
        ("dev", 1),
        ("test", 2),
    ]


def test_many_files_without_splits_are_one_corpus(tmp_path: Path) -> None:
    """NLM-Chem's folder of articles; catches the same document read twice."""
    for i, source in enumerate(("Train.BioC.XML", "Test.BioC.XML", "Test.BioC.XML")):
        copied(source, tmp_path / f"{i}_v1.xml")
    dataset = open_linking("bioc", tmp_path, dictionary=NAMES)
    assert [(split, len(mentions)) for split, mentions in dataset.mentions.items()] == [("all", 13)]
    assert dataset.tallies["mentions"].dropped["annotations of a document that came before"] == 2


def test_a_folder_of_both_forms_needs_a_choice(tmp_path: Path) -> None:
    """BioRED's archive has each split as XML and as JSON."""
    copied("Train.BioC.XML", tmp_path / "Train.BioC.XML")
    shutil.copy(JSON, tmp_path / "Train.BioC.JSON")
    with pytest.raises(
        InputError, match=r"holds Train.BioC.JSON and Train.BioC.XML; choose one with form=, xml or json"
    ):
        open_linking("bioc", tmp_path, dictionary=NAMES)
    for form in ("xml", "json"):
        assert len(open_linking("bioc", tmp_path, dictionary=NAMES, form=form).split("train")) == 11


def test_a_file_of_no_split_beside_those_of_splits_is_refused(tmp_path: Path) -> None:
    for name in ("Train.xml", "more.xml"):
        copied("Train.BioC.XML", tmp_path / name)
    with pytest.raises(InputError, match=r"more.xml does not name its split, unlike Train.xml"):
        open_linking("bioc", tmp_path, dictionary=NAMES)


# ---------------------------------------------------------------- what is refused

DOCUMENT = (
    "<document><id>1</id><passage><offset>0</offset><text>zorb</text>"
    '<annotation><infon key="identifier">X0003</infon><location offset="0" length="4"/></annotation></passage></document>'
)
ENTITIES = {
    "declared and not used": '<!DOCTYPE c [<!ENTITY a "zorb">]>',
    "a bomb": '<!DOCTYPE c [<!ENTITY a "aaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;">]>',
    "a file": '<!DOCTYPE c [<!ENTITY x SYSTEM "file:///etc/hostname">]>',
    "a page": '<!DOCTYPE c [<!ENTITY % x SYSTEM "http://localhost:9/x.dtd"> %x;]>',
}
XML = {
    **{name: (f"{dtd}<collection>{DOCUMENT}</collection>", r":1: entity '\w'") for name, dtd in ENTITIES.items()},
    "an entity of the DTD": (
        f'<!DOCTYPE c SYSTEM "BioC.dtd"><collection>{DOCUMENT.replace(">zorb", ">zorb &alpha;")}</collection>',
        r":1: entity 'alpha' is declared or used",
    ),
    "an undefined entity": (
        f"<collection>{DOCUMENT.replace('zorb', '&alpha;')}</collection>",
        ":1: is not well-formed",
    ),
    "elements without end": (
        "<collection><document>" + "<passage>" * 9999,
        ":1: elements are nested more than 20 deep",
    ),
    "no end": (f"<collection>{DOCUMENT}", ":1: is not well-formed XML"),
    "HTML": ("<html><body/></html>", ":1: root element is <html>"),
    "no document": ("<collection><source/></collection>", ": contains no document"),
    "an unknown encoding": ('<?xml version="1.0" encoding="zorb"?><collection/>', ":1: cannot be decoded as XML"),
    "no id": ("<collection><document><passage/></document></collection>", ":1: a document must have an 'id'"),
    "no offset": (
        f"<collection>{DOCUMENT.replace('<offset>0</offset>', '')}</collection>",
        ": document 1: 'offset' must be",
    ),
    "a negative offset": (
        f"<collection>{DOCUMENT.replace('>0<', '>-1<')}</collection>",
        ": document 1: 'offset' must be",
    ),
    "an offset far away": (
        f"<collection>{DOCUMENT.replace('>0<', '>99999999<')}</collection>",
        "a passage begins at 99999999",
    ),
    "nothing": ("", ":1: is not well-formed XML"),
    "text": ("zorb", ":1: is not well-formed XML"),
}


def test_the_document_that_is_damaged_below_is_one(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text(f"<collection>{DOCUMENT}</collection>")
    assert found(open_linking("bioc", tmp_path / "a.xml", dictionary=NAMES)) == [("zorb", "zorb")]


@pytest.mark.parametrize("name", XML)
def test_bad_xml_is_one_line(tmp_path: Path, name: str) -> None:
    """Catches a traceback, a file or page that is fetched, and memory that is filled."""
    text, message = XML[name]
    (tmp_path / "a.xml").write_text(text)
    with pytest.raises(InputError, match=rf"a\.xml.*{message}") as error:
        open_linking("bioc", tmp_path / "a.xml", dictionary=NAMES)
    assert "\n" not in str(error.value)


def test_a_document_type_that_is_named_is_not_fetched(tmp_path: Path) -> None:
    """BioC's own files name BioC.dtd, which is beside them or not."""
    (tmp_path / "BioC.dtd").write_text('<!ENTITY alpha "zorb">')
    (tmp_path / "a.xml").write_text(f'<!DOCTYPE collection SYSTEM "BioC.dtd"><collection>{DOCUMENT}</collection>')
    assert [document.id for document in read_bioc(tmp_path / "a.xml")] == ["1"]


def test_xml_is_streamed(tmp_path: Path) -> None:
    """Catches a whole corpus of gigabytes in the memory before its first document is there."""
    (tmp_path / "a.xml").write_text("<collection>" + DOCUMENT * 2000 + "<document>")
    documents = read_bioc(tmp_path / "a.xml")
    assert next(documents).id == "1"
    with pytest.raises(InputError, match=r"a.xml:1: is not well-formed XML"):
        list(documents)


BAD_JSON = {
    "no JSON": ("{", r"a.json:1: is not JSON"),
    "an end that is missing": ('{"documents": [\n{"id": 1,\n', r"a.json:2: is not JSON"),
    "a number": ("[1]", r"a.json:1: a document must have 'passages'"),
    "no list": ('{"documents": 1}', r"a.json:1: a document must have 'passages'"),
    "lists without end": ("[" * 900 + "]" * 900, r"a.json:1: a document must have 'passages'"),
    "collections without end": ('{"documents":[' * 90 + "]}" * 90, r"a.json:1: a document must have 'passages'"),
    "too deep": ("[" * 99999, r"a.json:1: is not readable JSON \(RecursionError\)"),
    "half a character": ('{"id": "\\ud800", "passages": []}', r"a.json:1: is not readable JSON"),
    "a long number": ('{"id": ' + "1" * 9999 + ', "passages": []}', r"a.json:1: is not readable JSON"),
    "no id": ('{"passages": []}', r"a.json:1: a document must have an 'id', found 'None'"),
    "passages of another form": ('{"id": 1, "passages": [1]}', r"document 1: 'passages' must be a list of objects"),
    "no place": (
        '{"id": 1, "passages": [{"text": "a"}]}',
        r"document 1: 'offset' must be a number of characters, found 'None'",
    ),
    "a text that is none": (
        '{"id": 1, "passages": [{"offset": 0, "text": 1}]}',
        r"document 1: 'text' must be a string, found '1'",
    ),
    "infons that are none": (
        '{"id": 1, "passages": [{"offset": 0, "text": "a", "annotations": [{"infons": 1}]}]}',
        r"document 1: 'infons' of an annotation must be an object, found '1'",
    ),
    "annotations of nothing": (
        '{"id": 1, "passages": [], "annotations": [{}]}',
        r"document 1 has annotations but no passage",
    ),
    "nothing": ("[]", r"a.json: contains no document; is it BioC\?"),
}


@pytest.mark.parametrize("name", BAD_JSON)
def test_bad_json_is_one_line(tmp_path: Path, name: str) -> None:
    text, message = BAD_JSON[name]
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(InputError, match=message) as error:
        open_linking("bioc", tmp_path / "a.json", dictionary=NAMES)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"several": "both"}, r"unknown several 'both': allowed are 'alternatives', 'groups'"),
        ({"form": "yaml"}, r"unknown form 'yaml': allowed are 'json', 'xml'"),
        (
            {"key": "cui"},
            r"unknown key of linking format 'bioc' \(no annotation has it\) 'cui': allowed are 'entry_term', 'identifier'",
        ),
        ({"types": "Zorb"}, r"no mention was read \(.*annotations of type"),
    ],
)
def test_bad_arguments_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        open_linking("bioc", FOLDER, dictionary=NAMES, **options)


def test_another_suffix_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("<collection/>")
    with pytest.raises(InputError, match=r"a.txt: the suffix of a BioC file must be .xml, .json or .jsonl"):
        open_linking("bioc", tmp_path / "a.txt", dictionary=NAMES)
