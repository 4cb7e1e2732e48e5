"""Few-shot encoders folded into built-in modules: the same vectors, anywhere and without a flag."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense, Normalize

from st_biomed.errors import InputError
from st_biomed.modules.markers import pool_mentions
from st_biomed.modules.name_vectors import NameVectors
from st_biomed.modules.random_projection import random_projection
from st_biomed.modules.residual_feed_forward import ResidualFeedForward
from st_biomed.modules.word_vectors import word_vectors_encoder
from st_biomed.release.fold_modules import fold_modules
from st_biomed.release.fold_residual import fold_residual
from st_biomed.release.folder import check_built_in, save_release
from tests.fresh import run_fresh

NAMES = ["flu", "acute gout of the ear", "zoster", "", "other disease, type 2"]


def stages(count: int, width: int = 16, hidden: int = 40) -> list[ResidualFeedForward]:
    """Stages that move vectors as far as trained ones do."""
    torch.manual_seed(count)
    found = [ResidualFeedForward(width, hidden) for _ in range(count)]
    for module in found:
        for parameter in module.parameters():
            parameter.data *= 3
    return found


FRESH = """
import json, sys
sys.modules["st_biomed"] = None  # as where the package is not installed
from sentence_transformers import SentenceTransformer
names = json.loads(sys.argv[1])
print(json.dumps([SentenceTransformer(folder, device="cpu").encode(names).tolist() for folder in sys.argv[2:]]))
"""


def test_one_stage_and_three_load_without_this_package(tiny_bert, tmp_path):
    """Equal to 1e-6, in a fresh process; catches an activation that is not saved, and a stage that is left out."""
    expected, folders = [], []
    for name, behind in {
        "one": [Normalize(), *stages(1)],
        "three": [Normalize(), *stages(3)],
        "normalized": [Normalize(), stages(1)[0], Normalize(), *stages(2)],
        "wider": [random_projection(16, 24), Normalize(), *stages(3, 24)],
    }.items():
        model = SentenceTransformer(modules=[*tiny_bert, *behind], device="cpu")
        folded = fold_modules(model)
        check_built_in(folded)
        expected.append(model.encode(NAMES))
        np.testing.assert_allclose(folded.encode(NAMES), expected[-1], atol=1e-6)
        folders.append(str(tmp_path / name))
        folded.save_pretrained(folders[-1], create_model_card=False)
    done = run_fresh(FRESH, json.dumps(NAMES), *folders, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
    for found, vectors in zip(json.loads(done.stdout.splitlines()[-1]), expected):
        np.testing.assert_allclose(found, vectors, atol=1e-6)
    moved = expected[1] - expected[0]
    assert np.abs(moved).max() > 0.1  # the stages do something


@pytest.mark.parametrize("share", [1, 0.3])
def test_the_papers_size_is_exact_for_any_input(share):
    """Catches a fold that is right for vectors of length 1 or positive numbers only, at D = 384 and 9600 hidden, or for a whole share."""
    module = ResidualFeedForward(384, share=share).eval()
    vectors = torch.cat(
        [torch.nn.functional.normalize(torch.randn(20, 384)), torch.zeros(1, 384), -torch.ones(1, 384)]
    )
    features = {"sentence_embedding": vectors}
    first, second = fold_residual(module)
    assert (first.out_features, second.in_features) == (9600 + 768, 9600 + 768)
    expected = module(dict(features))["sentence_embedding"]
    torch.testing.assert_close(second(first(features))["sentence_embedding"], expected, atol=1e-6, rtol=0)


def test_folding_leaves_the_module_as_it_is(tiny_bert):
    """Catches weights that two models share: training on would change what is released."""
    model = SentenceTransformer(modules=[*tiny_bert, *stages(1)], device="cpu")
    before, folded = model.encode(NAMES), fold_modules(model)
    released = folded.encode(NAMES)
    assert [type(module) for module in folded][2:] == [Dense, Dense]
    with torch.no_grad():
        for parameter in model[2].parameters():
            parameter.zero_()
    assert np.array_equal(folded.encode(NAMES), released)
    np.testing.assert_allclose(released, before, atol=1e-6)


def test_mention_pooling_and_stages_are_folded_together(tiny_bert):
    model = pool_mentions(tiny_bert)
    for module in [Normalize(), *stages(2)]:
        model.append(module)
    folded = fold_modules(model)
    check_built_in(folded)
    np.testing.assert_allclose(folded.encode(NAMES), model.encode(NAMES), atol=1e-6)


def test_word_vectors_are_folded(tmp_path):
    """Catches a folding that takes every encoder for one of transformers."""
    words = word_vectors_encoder(np.eye(4, 16) + 1, ["flu", "acute", "ear", "gout"])
    names = ["acute flu", "gout of the ear", "flu"]
    model = SentenceTransformer(modules=[*words, Normalize(), *stages(2)], device="cpu")
    folded = fold_modules(model)
    np.testing.assert_allclose(folded.encode(names), model.encode(names), atol=1e-6)
    folded.save_pretrained(str(tmp_path), create_model_card=False)
    loaded = SentenceTransformer(str(tmp_path), device="cpu")
    np.testing.assert_allclose(loaded.encode(names), model.encode(names), atol=1e-6)


def test_word_vectors_are_released(trained, licensed, tmp_path: Path):
    """Catches a check of the vocabulary that takes single words for terms."""
    words = word_vectors_encoder(np.eye(4, 16) + 1, ["flu", "acute", "heart", "gout"])
    model = SentenceTransformer(modules=[*words, Normalize(), *stages(1)], device="cpu")
    folder = save_release(fold_modules(model), tmp_path / "out", run=trained.run, terminologies=[licensed])
    loaded = SentenceTransformer(str(folder), device="cpu")
    np.testing.assert_allclose(loaded.encode(["acute flu"]), model.encode(["acute flu"]), atol=1e-6)


def test_a_table_of_names_is_not_released():
    """Catches a published list of licensed names."""
    model = SentenceTransformer(modules=[NameVectors(["flu"], np.ones((1, 16))), *stages(1)], device="cpu")
    with pytest.raises(
        InputError, match="NameVectors is a table for training: put the trained modules after the encoder"
    ):
        fold_modules(model)
    with pytest.raises(InputError, match="NameVectors"):
        check_built_in(model)


def test_a_folded_stack_is_released(tiny_bert, trained, licensed, tiny_bert_folder: Path, tmp_path: Path):
    """All checks of a release, with a card that asks for no flag."""
    model = SentenceTransformer(modules=[*tiny_bert, Normalize(), *stages(3)], device="cpu")
    with pytest.raises(InputError, match="ResidualFeedForward"):
        save_release(model, tmp_path / "raw", run=trained.run, terminologies=[licensed], base_model=tiny_bert_folder)
    folder = save_release(
        fold_modules(model), tmp_path / "out", run=trained.run, terminologies=[licensed], base_model=tiny_bert_folder
    )
    card = (folder / "README.md").read_text()
    assert "trust_remote_code" not in card and "only for bare terms" not in card
    loaded = SentenceTransformer(str(folder), device="cpu")
    np.testing.assert_allclose(loaded.encode(NAMES), model.encode(NAMES), atol=1e-6)
