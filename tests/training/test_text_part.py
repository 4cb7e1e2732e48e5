"""Raw text as a part of a training that is only distilled."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from recipes import open_encoder
from recipes.open_encoder import OpenEncoderArguments
from st_biomed.corpus.raw_text import Document
from st_biomed.errors import InputError
from st_biomed.losses import CachedSelfDistillationLoss, SelfDistillationLoss
from st_biomed.terminology import Terminology
from st_biomed.training_data.raw_passages import passages_dataset

SMOKE = str(Path(open_encoder.__file__).parent / "configs" / "open_encoder_smoke.yaml")
LINES = ["the train was late and the rain was cold", "the train was late", "a dog"]


@pytest.fixture
def raw_text(tmp_path: Path) -> Path:
    """A document a line; the passages of three words of the second line are passages of the first, too."""
    file = tmp_path / "general.txt"
    file.write_text("".join(f"{line}\n" for line in LINES))
    return file


def test_passages_are_consecutive_and_different():
    """Catches words that are lost or repeated, and passages across documents."""
    rows = passages_dataset([Document(str(i), line) for i, line in enumerate(LINES)], words=3)
    assert rows["text"][:] == ["the train was", "late and the", "rain was cold", "late", "a dog"]
    assert rows["label"][:] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("found", "words", "message"),
    [([], 3, "no passages: the documents have no text"), ([Document("a", "b")], 0, "words must be")],
)
def test_no_passages_are_one_line(found: list[Document], words: int, message: str):
    with pytest.raises(InputError, match=message):
        passages_dataset(found, words)


@pytest.mark.parametrize(("mini_batch_size", "kind"), [(None, SelfDistillationLoss), (2, CachedSelfDistillationLoss)])
def test_the_part_is_held_by_its_own_vectors(
    tiny_bert, tmp_path: Path, raw_text: Path, mini_batch_size: int | None, kind: type
):
    """Catches rows that are looked up among the names, and a weight or target that is not used."""
    recipe = OpenEncoderArguments(
        distillation=3.0,
        distillation_target="vectors",
        distillation_share=0.75,
        distilled_texts=[str(raw_text)],
        passage_words=3,
        mini_batch_size=mini_batch_size,
    )
    toy = Terminology.read("toy", definitions=True)
    parts = {name: recipe.part(name, tiny_bert, toy, tmp_path / "toy", 0) for name in ("synonyms", "texts")}
    losses = recipe.distill_parts(parts, tiny_bert, toy)
    assert list(losses) == ["synonyms", "texts"] and type(losses["texts"]) is kind
    loss = getattr(losses["texts"], "loss", losses["texts"])
    assert (loss.weight, loss.target, loss.share) == (3.0, "vectors", 0.75)
    texts = parts["texts"].rows["text"][:]
    np.testing.assert_allclose(loss.teacher[:], tiny_bert.encode(texts), atol=2e-3)
    held = losses["texts"]([dict(tiny_bert.eval().preprocess(texts))], torch.arange(len(texts)))
    assert held.item() == pytest.approx(0, abs=1e-5), "an encoder that has not moved is where it was"


def run(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> None:
    monkeypatch.setattr(sys, "argv", ["open_encoder.py", SMOKE, *map(str, arguments)])
    open_encoder.main()


@pytest.mark.long
def test_the_recipe_trains_on_the_text_and_names_it(
    monkeypatch, tiny_bert_folder: Path, tmp_path: Path, raw_text: Path
):
    """Catches a part that is asked for and not trained, and text that the card does not name."""
    raw_text.write_text("".join(f"{line} number {i}\n" for i in range(20) for line in LINES))
    given = ["--base_model", tiny_bert_folder, "--output_dir", tmp_path / "out", "--distilled_texts", raw_text]
    parts = ["synonyms", "texts"]
    run(monkeypatch, *given, "--parts", *parts, "--shares", 1, 1, "--distilled_texts_license", "CC0-1.0")
    record = json.loads((tmp_path / "out" / "run.json").read_text())
    assert {part: loss["loss"] for part, loss in record["losses"].items()} == {
        "synonyms": "DistilledLoss",
        "texts": "SelfDistillationLoss",
    }
    [corpus] = record["corpora"]
    assert (corpus["files"], corpus["documents"], corpus["license"]) == (["general.txt"], 60, "CC0-1.0")
    assert "without a loss but self-distillation" in (tmp_path / "out" / "README.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--parts", "synonyms", "texts"], "parts: texts needs raw text"),
        (["--distilled_texts", "FILE"], "distilled_texts: belong to the part texts, found synonyms definitions"),
        (["--parts", "texts", "--distilled_texts", "FILE", "--distillation", 0], "texts is only distilled"),
        (["--parts", "texts", "--distilled_texts", "lost.txt"], "lost.txt: no such file"),
    ],
)
def test_text_that_does_not_fit_is_refused_before_anything_is_read(monkeypatch, raw_text, arguments, message):
    monkeypatch.setattr(open_encoder, "read_terminology", None)
    with pytest.raises(InputError, match=message):
        run(monkeypatch, *(raw_text if argument == "FILE" else argument for argument in arguments))
