"""Every command and example of the README and of its guides, in their order, on small files of the names that stand there."""

from __future__ import annotations

import csv
import gzip
import importlib.util
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
from sentence_transformers import SentenceTransformer
from typer.testing import CliRunner

from st_biomed import Hierarchy
from st_biomed.cli import app
from st_biomed.modules.markers import pool_mentions
from st_biomed.terminology import Terminology
from tests.contracts.reader_contract import FIXTURES
from tests.printed_code import GUIDES, README, commands, examples, without

pytestmark = pytest.mark.long

README_TEXT = without(README.read_text("utf-8"), "Publishing")
GUIDES_TEXT = "\n".join(page.read_text("utf-8") for page in GUIDES)
PRINTS = "concept_names("
"""In the example whose output tests/test_readme.py compares with the page."""
RELEASES = "save_release("
"""In the example that goes on from the one before it; tests/test_readme.py runs both."""


def table(path: Path, *rows: tuple[object, ...]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, dialect="excel-tab" if path.suffix == ".tsv" else "excel").writerows(rows)


@pytest.fixture
def place(tmp_path: Path, tiny_bert_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with what the commands read, and a tiny encoder where ``make quickstart`` leaves its own."""
    monkeypatch.chdir(tmp_path)
    SentenceTransformer(str(tiny_bert_folder), device="cpu").save(str(tmp_path / "out" / "quickstart"))
    toy = Terminology.read("toy")
    codes = list(toy.codes)
    above = [(codes[row["child"]], codes[row["parent"]]) for row in toy.parents.to_pylist()]
    table(tmp_path / "parents.csv", ("child", "parent"), *above)
    names = [(code, name) for code in codes for name in toy.concept_names(code)]
    table(tmp_path / "strings.csv", ("code", "string"), *names)
    table(tmp_path / "relations.csv", ("head", "relation", "tail"), (codes[0], "part_of", codes[1]))
    meta = tmp_path / "umls" / "2025AA" / "META"
    shutil.copytree(FIXTURES / "umls", meta)
    for file in meta.iterdir():
        file.write_text(file.read_text("utf-8").replace("SRCA", "SNOMEDCT_US"), "utf-8")
    shutil.copy(FIXTURES / "zorb.json", tmp_path / "hp.json")
    shutil.copy(FIXTURES / "zorb.obo", tmp_path / "doid.obo")
    shutil.copy(FIXTURES / "desc2031.xml", tmp_path / "desc2026.xml")
    shutil.copy(FIXTURES / "zorb.ssslm.tsv", tmp_path / "phenotype.ssslm.tsv")
    (tmp_path / "orphapacket" / "json").mkdir(parents=True)
    packet = (FIXTURES / "orphapackets.jsonl").read_text("utf-8").splitlines()[0]
    (tmp_path / "orphapacket" / "json" / "ORPHApacket_990001.json").write_text(packet, "utf-8")
    packets = tmp_path / "DATA" / "open2026" / "orphanet" / "orphapackets.jsonl.gz"
    packets.parent.mkdir(parents=True)
    packets.write_bytes(gzip.compress((FIXTURES / "orphapackets.jsonl").read_bytes()))
    shutil.copytree(FIXTURES / "omop", tmp_path / "athena")
    for file in (tmp_path / "athena").iterdir():
        file.write_text(file.read_text("utf-8").replace("RxNorm", "ICD10CM"), "utf-8")
    table(tmp_path / "mentions.tsv", ("mention",), ("zorb",), ("gradtha",))
    table(tmp_path / "mentions.csv", ("mention", "sentence"), ("GF", "A gradtha flumpa (GF) of old."), ("zorb", ""))
    marked = pool_mentions(SentenceTransformer(str(tiny_bert_folder), device="cpu"))
    marked.save(str(tmp_path / "out" / "italian_kge" / "contrastive-training" / "trained"))
    italian = Terminology.read("icd9cm", FIXTURES / "icd9cm_it_tree.tsv")
    italian.save(tmp_path / "data" / "icd9_it")
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "notes.txt").write_text("".join(f"uno {name} due\n" for name in italian.strings), "utf-8")
    pairs = [(float(i % 5), "", "", *sorted(toy.strings)[i : i + 2]) for i in range(12)]
    table(tmp_path / "DATA/benchmarks_dev/similarity/MayoSRS.csv", ("Mean", "CUI1", "CUI2", "TERM1", "TERM2"), *pairs)
    return tmp_path


@pytest.fixture
def tiny(tiny_bert_folder: Path, monkeypatch: pytest.MonkeyPatch) -> SentenceTransformer:
    """A tiny encoder, which stands for every model that is named and is no folder, too."""
    from st_biomed.leaderboard import models
    from st_biomed.linking import concept_index

    load = models.load_encoder

    def loaded(name: str | Path, **options: object) -> SentenceTransformer:
        return load(tiny_bert_folder if not Path(name).is_dir() else name, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(models, "load_encoder", loaded)
    monkeypatch.setattr(concept_index, "load_encoder", loaded)
    return SentenceTransformer(str(tiny_bert_folder), device="cpu")


@pytest.mark.parametrize(
    ("text", "n_commands", "n_examples", "left"),
    [
        pytest.param(README_TEXT, 8, 1, {"figure.svg", "mine", "linked.csv"}, id="README"),
        pytest.param(
            GUIDES_TEXT,
            33,
            5,
            {
                "linked.tsv",
                "linked.csv",
                "omop",
                "figure.svg",
                "graph",
                "both",
                "open",
                "open_sources",
                "snomed",
                "mentions",
                "sequences",
                "mine",
            },
            id="guides",
        ),
    ],
)
def test_the_commands_and_examples_run_in_the_order_of_the_pages(
    text: str,
    n_commands: int,
    n_examples: int,
    left: set[str],
    place: Path,
    tiny: SentenceTransformer,
    tiny_bert_folder: Path,
):
    """The counts notice a block that is printed in a form that nothing takes it from."""
    assert len(commands(text)) == n_commands
    for command in commands(text):
        run(command, tiny_bert_folder)
    assert left <= {path.name for path in place.iterdir()} | {path.name for path in (place / "data").iterdir()}
    toy = Terminology.read("toy")
    given: dict[str, Any] = {"terms": toy, "hierarchy": Hierarchy(toy), "model": tiny}
    quiet = [example for example in examples(text) if PRINTS not in example and RELEASES not in example]
    assert len(quiet) == n_examples
    for example in quiet:
        with_few = example.replace(
            "max_steps=100, per_device_train_batch_size=128", "max_steps=2, per_device_train_batch_size=16"
        )
        without_recognizer = with_few.replace('spacy.load("en_core_sci_sm")', 'spacy.blank("en")')
        exec(compile(without_recognizer, "page", "exec"), dict(given))


def run(command: str, encoder: Path) -> None:
    """One command as it is printed; a training is cut to two steps, from a tiny encoder."""
    program, *words = shlex.split(command, comments=True)
    if "icd10cm_tree" in words and importlib.util.find_spec("simple_icd_10_cm") is None:
        return  # of the extra quickstart
    if words[0] == "train":
        words += ["--base_model", str(encoder), "--smoke", "true", "--overwrite", "true", "--bf16", "false"]
    if words[0] == "show":  # codes of the whole OMOP
        words = [*words[:2], *Terminology.load(words[1]).codes[:2]]
    ended = CliRunner().invoke(app, words)
    assert (program, ended.exit_code) == ("st-biomed", 0), f"{command}\n{ended.output}\n{ended.exception!r}"
