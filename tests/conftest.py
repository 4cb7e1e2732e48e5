"""Fixtures for every test: a tiny BERT, an invented terminology, and where the development data lies."""

from __future__ import annotations

import gc
import os
import sys
from functools import cache
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import jinja2
import pytest
import typer.testing
from hypothesis import settings

from tests.fresh import run_fresh

# No deadlines: a busy machine is not a failure. The same examples each time, so that a change is what fails a build;
# `make fuzz` looks for new ones.
settings.register_profile("fixed", deadline=None, derandomize=True)
settings.register_profile("fuzz", deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("ST_BIOMED_EXAMPLES", "fixed"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files that take longest come first, so that no process waits for another at the end: trainings, then those of the root."""
    root = Path(__file__).parent
    items.sort(key=lambda item: (item.path.parent != root / "recipes", item.path.parent != root))


def pytest_collection_finish() -> None:
    """Make trainings and releases of all tests quick.

    Modules and classes are left out of every later collection of garbage, and the end of a training collects none. The
    template of cards is compiled once, and the command line is built once, as in a process of its own. Nothing waits for
    the disk: what a test writes need not outlive the machine. The proof of a release that carries code takes a fork, not
    a new interpreter (:func:`new_interpreter`).
    """
    jinja2.Template = cache(jinja2.Template)
    if (memory := sys.modules.get("accelerate.utils.memory")) is not None:
        memory.clear_device_cache = lambda garbage_collection=False: None
    typer.testing._get_command = cache(typer.testing._get_command)
    os.fsync = lambda descriptor: None
    if (own_code := sys.modules.get("st_biomed.release.own_code")) is not None:
        own_code.run_elsewhere, own_code.run_in_new_interpreter = run_fresh, own_code.run_elsewhere
    gc.collect()
    gc.freeze()


@pytest.fixture
def new_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    """The proof of a release that carries code takes a new interpreter, as it does for people."""
    own_code = sys.modules["st_biomed.release.own_code"]
    monkeypatch.setattr(own_code, "run_elsewhere", own_code.run_in_new_interpreter)


@pytest.fixture(scope="session")
def realdata() -> Path:
    """The folder of open development data; tests that use it are marked ``realdata``."""
    folder = os.environ.get("ST_BIOMED_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("ST_BIOMED_DATA names no folder with the open development data")
    return Path(folder)


@pytest.fixture(scope="session")
def tiny_bert_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved 16-dimensional, two-layer BERT with mean pooling and a letter-piece vocabulary."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
    from transformers import BertConfig, BertModel, BertTokenizerFast

    root = tmp_path_factory.mktemp("tiny_bert")
    letters = "abcdefghijklmnopqrstuvwxyz0123456789,.-()[]'/%+:"
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{letter}" for letter in letters)]
    words += ["disease", "of", "the", "acute", "chronic", "type", "other", "with", "without", "unspecified"]
    (root / "vocab.txt").write_text("\n".join(words) + "\n", "utf-8")
    tokenizer = BertTokenizerFast(vocab=str(root / "vocab.txt"), do_lower_case=True, model_max_length=32)
    tokenizer.save_pretrained(root / "bert")
    torch.manual_seed(7)
    config = BertConfig(
        vocab_size=len(words),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    BertModel(config).save_pretrained(root / "bert")
    transformer = Transformer(str(root / "bert"))
    transformer.max_seq_length = 32
    model = SentenceTransformer(modules=[transformer, Pooling(16, "mean")], device="cpu")
    model.save_pretrained(str(root / "model"))
    return root / "model"


@pytest.fixture
def tiny_bert(tiny_bert_folder: Path):
    """A fresh copy of the tiny encoder, on the CPU."""
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(tiny_bert_folder), device="cpu")
