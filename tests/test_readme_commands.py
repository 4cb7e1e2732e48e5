"""Every command of the README, in its order, on small files of the names that stand there."""

from __future__ import annotations

import csv
import re
import shlex
import shutil
from pathlib import Path

import pytest
from sentence_transformers import SentenceTransformer
from typer.testing import CliRunner

from st_biomed.cli import app
from st_biomed.terminology import Terminology
from tests.contracts.reader_contract import FIXTURES

README = (Path(__file__).parents[1] / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"```\n(.*?)```", README.split("\n## Publishing\n")[0], re.DOTALL)
COMMANDS = [
    line for block in BLOCKS for line in block.replace("\\\n", " ").splitlines() if line.startswith("st-biomed ")
]
INDEX = re.search(r"searched like this:\n\n```python\n(.*?)```", README, re.DOTALL)
TRAINING = re.search(r"and a sampler:\n\n```python\n(.*?)```", README, re.DOTALL)


def table(path: Path, *rows: tuple[object, ...]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, dialect="excel-tab" if path.suffix == ".tsv" else "excel").writerows(rows)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with what the commands read."""
    monkeypatch.chdir(tmp_path)
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
    table(tmp_path / "mentions.tsv", ("mention",), ("zorb",), ("gradtha",))
    italian = Terminology.read("icd9cm", FIXTURES / "icd9cm_it_tree.tsv")
    italian.save(tmp_path / "data" / "icd9_it")
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "notes.txt").write_text("".join(f"uno {name} due\n" for name in italian.strings), "utf-8")
    pairs = [(float(i % 5), "", "", *sorted(toy.strings)[i : i + 2]) for i in range(12)]
    table(tmp_path / "DATA/benchmarks_dev/similarity/MayoSRS.csv", ("Mean", "CUI1", "CUI2", "TERM1", "TERM2"), *pairs)
    return tmp_path


def test_the_commands_run_in_the_order_of_the_readme(
    place: Path, tiny_bert_folder: Path, monkeypatch: pytest.MonkeyPatch
):
    """Trainings are cut to two steps from a tiny encoder, which stands for every model that is named, too."""
    from st_biomed.leaderboard import models
    from st_biomed.linking import concept_index

    tiny = SentenceTransformer(str(tiny_bert_folder), device="cpu")
    load = models.load_encoder

    def loaded(name: str | Path, **options: object) -> SentenceTransformer:
        return load(tiny_bert_folder if not Path(name).is_dir() else name, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(models, "load_encoder", loaded)
    monkeypatch.setattr(concept_index, "load_encoder", loaded)
    assert len(COMMANDS) > 15
    for command in COMMANDS:
        program, *words = shlex.split(command, comments=True)
        if words[0] == "train":
            words += [
                "--base_model",
                str(tiny_bert_folder),
                "--smoke",
                "true",
                "--overwrite",
                "true",
                "--bf16",
                "false",
            ]
        ended = CliRunner().invoke(app, words)
        assert (program, ended.exit_code) == ("st-biomed", 0), f"{command}\n{ended.output}\n{ended.exception!r}"
    left = {path.name for path in place.iterdir()} | {path.name for path in (place / "data").iterdir()}
    assert {"linked.tsv", "figure.svg", "both", "open", "snomed", "mentions", "sequences", "mine"} <= left
    assert TRAINING and INDEX
    terms = Terminology.read("toy")
    from st_biomed import Hierarchy

    with_few = TRAINING[1].replace(
        "max_steps=100, per_device_train_batch_size=128", "max_steps=2, per_device_train_batch_size=16"
    )
    exec(compile(with_few, "README.md", "exec"), {"terms": terms, "hierarchy": Hierarchy(terms), "model": tiny})
    exec(compile(INDEX[1], "README.md", "exec"), {})
