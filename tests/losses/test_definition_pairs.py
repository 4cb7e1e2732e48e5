"""InfoNCE over names and definitions: golden numbers, a double loop, the cached form, and what a tiny model learns."""

from __future__ import annotations

import math

import pytest
import torch
from sentence_transformers import SentenceTransformerTrainer, SentenceTransformerTrainingArguments

from st_biomed.losses.cached import CachedInfoNCELoss
from st_biomed.losses.info_nce import InfoNCELoss
from st_biomed.losses.similarity import unit_rows
from st_biomed.losses.terminology_digest_callback import TerminologyDigestCallback
from st_biomed.records import Definition, SourceInfo, Term
from st_biomed.samplers import DefinitionBatches, DefinitionBatchSampler
from st_biomed.terminology import Terminology
from st_biomed.terminology.definition_lookup import DefinitionLookup
from st_biomed.training_data import definitions_dataset
from tests.losses.pair_batches import unit

TOY = Terminology.read("toy", trees=3, depth=2, branching=3, definitions=True)


def two() -> Terminology:
    """Labels 0 and 1 are the names "crane" and "grus" of the bird, 2 and 3 definitions of the bird and the machine."""
    records = [Term("X:BIRD", "crane"), Term("X:BIRD", "grus"), Term("X:MACHINE", "crane")]
    records += [Definition("X:BIRD", "It has wings."), Definition("X:MACHINE", "It has a hook.")]
    return Terminology.from_records(records, SourceInfo("X", "X"))


def test_golden_numbers():
    """By hand: of four texts at right angles or equal, the definition of the machine is no negative of "grus"."""
    terminology = two()
    assert terminology.definition_strings == ["It has wings.", "It has a hook."]
    vectors = torch.tensor([[1, 0], [0, 1], [0.6, 0.8], [0.8, 0.6]], dtype=torch.float64)
    loss = InfoNCELoss(None, 1.0, miner=None, lookup=DefinitionLookup(terminology), reduction="sum")
    # crane-grus, crane-wings, crane-hook and grus-wings are positives; grus-hook and wings-hook count for nothing.
    assert loss.compute_loss_from_embeddings([vectors], torch.arange(4)).item() == 0
    records = [*two().records(), Term("X:FISH", "carp", source="X")]
    terminology = Terminology.from_records(records, SourceInfo("X", "X"))
    assert terminology.strings == ["carp", "crane", "grus"]
    loss = InfoNCELoss(None, 1.0, miner=None, lookup=DefinitionLookup(terminology), reduction="sum")
    vectors = torch.tensor([[0, 1], [1, 0], [0.6, 0.8]], dtype=torch.float64)  # carp, grus, "It has wings."
    value = loss.compute_loss_from_embeddings([vectors], torch.tensor([0, 2, 3]))
    expected = math.log(1 + math.exp(0 - 0.6)) + math.log(1 + math.exp(0.8 - 0.6))
    assert value.item() == pytest.approx(expected, abs=1e-9)
    assert value.item() == pytest.approx(1.235627, abs=1e-6)


def test_a_double_loop_gives_the_same():
    """Catches pairs that count for nothing in a denominator."""
    lookup = DefinitionLookup(TOY)
    n_labels = TOY.n_texts + TOY.n_definitions
    near = {c: {d for t in TOY.concept_texts.row(c) for d in TOY.text_concepts.row(t)} for c in range(TOY.n_concepts)}
    defined = TOY.definitions["concept"].to_pylist()

    def concepts(label: int) -> set[int]:
        return set(TOY.text_concepts.row(label).tolist()) if label < TOY.n_texts else {defined[label - TOY.n_texts]}

    met = set()
    for seed in range(12):
        generator = torch.Generator().manual_seed(seed)
        labels = torch.randperm(n_labels, generator=generator)[:40]
        embeddings = torch.randn(40, 5, generator=generator, dtype=torch.float64)
        s = (unit(embeddings) @ unit(embeddings).T) / 0.3
        expected = 0.0
        for i, a in enumerate(labels.tolist()):
            near_pairs, far = [], 0.0
            for j, b in enumerate(labels.tolist()):
                shares_name = any(d in near[c] for c in concepts(a) for d in concepts(b))
                if i == j:
                    continue
                if concepts(a) & concepts(b):
                    near_pairs.append(s[i, j].item())
                elif max(a, b) < TOY.n_texts or not shares_name:
                    far += math.exp(s[i, j].item())
                else:
                    met.add((a, b))
            losses = [math.log(1 + far / math.exp(x)) for x in near_pairs]
            expected += sum(losses) / max(1, len(losses))
        loss = InfoNCELoss(None, 0.3, miner=None, reduction="sum", lookup=lookup)
        assert loss.compute_loss_from_embeddings([embeddings], labels).item() == pytest.approx(expected, abs=1e-9)
    assert met, "no pair that counts for nothing was met"


def test_the_cached_form_has_the_same_gradients(tiny_bert):
    """Catches labels that stay behind where long definitions and short names are sorted by length."""
    tiny_bert.double()
    dataset = definitions_dataset(TOY)
    (batch, *_) = DefinitionBatchSampler(dataset, 12, terminology=TOY)
    rows, lookup, results = dataset[batch], DefinitionLookup(TOY), []
    for loss in (
        InfoNCELoss(tiny_bert, miner=None, lookup=lookup),
        CachedInfoNCELoss(tiny_bert, miner=None, lookup=lookup, mini_batch_size=5),
    ):
        tiny_bert.zero_grad()
        value = loss([dict(tiny_bert.preprocess(rows["text"]))], torch.tensor(rows["label"]))
        value.backward()
        gradients = {name: p.grad.clone() for name, p in tiny_bert.named_parameters() if p.grad is not None}
        assert max(gradient.abs().max() for gradient in gradients.values()) > 1e-3
        results.append((value.detach(), gradients))
    torch.testing.assert_close(*results, atol=1e-6, rtol=0)


@pytest.mark.long
def test_training_finds_the_definition_of_a_name(tiny_bert, tmp_path):
    """Catches a dataset, batches, a lookup or a loss that do not fit together in sentence-transformers' trainer."""

    def rank() -> float:
        """Mean reciprocal rank of the right definition of each concept's first name among all definitions."""
        concepts = TOY.definitions["concept"].to_pylist()
        names = [TOY.strings[TOY.concept_texts.row(concept)[0]] for concept in concepts]
        name_vectors, definition_vectors = (
            unit_rows(tiny_bert.encode(texts, convert_to_tensor=True)) for texts in (names, TOY.definition_strings)
        )
        similarities = name_vectors @ definition_vectors.T
        return float((1 / (1 + (similarities > similarities.diagonal()[:, None]).sum(1))).mean())

    torch.manual_seed(0)
    before = rank()
    loss = InfoNCELoss(tiny_bert, miner=None, lookup=DefinitionLookup(TOY))
    arguments = SentenceTransformerTrainingArguments(
        output_dir=str(tmp_path),
        per_device_train_batch_size=12,
        num_train_epochs=20,
        learning_rate=5e-3,
        batch_sampler=DefinitionBatches.of(TOY),
        report_to="none",
        save_strategy="no",
        use_cpu=True,
        disable_tqdm=True,
    )
    trainer = SentenceTransformerTrainer(
        tiny_bert, arguments, definitions_dataset(TOY), loss=loss, callbacks=[TerminologyDigestCallback(loss)]
    )
    trainer.train()
    assert rank() > before + 0.2, (before, rank())
