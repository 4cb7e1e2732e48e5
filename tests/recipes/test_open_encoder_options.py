"""Options of the open encoder that nothing reads: refused where they are given, left alone where a file has them."""

from __future__ import annotations

from pathlib import Path

import pytest
from sentence_transformers import SentenceTransformerTrainingArguments

from recipes import open_encoder
from recipes.open_encoder import OpenEncoderArguments
from st_biomed.errors import InputError
from st_biomed.settings.recipe import read_settings

CONFIGS = Path(open_encoder.__file__).parent / "configs"


def check(*given: str, configuration: str = "open_encoder_smoke.yaml") -> OpenEncoderArguments:
    """The arguments, checked as before anything is read."""
    words = [str(CONFIGS / configuration), *given]
    recipe, training = read_settings((OpenEncoderArguments, SentenceTransformerTrainingArguments), words)
    open_encoder.without_none(recipe)
    open_encoder.check(recipe)
    recipe.training_arguments(training)
    return recipe


UNREAD = {
    ("synonyms", "hierarchy", "relations"): ["siblings .5", "definition_temperature .1"],
    ("synonyms", "definitions", "hierarchy"): [
        "relations part_of",
        "relation_preset sapbert",
        "shared_concept_negatives true",
    ],
    ("definitions", "hierarchy", "relations"): [
        "synonym_preset sapbert",
        "synonym_temperature .1",
        "pivot_language en",
        "max_pairs_per_concept 2",
    ],
    ("synonyms", "definitions", "relations"): [
        "partners 1 1 1 1",
        "anchor_repeats TOY=2",
        "names_per_partner 2",
        "levels sibling",
        "alpha 1",
        "distance hops",
        "level_function depth",
    ],
}


@pytest.mark.parametrize(("parts", "option"), [(parts, option) for parts in UNREAD for option in UNREAD[parts]])
def test_options_of_parts_that_are_not_trained_on_are_refused(parts: tuple[str, ...], option: str):
    """Catches an option that is accepted and does nothing."""
    name, *values = option.split()
    message = f"^{name}: is not used with parts {' '.join(parts)}, found "
    with pytest.raises(InputError, match=message):
        check("--parts", *parts, "--shares", *"111", f"--{name}", *values)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("--passages_per_concept 2", "passages_per_concept: is not used with an empty --corpus, found 2"),
        ("--corpus_license CC0-1.0", "corpus_license: is not used with an empty --corpus, found 'CC0-1.0'"),
        ("--language it", "language: is not used with an empty --corpus, found 'it'"),
        ("--processes 2", "processes: is not used with an empty --corpus, found 2"),
        ("--distilled_texts_license x", "distilled_texts_license: is not used with empty --distilled_texts, found 'x'"),
        ("--passage_words 9", "passage_words: is not used with empty --corpus and --distilled_texts, found 9"),
        ("--text_field body", "text_field: is not used with empty --corpus and --distilled_texts, found 'body'"),
        ("--synonym_temperature .1 --synonym_preset sapbert", "synonym_preset: is not used with synonym_temperature 0.1"),
        ("--parts hierarchy --shares 1 --margin .3", "margin: is not used with parts hierarchy, found 0.3"),
        ("--average none --average_steps 4", "average_steps: is not used with --average none"),
    ],
)  # fmt: skip
def test_options_that_nothing_reads_are_refused(given: str, message: str):
    with pytest.raises(InputError, match=f"^{message}"):
        check(*given.split())


@pytest.mark.parametrize("parts", [("synonyms",), ("hierarchy",), ("relations", "hierarchy")])
def test_a_configuration_with_fewer_parts_needs_no_other_change(parts: tuple[str, ...]):
    """Catches values of a file that an ablation must name one by one."""
    given = ["--corpus", "none", "--parts", *parts, "--shares", *["1"] * len(parts), "--trees", "none"]
    recipe = check(*given, configuration="open_encoder_english.yaml")
    assert recipe.relation_preset == "sapbert" and recipe.corpus_license and len(recipe.partners) == 4


@pytest.mark.parametrize("parts", [("synonyms",), ("synonyms", "hierarchy")])
def test_a_part_alone_of_a_file_is_left_out_with_its_part(parts: tuple[str, ...], tmp_path: Path):
    """Catches an encoder of a part that the command leaves out, and a value of a file that an ablation must undo."""
    more = (
        f"extends: {CONFIGS / 'open_encoder_smoke.yaml'}\nalone: [hierarchy]\nalone_steps: 3\nruns: 2\nsmoke: false\n"
    )
    (tmp_path / "more.yaml").write_text(more)
    recipe = check("--parts", *parts, "--shares", *["1"] * len(parts), configuration=str(tmp_path / "more.yaml"))
    alone = [run.recipe.parts for run in recipe.planned_runs(recipe.parts, 0)[recipe.runs :]]
    assert alone == ([["hierarchy"]] * 2 if "hierarchy" in parts else [])


def test_an_unknown_part_alone_is_refused_wherever_the_parts_come_from(tmp_path: Path):
    """Catches a mistyped part of a file that is dropped in silence."""
    (tmp_path / "more.yaml").write_text(f"extends: {CONFIGS / 'open_encoder_smoke.yaml'}\nalone: [trees]\n")
    with pytest.raises(InputError, match="^alone: none, or different ones of synonyms are possible, found trees"):
        check("--parts", "synonyms", "--shares", "1", configuration=str(tmp_path / "more.yaml"))
    (tmp_path / "text.txt").write_text("A text.\n")
    raw = ("--parts", "texts", "--shares", "1", "--distilled_texts", str(tmp_path / "text.txt"))
    with pytest.raises(
        InputError, match="^alone: must be none, since no part of texts can be trained alone, found trees"
    ):
        check(*raw, configuration=str(tmp_path / "more.yaml"))
