"""One digest for one function from text to vectors: wherever it lies, whatever it encoded before."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Router
from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, StaticEmbedding, WordEmbeddings
from sentence_transformers.sentence_transformer.modules.tokenizer import WhitespaceTokenizer
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.normalizers import Lowercase
from tokenizers.pre_tokenizers import WhitespaceSplit

from st_biomed.encoder.digest import model_digest
from st_biomed.modules.name_vectors import NameVectors


def test_place_and_past_make_no_difference(tiny_bert, tiny_bert_folder, tmp_path):
    """Would catch the path in the configuration, and the padding a call leaves in the tokenizer: both embed anew."""
    before = model_digest(tiny_bert)
    tiny_bert.encode(["acute disease", "b"])
    assert model_digest(tiny_bert) == before
    shutil.copytree(tiny_bert_folder, tmp_path / "elsewhere")
    assert model_digest(SentenceTransformer(str(tmp_path / "elsewhere"), device="cpu")) == before


def change_weight(model):
    model[0].auto_model.embeddings.word_embeddings.weight.data[0, 0] += 1e-6


def change_pooling(model):
    model[1] = Pooling(16, "cls")


def change_modules(model):
    model.append(Normalize())


def change_length(model):
    model.max_seq_length = 8


def change_end_that_is_cut(model):
    model.tokenizer.truncation_side = "left"


def change_activation(model):
    model[0].auto_model.config.hidden_act = "relu"


def change_prompt(model):
    model.prompts["query"], model.default_prompt_name = "term: ", "query"


def change_precision(model):
    model.half()


def change_normalizer(model):
    from tokenizers.normalizers import BertNormalizer

    model.tokenizer.backend_tokenizer.normalizer = BertNormalizer(lowercase=False)


@pytest.mark.long
def test_the_active_adapter_is_part_of_the_digest(tiny_bert):
    """Catches vectors of one adapter that are taken for those of another, or of none."""
    peft = pytest.importorskip("peft")
    plain = model_digest(tiny_bert)
    for name, rank in (("one", 2), ("two", 2)):
        tiny_bert.add_adapter(peft.LoraConfig(r=rank, target_modules=["query"]), adapter_name=name)
    digests = {plain}
    for name in ("one", "two"):
        tiny_bert.set_adapter(name)
        digests.add(model_digest(tiny_bert))
    tiny_bert.disable_adapters()
    digests.add(model_digest(tiny_bert))
    assert len(digests) == 4
    tiny_bert.enable_adapters()
    assert model_digest(tiny_bert) in digests


@pytest.mark.parametrize(
    "change",
    [
        change_weight,
        change_pooling,
        change_modules,
        change_length,
        change_end_that_is_cut,
        change_activation,
        change_prompt,
        change_precision,
        change_normalizer,
    ],
)
def test_whatever_changes_a_vector_changes_the_digest(tiny_bert, change):
    """Would catch a dictionary's vectors of another model that are taken for this one's."""
    before = model_digest(tiny_bert)
    change(tiny_bert)
    assert model_digest(tiny_bert) != before


def static(normalizer=None) -> list:
    words = Tokenizer(WordLevel({"gland": 0, "Gland": 1}, unk_token="gland"))
    words.pre_tokenizer, words.normalizer = WhitespaceSplit(), normalizer
    return [StaticEmbedding(words, np.eye(2, dtype=np.float32))]


def of_words(**options) -> list:
    return [WordEmbeddings(WhitespaceTokenizer(["gland", "Gland"], **options), np.eye(2, dtype=np.float32))]


def routed(module: list) -> list:
    return [Router.for_query_document(module, static())]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (static(), static(Lowercase())),
        (of_words(), of_words(do_lower_case=True)),
        (routed(static()), routed(static(Lowercase()))),
        ([NameVectors(["a"], np.ones((1, 2)))], [NameVectors(["b"], np.ones((1, 2)))]),
    ],
    ids=["static", "words", "routes", "names"],
)
def test_encoders_without_a_transformer_are_told_apart(one, other):
    """Would catch another normalizer of a static encoder, or other names of a table: stored vectors would be wrong."""
    first, second = (SentenceTransformer(modules=modules, device="cpu") for modules in (one, other))
    assert model_digest(first) == model_digest(SentenceTransformer(modules=one, device="cpu"))
    assert model_digest(first) != model_digest(second)


def test_a_prompt_that_is_empty_is_none(tiny_bert):
    """sentence-transformers fills in empty prompts when it loads; they change no vector."""
    tiny_bert.prompts = {}
    digest = model_digest(tiny_bert)
    tiny_bert.prompts = {"query": "", "document": ""}
    assert model_digest(tiny_bert) == digest
