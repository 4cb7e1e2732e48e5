"""Folded models and models that cannot be folded: the same vectors of bare terms, the card, and a release of both."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling, WordWeights
from transformers import AddedToken

from st_biomed.encoder import load_encoder
from st_biomed.errors import InputError
from st_biomed.modules.inject_knowledge import inject_knowledge
from st_biomed.modules.markers import add_markers, pool_mentions
from st_biomed.release.card import BiomedCard
from st_biomed.release.fold_modules import fold_modules, folded_markers
from st_biomed.release.folder import check_built_in, save_release
from st_biomed.release.own_code import code_of
from tests.modules.mention_texts import MARKED, TERMS, family, table


@pytest.mark.parametrize("kind", ["bert", "roberta", "distilbert"])
def test_bare_terms_keep_their_vectors_and_marked_text_does_not(tiny_bert, kind, tmp_path):
    """Exact to 1e-6, after saving, too; catches [CLS] in the mean, and a claim that holds for marked text."""
    model = pool_mentions(family(tiny_bert, kind))
    terms = [*TERMS, "☃ flu", "", "the " * 40]
    expected = model.encode(terms)
    folded = fold_modules(model)
    np.testing.assert_allclose(folded.encode(terms), expected, atol=1e-6)
    folded.save_pretrained(str(tmp_path), create_model_card=False)
    loaded = SentenceTransformer(str(tmp_path), device="cpu")
    np.testing.assert_allclose(loaded.encode(terms), expected, atol=1e-6)
    check_built_in(loaded)
    assert [type(module) for module in loaded][1:] == [WordWeights, Pooling]
    assert not folded[1].emb_layer.weight.requires_grad and folded_markers(loaded) == ["[Ms]", "[Me]"]
    assert np.abs(folded.encode(MARKED[:2]) - model.encode(MARKED[:2])).max() > 1e-3
    np.testing.assert_allclose(model.encode(terms), expected, atol=1e-6)


def test_a_word_that_is_a_special_token_in_lower_case_keeps_its_weight(tiny_bert):
    """Catches sentence-transformers' look-up in lower case: a word "[CLs]" of a cased vocabulary would count for nothing."""
    tiny_bert.tokenizer.add_tokens([AddedToken("[MS]", normalized=False)])
    pool_mentions(tiny_bert, ("[ms]", "[me]"))
    model = fold_modules(tiny_bert)
    np.testing.assert_allclose(model.encode(["[MS] flu"]), tiny_bert.encode(["[MS] flu"]), atol=1e-6)


def test_vectors_stay_truncated(tiny_bert):
    """Catches a folded model whose vectors are longer than those of the trained one."""
    model = pool_mentions(tiny_bert)
    model.truncate_dim = 5
    folded = fold_modules(model)
    assert folded.truncate_dim == 5 and folded.encode(TERMS).shape == (len(TERMS), 5)


def test_a_plain_model_is_left_as_it_is(tiny_bert):
    """Catches weights of words, of which the card would tell, where no mention was pooled."""
    folded = fold_modules(tiny_bert)
    assert np.array_equal(folded.encode(TERMS), tiny_bert.encode(TERMS))
    assert folded_markers(folded) == [] and [type(module) for module in folded] == [
        type(module) for module in tiny_bert
    ]
    assert folded[0].unpad_inputs == tiny_bert[0].unpad_inputs, "only weights of words need padded text"
    weights = WordWeights(["flu", "zoster"], {"flu": 0.0})
    assert folded_markers(SentenceTransformer(modules=[tiny_bert[0], weights, Pooling(16)], device="cpu")) == []


def test_injection_is_folded_only_where_it_is_off(tiny_bert):
    inject_knowledge(pool_mentions(tiny_bert), table(), layer=1)
    with pytest.raises(InputError, match="injection is on"):
        fold_modules(tiny_bert)
    tiny_bert[0].inject = False
    folded = fold_modules(tiny_bert)
    check_built_in(folded)
    assert code_of(folded) == []
    np.testing.assert_allclose(folded.encode(TERMS), tiny_bert.encode(TERMS), atol=1e-6)


def test_the_files_of_code_are_those_that_are_needed(tiny_bert):
    assert code_of(tiny_bert) == []
    assert code_of(pool_mentions(tiny_bert)) == ["mention_pooling.py"]
    inject_knowledge(tiny_bert, table(), layer=1)
    tiny_bert[1] = Pooling(16)
    assert code_of(tiny_bert) == [
        "knowledge_injected_transformer.py",
        "knowledge_injection_layer.py",
        "mention_pooling.py",
    ]


def stirred(model: SentenceTransformer) -> SentenceTransformer:
    torch.manual_seed(0)
    for parameter in model[0].injection.parameters():
        parameter.data.add_(torch.randn_like(parameter) / 3)
    return model


@pytest.mark.long
def test_a_model_with_injected_knowledge_is_released(
    tiny_bert, trained, licensed, tiny_bert_folder: Path, tmp_path: Path
):
    """With its files of code, which the card names; it loads in a process without this package, and here by our loader."""
    model = stirred(inject_knowledge(pool_mentions(tiny_bert), table(), layer=1, mention="marked"))
    folder = save_release(
        model, tmp_path / "out", run=trained.run, terminologies=[licensed], base_model=tiny_bert_folder
    )
    assert len(list(folder.rglob("*.py"))) == 3
    card = (folder / "README.md").read_text()
    assert (
        "files of code, `knowledge_injected_transformer.py`, `knowledge_injection_layer.py`, `mention_pooling.py`, which"
        in card
    )
    assert "trust_remote_code=True)" in card and "exact only for bare terms" not in card
    expected = model.encode([*TERMS, *MARKED])
    loaded = load_encoder(folder, device="cpu")
    np.testing.assert_allclose(loaded.encode([*TERMS, *MARKED]), expected, atol=1e-5)
    again = save_release(
        loaded, tmp_path / "more", run=trained.run, terminologies=[licensed], base_model=tiny_bert_folder
    )
    assert sorted(p.name for p in again.rglob("*.py")) == sorted(p.name for p in folder.rglob("*.py"))
    with torch.no_grad():
        loaded[0].inject = False
    np.testing.assert_allclose(fold_modules(loaded).encode(TERMS), loaded.encode(TERMS), atol=1e-6)


def test_a_folded_model_is_released_and_its_card_says_for_what_it_is_exact(
    tiny_bert, trained, licensed, tiny_bert_folder: Path, tmp_path: Path
):
    """Catches a release that pools marked text as a whole, in silence."""
    folded = fold_modules(pool_mentions(tiny_bert))
    folder = save_release(
        folded, tmp_path / "out", run=trained.run, terminologies=[licensed], base_model=tiny_bert_folder
    )
    card = (folder / "README.md").read_text()
    assert "exact only for bare terms: a mention in context between [Ms] and [Me]" in card
    assert "trust_remote_code" not in card
    plain = BiomedCard.from_run(trained.run).render(add_markers(trained.model))
    assert "only for bare terms" not in plain
