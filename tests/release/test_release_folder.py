"""Claims about the release folder."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense, Module, Router
from zorb_terms import TERM

from st_biomed.errors import InputError
from st_biomed.release.folder import check_built_in, check_free, save_release


class Halve(Module):
    """A module from outside sentence_transformers."""

    config_keys: list[str] = []

    def forward(self, features, **kwargs):
        return {**features, "sentence_embedding": features["sentence_embedding"] / 2}

    def save(self, output_path, *args, **kwargs) -> None:
        self.save_config(output_path)


@pytest.fixture
def save(trained, licensed, tiny_bert_folder: Path, tmp_path: Path):
    """Releases a model (the trained one by default) to ``tmp_path/out``, with single arguments changed."""

    def call(model=None, **changes) -> Path:
        arguments = {"run": trained.run, "terminologies": [licensed], "base_model": tiny_bert_folder, **changes}
        return save_release(model or trained.model, tmp_path / "out", **arguments)

    return call


def test_the_release_loads_with_plain_sentence_transformers(trained, pristine_release: Path) -> None:
    """Would catch a release that misses a module or a weight."""
    loaded = SentenceTransformer(str(pristine_release), device="cpu")
    terms = ["acute flenn", TERM]
    np.testing.assert_allclose(loaded.encode(terms), trained.model.encode(terms), atol=1e-6)


def test_the_folder_holds_the_model_card_license_and_record_alone(trained, pristine_release: Path) -> None:
    """Would catch checkpoints, optimizer states or training arguments that slip into what is uploaded."""
    files = {path.relative_to(pristine_release).as_posix() for path in pristine_release.rglob("*") if path.is_file()}
    assert files == {
        "README.md",
        "LICENSE",
        "run.json",
        "modules.json",
        "config_sentence_transformers.json",
        "sentence_bert_config.json",
        "config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
        "1_Pooling/config.json",
    }
    assert json.loads((pristine_release / "run.json").read_text()) == trained.run
    assert "apache-2.0" in (pristine_release / "LICENSE").read_text()


def test_a_module_from_outside_is_refused_by_name(save, tiny_bert, tmp_path: Path) -> None:
    """Would catch a release that asks for trust_remote_code."""
    tiny_bert.append(Halve())
    with pytest.raises(InputError, match=r"module '2' is test_release_folder\.Halve: only modules of sentence_transf"):
        save(tiny_bert)
    assert list(tmp_path.iterdir()) == []


def test_a_module_from_outside_is_found_inside_a_built_in_one(tiny_bert) -> None:
    """Would catch a check of the outermost modules alone."""
    tiny_bert.append(Router({"query": [Halve()], "document": [Halve()]}, default_route="document"))
    with pytest.raises(InputError, match=r"module '2\.sub_modules\.query\.0' is test_release_folder\.Halve"):
        check_built_in(tiny_bert)


def test_a_plain_torch_module_is_refused(tiny_bert) -> None:
    tiny_bert.append(torch.nn.Identity())
    with pytest.raises(InputError, match=r"module '2' is torch\.nn\.modules\.linear\.Identity"):
        check_built_in(tiny_bert)


def test_a_folder_in_use_is_left_alone(save, tmp_path: Path) -> None:
    """Would catch a release that mixes with, or overwrites, what somebody has there."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").write_text("x")
    with pytest.raises(InputError, match=r"out: is not empty \(it contains thesis\.tex\)"):
        save()
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["thesis.tex"]
    with pytest.raises(InputError, match="is a file"):
        check_free(tmp_path / "out" / "thesis.tex")


def test_an_empty_folder_is_used(save, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    assert (save() / "model.safetensors").is_file()
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("place", ["readings", "command", "description"])
def test_a_term_in_the_run_record_stops_the_release(place: str, save, trained, tmp_path: Path) -> None:
    """Would catch a check that runs before the card is written, and a draft that is left where people look for it."""
    value = f"as in {TERM}" if place == "description" else [f"as in {TERM}"]
    with pytest.raises(InputError, match=r"may not be released: README\.md: holds .*; run\.json: holds"):
        save(run={**trained.run, place: value})
    assert list(tmp_path.iterdir()) == []


def test_a_phrase_in_the_tokenizer_stops_the_release(save, tiny_bert) -> None:
    tiny_bert.tokenizer.add_tokens([TERM])
    tiny_bert[0].model.resize_token_embeddings(len(tiny_bert.tokenizer))
    with pytest.raises(InputError, match=r"tokenizer\.json: .* is not a single word"):
        save(tiny_bert)


def test_terms_that_the_card_itself_uses_do_not_stop_the_release(save, licensed) -> None:
    """Would catch a card whose own words, papers and sources count as a leak."""
    from zorb_terms import ZORB, terminology

    words = [
        "Natural Language Processing",  # sentence-transformers' citation
        "Association for Computational Linguistics",
        "Efficient Natural Language Response Suggestion for Smart Reply",  # the loss's citation
        "The Great Zorbal Nomenclature",  # the source
        "myocardial infarction",  # the template's example
        "the terms of the publisher",
        "terms of the publisher",  # the license note
        "Arguments of the trainer",
    ]
    folder = save(terminologies=[licensed, terminology(ZORB, [(word,) for word in words])])
    assert "Natural Language Processing" in (folder / "README.md").read_text("utf-8")


def test_a_model_that_saving_changes_is_refused(save, tiny_bert) -> None:
    """Would catch a release that encodes differently from the model that was measured."""
    torch.manual_seed(0)
    dense = Dense(16, 16, activation_function=torch.nn.Hardtanh(-0.01, 0.01))  # saved without its arguments
    tiny_bert.append(dense)
    with pytest.raises(InputError, match="encodes differently"):
        save(tiny_bert)


def test_a_model_that_still_encodes_in_half_precision_is_saved(save, tiny_bert) -> None:
    """Catches a training run lost at its end: the trainer leaves its autocast around the model's forward."""
    forward = tiny_bert.forward

    def half(*args, **kwargs):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            features = forward(*args, **kwargs)
        vectors = features["sentence_embedding"].float()
        return {**features, "sentence_embedding": vectors * (1 + 0.02 * torch.sin(1e4 * vectors))}

    tiny_bert.forward = half
    assert save(tiny_bert).is_dir()


def test_an_unknown_base_model_is_named(save) -> None:
    with pytest.raises(InputError, match="base model 'nobody/nothing': neither a folder nor in the local Hub cache"):
        save(base_model="nobody/nothing")
