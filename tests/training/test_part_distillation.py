"""Self-distillation with a weight of its own in single parts."""

from __future__ import annotations

from pathlib import Path

import pytest
from sentence_transformers import SentenceTransformerTrainingArguments

from recipes.open_encoder import OpenEncoderArguments
from st_biomed.errors import InputError
from st_biomed.losses.distilled import DistilledLoss
from st_biomed.losses.self_distillation import SelfDistillationLoss
from st_biomed.settings.recipe import read_settings
from st_biomed.terminology import Terminology
from st_biomed.training.readings import distillation_readings

SETTINGS = (OpenEncoderArguments, SentenceTransformerTrainingArguments)


def test_a_part_has_its_own_weight_or_no_distillation(tiny_bert, tmp_path: Path):
    """Catches a weight that all parts get, and a part of weight 0 that is held all the same."""
    toy = Terminology.read("toy", definitions=True)
    recipe = OpenEncoderArguments(distillation=3.0, part_distillation=["hierarchy=0", "relations=0.5"])
    parts = {
        name: recipe.part(name, tiny_bert, toy, tmp_path / "terminology", 0)
        for name in ("synonyms", "hierarchy", "relations")
    }
    losses = recipe.distill_parts(parts, tiny_bert, toy)
    assert losses["hierarchy"] is parts["hierarchy"].loss and losses["hierarchy"].model is tiny_bert
    weights = {name: loss.distillation.weight for name, loss in losses.items() if isinstance(loss, DistilledLoss)}
    assert weights == {"synonyms": 3.0, "relations": 0.5}


def test_raw_text_has_its_own_weight(tiny_bert, tmp_path: Path):
    """Catches the part of raw text, whose loss is made elsewhere, with the weight of the others."""
    (tmp_path / "texts.txt").write_text("The ship left the harbor at noon.\nRain fell.\n", "utf-8")
    arguments = {"distilled_texts": [str(tmp_path / "texts.txt")], "text_form": "lines", "distillation": 3.0}
    recipe = OpenEncoderArguments(**arguments, part_distillation=["texts=2"])
    toy = Terminology.read("toy")
    parts = {"texts": recipe.part("texts", tiny_bert, toy, tmp_path / "terminology", 0)}
    loss = recipe.distill_parts(parts, tiny_bert, toy)["texts"]
    assert isinstance(loss, SelfDistillationLoss) and loss.weight == 2.0
    undistilled = OpenEncoderArguments(**arguments, part_distillation=["texts=0"])
    with pytest.raises(InputError, match="the part texts is only distilled, and its weight is 0"):
        undistilled.check_texts(["synonyms", "texts"])


@pytest.mark.parametrize(
    "given",
    [["hierarchy"], ["=1"], ["hierarchy=much"], ["hierarchy=nan"], ["hierarchy=-1"], ["hierarchy=1", "hierarchy=2"]],
)
def test_other_entries_are_refused_in_one_line(given: list[str]):
    recipe = OpenEncoderArguments(distillation=1.0, part_distillation=given)
    with pytest.raises(InputError, match=r"^part_distillation: entries PART=WEIGHT .*, found '"):
        recipe.check_part_distillation(recipe.parts)


def test_a_part_that_is_not_trained_on_is_refused():
    recipe = OpenEncoderArguments(distillation=1.0, part_distillation=["mentions=1"])
    with pytest.raises(InputError, match="part_distillation .*mentions"):
        recipe.check_part_distillation(recipe.parts)
    with pytest.raises(InputError, match="^part_distillation: is not used with --distillation 0"):
        OpenEncoderArguments(part_distillation=["hierarchy=1"]).check_part_distillation(["hierarchy"])


def test_an_ablation_without_the_part_needs_no_other_change(tmp_path: Path):
    """Catches a weight of a configuration that refuses the command which leaves its part out, or all distillation."""
    config = tmp_path / "config.yaml"
    config.write_text("distillation: 8\npart_distillation: [hierarchy=0]\n", "utf-8")
    for changed in (["--parts", "synonyms", "relations"], ["--distillation", "0"], ["--part_distillation", "none"]):
        recipe, _ = read_settings(SETTINGS, [str(config), *changed])
        recipe.check_part_distillation(recipe.parts)


def test_the_card_says_which_parts_are_held_otherwise():
    recipe = OpenEncoderArguments(distillation=8.0, part_distillation=["hierarchy=2", "definitions=0"])
    recipe.parts = ["synonyms", "hierarchy"]
    (sentence,) = distillation_readings(recipe)
    assert sentence.endswith("with weight 8, 2 in batches of the part hierarchy.")
