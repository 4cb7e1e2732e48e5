"""Mention pooling: which tokens count, and how a saved model loads without this package."""

from __future__ import annotations

import ast
import copy
import json
import os
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling

from st_biomed.corpus import blocks
from st_biomed.errors import InputError
from st_biomed.modules import mention_pooling
from st_biomed.modules.markers import add_markers, pool_mentions
from st_biomed.modules.mention_pooling import MARKERS, MentionPooling
from tests.fresh import run_fresh
from tests.modules.mention_texts import MARKED, TERMS, family

CASES = {
    "one mention": ("the [Ms]acute flu[Me] of", [3, 4, 5, 6]),
    "whole": ("the acute", [1, 2]),
    "an unknown token": ("the ☃", [1, 2]),
    "two mentions": ("[Ms]the[Me] of [Ms]acute[Me]", [2, 6]),
    "nested": ("[Ms]the [Ms]of[Me] acute[Me]", [2, 4]),
    "lost end": ("the [Ms]acute other", [3, 4]),
    "lost start": ("the acute[Me] other", [1, 2, 4]),
    "empty mention": ("the [Ms][Me] other", [1, 4]),
    "lone start at the end": ("the other [Ms]", [1, 2]),
    "end before start": ("[Me] the [Ms]of[Me]", [4]),
}


@pytest.fixture
def model(tiny_bert) -> SentenceTransformer:
    torch.manual_seed(0)
    return pool_mentions(tiny_bert)


@pytest.mark.parametrize("name", CASES)
def test_tokens_of_the_mention_count_and_no_others(model, name):
    """The mean over positions written down by hand; catches markers, specials and padding in a mean, alone and in a batch."""
    text, positions = CASES[name]
    (alone,) = model.encode([text], output_value="token_embeddings")
    expected = alone[positions].mean(0).numpy()
    np.testing.assert_allclose(model.encode([text])[0], expected, atol=1e-6)
    np.testing.assert_allclose(model.encode([text, *TERMS, *MARKED])[0], expected, atol=1e-6)


def test_a_mention_cut_at_the_maximum_length_goes_on_to_its_end(model):
    """Catches [SEP] in the mean of a mention whose end marker was cut off."""
    model.max_seq_length = 6
    (states,) = model.encode(["the [Ms]acute chronic other type[Me]"], output_value="token_embeddings")
    assert len(states) == 6
    pooled = model.encode(["the [Ms]acute chronic other type[Me]"])[0]
    np.testing.assert_allclose(pooled, states[3:5].mean(0).numpy(), atol=1e-6)


def test_a_text_without_tokens_is_zero(model):
    assert not model.encode([""]).any()


def features(model: SentenceTransformer, texts: list[str]) -> dict:
    return dict(model.preprocess(texts))


def test_no_gradient_reaches_a_token_outside(model):
    """Catches a mean that is right in value only; not-a-number outside stays outside, too."""
    batch = model[0](features(model, [CASES["one mention"][0], "flu"]))
    states = batch["token_embeddings"].detach()
    states[0, 1] = torch.nan
    batch["token_embeddings"] = states.requires_grad_()
    pooled = model[1](batch)["sentence_embedding"]
    pooled.sum().backward()
    assert pooled.isfinite().all()
    inside = torch.zeros(states.shape[:2], dtype=torch.bool)
    inside[0, 3:7] = True
    inside[1, 1:4] = True
    assert torch.equal(states.grad.ne(0).any(2), inside)


def test_a_markers_own_vector_never_reaches_a_bare_term(model):
    """Catches a row of the embeddings that a resize put somewhere else."""
    before, marked = model.encode(TERMS), model.encode(MARKED[:1])
    with torch.no_grad():
        model[0].model.get_input_embeddings().weight[-2:] += torch.randn(2, 16)
    assert np.array_equal(model.encode(TERMS), before) and np.abs(model.encode(MARKED[:1]) - marked).max() > 1e-3


def test_adding_markers_keeps_vectors_and_is_done_once(tiny_bert):
    before, size = tiny_bert.encode(TERMS), len(tiny_bert.tokenizer)
    rows = add_markers(add_markers(tiny_bert))[0].model.get_input_embeddings().num_embeddings
    assert len(tiny_bert.tokenizer) == rows == size + 2
    np.testing.assert_allclose(tiny_bert.encode(TERMS), before, atol=1e-7)
    assert tiny_bert.tokenizer.tokenize("The[Ms]FLU[Me]")[1] == "[Ms]"


@pytest.mark.parametrize("kind", ["roberta", "distilbert"])
def test_other_families(tiny_bert, kind):
    pool_mentions(family(tiny_bert, kind))
    (states,) = tiny_bert.encode([MARKED[0]], output_value="token_embeddings")
    np.testing.assert_allclose(tiny_bert.encode(MARKED[:1])[0], states[3:7].mean(0).numpy(), atol=1e-6)


def test_padding_is_told_by_the_mask(model):
    """Catches padding with a token that is also a word."""
    states, ids = torch.randn(1, 5, 16), torch.full((1, 5), 7)
    batch = {"token_embeddings": states, "input_ids": ids, "attention_mask": torch.tensor([[1, 1, 1, 0, 0]])}
    torch.testing.assert_close(model[1](dict(batch))["sentence_embedding"], states[:, :3].mean(1))
    del batch["attention_mask"]
    torch.testing.assert_close(model[1](batch)["sentence_embedding"], states.mean(1))


def test_half_precision_is_summed_in_full(model):
    """Catches a mean of many tokens in bfloat16."""
    states = torch.randn(1, 30, 16).to(torch.bfloat16)
    ids = torch.full((1, 30), 7)
    batch = model[1]({"token_embeddings": states, "input_ids": ids, "attention_mask": torch.ones_like(ids)})
    assert batch["sentence_embedding"].dtype == torch.bfloat16
    assert torch.equal(batch["sentence_embedding"], states.float().mean(1).to(torch.bfloat16))


def test_packed_text_is_unpacked_first(model):
    """Catches flash attention's flat batches, which have no mask."""
    flat = {
        "token_embeddings": torch.randn(1, 5, 16),
        "input_ids": torch.tensor([[2, 10, 3, 2, 3]]),
        "cu_seq_lens_q": torch.tensor([0, 3, 5]),
    }
    pooled = model[1](dict(flat))["sentence_embedding"]
    assert torch.equal(pooled[0], flat["token_embeddings"][0, 1]) and not pooled[1].any()


def test_copies_and_pickles_are_the_same(model):
    """Catches a process pool that cannot find the class."""
    for other in (copy.deepcopy(model[1]), pickle.loads(pickle.dumps(model[1]))):
        assert isinstance(other, MentionPooling) and (other.ids, other.markers) == (model[1].ids, list(MARKERS))


FRESH = """
import json, sys
sys.modules["st_biomed"] = None  # as where the package is not installed
from sentence_transformers import SentenceTransformer
folder, texts = sys.argv[1], json.loads(sys.argv[2])
try:
    SentenceTransformer(folder, device="cpu")
except ValueError as error:
    refused = "trust_remote_code" in str(error)
model = SentenceTransformer(folder, device="cpu", trust_remote_code=True)
model.save_pretrained(folder + "/again", create_model_card=False)
again = SentenceTransformer(folder + "/again", device="cpu", trust_remote_code=True)
again.save_pretrained(folder + "/third", create_model_card=False)
third = SentenceTransformer(folder + "/third", device="cpu", trust_remote_code=True)
print(json.dumps([refused, *(m.encode(texts).tolist() for m in (model, again, third))]))
"""


def load_elsewhere(folder: Path, texts: list[str]) -> list:
    """Whether the flag is needed, and vectors of a model loaded, saved and loaded, twice, without this package."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment["HF_MODULES_CACHE"] = str(folder.parent / "modules")
    done = run_fresh(FRESH, folder, json.dumps(texts), environment=environment, cwd=folder.parent)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_a_saved_model_loads_without_this_package(model, tmp_path):
    """In a fresh process, and after saving again: sentence-transformers alone would put the code where it is not found again."""
    model.save_pretrained(str(tmp_path / "model"), create_model_card=False)
    shipped = tmp_path / "model" / "mention_pooling.py"
    assert shipped.read_bytes() == Path(mention_pooling.__file__).read_bytes()
    refused, *vectors = load_elsewhere(tmp_path / "model", [*MARKED, *TERMS])
    assert refused is True and len(list((tmp_path / "model" / "third").rglob("*.py"))) == 1
    for found in vectors:
        np.testing.assert_allclose(found, model.encode([*MARKED, *TERMS]), atol=1e-6)


def imports_of(file: str) -> set[str]:
    """Packages that a file imports, also inside functions; files beside it as they are written."""
    found = set()
    for node in ast.walk(ast.parse(Path(file).read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add("." + str(node.module) if node.level else str(node.module).split(".")[0])
    return found - set(sys.stdlib_module_names)


def test_the_shipped_file_imports_nothing_of_this_package():
    assert imports_of(mention_pooling.__file__) == {"torch", "sentence_transformers"}


def test_wrong_use_is_one_line(tiny_bert):
    """Catches marked text that is pooled as a whole, in silence."""
    with pytest.raises(ValueError, match=r"the tokenizer has no marker '\[Ms\]': .*add_markers adds it"):
        SentenceTransformer(modules=[tiny_bert[0], MentionPooling()], device="cpu")
    with pytest.raises(ValueError, match="call on_model_ready"):
        MentionPooling()({})
    for markers in (("[A]", "[A]"), "[Ms]", ("[A]",)):
        with pytest.raises(InputError, match="markers must be two different strings"):
            add_markers(tiny_bert, markers)
    with pytest.raises(InputError, match="without a space"):
        add_markers(tiny_bert, ("[M s]", "[Me]"))
    tiny_bert.append(Pooling(16))
    with pytest.raises(InputError, match="a model with one Pooling is needed"):
        pool_mentions(tiny_bert)


def test_text_is_marked_as_it_is_pooled():
    """A shipped file imports nothing of this package, so that the markers stand in two places."""
    assert MARKERS == blocks.MARKERS
