"""From rows to texts, nodes and edges."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest
import torch
from scipy.stats import chisquare
from sentence_transformers import SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from torch import nn
from torch.utils.data import DataLoader

from st_biomed.errors import InputError
from st_biomed.records import Parent, Relation, SourceInfo, Term
from st_biomed.samplers import EpochCallback, GraphBatches, GraphBatchSampler, GraphCollator
from st_biomed.terminology import Terminology
from st_biomed.training_data import ConceptGraph, names_dataset

SOURCE = SourceInfo("Z", "Zorbs")


def ring(n: int = 12) -> Terminology:
    """Concepts in a ring with chords, each with two English names and one Italian name."""
    records: list = []
    for i in range(n):
        records += [Term(f"Z:{i:02}", f"zorb {i:02}"), Term(f"Z:{i:02}", f"round {i:02}", "synonym")]
        records.append(Term(f"Z:{i:02}", f"tondo {i:02}", "synonym", "it"))
        records.append(Relation(f"Z:{i:02}", "next", f"Z:{(i + 1) % n:02}"))
        records.append(Relation(f"Z:{i:02}", "over", f"Z:{(i + 5) % n:02}"))
        if i:
            records.append(Parent(f"Z:{i:02}", "Z:00"))
    return Terminology.from_records(records, SOURCE)


RING = ring()
GRAPH = ConceptGraph(RING)


def as_tokens(texts: list[str]) -> dict:
    """A tokenizer without a vocabulary: the code points."""
    width = max(map(len, texts))
    ids = torch.tensor([[ord(letter) for letter in text.ljust(width, "\0")] for text in texts])
    return {"input_ids": ids, "attention_mask": (ids > 0).long(), "modality": "text"}


def texts_of(batch: dict) -> list[str]:
    return ["".join(map(chr, row)).rstrip("\0") for row in batch["text_input_ids"].tolist()]


def rows_of(terminology: Terminology, *texts: str) -> list[dict]:
    return [{"text": text, "label": terminology.strings.index(text)} for text in texts]


def steps(batch_size: int = 8, epoch: int = 0, terminology: Terminology = RING) -> list[list[dict]]:
    """The rows of each batch of an epoch."""
    dataset = names_dataset(terminology)
    sampler = GraphBatchSampler(dataset, batch_size, terminology=terminology)
    sampler.set_epoch(epoch)
    return [[dataset[row] for row in batch] for batch in sampler]


def equal(batch: dict, other: dict) -> bool:
    return batch.keys() == other.keys() and all(
        torch.equal(value, other[key]) if isinstance(value, torch.Tensor) else value == other[key]
        for key, value in batch.items()
    )


@pytest.mark.parametrize("fanout", [(3,), (2, 2), ()])
def test_a_step_is_what_its_tensors_say(fanout):
    """By loops over names: would catch a view taken for the other, nodes out of order, edges of other concepts."""
    collate = GraphCollator(GRAPH, as_tokens, max_neighbors=fanout)
    stated = {
        (int(GRAPH.neighbors.indices[entry]), relation, target)
        for target in range(GRAPH.n_nodes)
        for entry in range(*GRAPH.neighbors.indptr[target : target + 2].tolist())
        for relation in GRAPH.edge_relations.row(entry).tolist()
    }
    for rows in steps():
        batch = collate(rows)
        texts, names, edges = texts_of(batch), batch["text_node_texts"], batch["text_edges"]
        n_nodes = names.shape[2]
        assert names.shape == (1, 2, n_nodes) and edges.shape[:2] == (1, 3)
        assert names.dtype == edges.dtype == batch["label"].dtype == torch.int64
        assert len(set(texts)) == len(texts) and sorted(set(names.flatten().tolist())) == list(range(len(texts)))
        concepts = [[int(texts[i].split()[1]) for i in view] for view in names[0].tolist()]
        assert concepts[0] == concepts[1] and len(set(concepts[0])) == n_nodes
        assert [texts[i] for i in names[0, 0, :4].tolist()] == [row["text"] for row in rows[::2]]
        assert [texts[i] for i in names[0, 1, :4].tolist()] == [row["text"] for row in rows[1::2]]
        assert batch["label"].tolist() == [[a["label"], b["label"]] for a, b in zip(rows[::2], rows[1::2])]
        for source, target, relation in edges[0].T.tolist():
            assert (concepts[0][source], relation, concepts[0][target]) in stated
        if fanout:
            assert set(edges[0, 1].tolist()) >= set(range(4)) and max(Counter(edges[0, 1].tolist()).values()) <= 6
        else:
            assert n_nodes == 4 and edges.shape[2] == 0
        assert batch["text_modality"] == "text"


def test_every_distinct_text_is_tokenized_once():
    calls = []

    def counting(texts):
        calls.append(texts)
        return as_tokens(texts)

    batch = GraphCollator(GRAPH, counting, max_neighbors=(9, 9))(steps()[0])
    assert len(calls) == 1 and len(set(calls[0])) == len(calls[0]) == batch["text_input_ids"].shape[0]


def neighbor_names(collate: GraphCollator, epochs: int) -> list[tuple[str, str]]:
    """The first words of the names that neighbors have in the two views."""
    pairs = []
    for epoch in range(epochs):
        for rows in steps(4, epoch):
            batch = collate(rows)
            words = [text.split()[0] for text in texts_of(batch)]
            pairs += [(words[u], words[v]) for u, v in batch["text_node_texts"][0, :, 2:].T.tolist()]
    return pairs


@pytest.mark.long
def test_each_view_draws_its_own_name_and_any_name_alike():
    """Would catch one name for both views, a second view that follows from the first, a favorite name."""
    counts = Counter(neighbor_names(GraphCollator(GRAPH, as_tokens), 25))
    assert set(counts) == set(product(("zorb", "round", "tondo"), repeat=2))
    assert sum(counts.values()) > 1000 and chisquare(list(counts.values())).pvalue > 0.001


def test_neighbors_are_named_in_the_languages_of_the_graph():
    italian = ConceptGraph(RING, languages=["it"])
    assert set(neighbor_names(GraphCollator(italian, as_tokens), 1)) == {("tondo", "tondo")}


def test_a_target_without_a_name_in_these_languages_keeps_its_own():
    """Would catch a target that gets text 0 in place of its name, and one that is looked up behind the last name."""
    records = [Term("Z:z", "a zed"), Term("Z:z", "one zed"), Term("Z:b", "a b"), Term("Z:b", "one b")]
    records += [Term("Z:b", "una b", "synonym", "it"), Relation("Z:b", "near", "Z:z")]
    terminology = Terminology.from_records(records, SOURCE)
    graph = ConceptGraph(terminology, languages=["it"])
    batch = GraphCollator(graph, as_tokens)(rows_of(terminology, "a zed", "one zed"))
    texts = texts_of(batch)
    names = [[texts[i] for i in view] for view in batch["text_node_texts"][0]]
    assert names == [["a zed", "una b"], ["one zed", "una b"]]


def test_the_seed_and_the_rows_alone_decide():
    """Would catch a global random state and one that a worker, a process or an earlier step has moved on."""
    rows, *others = steps()
    collate = GraphCollator(GRAPH, as_tokens, seed=1)
    expected = collate(rows)
    for other in others:
        collate(other)
    np.random.seed(5)
    assert equal(collate(rows), expected)
    assert equal(GraphCollator(ConceptGraph(ring()), as_tokens, seed=1)(rows), expected)
    assert not equal(GraphCollator(GRAPH, as_tokens, seed=2)(rows), expected)


def test_workers_give_the_same_steps():
    dataset = names_dataset(RING)
    sampler = GraphBatchSampler(dataset, 8, terminology=RING)
    loaders = [
        DataLoader(dataset, batch_sampler=sampler, collate_fn=GraphCollator(GRAPH, as_tokens), num_workers=n)
        for n in (0, 2)
    ]
    alone, shared = map(list, loaders)
    assert len(alone) == len(shared) > 2 and all(map(equal, alone, shared))


def test_names_that_two_concepts_share_stand_for_one_that_is_free():
    """Would catch a concept that is two targets, and the first of several concepts that is always taken."""
    records = [Term(f"Z:{code}", name) for code in "ab" for name in ("both", "either")]
    records += [Term("Z:a", "only a"), Term("Z:a", "just a"), Relation("Z:a", "near", "Z:b")]
    terminology = Terminology.from_records(records, SOURCE)
    collate = GraphCollator(ConceptGraph(terminology), as_tokens)
    labels = np.array([[row["label"]] for row in rows_of(terminology, "both", "either", "only a", "just a")])
    rng = np.random.default_rng(0)
    assert collate._targets(rng, labels.reshape(-1, 2)).tolist() == [1, 0]
    alone = Counter(int(collate._targets(rng, labels[:2].reshape(-1, 2))[0]) for _ in range(200))
    assert alone.keys() == {0, 1} and min(alone.values()) > 60


def test_a_chain_of_shared_names_is_resolved():
    """Would catch a choice that takes the last concept away from another pair of names."""
    names = {"a": "pq", "b": "qr", "c": "rs"}
    records = [
        Term(f"Z:{code}", f"{letter}{i}") for code, letters in names.items() for letter in letters for i in "12"
    ]
    records.append(Relation("Z:a", "near", "Z:b"))
    terminology = Terminology.from_records(records, SOURCE)
    collate = GraphCollator(ConceptGraph(terminology), as_tokens)
    rows = rows_of(terminology, "q1", "q2", "r1", "r2", "p1", "p2")
    labels = np.array([row["label"] for row in rows]).reshape(-1, 2)
    for seed in range(20):
        assert collate._targets(np.random.default_rng(seed), labels).tolist() == [1, 2, 0]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (rows_of(RING, "zorb 01"), "found 1 rows: use GraphBatches"),
        (rows_of(RING, "zorb 01", "round 01", "zorb 02", "zorb 03"), "rows 2 and 3 of the batch are not names of one"),
        (rows_of(RING, "zorb 01", "round 01", "zorb 01", "tondo 01"), "rows [02] and [13] .* is a target already"),
        (
            [{"text": "zorb 01", "label": 99}] * 2,
            "labels must be text ids from 0 to 35 of terminology .*, found 99 to 99",
        ),
        ([{"text": "Zorb 01", "label": 13}] * 2, "text 13 of terminology .* differs from the text of the row"),
    ],
)
def test_rows_that_make_no_step_are_refused(rows, message):
    with pytest.raises(InputError, match=message):
        GraphCollator(GRAPH, as_tokens)(rows)


def test_a_hop_without_neighbors_is_refused():
    with pytest.raises(InputError, match=r"max_neighbors\[0\] must be an integer of at least 1, found 0"):
        GraphCollator(GRAPH, as_tokens, max_neighbors=(0,))


class Recorder(nn.Module):
    """A loss that keeps what it is given."""

    def __init__(self, model) -> None:
        super().__init__()
        self.model = model
        self.steps: list[dict] = []

    def forward(self, features, labels):
        (column,) = features
        self.steps.append({**column, "label": labels})
        ids = {name: column[name] for name in ("input_ids", "attention_mask")}
        return self.model(ids)["sentence_embedding"].pow(2).mean()


def train(model, folder, **options) -> list[dict]:
    loss = Recorder(model)
    arguments = SentenceTransformerTrainingArguments(
        output_dir=str(folder),
        per_device_train_batch_size=8,
        max_steps=6,
        save_steps=4,
        batch_sampler=GraphBatches.of(RING),
        report_to="none",
        disable_tqdm=True,
        use_cpu=True,
    )
    trainer = SentenceTransformerTrainer(
        model=model,
        args=arguments,
        train_dataset=names_dataset(RING),
        loss=loss,
        data_collator=GraphCollator(GRAPH, model.preprocess),
        callbacks=[EpochCallback()],
    )
    trainer.train(**options)
    return loss.steps


def test_the_host_trains_on_it_and_a_resumed_run_sees_the_same_steps(tiny_bert, tmp_path):
    """Would catch a column that is split in two, names cut at another length, and a resumed run that draws anew."""
    tiny_bert.max_seq_length = 6
    seen = train(tiny_bert, tmp_path)
    assert len(seen) == 6 and {step["input_ids"].shape[1] for step in seen} == {6}
    assert {"input_ids", "attention_mask", "node_texts", "edges", "label"} <= seen[0].keys()
    assert all(step["node_texts"].shape[:2] == (1, 2) and step["label"].shape == (4, 2) for step in seen)
    resumed = train(tiny_bert, tmp_path, resume_from_checkpoint=str(tmp_path / "checkpoint-4"))
    assert len(resumed) == 2 and all(map(equal, resumed, seen[4:]))
    checkpoint = (tmp_path / "checkpoint-4" / "training_args.bin").read_bytes()
    assert len(checkpoint) < 50_000 and b"round 0" not in checkpoint


def test_the_name_of_the_dataset_is_kept():
    """Catches a dictionary of losses, from which the trainer takes the loss by this name."""
    rows = [{**row, "dataset_name": "graph"} for row in rows_of(RING, "zorb 00", "round 00")]
    assert GraphCollator(GRAPH, as_tokens)(rows)["dataset_name"] == "graph"
    assert "dataset_name" not in GraphCollator(GRAPH, as_tokens)(rows_of(RING, "zorb 00", "round 00"))
