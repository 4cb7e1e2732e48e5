"""``st-biomed index`` and ``st-biomed link``."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from st_biomed.cli import app
from tests.contracts.reader_contract import FIXTURES


@pytest.fixture
def refused(run: Callable) -> Callable[..., str]:
    """As that of all verbs, but a model may be loaded first, whose bar sentence-transformers shows."""

    def check(*words: object) -> str:
        result = run(*words)
        assert (result.exit_code, result.stdout) == (2, ""), result.output
        line = result.stderr.splitlines()[-1]
        assert line.startswith("error: ")
        return line

    return check


@pytest.fixture
def index(run: Callable, toy_folder: Path, tiny_bert_folder: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "index"
    result = run("index", toy_folder, "--model", tiny_bert_folder, "-o", folder)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0].endswith("16 dimensions, exact: recall@1 1 by construction")
    assert lines[1].startswith(f"saved to {folder} after ")
    return folder


def test_the_recall_that_was_measured_is_printed(
    run: Callable, toy_folder: Path, tiny_bert_folder: Path, tmp_path: Path
) -> None:
    words = ("index", toy_folder, "--model", tiny_bert_folder, "-o", tmp_path / "hnsw", "--kind", "hnsw")
    assert "hnsw: recall@1 " in run(*words).stdout
    assert "against exact search on " in run(*words, "--overwrite").stdout


def test_a_text_is_linked_line_by_line(run: Callable, index: Path, tmp_path: Path) -> None:
    mentions, out = tmp_path / "mentions.txt", tmp_path / "out" / "linked.txt"
    mentions.write_text("flumpa disease\n\ngradtha\n")
    result = run("link", index, mentions, "-o", out, "-k", 2)
    assert result.exit_code == 0, result.output
    cells = [line.split("\t") for line in out.read_text().splitlines()]
    assert [row[:2] for row in cells] == [
        ["flumpa disease", "1"],
        ["flumpa disease", "2"],
        ["", "0"],
        ["gradtha", "1"],
        ["gradtha", "2"],
    ]
    assert cells[0][2:] == ["TOY:D0", "1.0000", "flumpa disease", "flumpa disease"]
    assert "3 mentions: 2 linked, 0 without a concept, 1 without text;" in result.stderr
    assert "already exists; --overwrite replaces it" in run("link", index, mentions, "-o", out).stderr


def test_tsv_and_jsonl_keep_their_rows(run: Callable, index: Path, tmp_path: Path) -> None:
    table = tmp_path / "mentions.tsv"
    table.write_text("id\tmention\nb\tflumpa disease\na\t\n")
    result = run("link", index, table, "--column", "mention", "-k", 1)
    lines = result.stdout.splitlines()
    assert lines[0] == "id\tmention\trank\tconcept\tscore\tname\tlabel"
    assert lines[1].startswith("b\tflumpa disease\t1\tTOY:D0\t")
    assert lines[2] == "a\t\t0\t\t\t\t"
    assert "1 linked, 0 without a concept, 1 without text" in result.stderr

    objects = tmp_path / "mentions.jsonl"
    objects.write_text('{"id": 7, "text": "flumpa"}\n')
    result = run("link", index, objects, "--types", "organ", "-k", 3)
    row = json.loads(result.stdout)
    assert row["id"] == 7
    assert {tuple(found["types"]) for found in row["concepts"]} == {("organ",)}
    objects.write_text('{"id": 7, "text": "something else of it"}\n')  # a name's own cosine is 1
    result = run("link", index, objects, "--threshold", 1)
    assert json.loads(result.stdout)["concepts"] == []
    assert "0 linked, 1 without a concept" in result.stderr


def test_a_csv_is_linked_by_its_column(run: Callable, index: Path, tmp_path: Path) -> None:
    """Catches a CSV that is linked line by line as plain text, its header too."""
    table = tmp_path / "terms.csv"
    table.write_text('id,term\n7,"flumpa disease"\n8,"of the\nflumpa, nobody\'s"\n')
    result = run("link", index, table, "--column", "term", "-k", 1, "--output", "-")
    assert result.exit_code == 0, result.output
    rows = list(csv.reader(io.StringIO(result.stdout, newline="")))
    assert rows[0] == ["id", "term", "rank", "concept", "score", "name", "label"]
    assert rows[1] == ["7", "flumpa disease", "1", "TOY:D0", "1.0000", "flumpa disease", "flumpa disease"]
    assert rows[2][:3] == ["8", "of the\nflumpa, nobody's", "1"] and len(rows) == 3
    for name in ("linked.parquet", "linked.jsonl.gz"):
        assert run("link", index, table, "--column", "term", "-o", tmp_path / name).exit_code == 0
    assert pq.read_table(tmp_path / "linked.parquet")["id"].to_pylist() == ["7"] * 5 + ["8"] * 5
    objects = gzip.decompress((tmp_path / "linked.jsonl.gz").read_bytes()).decode().splitlines()
    assert [len(json.loads(line)["concepts"]) for line in objects] == [5, 5]
    parquet = CliRunner().invoke(
        app, ["link", str(index), "--format", "csv", "--output-format", "parquet", "--column", "term"],
        input=table.read_bytes(),
    )  # fmt: skip
    assert pq.read_table(io.BytesIO(parquet.stdout_bytes)).equals(pq.read_table(tmp_path / "linked.parquet"))


def test_conditions_leave_their_concepts_alone(run: Callable, index: Path, tmp_path: Path) -> None:
    mentions = tmp_path / "mentions.jsonl"
    mentions.write_text('{"text": "flumpa disease"}\n')

    def found(*words: object) -> list[str]:
        result = run("link", index, mentions, "-k", 99, *words)
        assert result.exit_code == 0, result.output
        return [concept["concept"] for concept in json.loads(result.stdout)["concepts"]]

    below = found("--below", "TOY:D0.1")
    assert sorted(below) == ["TOY:D0.1", "TOY:D0.1.0", "TOY:D0.1.1", "TOY:D0.1.2"]
    assert sorted(found("--below", "TOY:D0.1,TOY:D0.2", "--leaves")) == [
        *(f"TOY:D0.1.{i}" for i in range(3)),
        *(f"TOY:D0.2.{i}" for i in range(3)),
    ]
    assert found("--sources", "TOY", "--languages", "en") == found()


def test_standard_leaves_the_standard_concepts_of_omop(
    run: Callable, refused: Callable[..., str], index: Path, tiny_bert_folder: Path, tmp_path: Path
) -> None:
    """Catches an option that does not reach the search."""
    mentions, omop = tmp_path / "mentions.jsonl", tmp_path / "omop"
    mentions.write_text('{"text": "flumpa disease"}\n')
    assert run("index", f"omop:{FIXTURES / 'omop'}", "--model", tiny_bert_folder, "-o", omop).exit_code == 0
    found = [run("link", omop, mentions, "-k", 99, *words).stdout for words in ((), ("--standard",))]
    codes = [{concept["concept"] for concept in json.loads(line)["concepts"]} for line in found]
    assert codes[0] - codes[1] == {"OMOP:2000000010", "OMOP:99000005", "OMOP:99000006", "OMOP:99000011"}
    assert "no concept of the index is marked as standard" in refused("link", index, mentions, "--standard")


def test_a_bad_row_is_left_out_and_counted(run: Callable, index: Path, tmp_path: Path) -> None:
    """Catches a job of a night that ends at its last row, and a row that is in no file."""
    table, out, rejects = (tmp_path / name for name in ("terms.csv", "linked.csv", "rejects.jsonl"))
    table.write_bytes(b"id,text\n1,flumpa\n2\n3,\xe9\n4,gradtha\n")
    words = ("link", index, table, "-k", 1, "-o", out)
    assert run(*words).exit_code == 2 and not out.exists()
    result = run(*words, "--on-error", "reject", "--rejects", rejects)
    assert result.exit_code == 0, result.output
    assert (
        f"2 mentions: 2 linked, 0 without a concept, 0 without text, 2 rows rejected (see {rejects});" in result.stderr
    )
    assert [line.split(",")[0] for line in out.read_text().splitlines()] == ["id", "1", "4"]
    assert [json.loads(line)["line"] for line in rejects.read_text().splitlines()] == [3, 4]
    assert f"{rejects}: already exists" in run(*words[:-2], "--on-error", "reject", "--rejects", rejects).stderr
    output = run(*words[:-2], "--on-error", "reject").stderr
    assert f"rejected: {table}:3: 1 cells, expected 2" in output and "2 rows rejected;" in output
    table.write_text("text\nflumpa\n")
    result = run(*words, "--overwrite", "--on-error", "reject", "--rejects", rejects)
    assert "0 rows rejected;" in result.stderr and rejects.read_bytes() == b""


def test_blank_lines_and_missing_mentions_are_counted(run: Callable, index: Path, tmp_path: Path) -> None:
    """Catches lines that disappear without a word, and NULL that is linked as a word."""
    table = tmp_path / "terms.csv"
    table.write_text("id;text\n1;flumpa\n\n2;NULL\n3; N/A\n\n")
    words = ("link", index, table, "-k", 1)
    result = run(*words, "--missing", "NULL,N/A")
    assert result.exit_code == 0, result.output
    assert [line[:6] for line in result.stdout.splitlines()] == ["id;tex", "1;flum", "2;NULL", "3; N/A"]
    assert result.stdout.splitlines()[2:] == ["2;NULL;0;;;;", "3; N/A;0;;;;"]
    assert "3 mentions: 1 linked, 0 without a concept, 2 without text, 2 blank lines;" in result.stderr
    table.write_text("id;text\n1;NULL\n\n")
    assert "1 mentions: 1 linked, 0 without a concept, 0 without text, 1 blank line;" in run(*words).stderr
    table.write_text("id;text\n1;flumpa\n")
    assert "0 without text; " in run(*words).stderr


def test_a_file_of_utf8_in_another_encoding_is_warned_of(run: Callable, index: Path, tmp_path: Path) -> None:
    """Catches a warning about the file that is not there for standard input, and one for a file that is in cp1252."""
    table = tmp_path / "terms.csv"
    table.write_text("text\nflumpa\nMénière\n", "utf-8")
    warning = "is valid UTF-8; --encoding cp1252 reads 'Ã©' where UTF-8 has 'é'\n"
    result = run("link", index, table, "--encoding", "cp1252")
    assert result.exit_code == 0 and result.stderr.count("warning: ") == 1
    assert f"warning: {table} {warning}" in result.stderr
    words = ["link", str(index), "--format", "csv", "--encoding", "cp1252"]
    streamed = CliRunner().invoke(app, words, input=table.read_bytes())
    assert streamed.stdout == result.stdout and f"warning: standard input {warning}" in streamed.stderr
    table.write_text("text\nMénière\n", "cp1252")
    assert "warning" not in run("link", index, table, "--encoding", "cp1252").stderr


def test_a_row_that_is_not_in_the_encoding_is_left_out(run: Callable, index: Path, tmp_path: Path) -> None:
    """Catches a job that ends at one byte that cp1252 does not have, although rows are to be rejected."""
    table, rejects = tmp_path / "terms.csv", tmp_path / "rejects.jsonl"
    table.write_bytes(b"id;text\n1;gout\x81x\n2;flumpa\n")
    words = ("link", index, table, "--encoding", "cp1252", "--on-error", "reject", "--rejects", rejects)
    result = run(*words, "-k", 1)
    assert result.exit_code == 0 and "1 mentions: 1 linked" in result.stderr
    row = json.loads(rejects.read_text())
    assert (row["line"], row["reason"]) == (2, "is not cp1252; name another --encoding") and "row_base64" in row


def test_a_context_expands_and_orders(run: Callable, index: Path, tiny_bert_folder: Path, tmp_path: Path) -> None:
    """Catches a context that is not that of its row, and an option that does nothing."""
    from sentence_transformers import SentenceTransformer

    from st_biomed.modules.markers import pool_mentions

    table = tmp_path / "terms.csv"
    table.write_text('near,term\n"The flumpa disease (FD) is rare.",FD\n,gradtha\nnothing here,flumpa disease\n')
    words = ("link", index, table, "--column", "term", "-k", 1, "--context", "near")
    result = run(*words, "--abbreviations")
    assert result.exit_code == 0, result.output
    rows = list(csv.reader(io.StringIO(result.stdout)))
    assert rows[1][1:4] == ["FD", "1", "TOY:D0"] and rows[1][4] == "1.0000"
    assert "3 mentions: 3 linked, 0 without a concept, 0 without text, 1 expanded;" in result.stderr

    model = SentenceTransformer(str(tiny_bert_folder), device="cpu")
    pool_mentions(model).save_pretrained(str(tmp_path / "marked"))
    ranked = run(*words, "--abbreviations", "--rerank", tmp_path / "marked", "--rerank-weight", 1, "--candidates", 3)
    assert ranked.exit_code == 0, ranked.output
    lines = list(csv.reader(io.StringIO(ranked.stdout)))
    assert lines[2:] == rows[2:] and lines[1][:3] == rows[1][:3] and lines[1][4] != rows[1][4]
    assert "1 expanded, 1 not in their context;" in ranked.stderr
    same = run(*words, "--abbreviations", "--rerank", tmp_path / "marked", "--rerank-weight", 0)
    assert same.stdout == result.stdout


def test_a_model_without_markers_is_refused(
    refused: Callable[..., str], index: Path, tiny_bert_folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "terms.csv").write_text("near,text\na,b\n")
    words = ("link", index, tmp_path / "terms.csv", "--context", "near", "--rerank", tiny_bert_folder)
    assert "its tokenizer has no markers [Ms] and [Me]" in refused(*words)
    assert "no column 'far'" in refused(*words[:3], "--context", "far", "--abbreviations")


def test_standard_input_is_read_where_no_file_is_given(index: Path) -> None:
    result = CliRunner().invoke(app, ["link", str(index), "-k", "1"], input="flumpa disease\n")
    assert result.stdout.startswith("flumpa disease\t1\tTOY:D0\t")


def test_standard_input_that_is_not_utf8_names_its_line(index: Path) -> None:
    """Catches the line before it, which a text stream that decodes ahead would name."""
    result = CliRunner().invoke(app, ["link", str(index)], input=b"flumpa disease\nzorb\nvo\xffgl\nzorb\n")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.splitlines()[-1] == (
        "error: standard input:3: is not UTF-8; convert it, or name its --encoding, e.g. cp1252"
    )


def test_mistakes_are_one_line(
    run: Callable, refused: Callable[..., str], index: Path, toy_folder: Path, tiny_bert_folder: Path, tmp_path: Path
) -> None:
    mentions = tmp_path / "mentions.tsv"
    mentions.write_text("id\tstring\n1\tflumpa\n")
    assert "no such file" in refused("link", index, tmp_path / "nowhere.txt")
    assert "no column 'text'" in refused("link", index, mentions)
    columns = tmp_path / "columns.parquet"
    assert "--encoding cp1252: is not used for parquet" in refused("link", index, columns, "--encoding", "cp1252")
    assert "unknown format 'xml'" in refused("link", index, mentions, "--format", "xml")
    assert "no concept has type 'gland'" in refused("link", index, mentions, "--column", "string", "--types", "gland")
    for condition in ("--types", "--below", "--sources", "--languages"):  # an unset variable would restrict nothing
        line = refused("link", index, mentions, "--column", "string", condition, "")
        assert f"{condition}: is empty, expected one or more, or leave it out" in line
    assert "no index.json in it" in refused("link", toy_folder, mentions, "--column", "string")
    assert "already contains an index; choose another folder, or replace it with --overwrite" in refused(
        "index", toy_folder, "--model", "any", "-o", index
    )
    assert "is not a local folder" in refused(
        "link", index, mentions, "--column", "string", "--model", "no/such-model"
    )

    from sentence_transformers import SentenceTransformer

    other = SentenceTransformer(str(tiny_bert_folder), device="cpu")
    other.max_seq_length = 5
    other.save_pretrained(str(tmp_path / "other"))
    line = refused("link", index, mentions, "--column", "string", "--model", tmp_path / "other")
    assert "was built with model" in line


def test_a_bad_row_leaves_no_half_of_an_output(refused: Callable[..., str], index: Path, tmp_path: Path) -> None:
    """Catches an output that looks whole and is not: it has its name once the last row is written."""
    mentions = tmp_path / "mentions.tsv"
    mentions.write_text("id\ttext\n1\tflumpa\n2\n")
    assert f"{mentions}:3: 1 cells, expected 2" in refused("link", index, mentions, "-o", tmp_path / "linked.tsv")
    assert not list(tmp_path.glob("*linked*"))
