"""``st-biomed mentions``."""

from __future__ import annotations

import gzip
import json
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest
from datasets import load_from_disk

from st_biomed.terminology import Terminology
from st_biomed.training_data.columns import terminology_digest
from tests.linking.linked_files import load


@pytest.fixture
def text(tmp_path: Path, toy_folder: Path) -> Path:
    names = Terminology.load(toy_folder).strings[:6]
    path = tmp_path / "text.txt"
    path.write_text("".join(f"uno due {name} lus\n" for name in names * 3), encoding="utf-8")
    return path


def test_contexts_are_saved_with_the_coverage(run: Callable, toy_folder: Path, text: Path, tmp_path: Path) -> None:
    result = run("mentions", toy_folder, text, "-o", tmp_path / "out", "--language", "en", "--per-term", 2)
    assert result.exit_code == 0, result.output
    dataset = load_from_disk(str(tmp_path / "out"))
    assert len(dataset) == 12 and dataset["text"][0].startswith("uno due [Ms] ")
    assert terminology_digest(dataset) == Terminology.load(toy_folder).digest
    coverage = json.loads((tmp_path / "out" / "coverage.json").read_text())
    assert (coverage["mentions"], coverage["rows"], coverage["terms_found"]) == (18, 12, 6)
    assert "documents: 18 read, 18 kept, 0 dropped" in result.stdout and "\n6 of 7" in result.stdout
    assert "\ncommonest: " in result.stdout and len(coverage["commonest"]) == 6


@pytest.mark.parametrize("output", ["found.csv", "found"])
def test_an_output_among_the_texts_is_not_read(output: str, run: Callable, toy_folder: Path, text: Path) -> None:
    """Catches the lock and the draft of the command itself, which any form takes for texts."""
    texts = text.parent / "texts"
    texts.mkdir()
    text.rename(texts / "text")
    result = run("mentions", toy_folder, texts, "-o", texts / output, "--form", "lines")
    assert result.exit_code == 0 and "documents: 18 read, 18 kept, 0 dropped" in result.stdout


def test_sequences_and_stop_words(
    run: Callable, toy_folder: Path, text: Path, tmp_path: Path, tiny_bert_folder: Path
) -> None:
    """Catches a tokenizer that is not passed on, and a list of stop words that nobody reads."""
    stop = tmp_path / "stop.txt"
    stop.write_text(Terminology.load(toy_folder).strings[0] + "\n", encoding="utf-8")
    words = ["mentions", toy_folder, text, "-o", tmp_path / "out", "--sequences", 64, "--stop-words", stop]
    assert run(*words).exit_code == 0
    dataset = load_from_disk(str(tmp_path / "out"))
    assert len(dataset) == 18 and not any(0 in texts for texts in dataset["texts"])
    words = ["mentions", toy_folder, text, "-o", tmp_path / "pieces", "--window", 9, "--tokenizer", tiny_bert_folder]
    assert run(*words).exit_code == 0
    assert any(row.startswith(("due [Ms]", "[Ms]")) for row in load_from_disk(str(words[4]))["text"])


def test_what_is_refused(refused: Callable[..., str], run: Callable, toy_folder: Path, text: Path, tmp_path: Path):
    output = tmp_path / "out"
    assert "no such file or folder" in refused("mentions", toy_folder, tmp_path / "nowhere.txt", "-o", output)
    assert "unknown language of the terms 'xx'" in refused(
        "mentions", toy_folder, text, "-o", output, "--language", "xx"
    )
    assert "cannot be combined with --per-term" in refused(
        "mentions", toy_folder, text, "-o", output, "--sequences", 9, "--per-term", 1
    )
    for option, value in (("--keep", "first"), ("--seed", "7")):
        assert f"{option}: is used only with --per-term or --per-concept, found" in refused(
            "mentions", toy_folder, text, "-o", output, option, value
        )
    (tmp_path / "empty.txt").write_text(" \n")
    assert "no document with text in" in refused("mentions", toy_folder, tmp_path / "empty.txt", "-o", output)
    assert "has no coverage.json" in refused("mentions", toy_folder, text, "-o", toy_folder)
    assert not output.exists() and not list(tmp_path.glob(".out.*"))
    assert run("mentions", toy_folder, text, "-o", output).exit_code == 0
    assert "or replace it with --overwrite" in refused("mentions", toy_folder, text, "-o", output)


@pytest.mark.long
@pytest.mark.parametrize("suffix", ["csv", "tsv.gz", "jsonl", "parquet"])
def test_a_table_has_the_rows_of_the_dataset(
    suffix: str, run: Callable, toy_folder: Path, text: Path, tmp_path: Path
) -> None:
    """Catches caps, a window or processes that do not reach the table, and a report of something else."""
    table, folder = tmp_path / "deep" / f"out.{suffix}", tmp_path / "out"
    words = ["mentions", toy_folder, text, "--per-term", 2, "--window", 3, "--processes", 2]
    printed = run(*words, "-o", table), run(*words, "-o", folder)
    assert printed[0].exit_code == 0, printed[0].output
    assert printed[0].stdout == printed[1].stdout.replace(str(folder), str(table))
    terminology, rows = Terminology.load(toy_folder), load(table)
    assert len(rows) == 12 and [path.name for path in table.parent.iterdir()] == [table.name]
    for row, expected in zip(rows, load_from_disk(str(folder)), strict=True):
        assert (row["context"], row["document"]) == (expected["text"], expected["document"])
        assert (int(row["start"]), int(row["end"])) == (expected["start"], expected["end"])
        assert row["mention"] == row["term"] == terminology.strings[expected["label"]]
        codes = [terminology.codes[concept] for concept in expected["concepts"]]
        assert row["codes"] == (" ".join(codes) if suffix in ("csv", "tsv.gz") else codes)


def test_positions_are_of_the_composed_document(run: Callable, toy_folder: Path, tmp_path: Path) -> None:
    """Catches characters counted in the text as it was stored, where an accent is one of its own."""
    text = unicodedata.normalize("NFD", "perché età: Flumpa  Disease.")
    (tmp_path / "text.jsonl").write_text(json.dumps({"id": "d", "text": text}))
    assert run("mentions", toy_folder, tmp_path / "text.jsonl", "-o", tmp_path / "out.csv").exit_code == 0
    (row,) = load(tmp_path / "out.csv")
    composed = unicodedata.normalize("NFC", text)
    assert composed[int(row["start"]) : int(row["end"])] == row["mention"] == "Flumpa  Disease"
    assert (row["document"], row["term"], row["codes"]) == ("d", "flumpa disease", "TOY:D0")


@pytest.mark.long
def test_what_a_table_refuses(
    refused: Callable[..., str], run: Callable, toy_folder: Path, text: Path, tmp_path: Path
) -> None:
    """Catches a table that replaces a person's file or the text that is read, and half a table."""
    table = tmp_path / "out.csv.gz"
    words = ["mentions", toy_folder, text, "-o"]
    assert f"--sequences 9: are written to a folder only, found --output {table}" in refused(
        *words, table, "--sequences", 9
    )
    assert "compressed within itself" in refused(*words, tmp_path / "out.parquet.gz")
    (tmp_path / "empty.txt").write_text(" \n")
    assert "no document with text in" in refused("mentions", toy_folder, tmp_path / "empty.txt", "-o", table)
    (tmp_path / "bad.txt").write_bytes(text.read_bytes() * 9000 + b"\xff\n")
    assert "bad.txt:162001: is not UTF-8" in refused("mentions", toy_folder, tmp_path / "bad.txt", "-o", table)
    assert not list(tmp_path.glob("*out.*"))
    assert run(*words, table).exit_code == 0
    old = gzip.decompress(table.read_bytes())
    assert f"{table}: already exists; --overwrite replaces it" in refused(*words, table)
    assert run(*words, table, "--overwrite", "--window", 1).exit_code == 0
    assert gzip.decompress(table.read_bytes()) != old
    texts = tmp_path / "texts"
    texts.mkdir()
    (texts / "a.jsonl").write_text('{"text": "flumpa disease"}\n')
    output = (texts / "a.jsonl", "--overwrite")
    assert "is also an input file" in refused("mentions", toy_folder, texts, "-o", *output)


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet"])
def test_mentions_found_in_raw_text_are_linked(
    suffix: str, run: Callable, toy_folder: Path, tiny_bert_folder: Path, tmp_path: Path
) -> None:
    """Catches a table of `mentions` that `link` does not take as it is, and contexts that it has to mark again."""
    from sentence_transformers import SentenceTransformer

    from st_biomed.modules.markers import pool_mentions

    (tmp_path / "text.txt").write_text('A "flumpa disease", and\nno other Flumpa\ndisease.\n\nNothing\n')
    found, linked = tmp_path / f"found.{suffix}", tmp_path / f"linked.{suffix}"
    words = ("mentions", toy_folder, tmp_path / "text.txt", "--form", "files", "-o", found)
    assert run(*words).exit_code == 0
    index = tmp_path / "index"
    assert run("index", toy_folder, "--model", tiny_bert_folder, "-o", index).exit_code == 0
    model = SentenceTransformer(str(tiny_bert_folder), device="cpu")
    pool_mentions(model).save_pretrained(str(tmp_path / "marked"))
    words = ("link", index, found, "--column", "mention", "-k", 1)
    context = ("--context", "context", "--abbreviations", "--rerank", tmp_path / "marked", "--rerank-weight", 0)
    result = run(*words, *context, "-o", linked)
    assert result.exit_code == 0, result.output
    rows = load(linked)
    assert len(rows) == 2 and "2 mentions: 2 linked" in result.stderr and "0 not in their context" in result.stderr
    assert rows[1]["mention"] == ("Flumpa disease" if suffix == "tsv" else "Flumpa\ndisease")
    for row, before in zip(rows, load(found), strict=True):
        assert {name: row[name] for name in before} == before
        concept = row["concepts"][0]["concept"] if suffix == "jsonl" else row["concept"]
        assert concept in (before["codes"].split(" ") if isinstance(before["codes"], str) else before["codes"])


def test_a_dataset_of_mentions_is_no_table(
    run: Callable, refused: Callable[..., str], toy_folder: Path, tmp_path: Path
) -> None:
    """Catches a line about columns of plain text, which says nothing of what to do."""
    (tmp_path / "text.txt").write_text("flumpa disease\n")
    folder = tmp_path / "found"
    assert run("mentions", toy_folder, tmp_path / "text.txt", "-o", folder).exit_code == 0
    for words in ((), ("--column", "text"), ("--format", "parquet")):
        line = refused("link", tmp_path / "index", folder, *words)
        assert f"{folder}: is a folder, expected a file; `st-biomed mentions ... --output FILE.jsonl` writes" in line
    arrow = next(folder.glob("*.arrow"))
    line = refused("link", tmp_path / "index", arrow, "--column", "text")
    assert f"{arrow}: is an Arrow file of a dataset" in line and "--output FILE.jsonl` writes" in line
    other = refused("link", tmp_path / "index", toy_folder)
    assert other.endswith(f"{toy_folder}: is a folder, expected a file")


@pytest.mark.parametrize("options", [(), ("--sequences", 9)])
def test_a_folder_without_a_mention_is_not_written(
    options: tuple[object, ...], refused: Callable[..., str], run: Callable, toy_folder: Path, tmp_path: Path
) -> None:
    """Catches a folder that is there and that datasets cannot load; a table has its header."""
    (tmp_path / "text.txt").write_text("nothing\nto find\n")
    words = ("mentions", toy_folder, tmp_path / "text.txt", "-o")
    line = refused(*words, tmp_path / "out", "--language", "en", *options)
    assert f"no term of {toy_folder} was found in 2 documents, in en; expected texts with its terms" in line
    assert not list(tmp_path.glob("*out*"))
    if not options:
        assert run(*words, tmp_path / "out.csv").exit_code == 0
        assert (tmp_path / "out.csv").read_text() == "document,start,end,mention,term,codes,context\n"
