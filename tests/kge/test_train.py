"""Training: a graph is learnt, the best weights are kept, and a broken run ends as an unbroken one."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from st_biomed.errors import InputError
from st_biomed.evaluators import LinkPredictionEvaluator
from st_biomed.kge import KGESettings, KGETable, KnowledgeGraph, TrainedKGE, train_into, train_kge
from st_biomed.kge.scoring import MODELS
from st_biomed.kge.steps import EpochRunner
from st_biomed.kge.train import validation_mrr
from st_biomed.kge.trained import CHECKPOINT, model_for
from st_biomed.metrics.link_prediction import KnownTriples
from tests.kge.graphs import line, wheel

SMALL = KGESettings(
    model="complex",
    dimension=16,
    loss="self_adversarial",
    reciprocal=False,
    negatives=8,
    learning_rate=1e-3,
    n3=0.0,
    chunk=8,
    batch_size=16,
    epochs=4,
    evaluate_every=1,
    patience=0,
)


def train_mrr(trained: TrainedKGE) -> float:
    graph = trained.graph
    return validation_mrr(trained.model, graph, graph.train, KnownTriples(graph.triples, len(graph.relations)))


@pytest.mark.long
@pytest.mark.parametrize("loss", ["self_adversarial", "one_vs_all"])
@pytest.mark.parametrize("name", [name for name in MODELS if name != "distmult"])
def test_a_small_graph_is_learnt(name: str, loss: str) -> None:
    """Would catch a loss with the wrong sign, an end that is never trained, and DistMult under another name."""
    settings = replace(SMALL, model=name, loss=loss, dimension=32, learning_rate=0.05, epochs=150, evaluate_every=150)
    margin = 2.0 if settings.is_distance else None
    assert train_mrr(train_kge(line(), replace(settings, margin=margin), device="cpu")) > 0.9


def test_untrained_it_is_not_known() -> None:
    """Guards the test above: a measure that is always near one."""
    assert train_mrr(TrainedKGE(model_for(line(), SMALL), line(), SMALL)) < 0.5


@pytest.mark.parametrize("loss", ["self_adversarial", "one_vs_all"])
def test_equal_seeds_give_equal_weights(loss: str) -> None:
    weights, same, other = (
        train_kge(wheel(), replace(SMALL, loss=loss, seed=seed), device="cpu").table.digest for seed in (0, 0, 1)
    )
    assert weights == same != other


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("patience", [0, 50])
def test_a_resumed_run_ends_as_the_unbroken_one(
    patience: int, sparse: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches moments, batches, negatives or the best weights that start anew."""
    if sparse:
        monkeypatch.setattr("st_biomed.kge.steps._SPARSE_FROM", 0)
    settings = replace(SMALL, patience=patience, epochs=6)
    whole = train_kge(wheel(), settings, device="cpu")
    train_kge(wheel(), replace(settings, epochs=3), device="cpu", folder=tmp_path)
    lines: list[str] = []
    again = train_kge(wheel(), settings, device="cpu", folder=tmp_path, resume=True, progress=lines.append)
    assert again.table.digest == whole.table.digest and again.history == whole.history
    assert lines[0].startswith("complex: goes on after epoch 3 of ")
    assert [line.split(",")[0] for line in lines[1:]] == [f"complex: epoch {epoch}" for epoch in (4, 5, 6)]
    done = train_kge(wheel(), settings, device="cpu", folder=tmp_path, resume=True)
    assert done.table.digest == whole.table.digest
    with pytest.raises(InputError, match="checkpoint.*: has 6 epochs already, found epochs 2"):
        train_kge(wheel(), replace(settings, epochs=2), device="cpu", folder=tmp_path, resume=True)


def test_rows_updated_alone_learn_as_whole_tables_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first step moves every coordinate by nearly the learning rate; would catch a gradient that is lost."""
    weights = {}
    for ratio in (0, 10**9):
        monkeypatch.setattr("st_biomed.kge.steps._SPARSE_FROM", ratio)
        graph, settings = wheel(), replace(SMALL, batch_size=32)
        model = model_for(graph, settings)
        epochs = EpochRunner(model, graph, settings)
        assert epochs.is_sparse is (ratio == 0)
        epochs.n_batches = 1
        epochs.run(0)
        weights[ratio] = model.entities.weight.detach().clone()
    torch.testing.assert_close(weights[0], weights[10**9], rtol=0, atol=SMALL.learning_rate / 5)


def test_the_best_weights_are_kept_and_training_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measured are .1, .4, .3, .2: would catch the last weights, a patience that is off by one, and a reference."""
    measured = iter([0.1, 0.4, 0.3, 0.2, 0.9])
    seen: list[np.ndarray] = []

    def mrr(model: torch.nn.Module, *_: object) -> float:
        seen.append(model.state_dict()["entities.weight"].clone().numpy())
        return next(measured)

    monkeypatch.setattr("st_biomed.kge.train.validation_mrr", mrr)
    trained = train_kge(wheel(), replace(SMALL, patience=2, epochs=100), device="cpu")
    assert [entry["valid_mrr"] for entry in trained.history] == [0.1, 0.4, 0.3, 0.2]
    np.testing.assert_array_equal(trained.table.vectors, seen[1])
    assert not np.array_equal(seen[1], seen[3])


def test_every_training_triple_is_seen_each_epoch() -> None:
    """The last batch is filled up; would catch triples that are dropped with it."""
    graph = wheel()
    seen: list[torch.Tensor] = []
    epochs = EpochRunner(model_for(graph, SMALL), graph, SMALL)
    original = epochs._sampled
    epochs._sampled = lambda triples, drawn: (seen.append(triples), original(triples, drawn))[1]  # type: ignore
    epochs.run(0)
    assert {tuple(row) for row in torch.cat(seen).tolist()} == {tuple(row) for row in graph.train.tolist()}
    assert {len(batch) for batch in seen} == {16}


@pytest.mark.parametrize("n", [2, 3, 9])
def test_graphs_smaller_than_a_chunk_are_trained(n: int) -> None:
    triples = np.array([[i, 0, i + 1] for i in range(n)])
    empty = np.empty((0, 3), np.int64)
    graph = KnowledgeGraph([f"W:{i}" for i in range(n + 1)], ["next"], triples, empty, empty)
    trained = train_kge(graph, replace(SMALL, chunk=4), device="cpu")
    assert np.isfinite(trained.table.vectors).all() and "valid_mrr" not in trained.history[-1]


def test_a_sample_of_the_validation_triples_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    monkeypatch.setattr(
        "st_biomed.kge.train.validation_mrr", lambda model, graph, triples, known: sizes.append(len(triples)) or 0.5
    )
    for sample in (2, 0, 100):
        train_kge(wheel(), replace(SMALL, validation_sample=sample, epochs=1), device="cpu")
    assert sizes == [2, len(wheel().valid), len(wheel().valid)]


# ---------------------------------------------------------------------- what is left


def test_a_trained_model_is_saved_and_loaded(tmp_path: Path) -> None:
    trained = train_kge(wheel(), replace(SMALL, model="simple", reciprocal=True), device="cpu")
    again = TrainedKGE.load(trained.save(tmp_path / "kge"), "cpu")
    assert again.settings == trained.settings and list(again.history) == list(trained.history)
    assert again.table.digest == trained.table.digest == KGETable.load(tmp_path / "kge").digest
    assert (again.table.model, again.table.terminology) == ("simple", "abc")
    links = LinkPredictionEvaluator(again.graph.entities, **again.graph.parts, relations=again.graph.relations)
    figures = links.measure_scorer(trained.model.scorer())
    assert links.measure_scorer(again.model.scorer()) == figures


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no table.json in it; expected a folder written by"):
        TrainedKGE.load(tmp_path)
    trained = TrainedKGE(model_for(wheel(), SMALL), wheel(), SMALL)
    with pytest.raises(InputError, match="contains a table of vectors without its model"):
        TrainedKGE.load(trained.table.save(tmp_path / "table"))


@pytest.mark.parametrize(
    "names",
    [
        ["settings.json"],
        ["model.safetensors"],
        ["settings.json", "model.safetensors"],
        ["vectors.safetensors", "codes.parquet", "table.json"],
        ["graph/graph.json", "graph/entities.parquet", "graph/triples.parquet"],
    ],
    ids=" ".join,
)
def test_files_of_two_runs_are_refused(names: list[str], tmp_path: Path) -> None:
    """Catches vectors of one run beside the weights, the settings or the graph of another, as a kill left them."""
    folder, other = tmp_path / "kge", tmp_path / "other"
    TrainedKGE(model_for(wheel(), SMALL), wheel(), SMALL).save(folder)
    settings = replace(SMALL, seed=1)
    TrainedKGE(model_for(wheel(14), settings), wheel(14), settings).save(other)
    for name in names:
        shutil.copyfile(other / name, folder / name)
    with pytest.raises(InputError, match="from another folder|bytes and had"):
        TrainedKGE.load(folder)
    if "settings.json" in names or "table.json" in names:
        with pytest.raises(InputError, match="settings.json: damaged or from another folder"):
            KGETable.load(folder)


def test_a_training_stands_until_the_next_one_is_whole(tmp_path: Path) -> None:
    folder, begun = tmp_path / "kge", tmp_path / ".kge.begun"
    first = train_into(folder, wheel(), SMALL, device="cpu").table.digest
    with pytest.raises(InputError, match="kge: already contains a graph embedding; .*--overwrite"):
        train_into(folder, wheel(), SMALL, device="cpu")

    class Stop(Exception):
        pass

    def stop(line: str) -> None:
        if "epoch 3" in line:
            raise Stop

    other = replace(SMALL, seed=1)
    with pytest.raises(Stop):
        train_into(folder, wheel(), other, device="cpu", overwrite=True, progress=stop)
    assert TrainedKGE.load(folder, "cpu").table.digest == first and (begun / CHECKPOINT).is_file()
    shutil.rmtree(folder)
    with pytest.raises(InputError, match="checkpoint.pt: belongs to an interrupted training; resume it, or overwr"):
        train_into(folder, wheel(), other, device="cpu")
    lines: list[str] = []
    train_into(folder, wheel(), other, device="cpu", resume=True, progress=lines.append)
    assert lines[0].startswith("complex: goes on after epoch 2") and len(lines) == 3 and not begun.exists()
    assert KGETable.load(folder).digest == train_kge(wheel(), other, device="cpu").table.digest
    longer = train_into(folder, wheel(), replace(other, epochs=5), device="cpu", resume=True)  # the one in the folder
    assert len(longer.history) == 5
    longer.save(folder)
    assert (folder / CHECKPOINT).is_file()


def test_a_flipped_byte_in_a_checkpoint_is_seen(tmp_path: Path) -> None:
    """torch itself does not look."""
    train_kge(wheel(), SMALL, device="cpu", folder=tmp_path)
    content = bytearray((tmp_path / CHECKPOINT).read_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / CHECKPOINT).write_bytes(content)
    with pytest.raises(InputError, match=r"cannot be read as a checkpoint \(its part .* is damaged\); start again"):
        train_kge(wheel(), SMALL, device="cpu", folder=tmp_path, resume=True)


def test_checkpoints_of_another_run_are_refused(tmp_path: Path) -> None:
    train_kge(wheel(), SMALL, device="cpu", folder=tmp_path)
    for graph, settings, message in (
        (wheel(), replace(SMALL, negatives=4), "belongs to a run with negatives 8, found 4"),
        (wheel(14), SMALL, "belongs to a run with graph"),
    ):
        with pytest.raises(InputError, match=message):
            train_kge(graph, settings, device="cpu", folder=tmp_path, resume=True)
    (tmp_path / CHECKPOINT).write_bytes(b"x")
    with pytest.raises(InputError, match="cannot be read as a checkpoint"):
        train_kge(wheel(), SMALL, device="cpu", folder=tmp_path, resume=True)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": "transd"}, "unknown model 'transd'.*did you mean 'transe'"),
        ({"loss": "nssa"}, "unknown loss 'nssa'"),
        ({"dimension": 0}, "dimension must be at least 1, found 0"),
        ({"dimension": 7}, "dimension must be even"),
        ({"negatives": 0}, "negatives must be at least 1"),
        ({"temperature": -1.0}, "temperature must be at least 0"),
        ({"temperature": float("nan")}, "temperature must be a finite number, found nan"),
        ({"learning_rate": 0.0}, "learning_rate must be above 0"),
        ({"chunk": 5}, r"chunk must divide batch_size \(16\), found 5"),
        ({"model": "rotate", "n3": 0.1}, "n3 is for models whose score is a product"),
        ({"model": "transe", "norm": 3}, "norm must be at most 2"),
        ({"learning_rate": 1e30, "loss": "one_vs_all", "n3": 1.0}, "the loss is (nan|inf) after epoch"),
    ],
)
def test_bad_settings_are_named(changes: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        train_kge(wheel(), replace(SMALL, **changes), device="cpu")  # type: ignore[arg-type]


def test_bad_input_is_named() -> None:
    with pytest.raises(InputError, match="^graph must be a KnowledgeGraph, found str$"):
        train_kge("toy", SMALL)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="^settings must be a KGESettings, found str$"):
        train_kge(wheel(), "complex")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="device 'tpux' is not available"):
        train_kge(wheel(), SMALL, device="tpux")
    if not torch.cuda.is_available():
        with pytest.raises(InputError, match="device 'cuda' is not available"):
            train_kge(wheel(), SMALL, device="cuda")
    without = replace(wheel(), valid=np.empty((0, 3), np.int64))
    with pytest.raises(InputError, match="valid: the graph has no validation triple to stop by; patience 0"):
        train_kge(without, replace(SMALL, patience=1), device="cpu")


def test_vectors_that_are_no_numbers_make_no_table() -> None:
    model = model_for(wheel(), SMALL)
    with torch.no_grad():
        model.entities.weight[3] = float("nan")
    with pytest.raises(InputError, match="1 of 12 have NaN or infinity, the first of W:03"):
        _ = TrainedKGE(model, wheel(), SMALL).table
