"""Which hierarchies the HiPrBERT recipe holds out, trains on and weights."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from sentence_transformers import SentenceTransformerTrainingArguments

from recipes.hiprbert import HiPrBERTArguments, check
from st_biomed.errors import InputError
from st_biomed.hierarchy import Hierarchy
from st_biomed.settings.recipe import read_settings
from st_biomed.terminology import Terminology
from st_biomed.training_data import split_by_subtree
from tests.recipes.test_hiprbert import run, toy_run


def test_numbers_of_sub_trees_are_held_out(tiny_bert_folder: Path, tmp_path: Path, monkeypatch):
    """Catches a third of all trees out of training where a paper holds a number of them out."""
    numbers = ("--held_out", 3, "--held_out_dev", 2)
    run(monkeypatch, *toy_run(tiny_bert_folder, tmp_path), *numbers, "--parts", "hierarchy")
    hierarchy = Hierarchy(Terminology.read("toy"))
    splits = split_by_subtree(hierarchy, depth=1, dev=2, test=3)
    for part, number in ((splits.dev, 2), (splits.test, 3)):
        depths = hierarchy.depth[[hierarchy.terminology.concept(code) for code in part.codes]]
        assert (depths == 1).sum() == number
    assert Terminology.load(tmp_path / "out-training" / "terminology").codes == splits.train.codes


@pytest.mark.long
def test_cycles_of_sources_that_give_no_hierarchy_do_not_matter(tiny_bert_folder: Path, tmp_path: Path, monkeypatch):
    """Catches a hierarchy that takes the parents of a metathesaurus, and names of a hierarchy among the synonyms."""
    (tmp_path / "parents.csv").write_text("child,parent\nM1,M2\nM2,M3\nM3,M1\n")
    names = "".join(f"M{i},{word} {i}\n" for i in range(1, 40) for word in ("terkia", "mimpa"))
    (tmp_path / "strings.csv").write_text(f"code,string\n{names}")
    tables = {"strings": str(tmp_path / "strings.csv"), "name": "META"}
    Terminology.read("parent_child", tmp_path / "parents.csv", **tables).save(tmp_path / "meta")
    given = [
        *toy_run(tiny_bert_folder, tmp_path),
        tmp_path / "meta",
    ]
    run(
        monkeypatch,
        *given,
        "--hierarchy_sources",
        "TOY",
        "--synonym_sources",
        "META",
        "--parts",
        "synonyms",
        "hierarchy",
    )
    train = Terminology.load(tmp_path / "out-training" / "terminology")
    assert set(train.parents["source"].to_pylist()) == {"TOY"} and set(train.sources) == {"TOY", "META"}


@pytest.mark.long
def test_distances_weighted_by_the_hierarchy_are_trained_and_the_plain_ones_measured(
    tiny_bert_folder: Path, tmp_path: Path, monkeypatch
):
    """Catches AUCs that cannot be compared, and options that do not go together."""
    given = ["--base_model", tiny_bert_folder, "--output_dir", tmp_path / "out", "--level_function", "hierarchy"]
    run(monkeypatch, *given, "--batch_unit", "pairs", "--mine", "negatives")
    record = json.loads((tmp_path / "out" / "run.json").read_text())
    distances = record["losses"]["hierarchy"]["config"]["hierarchy"]
    assert (distances["max_distance"], distances["level_function"]) == (5, "by_hierarchy")
    assert {"tree_test_auc_0v1", "tree_test_auc_2v3"} <= record["results"]["tree_test"]["after"].keys()
    assert "tree_test_auc_3v4" not in record["results"]["tree_test"]["after"]
    assert "two levels by the depth of the pair in its own hierarchy" in (tmp_path / "out" / "README.md").read_text()


@pytest.mark.parametrize("given", [("held_out", 0.3), ("pairs_per_class", 7), ("subtree_depth", 4)])
def test_an_argument_that_the_frozen_protocol_sets_is_refused(given: tuple[str, float]):
    """Catches a share of held-out trees that a run records and does not use."""
    kinds = (HiPrBERTArguments, SentenceTransformerTrainingArguments)
    config = "recipes/configs/hiprbert_open.yaml"
    recipe, _ = read_settings(kinds, [config, f"--{given[0]}", str(given[1])])
    with pytest.raises(InputError, match=rf"^{given[0]}: is not used with benchmark .*icd10cm_tree"):
        check(recipe)
    recipe, _ = read_settings(kinds, [config, "--benchmark", "none", f"--{given[0]}", str(given[1])])
    recipe.benchmark = None
    check(recipe)
