"""Documents streamed from every form of file, and what is said of damaged ones."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from pathlib import Path

import pytest

from st_biomed.corpus import raw_text
from st_biomed.corpus.raw_text import Document, documents, files_of
from st_biomed.errors import InputError
from st_biomed.records import Tally

XMI = (
    '<?xml version="1.0" encoding="UTF-8"?><xmi:XMI xmlns:xmi="http://www.omg.org/XMI" xmlns:cas="http:///uima/cas.ecore">'
    '<cas:Token begin="0"/><cas:Sofa sofaID="_InitialView" sofaString="Flumpa &amp; terkia.&#10;Mimì"/></xmi:XMI>'
)


def texts(*arguments: object, **options: str) -> list[str]:
    return [document.text for document in documents(*arguments, **options)]


@pytest.fixture
def write(tmp_path: Path):
    def call(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return call


def test_forms_of_plain_text(write):
    """Catches documents run together, blank lines that count, and a last line without an end that is lost."""
    path = write("a.txt", "flumpa\nmimi\n\n \nterkia")
    assert list(documents(path)) == [
        Document("a.txt:1", "flumpa"),
        Document("a.txt:2", "mimi"),
        Document("a.txt:5", "terkia"),
    ]
    assert list(documents(path, form="paragraphs")) == [
        Document("a.txt:1", "flumpa\nmimi"),
        Document("a.txt:5", "terkia"),
    ]
    assert list(documents(path, form="files")) == [Document("a.txt", "flumpa\nmimi\n\n \nterkia")]


def test_empty_documents_and_files_are_counted(write):
    tally = Tally()
    paths = [write("a.txt", "flumpa\n\n"), write("b.txt", ""), write("c.jsonl", '{"text": " "}\n\n')]
    assert [document.text for document in documents(paths, tally=tally)] == ["flumpa"]
    assert (tally.n_read, tally.dropped) == (3, {"empty documents": 2}) and tally.adds_up()


def test_json_lines_are_named_by_their_id(write):
    rows = [{"id": "D1", "text": "flumpa"}, {"text": "mimi", "id": 0}, {"text": "terkia"}]
    path = write("a.jsonl.gz", gzip.compress("\n".join(map(json.dumps, rows)).encode()))
    assert list(documents(path)) == [
        Document("D1", "flumpa"),
        Document("0", "mimi"),
        Document("a.jsonl.gz:3", "terkia"),
    ]
    assert texts(write("b.jsonl", '{"body": "zor"}'), field="body") == ["zor"]


def test_xmi_gives_the_text_of_each_view(write):
    second = XMI.replace("</xmi:XMI>", '<cas:Sofa sofaString="zor"/></xmi:XMI>')
    assert list(documents(write("a.xml", XMI))) == [Document("a.xml", "Flumpa & terkia.\nMimì")]
    assert [document.name for document in documents(write("b.xmi", second))] == ["b.xmi", "b.xmi#2"]


def test_folders_and_archives_are_gone_through_in_order(write, tmp_path: Path):
    """Catches an order that depends on the file system, and files of another kind read as text."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, content in {"x/b.xml": XMI, "x/a.txt.gz": gzip.compress(b"zor"), "x/c.png": b"\x89"}.items():
            content = content if isinstance(content, bytes) else content.encode()
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    write("in/z.txt", "last")
    write("in/m.tar.gz", packed.getvalue())
    write("in/a/first.txt", "first")
    write("in/note.md", "no")
    tally = Tally()
    assert [document.text for document in documents(tmp_path / "in", tally=tally)] == [
        "first",
        "Flumpa & terkia.\nMimì",
        "zor",
        "last",
    ]
    assert set(tally.dropped) == {
        "members of an archive that are hidden or that no suffix says are text",
        "files of a folder that are hidden or that no suffix says are text",
    }


@pytest.mark.parametrize("form", ["auto", "files"])
def test_hidden_files_of_folders_and_archives_are_left_out_and_counted(write, tmp_path: Path, form: str):
    """Catches a folder that cannot be read because a system has left a file of its own in it."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name in ("./a.txt", "./._a.txt"):
            member = tarfile.TarInfo(name)
            member.size = 3
            archive.addfile(member, io.BytesIO(b"zor" if name == "./a.txt" else b"\x00\x05\xff"))
    write("in/.DS_Store", b"\x00\xff")
    write("in/.git/x.txt", b"\xff")
    write("in/b.txt", "flumpa")
    write("in/m.tar", packed.getvalue())
    tally = Tally()
    assert [document.text for document in documents(tmp_path / "in", form=form, tally=tally)] == ["flumpa", "zor"]
    assert sorted(tally.dropped.values()) == [1, 2] and tally.adds_up()


def test_files_of_one_name_are_different_documents(write, tmp_path: Path):
    """Catches notes of two years that have one name in the tables of mentions."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        member = tarfile.TarInfo("2015/notes.txt")
        member.size = 3
        archive.addfile(member, io.BytesIO(b"zor"))
    files = [write(f"in/{year}/notes.txt", "flumpa\n") for year in (2013, 2014)]
    write("in/old.tar", packed.getvalue())
    found = ["2013/notes.txt:1", "2014/notes.txt:1", "old.tar/2015/notes.txt:1"]
    assert [document.name for document in documents(tmp_path / "in")] == found
    assert [document.name for document in documents(files_of(tmp_path / "in"))] == found
    assert [document.name for document in documents(files)] == found[:2]
    assert [document.name for document in documents([files[0].parent, files[1]])] == found[:2]
    assert [document.name for document in documents([files[0], files[0]])] == ["notes.txt:1", "notes.txt:1"]


def test_a_huge_document_comes_in_pieces_that_join_to_it(write, monkeypatch: pytest.MonkeyPatch):
    """Catches a line held as a whole, a word cut where there was a space, and a place counted from the piece."""
    monkeypatch.setattr(raw_text, "LONGEST", 20)
    long = "flumpa mimi terkia " * 9 + "x" * 50 + " zor"
    for path, form in ((write("a.txt", f"{long}\nzor"), "lines"), (write("b.txt", f"{long}\n\nzor"), "paragraphs")):
        *pieces, last = documents(path, form=form)
        assert "".join(piece.text for piece in pieces) == long and last == Document(last.name, "zor")
        assert len({piece.name for piece in pieces}) == 1 and max(len(piece.text) for piece in pieces) <= 20
        assert all(long[piece.offset :].startswith(piece.text) for piece in pieces)
        assert pieces[0].text == "flumpa mimi terkia "
    *pieces, _ = documents(write("c.jsonl", json.dumps({"text": long}) + '\n{"text": "zor"}'))
    assert "".join(piece.text for piece in pieces) == long


def test_positions_count_composed_characters(write, monkeypatch: pytest.MonkeyPatch):
    """Catches pieces whose texts are composed and whose offsets are not, so that mentions lie behind their place."""
    monkeypatch.setattr(raw_text, "LONGEST", 20)
    pieces = list(documents(write("a.txt", "mimi\u0300 " * 9 + "\nzor")))
    assert pieces.pop() == Document("a.txt:2", "zor", 0)
    assert all(("mimì " * 9)[piece.offset :].startswith(piece.text) for piece in pieces)


def test_a_cut_goes_through_no_character(write, monkeypatch: pytest.MonkeyPatch):
    """Catches half of a letter at the end of a piece, refused as what is not UTF-8."""
    monkeypatch.setattr(raw_text, "LONGEST", 7)
    text = "é" * 50 + "→" * 20
    assert "".join(document.text for document in documents(write("a.txt", text + "\n"), form="files")).strip() == text
    with pytest.raises(InputError, match=r"b\.txt:1: is not UTF-8"):
        list(documents(write("b.txt", text.encode()[:-1]), form="files"))


def test_text_is_composed_and_holds_no_separator(write):
    """Catches decomposed accents, which no term would match."""
    assert texts(write("a.txt", "flumpita\u0300 a\0b")) == ["flumpità a b"]
    assert texts(write("b.txt", b"\xef\xbb\xbfzor")) == ["zor"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", b"ok\n\xff\n", "a.txt:2: is not UTF-8"),
        ("a.jsonl", '{"text": "ok"}\n{"text": ', "a.jsonl:2: is not JSON"),
        ("a.jsonl", '{"body": "ok"}', "a.jsonl:1: expected an object with text under 'text', found the keys"),
        ("a.jsonl", "[1]", r"a.jsonl:1: expected a JSON object, found '\[1\]'"),
        ("a.jsonl", r'{"text": "\ud83d"}', "a.jsonl:1: is not readable JSON"),
        ("a.jsonl", '{"text": ' + "[" * 100_000, "a.jsonl:1: is not readable JSON"),
        ("a.xmi", '<?xml version="1.0" encoding="flumpa"?><x/>', "a.xmi:1: (not|cannot be decoded as) XML"),
        ("a.xmi", '<?xml version="1.0" encoding="utf-7"?><x/>', "a.xmi:1: (not|cannot be decoded as) XML"),
        ("a.jsonl", '{"text": 3}', "a.jsonl:1: expected an object with text"),
        ("a.xml", "<x><y></x>", "a.xml:1: not XML"),
        ("a.xml", "<x/>", "a.xml: no view with a text"),
        ("a.txt.gz", gzip.compress(b"flumpa" * 99, mtime=0)[:-9], "a.txt.gz: is not a complete gzip or tar file"),
        ("a.tar.gz", b"nothing", "a.tar.gz: is not a complete gzip or tar file"),
        ("a.pdf", b"", "a.pdf: the suffix does not determine the form of its documents; give a form: lines"),
    ],
)
def test_damaged_files_are_one_line_with_their_place(write, name: str, content: str | bytes, message: str):
    with pytest.raises(InputError, match=message) as error:
        list(documents(write(name, content)))
    assert "\n" not in str(error.value)


def test_missing_files_and_forms_are_named(tmp_path: Path):
    with pytest.raises(InputError, match="nowhere: no such file or folder"):
        list(documents(tmp_path / "nowhere"))
    with pytest.raises(InputError, match="no file with text to read"):
        list(documents(tmp_path))
    with pytest.raises(InputError, match="unknown form 'line'.*did you mean 'lines'"):
        list(documents(tmp_path, form="line"))


def test_a_cut_parts_no_letter_from_its_accent(write, monkeypatch: pytest.MonkeyPatch):
    """Catches a piece that begins with an accent, and offsets one character behind from there on."""
    monkeypatch.setattr(raw_text, "LONGEST", 7)
    text = "e\u0301" * 40
    for path, form in ((write("a.txt", text), "files"), (write("a.jsonl", json.dumps({"text": text})), "jsonl")):
        pieces = list(documents(path, form=form))
        assert "".join(piece.text for piece in pieces) == "é" * 40
        assert [piece.offset for piece in pieces] == [*range(0, 40, 7)]
