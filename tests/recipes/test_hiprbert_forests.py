"""The commands at the heads of hiprbert_paper.yaml and hiprbert_code.yaml, on invented files of the names that stand there: the paper's forests."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from sentence_transformers import SentenceTransformerTrainingArguments
from typer.testing import CliRunner

from recipes.hiprbert import HiPrBERTArguments
from st_biomed.cli import app
from st_biomed.settings.recipe import read_settings
from st_biomed.terminology import Terminology
from st_biomed.training.encoder_run import read_terminology
from tests.contracts.reader_contract import FIXTURES
from tests.recipes.test_configurations import CONFIGS

CONFIGURATIONS = ("hiprbert_paper.yaml", "hiprbert_code.yaml")
TITLES = {
    "phecode_map_icd9cm_icd10cm.csv": "vocabulary_id,code,phecode\nICD9CM,009.9,008.5\nICD10CM,E80.0,008.50\n",
    "CMS32_DESC_LONG_DX.txt": "0099   Mimpic flumpa, unspecified\n",
    "icd10cm_order_2021.txt": f"00001 E800    1 {'Drodthic gradtha':<60} Drodthic gradtha\n",
}


def commands(config: Path) -> Iterator[list[str]]:
    """Those of the head of a configuration, each as its words."""
    head = [line.removeprefix("#") for line in config.read_text("utf-8").splitlines() if line.startswith("#   ")]
    for line in "\n".join(head).replace("\\\n", " ").splitlines():
        yield shlex.split(line)


@pytest.fixture(scope="module", params=CONFIGURATIONS)
def config(request: pytest.FixtureRequest) -> Path:
    return CONFIGS / str(request.param)


@pytest.fixture(scope="module")
def folder(config: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the commands of the head read, invented, and what they write."""
    folder = tmp_path_factory.mktemp("forests")
    shutil.copytree(FIXTURES / "umls", folder / "2021AB" / "META")
    shutil.copytree(FIXTURES / "rxnorm" / "rrf", folder / "rrf")
    shutil.copytree(FIXTURES / "loinc", folder / "Loinc")
    shutil.copy(FIXTURES / "phecode_1.2.csv", folder / "phecode_definitions1.2.csv")
    shutil.copy(FIXTURES / "cpt_categories.csv", folder / "cpt.csv")
    for name, text in TITLES.items():
        (folder / name).write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for program, *words in commands(config):
            if program == "st-biomed":
                ended = CliRunner().invoke(app, words)
                assert ended.exit_code == 0, f"{words}\n{ended.output}\n{ended.exception!r}"
    return folder


def edges(folder: Path, name: str) -> set[tuple[str, str]]:
    terminology = Terminology.load(folder / "data" / name)
    codes = [code.partition(":")[2] for code in terminology.codes]
    return {(codes[row["child"]], codes[row["parent"]]) for row in terminology.parents.to_pylist()}


def test_the_recipe_takes_the_five_terminologies_and_the_four_forests(
    config: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
):
    """Catches a command that reads other sources than the configuration names."""
    (run,) = [words for words in commands(config) if words[0] == "python"]
    kinds = (HiPrBERTArguments, SentenceTransformerTrainingArguments)
    recipe, _ = read_settings(kinds, [str(config), *run[3:], "--precision", "as given"])
    monkeypatch.chdir(folder)
    whole = recipe.with_relations(read_terminology(recipe.terminology))
    assert len(recipe.terminology) == 5
    assert set(recipe.with_hierarchy(whole).parents["source"].to_pylist()) == {
        *("PHECODE", "LOINC", "RXNORM_FOREST", "CPT_FOREST")
    }
    assert any(code.startswith("UMLS:") for code in whole.codes)


def test_phecodes_have_the_titles_of_their_icd_codes(config: Path, folder: Path):
    """Catches a PheCode without a synonym, whose sub-trees have no pair at distance 0."""
    terminology = Terminology.load(folder / "data" / "phecode")
    names = {code: terminology.concept_names(code) for code in ("PHECODE:008.5", "PHECODE:008.50")}
    titles = ["Mimpic flumpa, unspecified", "Drodthic gradtha"]
    if config.stem == "hiprbert_code":  # cleaned
        titles = [title.lower() for title in titles]
    assert titles[0] in names["PHECODE:008.5"] and titles[1] in names["PHECODE:008.50"]


def test_rxnorm_has_a_forest_of_the_five_relations(folder: Path):
    """Catches the reader's default, isa alone, under which a drug is not below its ingredient."""
    assert {("903", "901"), ("904", "903")} & edges(folder, "rxnorm") and len(edges(folder, "rxnorm")) > 1
    assert not Terminology.load(folder / "data" / "rxnorm").relations.num_rows


def test_procedures_of_cpt_hang_under_categories_without_a_name(folder: Path):
    """Catches a table that the reader refuses because its categories have no description."""
    assert ("90001", "G1") in edges(folder, "cpt")
    assert Terminology.load(folder / "data" / "cpt").n_nameless == 3
