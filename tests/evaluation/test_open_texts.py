"""Documents of chosen licenses."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

import pytest

from evaluation import open_texts
from st_biomed.errors import InputError

DOCUMENTS = [
    {"id": "1", "text": "zorb", "licence": "CC BY", "url": "x"},
    {"id": "2", "text": "krel", "licence": "CC BY-NC"},
    {"id": "3", "text": "vex", "licence": "CC BY"},
]


def written(folder: Path, *lines: str) -> Path:
    path = folder / "texts.jsonl.gz"
    path.write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode()))
    return path


def test_documents_of_other_licenses_are_left_out_and_counted(tmp_path: Path, monkeypatch, capsys):
    """Catches a license that is matched by its beginning: CC BY is not CC BY-NC."""
    path = written(tmp_path, *map(json.dumps, DOCUMENTS))
    monkeypatch.setattr(sys, "argv", ["open_texts.py", str(path), "CC BY", "-o", str(tmp_path / "out.jsonl")])
    open_texts.main()
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [line["id"] for line in lines] == ["1", "3"]
    assert "2 documents; left out: 1 of CC BY-NC" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", r"texts.jsonl.gz:2: expected an object with id, text, licence"),
        ("[1]", r"texts.jsonl.gz:2: expected an object"),
        ('{"id": "2", "text": "krel"}', r"texts.jsonl.gz:2: .*found 'licence'"),
    ],
)
def test_a_damaged_line_is_named(tmp_path: Path, line: str, message: str):
    with pytest.raises(InputError, match=message):
        open_texts.chosen(written(tmp_path, json.dumps(DOCUMENTS[0]), line), ["CC BY"])


def test_no_document_of_the_licenses_is_an_error(tmp_path: Path):
    with pytest.raises(InputError, match="no document has one of the licenses CC0; found CC BY, CC BY-NC"):
        open_texts.chosen(written(tmp_path, *map(json.dumps, DOCUMENTS)), ["CC0"])


def test_a_file_that_cannot_be_read_is_one_line(tmp_path: Path):
    """Catches a traceback for a missing file, one that is not gzipped, and one that ends too early."""
    whole = written(tmp_path, json.dumps(DOCUMENTS[0])).read_bytes()
    for name, content in (("missing", None), ("plain", b"{}"), ("cut", whole[:-9])):
        if content is not None:
            (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError, match=f"{name}: expected a gzipped file of JSON Lines"):
            open_texts.chosen(tmp_path / name, ["CC BY"])


@pytest.mark.realdata
def test_e3c_has_7943_case_reports_that_ask_for_attribution_alone(realdata: Path):
    """Catches a license that is spelled in another way, whose documents the open encoder would lose."""
    kept, left_out = open_texts.chosen(realdata / "text_en" / "e3c_en_layer3.jsonl.gz", ["CC BY", "CC BY 4.0"])
    assert len(kept) == 7_943
    assert not [
        name for name in left_out if "BY" in name and not {"NC", "ND", "SA"} & set(name.replace("-", " ").split())
    ]
