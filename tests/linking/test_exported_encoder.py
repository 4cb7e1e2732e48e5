"""An exported encoder serves an index that it made, or that its encoder made and whose names it embeds alike."""

from __future__ import annotations

from pathlib import Path

import pytest

from st_biomed.errors import InputError
from st_biomed.linking import ConceptIndex, EncodingOptions
from st_biomed.release.export import export_encoder
from tests.cli.verbs import command
from tests.exports import NOISE, edited, exporter, runtime  # noqa: F401


@pytest.fixture
def float32(runtime, exporter: Path, tiny_bert_folder: Path, tmp_path: Path) -> Path:  # noqa: F811
    export_encoder(tiny_bert_folder, tmp_path / "float32", python=exporter)
    return tmp_path / "float32"


@pytest.fixture
def int8(runtime, exporter: Path, tiny_bert_folder: Path, tmp_path: Path) -> Path:  # noqa: F811
    export_encoder(tiny_bert_folder, tmp_path / "int8", int8="avx2", python=exporter)
    return tmp_path / "int8"


def test_an_index_is_built_and_opened_with_an_exported_encoder(zorb, int8: Path, tmp_path: Path):
    """Catches an index that opens with torch where its names are int8."""
    built = ConceptIndex.build(zorb, int8, tmp_path / "own")
    opened = ConceptIndex.load(tmp_path / "own")
    assert opened.search(["flumpa disease"]) == built.search(["flumpa disease"])
    assert opened.manifest.model == str(int8)


def test_an_index_of_the_exported_encoder_refuses_all_others(
    zorb, float32: Path, int8: Path, tiny_bert_folder: Path, tmp_path: Path
):
    ConceptIndex.build(zorb, int8, tmp_path / "own")
    for other in (float32, tiny_bert_folder):
        with pytest.raises(InputError, match=r"was built with model .*int8 \(sha256 \w{12}\), this one has sha256"):
            ConceptIndex.load(tmp_path / "own", other)


@pytest.mark.parametrize("similarity", ["cosine", "dot", "euclidean"])
def test_a_float32_graph_serves_the_index_of_its_encoder(
    zorb, tiny_bert_folder, float32: Path, int8: Path, tmp_path: Path, similarity
):
    """Catches an int8 graph whose scores are silently others."""
    options = EncodingOptions(bf16=False)
    built = ConceptIndex.build(zorb, tiny_bert_folder, tmp_path / "index", similarity=similarity, encoding=options)
    served = ConceptIndex.load(tmp_path / "index", float32)
    for mine, theirs in zip(served.search(["flumpa x"])[0], built.search(["flumpa x"])[0], strict=True):
        assert (mine.concept, mine.name) == (theirs.concept, theirs.name)
        assert mine.score == pytest.approx(theirs.score, abs=1e-4)
    says = r"the exported encoder gives other vectors than .* apart, at most 0.03 is allowed\); build the index again"
    with pytest.raises(InputError, match=says):
        ConceptIndex.load(tmp_path / "index", int8)
    assert NOISE > 0.03


def test_the_record_alone_opens_no_index(zorb, tiny_bert_folder, float32: Path, int8: Path, tmp_path: Path):
    """Catches trust in what a folder says of itself, and an export of another encoder with equal vectors by chance."""
    index = ConceptIndex.build(zorb, tiny_bert_folder, tmp_path / "index")
    other = edited(float32, tmp_path / "edited", source_sha256="0" * 64)
    with pytest.raises(InputError, match="was built with model"):
        index.use(other)


def test_a_line_is_linked_with_an_exported_encoder(zorb, tiny_bert_folder, float32: Path, tmp_path: Path):
    zorb.save(tmp_path / "zorb")
    made = command("index", tmp_path / "zorb", "--model", tiny_bert_folder, "-o", tmp_path / "index")
    assert made.code == 0
    (tmp_path / "mentions.txt").write_text("flumpa disease\n")
    words = ("link", tmp_path / "index", tmp_path / "mentions.txt", "-k", 1, "--model")
    linked = [command(*words, model) for model in (float32, tiny_bert_folder)]
    assert [ended.code for ended in linked] == [0, 0]
    assert [ended.stdout.split("\t")[2] for ended in linked] == ["ZORB:1"] * 2
    refused = command(*words, float32, "--device", "cuda")
    assert refused.code == 2
