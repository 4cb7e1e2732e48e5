"""Bottleneck adapters: the paper's sizes, what is trained, and how a saved model loads without this package."""

from __future__ import annotations

import ast
import json
import os
from pathlib import Path

import numpy as np
import pytest
import torch
from datasets import Dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from sentence_transformers.sentence_transformer.modules import Pooling, StaticEmbedding
from torch import Tensor, nn
from transformers import (
    BertConfig,
    BertModel,
    DistilBertConfig,
    DistilBertModel,
    RobertaConfig,
    RobertaModel,
    XLMRobertaConfig,
    XLMRobertaModel,
)

from st_biomed.errors import InputError
from st_biomed.losses import CachedMultiSimilarityLoss, MultiSimilarityLoss
from st_biomed.modules import bottleneck_adapter
from st_biomed.modules.adapters import SIZES, add_adapters
from st_biomed.modules.bottleneck_adapter import AdaptedBertConfig, AdaptedBertModel, adapter_parameters
from st_biomed.training.trained_parameters import prepare_encoder
from tests.fresh import run_fresh

NAMES = ["flu", "flue", "acute gout of the ear", "gots", "zoster", "other disease, type 2"]
LABELS = torch.tensor([0, 0, 1, 1, 2, 2])
OTHERS = {"roberta": (RobertaConfig, RobertaModel), "xlm-roberta": (XLMRobertaConfig, XLMRobertaModel)}


def other_encoder(model: SentenceTransformer, kind: str) -> None:
    """A random encoder of another family in place of the model's BERT."""
    config_class, model_class = OTHERS[kind]
    size = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    torch.manual_seed(1)
    encoder = model_class(config_class(vocab_size=len(model.tokenizer), max_position_embeddings=40, **size))
    model[0].model = encoder.eval()


def stir(model: nn.Module, spread: float = 0.3) -> nn.Module:
    """Adapters as if trained."""
    torch.manual_seed(2)
    for parameter in adapter_parameters(model).values():
        nn.init.normal_(parameter, std=spread)
    return model


def features(model: SentenceTransformer) -> list[dict]:
    return [dict(model.preprocess(NAMES))]


@pytest.mark.parametrize(("size", "adapters", "share"), [("large", 14_470_272, "13.22"), ("small", 1_190_592, "1.09")])
def test_the_sizes_are_the_papers_shares_of_bert_base(size, adapters, share):
    """Catches other widths, a second adapter in each layer, and a coupling left out: 12.95% and 0.82%."""
    with torch.device("meta"):
        base = sum(parameter.numel() for parameter in BertModel(BertConfig()).parameters())
        adapted = AdaptedBertModel(AdaptedBertConfig(reduction_factor=SIZES[size]))
    found = sum(parameter.numel() for parameter in adapter_parameters(adapted).values())
    assert (base, found) == (109_482_240, adapters) and f"{100 * found / base:.2f}" == share
    assert sum(parameter.numel() for parameter in adapted.parameters()) == base + found


@pytest.mark.parametrize("kind", ["bert", *OTHERS])
@pytest.mark.parametrize("size", [*SIZES, 4])
def test_the_first_forward_is_the_encoders_own(tiny_bert, kind, size):
    """Catches adapters that start with noise, weights lost on the way, and a residual counted twice; bit by bit."""
    if kind != "bert":
        other_encoder(tiny_bert, kind)
    before = tiny_bert.encode(NAMES)
    assert add_adapters(tiny_bert, size) is tiny_bert and not tiny_bert[0].model.training
    assert np.array_equal(tiny_bert.encode(NAMES), before)
    after = stir(tiny_bert).encode(NAMES)
    assert np.abs(after - before).max() > 0.1


def test_a_layer_is_its_formula(tiny_bert):
    """LN(x + W2 relu(W1 LN(x) + b1) + b2), and the halves of the embeddings; catches the adapter on another input."""
    stir(add_adapters(tiny_bert.double(), "small"))
    encoder = tiny_bert[0].model.eval()
    output = encoder.encoder.layer[1].output
    inner, residual = (torch.randn(2, 3, width, dtype=torch.float64) for width in (32, 16))
    x = output.dense(inner) + residual
    norm = torch.nn.functional.layer_norm(x, (16,), output.LayerNorm.weight, output.LayerNorm.bias, 1e-12)
    down, _, up = output.adapter
    hidden = (norm @ down.weight.T + down.bias).clamp(min=0)
    expected = x + hidden @ up.weight.T + up.bias
    expected = torch.nn.functional.layer_norm(expected, (16,), output.LayerNorm.weight, output.LayerNorm.bias, 1e-12)
    torch.testing.assert_close(output(inner, residual), expected)

    coupling = encoder.embeddings.dropout
    vectors = torch.randn(2, 3, 16, dtype=torch.float64)
    first, second = coupling(vectors).split(8, dim=-1)
    back = second - coupling.adapter[1](first)
    assert not torch.allclose(first, vectors[..., :8]) and not torch.allclose(second, vectors[..., 8:])
    torch.testing.assert_close(torch.cat([first - coupling.adapter[0](back), back], dim=-1), vectors)


def train(model: SentenceTransformer, folder: Path, resume: str | None = None) -> SentenceTransformerTrainer:
    args = SentenceTransformerTrainingArguments(
        output_dir=str(folder),
        use_cpu=True,
        max_steps=4,
        per_device_train_batch_size=4,
        learning_rate=1e-2,
        weight_decay=0.01,
        lr_scheduler_type="constant",
        save_steps=2,
        disable_tqdm=True,
        seed=1,
    )
    dataset = Dataset.from_dict({"text": NAMES + ["pox", "poxe"], "label": [0, 0, 1, 1, 2, 2, 3, 3]})
    loss = MultiSimilarityLoss(model, miner=None)
    trainer = SentenceTransformerTrainer(model=model, args=args, loss=loss, train_dataset=dataset)
    trainer.train(resume_from_checkpoint=resume)
    return trainer


def test_only_adapters_learn_and_a_resumed_run_ends_with_the_same_weights(tiny_bert_folder, tmp_path):
    """Catches a base that is not frozen, adapters that AdamW does not decay, and checkpoints without adapters."""

    def start() -> SentenceTransformer:
        torch.manual_seed(3)
        return add_adapters(SentenceTransformer(str(tiny_bert_folder), device="cpu"), "small")

    before = start().state_dict()
    whole = start()
    trainer = train(whole, tmp_path)
    after = whole.state_dict()
    adapters = set(adapter_parameters(whole))
    assert {name for name in after if not torch.equal(after[name], before[name])} == adapters
    decayed = set(trainer.get_decay_parameter_names(whole))
    assert {name for name in adapters if name.endswith("weight")} <= decayed
    resumed = start()
    train(resumed, tmp_path / "resumed", resume=str(tmp_path / "checkpoint-2"))
    assert all(torch.equal(value, after[name]) for name, value in resumed.state_dict().items())
    assert {name for name, value in resumed.named_parameters() if value.requires_grad} == adapters


def gradients(model: SentenceTransformer, loss: nn.Module) -> dict[str, Tensor]:
    model.zero_grad()
    loss(features(model), LABELS).backward()
    return {name: value.grad.clone() for name, value in model.named_parameters() if value.grad is not None}


def test_cached_gradients_are_the_uncached_ones(tiny_bert):
    """Catches a frozen first layer that cuts the second forward of a mini-batch off the graph."""
    stir(add_adapters(tiny_bert.double(), "small"))
    plain = gradients(tiny_bert, MultiSimilarityLoss(tiny_bert, miner=None))
    cached = gradients(tiny_bert, CachedMultiSimilarityLoss(tiny_bert, miner=None, mini_batch_size=2))
    assert plain.keys() == set(adapter_parameters(tiny_bert)) and max(g.abs().max() for g in plain.values()) > 1e-3
    torch.testing.assert_close(cached, plain, atol=1e-9, rtol=0)


def test_gradient_checkpointing_changes_no_gradient(tiny_bert):
    stir(add_adapters(tiny_bert.double(), "small")).train()
    loss = MultiSimilarityLoss(tiny_bert, miner=None)
    plain = gradients(tiny_bert, loss)
    encoder = tiny_bert[0].model
    enable = getattr(encoder, "activation_checkpointing_enable", encoder.gradient_checkpointing_enable)  # its new name
    enable()
    torch.testing.assert_close(gradients(tiny_bert, loss), plain, atol=1e-9, rtol=0)


def test_precision_and_attention_stay_those_of_the_encoder(tiny_bert_folder):
    """Catches float32 adapters in a model loaded in half precision, which would not even multiply."""
    kwargs = {"dtype": torch.bfloat16, "attn_implementation": "eager"}
    model = add_adapters(SentenceTransformer(str(tiny_bert_folder), device="cpu", model_kwargs=kwargs), "small")
    assert {parameter.dtype for parameter in model.parameters()} == {torch.bfloat16}
    assert model[0].model.config._attn_implementation == "eager" and model.encode(NAMES).shape == (6, 16)


FRESH = """
import json, sys
sys.modules["st_biomed"] = None  # as where the package is not installed
import torch
from sentence_transformers import SentenceTransformer
from transformers import AutoModel, AutoTokenizer
folder, names = sys.argv[1], json.loads(sys.argv[2])
try:
    SentenceTransformer(folder, device="cpu")
except ValueError as error:
    refused = "trust_remote_code" in str(error)
model = SentenceTransformer(folder, device="cpu", trust_remote_code=True)
tokens = AutoTokenizer.from_pretrained(folder, trust_remote_code=True)(names, padding=True, return_tensors="pt")
encoder = AutoModel.from_pretrained(folder, trust_remote_code=True).eval()
with torch.no_grad():
    first = encoder(**tokens).last_hidden_state[:, 0]
model.save_pretrained(folder + "/again")
again = SentenceTransformer(folder + "/again", device="cpu", trust_remote_code=True)
vectors = [model.encode(names), first.numpy(), again.encode(names)]
print(json.dumps({"refused": refused, "vectors": [matrix.tolist() for matrix in vectors]}))
"""


@pytest.mark.long
def test_a_saved_model_loads_without_this_package(tiny_bert, tmp_path):
    """In a fresh process: refused without the flag, and with it the same vectors from sentence-transformers, from
    transformers' AutoModel (its first token) and after saving again. Catches a model that needs our package."""
    tiny_bert[1] = Pooling(16, "cls")
    stir(add_adapters(tiny_bert, "small"))
    folder = tmp_path / "model"
    tiny_bert.save_pretrained(str(folder), create_model_card=False)
    assert (folder / "bottleneck_adapter.py").read_bytes() == Path(bottleneck_adapter.__file__).read_bytes()
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment["HF_MODULES_CACHE"] = str(tmp_path / "modules")
    done = run_fresh(FRESH, folder, json.dumps(NAMES), environment=environment, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "UNEXPECTED" not in done.stderr and "MISSING" not in done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["refused"] is True
    for vectors in found["vectors"]:
        np.testing.assert_allclose(vectors, tiny_bert.encode(NAMES), atol=1e-6)


def test_the_shipped_file_imports_torch_and_transformers_only():
    """Catches an import of this package, which nobody who loads the model has; also inside a function."""
    found = set()
    for node in ast.walk(ast.parse(Path(bottleneck_adapter.__file__).read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add("." if node.level else str(node.module).split(".")[0])
    assert found == {"__future__", "typing", "torch", "transformers"}


def test_the_number_of_trained_parameters_is_that_of_the_adapters(tiny_bert):
    add_adapters(tiny_bert, 4)
    trained = sum(parameter.numel() for parameter in tiny_bert.parameters() if parameter.requires_grad)
    # Two layers of 16 -> 4 -> 16, and two couplings of 8 -> 4 -> 8.
    assert trained == 2 * (2 * 16 * 4 + 4 + 16) + 2 * (2 * 8 * 4 + 4 + 8)


@pytest.mark.parametrize(
    ("size", "message"),
    [
        ("smaller", "unknown adapter size 'smaller': allowed are 'large', 'small'; did you mean 'small'"),
        (True, "unknown adapter size True"),
        (3, "reduction_factor must divide the encoder's width of 16, found 3"),
        (0, "reduction_factor must divide the encoder's width of 16, found 0"),
    ],
)
def test_unknown_sizes_are_refused(tiny_bert, size, message):
    with pytest.raises(InputError, match=message):
        add_adapters(tiny_bert, size)


def test_other_encoders_are_refused(tiny_bert):
    """Catches adapters put nowhere, in silence, and adapters upon adapters."""
    static = SentenceTransformer(
        modules=[StaticEmbedding(tiny_bert.tokenizer.backend_tokenizer, embedding_dim=4)], device="cpu"
    )
    with pytest.raises(InputError, match="a Transformer module that runs in torch, found StaticEmbedding"):
        add_adapters(static)
    with pytest.raises(
        InputError, match="bottleneck adapters support bert, roberta, xlm-roberta, .* type 'bert_with_adapters'"
    ):
        add_adapters(add_adapters(tiny_bert))
    tiny_bert[0].model = DistilBertModel(DistilBertConfig(vocab_size=50, dim=16, n_layers=1, n_heads=2, hidden_dim=32))
    with pytest.raises(InputError, match="found an encoder of type 'distilbert'"):
        add_adapters(tiny_bert)


def test_dropout_that_was_set_after_loading_is_kept(tiny_bert: SentenceTransformer):
    """Catches an adapted encoder with the dropout of its configuration, which the training had set to 0."""
    prepare_encoder(tiny_bert, 0.0, "")
    add_adapters(tiny_bert, 4).train()
    assert {module.p for module in tiny_bert.modules() if isinstance(module, nn.Dropout)} == {0.0}
    first, again = (tiny_bert(features(tiny_bert)[0])["sentence_embedding"] for _ in range(2))
    assert torch.equal(first, again)
