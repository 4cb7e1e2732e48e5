"""Translations that the open encoder's recipe holds out: never trained on, and linked in each language."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from datasets import Dataset
from sentence_transformers import SentenceTransformerTrainingArguments

import st_biomed.training.phases
from recipes import open_encoder
from recipes.open_encoder import Data, OpenEncoderArguments
from st_biomed.errors import InputError
from st_biomed.evaluators.entity_linking.evaluator import EntityLinkingEvaluator
from st_biomed.records import SourceInfo, Term
from st_biomed.settings.recipe import read_settings
from st_biomed.terminology import Terminology

CONFIGS = Path(open_encoder.__file__).parent / "configs"
SMOKE = str(CONFIGS / "open_encoder_smoke.yaml")
MULTILINGUAL = CONFIGS / "open_encoder_multilingual.yaml"
SCRIPT = CONFIGS.parents[1] / "evaluation" / "open_encoder_multilingual.sh"
WORDS = {"en": "flumpa", "es": "flumpo", "it": "flumpi"}


@pytest.fixture
def both(tmp_path: Path) -> Path:
    """The toy, and 40 concepts with two names in each of three languages."""
    names = [
        Term(f"S:{c:02}", f"{word} {c}{end}", "synonym", language)
        for c in range(40)
        for language, word in WORDS.items()
        for end in "xy"
    ]
    source = SourceInfo("S", "S", license="CC0-1.0", redistributable=True)
    toy = Terminology.read("toy", definitions=True)
    Terminology.merge(Terminology.from_records(names, source), toy).save(tmp_path / "both")
    return tmp_path / "both"


def settings(*given: object, configuration: str = SMOKE) -> tuple[OpenEncoderArguments, Any]:
    return read_settings(
        (OpenEncoderArguments, SentenceTransformerTrainingArguments), [configuration, *map(str, given)]
    )


def mentions(data: Data) -> dict[str, set[str]]:
    """Names that are linked, dev and test, by the data set."""
    found: dict[str, set[str]] = {}
    for evaluator in data.suite.tests:
        if isinstance(evaluator, EntityLinkingEvaluator) and evaluator.name.startswith("translations"):
            splits = [evaluator.dataset.split(name) for name in ("dev", "test")]
            found[evaluator.name] = {mention.text for split in splits for mention in split}
    return found


def strings(rows: Dataset) -> set[str]:
    """All strings of all columns."""
    return {value for name in rows.column_names for value in rows[name] if isinstance(value, str)}


@pytest.mark.long
def test_held_out_translations_are_linked_and_in_no_row_of_any_training(
    both: Path, tiny_bert_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Catches a held-out translation that is trained on, as a synonym or in any other part, and a language that is not measured."""
    read, train = open_encoder.read, st_biomed.training.phases.run_trainer
    seen: list[Data] = []
    trained: list[set[str]] = []

    def reading(*arguments: Any) -> Data:
        seen.append(read(*arguments))
        return seen[-1]

    def training(model: Any, recipe: Any, arguments: Any, rows: Mapping[str, Dataset], *others: Any, **options: Any):
        trained.append(set().union(*map(strings, rows.values())))
        return train(model, recipe, arguments, rows, *others, **options)

    monkeypatch.setattr(open_encoder, "read", reading)
    monkeypatch.setattr(st_biomed.training.phases, "run_trainer", training)
    given = ("--terminology", both, "--held_out_translations", 4, "--translated", "S:", "--pivot_language", "en")
    several = ("--runs", 2, "--alone", "hierarchy")
    out = ("--base_model", tiny_bert_folder, "--output_dir", tmp_path / "out")
    open_encoder.main([SMOKE, *map(str, (*given, *several, *out))])
    held = mentions(seen[0])
    assert {name: len(names) for name, names in held.items()} == {"translations-es": 16, "translations-it": 16}
    assert len(trained) == 4
    for of_one in trained:
        assert not of_one & set().union(*held.values())
    assert len([name for name in trained[0] if re.fullmatch(r"flumpa \d+[xy]", name)]) >= 80 - 8, (
        "English names stay but the 8 held-out ones"
    )
    record = json.loads((tmp_path / "out" / "run.json").read_text("utf-8"))
    assert {*held, "held-out-names"} <= record["results"].keys()
    assert {f"run-1/eval_{name}_dev_acc@1" for name in held} <= {metric["name"] for metric in record["metrics"]}


def test_by_default_every_translation_is_trained_on(both: Path):
    """Catches names that are held out where nobody asked for it."""
    data = open_encoder.read(*settings("--terminology", both, "--held_out_names", 0))
    assert not mentions(data) and data.train is data.whole


def test_the_dictionary_has_the_concepts_of_held_out_sub_trees(both: Path, tmp_path: Path):
    """Catches a dictionary that a tree benchmark shrinks, which makes linking easier."""
    (tmp_path / "trees.yaml").write_text(
        "name: toy_tree\nevaluator: tree\n"
        "settings: {sources: ['toy'], depth: 1, dev: 0.2, test: 0.2, pairs_per_class: 20}\n"
    )
    given = ("--terminology", both, "--held_out_names", 0, "--held_out_translations", 4)
    data = open_encoder.read(*settings(*given, "--trees", tmp_path / "trees.yaml"))
    linked = [test for test in data.suite.tests if isinstance(test, EntityLinkingEvaluator)]
    assert data.train.n_concepts < data.whole.n_concepts
    assert {len(test.dataset.dictionary) for test in linked} == {len(names_in_english(data.whole))}


def names_in_english(terminology: Terminology) -> set[str]:
    return {row["text"] for row in terminology.texts.to_pylist() if not row["text"].startswith(("flumpo", "flumpi"))}


@pytest.mark.parametrize("given", [("--translated", "S:"), ("--languages", "es")], ids=lambda given: given[0])
def test_a_choice_of_translations_that_are_not_held_out_is_refused(given: tuple[str, str]):
    """Catches a run whose user believes that translations are held out."""
    recipe, _ = settings(*given)
    with pytest.raises(InputError, match=rf"^{given[0][2:]}: is not used with --held_out_translations 0, found "):
        open_encoder.check(recipe)


def test_the_multilingual_configuration_holds_out_translations_unless_they_were_held_out_before():
    """Catches a configuration without a figure in another language, and an evaluation that holds out twice."""
    recipe, _ = settings(configuration=str(MULTILINGUAL))
    assert (recipe.held_out_translations, recipe.translated, recipe.languages) == (500, "HP:", [])
    recipe, _ = settings("--held_out_translations", 0, "--trees", "none", configuration=str(MULTILINGUAL))
    open_encoder.without_none(recipe)
    open_encoder.check(recipe)
    assert "recipes/configs/open_encoder_multilingual.yaml" in SCRIPT.read_text("utf-8")
    assert "--held_out_translations 0" in SCRIPT.read_text("utf-8").partition("train() {")[2].partition("\n}")[0]
