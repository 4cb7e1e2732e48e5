"""Claims about the model card."""

from __future__ import annotations

import re
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml
from sentence_transformers import SentenceTransformerModelCardData
from zorb_terms import PAIRS, TERM, train

from st_biomed.encoder import load_encoder
from st_biomed.errors import InputError
from st_biomed.modules.markers import pool_mentions
from st_biomed.release.card import BiomedCard
from st_biomed.release.fold_modules import fold_modules
from st_biomed.release.run_data import empty_run
from st_biomed.release.run_record import RunRecord
from st_biomed.release.usage import pooling_alone

STRINGS = [text for pair in PAIRS for text in pair]


def held(card: str) -> list[str]:
    return [text for text in STRINGS if text in card]


def test_the_hosts_card_would_publish_training_strings(tmp_path: Path, tiny_bert_folder: Path) -> None:
    """Shows that the tests below can fail: without our overrides every checkpoint's card carries rows of the data."""
    train(tiny_bert_folder, tmp_path, SentenceTransformerModelCardData())
    assert TERM in held((tmp_path / "checkpoint-2" / "README.md").read_text("utf-8"))


def test_no_card_of_a_training_holds_a_training_string(trained, pristine_release: Path) -> None:
    """Would catch rows in the checkpoints' cards, which people upload too."""
    cards = [*trained.work.rglob("README.md"), pristine_release / "README.md"]
    assert len(cards) == 3
    assert not any(held(card.read_text("utf-8")) for card in cards)


def test_the_overrides_keep_strings_out_of_the_hosts_template_too(tmp_path: Path, tiny_bert_folder: Path) -> None:
    """Would catch a card that is clean only because our template has no place for samples."""
    card = BiomedCard()
    card.template_path = SentenceTransformerModelCardData().template_path
    train(tiny_bert_folder, tmp_path, card)
    text = (tmp_path / "checkpoint-2" / "README.md").read_text("utf-8")
    assert "Training Dataset" in text and not held(text)


def test_a_model_of_the_loader_has_a_card_without_strings(tmp_path: Path, tiny_bert_folder: Path) -> None:
    """Catches the first example of the documentation, whose checkpoints people upload."""
    train(tiny_bert_folder, tmp_path, load_encoder(tiny_bert_folder).model_card_data)
    text = (tmp_path / "checkpoint-2" / "README.md").read_text("utf-8")
    assert "Training Dataset" in text and not held(text)


@pytest.fixture(scope="module")
def card(pristine_release: Path) -> str:
    return (pristine_release / "README.md").read_text("utf-8")


def test_the_card_has_its_sections(card: str) -> None:
    assert re.findall(r"^## (.+)$", card, re.MULTILINE) == [
        "How to use it",
        "Results",
        "Training data",
        "Training",
        "Limits",
        "The model",
        "Citation",
    ]


def test_there_is_no_code_for_transformers_alone_where_it_gives_other_vectors(tiny_bert) -> None:
    """Would catch code that leaves out the default prompt, or gives longer vectors."""
    assert pooling_alone(tiny_bert) == "mean"
    tiny_bert.truncate_dim = 5
    assert pooling_alone(tiny_bert) == ""
    tiny_bert.truncate_dim, tiny_bert.prompts["term"], tiny_bert.default_prompt_name = None, "term: ", "term"
    assert pooling_alone(tiny_bert) == ""


def rows(card: str, heading: str) -> list[list[str]]:
    """The cells of the table rows under a heading."""
    section = card.split(f"# {heading}\n")[1].split("\n#")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def test_the_command_can_be_given_again(trained, tiny_bert) -> None:
    """Catches an argument with a space that becomes two."""
    run = {**trained.run, "command": ["sapbert.py", "--precision", "as given", "--hub_token", "<redacted>"]}
    card = BiomedCard.from_run(run).render(tiny_bert)
    assert "- **Command:** `sapbert.py --precision 'as given' --hub_token <redacted>`" in card


def test_results_equal_the_run_record(card: str) -> None:
    """Would catch before and after in the wrong columns, or a metric that is not a headline."""
    assert rows(card, "zorb_tree")[2:] == [
        ["auc_0v1", "0.3142", "0.5772", "+0.2631"],
        ["auc_0v3", "0.5000", "0.8750", "+0.3750"],
    ]


def test_sources_counts_and_digest_equal_the_run_record(card: str, licensed) -> None:
    table = rows(card, "Training data")
    assert [
        "ZORB: The Great Zorbal Nomenclature",
        "7",
        "members only (names may not be redistributed)",
        "https://zorb.example",
        "16",
    ] in table
    assert ["8", "16", "0", "0", "0", f"`{licensed.digest}`"] in table


def test_arguments_readings_and_citations_equal_the_run_record(card: str, trained) -> None:
    """Would catch a value with a bar in it that breaks its table, and arguments that are not those of the run."""
    assert ["`delimiter`", "||"] in rows(card, "Arguments of the recipe")
    assert ["`alpha`", "2.0"] in rows(card, "Arguments of the recipe")
    changed = dict(rows(card, "Arguments of the trainer")[2:])
    assert {"`learning_rate`": "0.001", "`max_steps`": "2"}.items() <= changed.items()
    assert not {"`weight_decay`", "`hub_token`", "`output_dir`", "`report_to`"} & changed.keys()
    assert rows(card, "Objectives")[2][:2] == ["synonyms", "MultipleNegativesRankingLoss"]
    assert "\n- The margin of the miner is read as a cosine.\n" in card
    assert trained.run["citations"]["MultipleNegativesRankingLoss"] in card


def test_the_head_tells_the_hub_what_it_reads(card: str) -> None:
    """Would catch metadata that is lost between the template's variables and the YAML."""
    head = yaml.safe_load(card.split("---")[1])
    assert head["license"] == "apache-2.0"
    assert head["language"] == ["en"]
    assert head["base_model"] == "example/tiny-bert"
    assert {"st-biomed", "loss:MultipleNegativesRankingLoss"} <= set(head["tags"])
    assert "widget" not in head
    (model,) = head["model-index"]
    assert {metric["type"]: metric["value"] for result in model["results"] for metric in result["metrics"]} == {
        "auc_0v1": 0.57721566,
        "auc_0v3": 0.875,
    }


def test_the_current_folder_does_not_decide_what_the_base_model_is(
    trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches a dead link to a folder, and an id of the Hub that is lost beside a folder of this name."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out" / "first").mkdir(parents=True)
    arguments: dict[str, Any] = {"recipe": "sapbert", "configuration": {}, "seed": 0, "terminologies": []}
    local = RunRecord(base_model="out/first", **arguments).to_dict()
    (tmp_path / "elsewhere" / "example" / "tiny-bert").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert local["base_model"] == "./out/first" and BiomedCard.from_run(local).base_model is None
    assert BiomedCard.from_run(trained.run).base_model == "example/tiny-bert"


def test_a_cell_holds_its_text_whatever_is_in_it(trained, tiny_bert) -> None:
    """Catches a bar or a line break of a title, a command or an argument that makes a cell or a row of its own."""
    odd = "a|b\nc"
    run = deepcopy(trained.run)
    (source,) = run["terminologies"][0]["sources"]
    source.update(title=odd, version=odd, license=odd, url=odd)
    run["configuration"]["alpha"] = run["losses"]["synonyms"]["config"]["x"] = odd
    run["losses"] = {odd: run["losses"]["synonyms"]}
    stage = {"recipe": "r", "description": "", "base_model": odd, "command": ["x", odd], "seed": 0, "losses": ["L"]}
    run["earlier"] = [{**stage, "terminologies": run["terminologies"], "corpora": []}]
    card = BiomedCard.from_run(run).render(tiny_bert)
    flat = "a|b c"
    data, began = rows(card, "Training data")[2], rows(card, "What it started from")[2]
    assert data[:2] == [f"{source['name']}: {flat}", flat] and data[3] == flat and len(data) == 5
    assert began[:3] == ["r", flat, "L"] and began[4:] == [f"`x {flat}`"]
    assert ["`alpha`", flat] in rows(card, "Arguments of the recipe")
    objective = rows(card, "Objectives")[2]
    assert (objective[0], len(objective)) == (flat, 3) and objective[2].endswith(f"`x` {flat}")


def test_a_card_without_a_run_still_renders(tiny_bert) -> None:
    """The trainer writes cards beside its checkpoints before there is a run record."""
    text = BiomedCard(local_files_only=True).render(tiny_bert)
    assert "## Results" in text and "None was recorded." in text


def test_the_architecture_is_shown_without_the_vocabulary_that_a_module_holds(tiny_bert) -> None:
    """Catches a card of half a megabyte: the words of a folded mention pooling."""
    text = BiomedCard(local_files_only=True).render(fold_modules(pool_mentions(tiny_bert)))
    (line,) = [line for line in text.splitlines() if "WordWeights" in line]
    assert len(line) < 450 and " ... " in line and line.endswith("})")


def test_the_card_refuses_an_incomplete_record() -> None:
    run = empty_run()
    del run["results"]
    with pytest.raises(InputError, match="lacks results"):
        BiomedCard.from_run(run)
    with pytest.raises(InputError, match="format None"):
        BiomedCard.from_run({})
