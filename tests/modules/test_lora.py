"""LoRA: what is trained, exact resume, and a merged model that needs no peft."""

from __future__ import annotations

import builtins
import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from datasets import Dataset
from packaging import version
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from sentence_transformers.base.modules import Dense

from st_biomed.encoder import load_encoder
from st_biomed.encoder.assemble import assemble
from st_biomed.encoder.listed_modules import listed_modules
from st_biomed.encoder.sources import Source
from st_biomed.errors import InputError
from st_biomed.losses import CachedMultiSimilarityLoss, MultiSimilarityLoss
from st_biomed.modules.adapters import add_adapters
from st_biomed.modules.lora import add_lora, attention_targets, check_lora, merge_lora
from st_biomed.modules.markers import add_markers

NAMES = ["flu", "flue", "acute gout of the ear", "gots", "zoster", "other disease, type 2"]
LABELS = torch.tensor([0, 0, 1, 1, 2, 2])

reason = ""
if importlib.util.find_spec("peft") is None:
    reason = "extra peft is not installed"
elif version.parse(transformers.__version__) < version.parse("5.6"):
    reason = "transformers is older than 5.6"
needs_peft = pytest.mark.skipif(bool(reason), reason=reason)


def start(folder: Path) -> SentenceTransformer:
    torch.manual_seed(0)
    return add_lora(SentenceTransformer(str(folder), device="cpu"), rank=4)


def train(model: SentenceTransformer, folder: Path, resume: str | None = None) -> None:
    args = SentenceTransformerTrainingArguments(
        output_dir=str(folder),
        use_cpu=True,
        max_steps=4,
        per_device_train_batch_size=4,
        learning_rate=1e-2,
        lr_scheduler_type="constant",
        save_steps=2,
        disable_tqdm=True,
        seed=1,
    )
    dataset = Dataset.from_dict({"text": NAMES + ["pox", "poxe"], "label": [0, 0, 1, 1, 2, 2, 3, 3]})
    loss = MultiSimilarityLoss(model, miner=None)
    SentenceTransformerTrainer(model=model, args=args, loss=loss, train_dataset=dataset).train(
        resume_from_checkpoint=resume
    )


@needs_peft
def test_only_the_updates_learn_and_a_resumed_run_ends_with_the_same_weights(tiny_bert_folder, tmp_path):
    """Catches a base that is not frozen, and a checkpoint whose updates are not read back."""
    before = start(tiny_bert_folder)
    plain = SentenceTransformer(str(tiny_bert_folder), device="cpu").encode(NAMES)
    assert np.array_equal(before.encode(NAMES), plain)
    whole = start(tiny_bert_folder)
    train(whole, tmp_path)
    after = whole.state_dict()
    moved = {name for name, value in before.state_dict().items() if not torch.equal(value, after[name])}
    assert moved == {name for name in after if "lora_" in name} and np.abs(whole.encode(NAMES) - plain).max() > 1e-3
    resumed = start(tiny_bert_folder)
    train(resumed, tmp_path / "resumed", resume=str(tmp_path / "checkpoint-2"))
    assert all(torch.equal(value, after[name]) for name, value in resumed.state_dict().items())


@needs_peft
@pytest.mark.slow
def test_a_merged_model_has_the_same_vectors_and_loads_without_peft(tiny_bert_folder, tmp_path):
    """Catches updates that are dropped, left over or scaled otherwise, and a folder that holds adapters alone."""
    model = start(tiny_bert_folder)
    for name, parameter in model.named_parameters():
        if "lora_" in name:
            torch.nn.init.normal_(parameter, std=0.2)
    vectors = model.encode(NAMES)
    assert merge_lora(model) is model
    np.testing.assert_allclose(model.encode(NAMES), vectors, atol=1e-5)
    plain = SentenceTransformer(str(tiny_bert_folder), device="cpu")
    assert list(model.state_dict()) == list(plain.state_dict()) and np.abs(plain.encode(NAMES) - vectors).max() > 0.01
    assert all(parameter.requires_grad for parameter in model.parameters())
    model.save_pretrained(str(tmp_path / "merged"), create_model_card=False)
    files = {path.name for path in (tmp_path / "merged").iterdir()}
    assert "model.safetensors" in files and not any("adapter" in name for name in files)
    code = (
        "import json, sys; sys.modules['peft'] = None; from sentence_transformers import SentenceTransformer; "
        "print(json.dumps(SentenceTransformer(sys.argv[1], device='cpu').encode(json.loads(sys.argv[2])).tolist()))"
    )
    # Not a fork: there sentence-transformers may have imported peft already.
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "merged", json.dumps(NAMES)], capture_output=True, text=True
    )
    np.testing.assert_allclose(json.loads(done.stdout.splitlines()[-1]), vectors, atol=1e-5)


@needs_peft
def test_cached_gradients_are_the_uncached_ones(tiny_bert_folder):
    """Catches a frozen embedding layer that cuts the second forward of a mini-batch off the graph."""
    model = start(tiny_bert_folder).double()
    found = []
    for loss in (
        MultiSimilarityLoss(model, miner=None),
        CachedMultiSimilarityLoss(model, miner=None, mini_batch_size=2),
    ):
        model.zero_grad()
        loss([dict(model.preprocess(NAMES))], LABELS).backward()
        found.append({name: value.grad.clone() for name, value in model.named_parameters() if value.requires_grad})
    assert max(gradient.abs().max() for gradient in found[0].values()) > 1e-4
    torch.testing.assert_close(found[1], found[0], atol=1e-9, rtol=0)


@needs_peft
def test_a_head_behind_the_encoder_is_frozen_as_well(tiny_bert):
    """Catches that peft freezes the encoder alone."""
    tiny_bert.append(Dense(16, 4))
    add_lora(tiny_bert)
    assert {"lora_A" in name or "lora_B" in name for name, p in tiny_bert.named_parameters() if p.requires_grad} == {
        True
    }


@needs_peft
def test_updates_that_are_not_finite_are_not_merged(tiny_bert_folder):
    """Catches a release of NaN."""
    model = start(tiny_bert_folder)
    with torch.no_grad():
        next(value for name, value in model.named_parameters() if "lora_B" in name).fill_(torch.nan)
    with pytest.raises(InputError, match=r"attention\.self\.query: NaNs"):
        merge_lora(model)


@needs_peft
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rank": 0}, "rank must be an integer of at least 1, found 0"),
        ({"rank": 2.5}, "rank must be an integer of at least 1, found 2.5"),
        ({"alpha": 0}, "alpha must be a number above 0, found 0"),
        ({"alpha": float("nan")}, "alpha must be a number above 0, found nan"),
        ({"dropout": 3}, "dropout must be at least 0 and below 1, found 3"),
        ({"targets": "query"}, "targets must be a list of names of layers, found 'query'"),
        ({"targets": ["query", "q_proj"]}, r"targets: the encoder \(BertModel\) has no layer 'q_proj'"),
    ],
)
def test_bad_arguments_are_refused(tiny_bert, arguments, message):
    with pytest.raises(InputError, match=message):
        add_lora(tiny_bert, **arguments)
    assert all(parameter.requires_grad for parameter in tiny_bert.parameters())


@needs_peft
def test_adapters_upon_adapters_and_merging_of_none_are_refused(tiny_bert):
    with pytest.raises(InputError, match="has no adapters of peft to merge"):
        merge_lora(tiny_bert)
    add_lora(tiny_bert)
    for again in (add_lora, add_adapters):
        with pytest.raises(InputError, match="already has adapters of peft"):
            again(tiny_bert)


@needs_peft
def test_updates_of_an_encoder_with_new_markers_are_saved_with_their_origin(tiny_bert, tmp_path):
    """Catches a saved model whose origin has no rows for the markers, so that it cannot be loaded."""
    add_markers(tiny_bert)
    with pytest.raises(
        InputError, match=r"has 113 word embeddings and its origin, .*, 111: saved updates would not load"
    ):
        add_lora(tiny_bert)
    assert all(parameter.requires_grad for parameter in tiny_bert.parameters())
    tiny_bert.save_pretrained(str(tmp_path / "origin"), create_model_card=False)
    model = start(tmp_path / "origin")
    model.save_pretrained(str(tmp_path / "updates"), create_model_card=False)
    loaded = SentenceTransformer(str(tmp_path / "updates"), device="cpu")
    np.testing.assert_array_equal(loaded.encode(["[Ms] flu [Me]"]), model.encode(["[Ms] flu [Me]"]))
    merge_lora(add_lora(tiny_bert, only_merged=True)).save_pretrained(
        str(tmp_path / "merged"), create_model_card=False
    )
    merged = SentenceTransformer(str(tmp_path / "merged"), device="cpu")
    np.testing.assert_array_equal(merged.encode(["[Ms] flu [Me]"]), tiny_bert.encode(["[Ms] flu [Me]"]))


@needs_peft
@pytest.mark.parametrize(
    ("kind", "layers"),
    [
        ("MPNet", {"layer.0.attention.attn.q", "layer.0.attention.attn.v"}),
        ("DistilBert", {"layer.0.attention.q_lin", "layer.0.attention.v_lin"}),
        ("Bert", {"layer.0.attention.self.query", "layer.0.attention.self.value"}),
    ],
)
def test_queries_and_values_are_found_in_every_kind_of_encoder(kind: str, layers: set[str], tiny_bert):
    """Catches names that are those of BERT alone: BioLORD's base is an MPNet."""
    config = getattr(transformers, f"{kind}Config")(vocab_size=111, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32, n_layers=1, n_heads=2, dim=16, hidden_dim=32)  # fmt: skip
    encoder = tiny_bert[0].model = getattr(transformers, f"{kind}Model")(config).eval()
    before = encoder(torch.arange(4)[None])[0]
    check_lora(tiny_bert)
    add_lora(tiny_bert, only_merged=True)
    updated = {name.partition(".lora_")[0] for name, tensor in encoder.named_parameters() if tensor.requires_grad}
    assert {name.partition("layer.")[2] for name in updated} == {name.partition("layer.")[2] for name in layers}
    merge_lora(tiny_bert)
    torch.testing.assert_close(encoder(torch.arange(4)[None])[0], before)


def test_an_encoder_without_known_attention_is_named(tiny_bert):
    """DeBERTa has one matrix for queries, keys and values."""
    config = transformers.DebertaConfig(vocab_size=111, hidden_size=16, num_hidden_layers=1, num_attention_heads=2)
    tiny_bert[0].model = transformers.DebertaModel(config)
    with pytest.raises(
        InputError, match=r"^low-rank updates: the attention of DebertaModel has no queries and values"
    ):
        attention_targets(tiny_bert)


@pytest.fixture
def in_a_subfolder(tiny_bert_folder: Path, tmp_path: Path) -> Path:
    """The tiny encoder as older models are saved: its files in ``0_Transformer``."""
    folder = tmp_path / "model"
    shutil.copytree(tiny_bert_folder, folder)
    (folder / "0_Transformer").mkdir()
    of_the_model = {"modules.json", "config_sentence_transformers.json", "README.md"}
    for file in [path for path in folder.iterdir() if path.is_file() and path.name not in of_the_model]:
        file.rename(folder / "0_Transformer" / file.name)
    modules = json.loads((folder / "modules.json").read_text("utf-8"))
    modules[0]["path"] = "0_Transformer"
    (folder / "modules.json").write_text(json.dumps(modules), "utf-8")
    return folder


@needs_peft
def test_saved_updates_find_an_encoder_in_a_subfolder(in_a_subfolder, tmp_path):
    """Catches checkpoints that cannot be read because they name the folder of the whole model."""
    model = add_lora(load_encoder(in_a_subfolder, device="cpu"), only_merged=True)
    for name, parameter in model.named_parameters():
        if "lora_" in name:
            torch.nn.init.normal_(parameter, std=0.2)
    model.save_pretrained(str(tmp_path / "updates"), create_model_card=False)
    loaded = SentenceTransformer(str(tmp_path / "updates"), device="cpu")
    np.testing.assert_array_equal(loaded.encode(NAMES), model.encode(NAMES))


@needs_peft
def test_an_encoder_in_a_folder_of_a_repository_is_refused(in_a_subfolder):
    """Catches a training whose checkpoints look for the encoder at the top of the repository."""
    model = assemble(Source("org/old", in_a_subfolder, "org/old"), listed_modules(in_a_subfolder))
    with pytest.raises(
        InputError, match=r"the encoder comes from org/old/0_Transformer, and .*: save the model and load"
    ):
        add_lora(model, only_merged=True)
    assert all(parameter.requires_grad for parameter in model.parameters())


def test_without_peft_the_error_names_the_extra(tiny_bert, monkeypatch):
    """Catches an ImportError of a module that the person never asked for."""
    real = builtins.__import__

    def missing(name, *args, **kwargs):
        if name.split(".")[0] == "peft":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", missing)
    for call in (add_lora, merge_lora):
        with pytest.raises(InputError, match=r"LoRA needs peft: pip install 'st-biomed\[peft\]'"):
            call(tiny_bert)
