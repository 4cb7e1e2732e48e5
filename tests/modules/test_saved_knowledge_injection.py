"""An encoder with injected knowledge, saved: it loads with and without this package, and is copied and pickled."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file
from sentence_transformers import SentenceTransformer

from st_biomed.encoder.digest import model_digest
from st_biomed.modules import knowledge_injected_transformer, knowledge_injection_layer
from st_biomed.modules.inject_knowledge import injection_of
from st_biomed.modules.knowledge_injected_transformer import KnowledgeInjectedTransformer
from st_biomed.modules.markers import add_markers, pool_mentions
from tests.modules.knowledge_layers import injected
from tests.modules.mention_texts import MARKED, TERMS, table
from tests.modules.test_mention_pooling import imports_of, load_elsewhere


def test_a_saved_model_loads_without_this_package(tiny_bert, tmp_path):
    """In a fresh process, twice over; catches weights, a table or a setting that stays behind."""
    model = pool_mentions(injected(add_markers(tiny_bert), mention="marked", temperature=2.0, half=True))
    model.save_pretrained(str(tmp_path / "model"), create_model_card=False)
    for file in ("knowledge_injected_transformer.py", "knowledge_injection_layer.py", "mention_pooling.py"):
        source = Path(knowledge_injected_transformer.__file__).with_name(file)
        assert (tmp_path / "model" / file).read_bytes() == source.read_bytes()
    weights = load_file(tmp_path / "model" / "knowledge_injection" / "model.safetensors")
    assert torch.equal(weights["entities"], table().half()) and weights["entities"].dtype == torch.float16
    refused, *vectors = load_elsewhere(tmp_path / "model", [*MARKED, *TERMS])
    assert refused is True
    for found in vectors:
        np.testing.assert_allclose(found, model.encode([*MARKED, *TERMS]), atol=1e-5)


def test_a_loaded_model_is_the_same_here(tiny_bert, tmp_path):
    """Catches settings that a digest or a checkpoint of the trainer does not see."""
    model = injected(tiny_bert, candidates=4, temperature=0.7)
    model.save_pretrained(str(tmp_path), create_model_card=False)
    again = SentenceTransformer(str(tmp_path), device="cpu", trust_remote_code=True)
    assert model_digest(again) == model_digest(model) and injection_of(again).candidates == 4
    assert again[0]._settings() == model[0]._settings()
    again[0].inject = False
    again.save_pretrained(str(tmp_path / "off"), create_model_card=False)
    off = SentenceTransformer(str(tmp_path / "off"), device="cpu", trust_remote_code=True)
    assert off[0].inject is False and np.array_equal(off.encode(TERMS), again.encode(TERMS))
    classes = {f"{type(module).__module__}.{type(module).__qualname__}": type(module) for module in model}
    checkpoint = SentenceTransformer._load_with_module_classes(str(tmp_path), classes, device="cpu")
    assert type(checkpoint[0]) is KnowledgeInjectedTransformer


def test_copies_and_pickles_are_the_same(tiny_bert):
    """Catches a process pool that cannot find the class."""
    model = injected(tiny_bert)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert np.array_equal(other.encode(TERMS), model.encode(TERMS))


def test_the_shipped_files_import_nothing_of_this_package():
    assert imports_of(knowledge_injection_layer.__file__) == {"torch"}
    allowed = {
        "torch",
        "safetensors",
        "sentence_transformers",
        "transformers",
        ".knowledge_injection_layer",
        ".mention_pooling",
    }
    assert imports_of(knowledge_injected_transformer.__file__) == allowed
