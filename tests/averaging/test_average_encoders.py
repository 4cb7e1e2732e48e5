"""Encoders that are averaged: their vectors, and the first difference where they cannot be."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense, Normalize
from sentence_transformers.sentence_transformer.modules import Pooling, StaticEmbedding, WordEmbeddings
from sentence_transformers.sentence_transformer.modules.tokenizer import WhitespaceTokenizer
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.normalizers import BertNormalizer

from st_biomed.averaging.average_encoders import average_encoders
from st_biomed.encoder import load_encoder
from st_biomed.encoder.digest import model_digest
from st_biomed.errors import InputError
from st_biomed.modules.lora import add_lora, merge_lora
from st_biomed.modules.markers import add_markers

TERMS = ["flumpa gland", "acute disease of the gland"]


@pytest.fixture
def load(tiny_bert_folder: Path) -> Callable[[], SentenceTransformer]:
    return lambda: load_encoder(tiny_bert_folder, device="cpu")


def moved(model: SentenceTransformer, seed: int) -> SentenceTransformer:
    """The model with other weights."""
    torch.manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.1 * torch.randn_like(parameter)
    return model


def test_a_share_of_one_is_that_model_and_half_of_each_is_neither(load: Callable[[], SentenceTransformer]):
    """Catches weights in another order than the models."""
    digests = {
        weights: model_digest(average_encoders([load(), moved(load(), 1)], weights))
        for weights in ((1.0, 0.0), (0.0, 1.0), (0.5, 0.5))
    }
    assert digests[1.0, 0.0] == model_digest(load()) and digests[0.0, 1.0] == model_digest(moved(load(), 1))
    assert len(set(digests.values())) == 3


def test_every_parameter_is_averaged_and_the_rest_is_the_first_s(load: Callable[[], SentenceTransformer]):
    """Catches a module that is left out, and a length limit that is taken from the last."""
    first, other = moved(load(), 1), moved(load(), 2)
    other.max_seq_length = 7
    states = [{name: tensor.clone() for name, tensor in model.state_dict().items()} for model in (first, other)]
    averaged = average_encoders([first, other], [0.25, 0.75])
    assert averaged is first and averaged.max_seq_length == 32
    for name, tensor in averaged.state_dict().items():
        torch.testing.assert_close(tensor, 0.25 * states[0][name] + 0.75 * states[1][name])
    assert not np.allclose(averaged.encode(TERMS), other.encode(TERMS))


def test_the_order_of_two_precisions_makes_no_difference(load: Callable[[], SentenceTransformer]):
    """Catches an average in float32 that is rounded to the precision of the first."""
    pairs = [(moved(load(), 1).half(), moved(load(), 2)), (moved(load(), 2), moved(load(), 1).half())]
    first, second = (average_encoders(pair, [0.5, 0.5]).state_dict() for pair in pairs)
    for name, tensor in first.items():
        assert tensor.dtype == second[name].dtype
        torch.testing.assert_close(tensor, second[name])
    assert first["0.model.embeddings.word_embeddings.weight"].dtype == torch.float32


def pooled(model: SentenceTransformer) -> None:
    model[1] = Pooling(16, "cls")


def lengthened(model: SentenceTransformer) -> None:
    model.append(Normalize())


def shortened(model: SentenceTransformer) -> None:
    model[0].model.encoder.layer = model[0].model.encoder.layer[:1]
    model[0].model.config.num_hidden_layers = 1


def reshaped(model: SentenceTransformer) -> None:
    model[0].model.resize_token_embeddings(len(model.tokenizer) + 8)


def renamed(model: SentenceTransformer) -> None:
    backend = model.tokenizer.backend_tokenizer.to_str().replace('"disease"', '"disaese"')
    model.tokenizer._tokenizer = type(model.tokenizer.backend_tokenizer).from_str(backend)


def cased(model: SentenceTransformer) -> None:
    backend = model.tokenizer.backend_tokenizer.to_str().replace('"lowercase":true', '"lowercase":false')
    model.tokenizer._tokenizer = type(model.tokenizer.backend_tokenizer).from_str(backend)


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        (pooled, r"module 1 \(Pooling\) has pooling_mode 'cls', in A 'mean'"),
        (lengthened, r"its modules are Transformer, Pooling, Normalize, in A Transformer, Pooling"),
        (shortened, r"module 0 \(Transformer\) has num_hidden_layers 1, in A 2"),
        (add_markers, r"its vocabulary was extended: \d+ pieces, in A \d+"),
        (renamed, r"another vocabulary: piece \d+ is 'disaese', in A 'disease'"),
        (cased, r"its tokenizer has normalizer .*"),
        (reshaped, r".*word_embeddings.weight is \[\d+, 16\], in A \[\d+, 16\]"),
    ],
)
def test_the_first_difference_is_named(change: Callable, difference: str, load: Callable[[], SentenceTransformer]):
    """Catches an average of weights that mean different things, and a message that leaves the person to look for why."""
    other = load()
    change(other)
    with pytest.raises(InputError, match=f"^B: cannot be averaged with A: {difference}$"):
        average_encoders([load(), other], [0.5, 0.5], ["A", "B"])


def static(**options: bool) -> SentenceTransformer:
    tokenizer = Tokenizer(WordLevel({"gland": 0, "[UNK]": 1}, unk_token="[UNK]"))
    tokenizer.normalizer = BertNormalizer(**options)
    return SentenceTransformer(modules=[StaticEmbedding(tokenizer, np.eye(2, dtype=np.float32))], device="cpu")


def test_static_encoders_of_other_normalizers_are_not_averaged():
    """Catches a tokenizer of which the vocabulary alone is compared; and equal ones that are rejected."""
    average_encoders([static(), static()], [0.5, 0.5])
    with pytest.raises(InputError, match=r"B: cannot be averaged with A: its tokenizer has normalizer .*"):
        average_encoders([static(), static(lowercase=False)], [0.5, 0.5], ["A", "B"])


def test_length_limits_of_word_vectors_make_no_difference():
    """Catches a limit that is a setting of a module and refuses equal weights."""
    models = [
        SentenceTransformer(
            modules=[WordEmbeddings(WhitespaceTokenizer(["gland"], stop_words=[]), np.eye(1), max_seq_length=limit)],
            device="cpu",
        )
        for limit in (9, 5)
    ]
    assert average_encoders(models, [0.5, 0.5]) is models[0]


def test_the_first_one_may_be_the_extended_one(load: Callable[[], SentenceTransformer]):
    extended = add_markers(load())
    with pytest.raises(InputError, match="B: cannot be averaged with A: the vocabulary of A was extended"):
        average_encoders([extended, load()], [0.5, 0.5], ["A", "B"])


def test_dropout_and_where_a_model_is_from_make_no_difference(load: Callable[[], SentenceTransformer]):
    """Catches a refusal of two seeds that were trained with other dropout."""
    other = moved(load(), 1)
    other[0].model.config.hidden_dropout_prob = 0.3
    other[0].model.config._name_or_path = "elsewhere"
    other.encode(TERMS)  # which leaves padding in the tokenizer
    expected = (
        load()[0].model.embeddings.word_embeddings.weight + other[0].model.embeddings.word_embeddings.weight
    ) / 2
    averaged = average_encoders([load(), other], [0.5, 0.5])
    torch.testing.assert_close(averaged[0].model.embeddings.word_embeddings.weight, expected)


def test_dense_layers_are_averaged_too(load: Callable[[], SentenceTransformer]):
    models = [load(), load()]
    for i, model in enumerate(models):
        model.append(Dense(16, 4, bias=False, init_weight=torch.full((4, 16), float(i))))
    assert (average_encoders(models, [0.75, 0.25])[2].linear.weight == 0.25).all()


def test_numbers_that_are_not_trained_are_not_averaged(load: Callable[[], SentenceTransformer]):
    """Catches a table that is the mean of two, which neither model has learned with."""
    models = [load(), load()]
    for i, model in enumerate(models):
        model.append(Dense(16, 4, bias=False, init_weight=torch.full((4, 16), float(i))))
        model[2].register_buffer("table", torch.tensor([float(i)]))
    with pytest.raises(InputError, match="2.table is not a parameter, and its values differ"):
        average_encoders(models, [0.5, 0.5])


def test_adapters_that_are_not_merged_are_not_averaged(load: Callable[[], SentenceTransformer]):
    """Catches the mean of both factors of an update, which is not the mean of their product."""
    updated = [add_lora(moved(load(), seed)) for seed in (1, 2)]
    with pytest.raises(InputError, match=r"module 0 \(Transformer\) has adapters of peft, whose average is not"):
        average_encoders(updated, [0.5, 0.5])
    vectors = [merge_lora(model).encode(TERMS) for model in updated]
    assert not np.allclose(vectors[0], vectors[1])
    average_encoders(updated, [0.5, 0.5])
