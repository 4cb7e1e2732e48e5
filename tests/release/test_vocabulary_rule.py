"""Claims about the pieces of a tokenizer: no name is made up of them, and an honest vocabulary may be released."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from sentence_transformers import SentenceTransformer
from zorb_terms import ZORB, terminology

from st_biomed.corpus.vocabulary import extend_vocabulary, train_pieces
from st_biomed.release.base_model import first_model_folder
from st_biomed.release.name_search import Findings
from st_biomed.release.privacy import judge
from st_biomed.release.run_record import RunRecord

GLAND, FLUMPITIS, LONG_WORD, HAN = (
    "zorbic gland failure",
    "gradthic flumpitis",
    "mibbleglobulinaemiaopathy",
    "急性流恩炎症",
)
NAMES = terminology(ZORB, [(GLAND, FLUMPITIS), (LONG_WORD, "flumpa"), (HAN, "gradtha-flumpa")])


@pytest.fixture
def extended(release: Path, tiny_bert_folder: Path):
    """Adds pieces to the release's vocabulary, or tokens that are cut out of any text, and asks what is found."""

    def extend(*pieces: str, cut_out: bool = False, base: Path | None = tiny_bert_folder) -> Findings:
        model = SentenceTransformer(str(release), device="cpu")
        if cut_out:
            model.tokenizer.add_tokens(list(pieces))
        else:
            extend_vocabulary(model, pieces)
        model.tokenizer.save_pretrained(release)
        return judge(release, [NAMES], base)

    return extend


@pytest.mark.long
@pytest.mark.parametrize(
    ("pieces", "name"),
    [
        (["zorbicglandfailure"], GLAND),
        (["##zorbicglandfailure"], GLAND),
        (["zorbic", "##glandfailure"], GLAND),
        (["zorbic", "gland", "failure"], GLAND),
        (["failure", "gland", "zorbic"], None),
        (["gradthic_flumpitis"], FLUMPITIS),
        (["gradthic.flumpitis"], FLUMPITIS),
        (["gradthic-flumpitis"], None),
        (["gradthicflumpitis"], None),
        (["gradthic", "flumpitis"], None),
        (["gradtha_flumpa"], None),
        ([LONG_WORD], None),
        (["flumpa"], None),
        ([HAN], HAN),
    ],
)
def test_no_name_is_made_up_of_new_pieces(pieces: list[str], name: str | None, extended) -> None:
    """Catches a name without its spaces, or put into a vocabulary word by word; a corpus has single words as well."""
    breaches = extended(*pieces).breaches
    breach = f"tokenizer.json: holds {name!r}, known only from ZORB, which may not be redistributed"
    assert breaches == ([breach] if name else [])


@pytest.mark.parametrize(
    ("token", "refused"), [(LONG_WORD, True), ("zorbicglandfailure", True), ("flumpa", False), ("zorbal", False)]
)
def test_a_telling_name_is_no_token_that_is_cut_out_of_any_text(token: str, refused: bool, extended) -> None:
    """Catches a list of names given to ``add_tokens``; short single words cannot be told from those of a corpus."""
    assert bool(extended(token, cut_out=True).breaches) is refused


def test_single_words_that_are_names_are_counted(extended) -> None:
    assert extended("flumpa", LONG_WORD, "gradth").pieces == {"ZORB": 2}


def test_pieces_trained_on_a_corpus_that_is_full_of_names_may_be_released(
    release: Path, extended, tiny_bert_folder: Path
) -> None:
    """Catches a rule by which no vocabulary of a medical corpus could be published."""
    texts = [
        f"the {name} of {other} and {LONG_WORD}, {FLUMPITIS}." for name in NAMES.strings for other in NAMES.strings
    ]
    tokenizer = SentenceTransformer(str(tiny_bert_folder), device="cpu").tokenizer
    pieces = train_pieces(lambda: texts, tokenizer, 500)
    assert {"flumpitis", "gland", LONG_WORD} <= set(pieces)
    findings = extended(*pieces)
    assert findings.breaches == [] and findings.pieces["ZORB"] == 2


def test_what_an_earlier_run_added_is_judged_too(
    release: Path, trained, extended, tiny_bert_folder: Path, tmp_path: Path
) -> None:
    """Catches names that a stage put into the vocabulary and a later one finds in its base model."""
    assert extended("zorbicglandfailure").breaches != []
    stage = Path(shutil.copytree(release, tmp_path / "stage"))
    assert judge(release, [NAMES], stage).breaches != []  # its run.json names a base model that is not within reach
    (stage / "run.json").write_text(json.dumps({**trained.run, "base_model": str(tiny_bert_folder)}))
    assert judge(release, [NAMES], stage).breaches != []
    (stage / "run.json").unlink()  # a model of others
    assert judge(release, [NAMES], stage).breaches == []


def test_neighbors_in_the_base_models_vocabulary_are_no_name(release: Path) -> None:
    """Catches words that have always stood beside each other, where the base model is not within reach."""
    neighbors = terminology(ZORB, [("other with without unspecified",)])
    assert judge(release, [neighbors]).breaches == []


def test_the_record_of_a_run_leads_to_the_model_of_others(trained, tiny_bert_folder: Path, tmp_path: Path) -> None:
    assert first_model_folder(tiny_bert_folder) == tiny_bert_folder
    record = RunRecord("extend_bert", str(tiny_bert_folder), {}, 0, [NAMES]).to_dict()
    (tmp_path / "run.json").write_text(json.dumps({**record, "base_model": str(tiny_bert_folder)}))
    assert first_model_folder(tmp_path) == tiny_bert_folder
    (tmp_path / "run.json").write_text(json.dumps({**record, "base_model": "nobody/nothing"}))
    assert first_model_folder(tmp_path) is None
