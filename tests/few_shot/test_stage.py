"""A stage on vectors that are there: what it is trained on, what it is applied to, and where it is put."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformerTrainingArguments
from sentence_transformers.base.modules import Normalize

from st_biomed.errors import InputError
from st_biomed.few_shot.experiment import Experiment, best_width, chains_of
from st_biomed.few_shot.stage import StageSettings, assembled, stage_embedder, train_stage
from st_biomed.few_shot.training_sets import TrainingSet
from st_biomed.modules.residual_feed_forward import ResidualFeedForward

CONCEPTS = {f"X:{c}": [f"{c} {i}" for i in range(8)] for c in range(3)}
TABLE = {
    name: (1 + i) * (np.eye(3, 5)[c] + np.random.default_rng([c, i]).normal(size=5))
    for c, names in enumerate(CONCEPTS.values())
    for i, name in enumerate(names)
}


def embed(texts) -> np.ndarray:
    return np.stack([TABLE[text] for text in texts])


@pytest.fixture
def arguments(tmp_path) -> SentenceTransformerTrainingArguments:
    return SentenceTransformerTrainingArguments(
        str(tmp_path / "out"),
        num_train_epochs=3,
        learning_rate=1e-2,
        report_to="none",
        logging_strategy="no",
        use_cpu=True,
    )


def stage_of(arguments, **settings):
    return train_stage(embed, CONCEPTS, shots=3, hidden=20, settings=StageSettings(**settings), training=arguments)


def test_it_learns_on_vectors_of_length_1_and_grounds_in_means_of_raw_ones(arguments):
    """Catches raw vectors as input, and prototypes of vectors that were normalized before."""
    stage = stage_of(arguments)
    train = list(stage.split.train["text"])
    rows = embed(train)
    names = stage.loss.names
    np.testing.assert_allclose(names.vectors, rows / np.linalg.norm(rows, axis=1, keepdims=True), atol=1e-6)
    np.testing.assert_allclose(names.prototypes, rows.reshape(3, 3, 5).mean(1), atol=1e-5)
    expected = [embed(names).mean(0) for names in CONCEPTS.values()]
    of_all = stage_of(arguments, prototypes="all").loss.names.prototypes
    np.testing.assert_allclose(of_all, expected, atol=1e-5)
    of_two = {code: [*names, " Both", "both "] for code, names in CONCEPTS.items()}
    settings = StageSettings(prototypes="all", ambiguous="drop")
    dropped = train_stage(embed, of_two, shots=3, hidden=20, settings=settings, training=arguments)
    np.testing.assert_allclose(dropped.loss.names.prototypes, expected, atol=1e-5)


def test_it_is_trained_and_left_in_evaluation_mode(arguments):
    """Catches weights that did not move, and dropout that stays on."""
    stage = stage_of(arguments)
    torch.manual_seed(arguments.seed)
    assert not torch.equal(stage.module.first.weight, ResidualFeedForward(5, 20).first.weight)
    assert not stage.module.training and not any(weight.requires_grad for weight in stage.module.parameters())
    assert len(stage.validation_losses) == 3 and stage.validation_loss == stage.validation_losses[stage.best_epoch - 1]
    again = stage_of(arguments)
    assert torch.equal(again.module.first.weight, stage.module.first.weight)


def test_the_settings_reach_the_loss(arguments):
    stage = stage_of(arguments, margin=0.3, hinge="batch_mean", grounding_weight=2.0, negatives="wu2017", dropout=0.1)
    config = stage.loss.get_config_dict()
    assert (config["margin"], config["hinge"], config["grounding_weight"]) == (0.3, "batch_mean", 2.0)
    assert config["negatives"] == "wu2017" and stage.module.dropout == 0.1


def test_the_share_of_a_stage_does_not_change_its_training(arguments):
    """Catches a network that is trained for another share than that of Eq. 1."""
    whole, part = stage_of(arguments), stage_of(arguments, average=0.3)
    assert (whole.module.share, part.module.share) == (1, 0.3)
    assert torch.equal(whole.module.second.weight, part.module.second.weight)
    assert whole.validation_losses == part.validation_losses


def test_stages_are_applied_one_after_the_other_and_once_to_a_text():
    """By hand; catches a second stage whose input is not brought to length 1, and vectors that are made again."""
    calls = []

    def counting(texts):
        calls.extend(texts)
        return embed(texts)

    first, second = (ResidualFeedForward(5, 4).eval() for _ in range(2))
    both = stage_embedder(stage_embedder(counting, first), second)
    found = both(["0 1", "1 1", "0 1"])
    rows = torch.from_numpy(embed(["0 1", "1 1"])).float()
    for module in (first, second):
        rows = module({"sentence_embedding": torch.nn.functional.normalize(rows)})["sentence_embedding"]
    np.testing.assert_allclose(found[:2], rows.detach(), atol=1e-6)
    both(["1 1"])
    assert calls == ["0 1", "1 1"] and np.array_equal(found[0], found[2])


def test_a_normalize_is_put_where_there_is_none(tiny_bert):
    """Catches two in a row, and a base model that is changed."""
    stages = [ResidualFeedForward(16, 4).eval() for _ in range(2)]
    once = assembled(tiny_bert, stages)
    kinds = [type(module).__name__ for module in once]
    assert kinds[2:] == ["Normalize", "ResidualFeedForward", "Normalize", "ResidualFeedForward"]
    assert len(tiny_bert) == 2
    with_own = assembled(type(tiny_bert)(modules=[*tiny_bert, Normalize()], device="cpu"), stages)
    np.testing.assert_allclose(with_own.encode(["flu"]), once.encode(["flu"]), atol=1e-7)
    assert len(with_own) == len(once)


def test_a_chain_shares_its_first_stage(arguments):
    """Catches a second stage that is trained on the input, or a first one that is trained twice."""
    sets = {name: TrainingSet(name, CONCEPTS, {}, None, "") for name in "AB"}  # type: ignore[arg-type]
    experiment = Experiment(sets, embed, StageSettings(), arguments)
    chains = chains_of(["A", "B"], continual=True)
    assert chains == [("A",), ("B",), ("A", "B"), ("B", "A")] and chains_of("AB", continual=False) == chains[:2]
    chain_a, _, chain_ab, _ = experiment.train(chains, shots=3, seed=1, hidden={"A": 4, "B": 6})
    assert chain_ab.stages[0] is chain_a.stages[0] and (
        chain_ab.stages[1].module.hidden,
        chain_a.stages[0].module.hidden,
    ) == (6, 4)
    raw = chain_ab.stages[1].loss.names.vectors
    first = chain_a.embed(list(chain_ab.stages[1].split.train["text"]))
    np.testing.assert_allclose(raw, first / np.linalg.norm(first, axis=1, keepdims=True), atol=1e-6)


def test_of_equal_losses_the_smaller_network_is_taken():
    assert best_width({9: 0.2, 4: 0.1, 2: 0.1}) == 2


def test_what_cannot_be_trained_is_one_line(arguments):
    """Catches the minimum of no losses."""
    with pytest.raises(InputError, match="unknown prototypes 'every': allowed are 'all', 'training'"):
        stage_of(arguments, prototypes="every")
    arguments.num_train_epochs = 0
    with pytest.raises(InputError, match="max_steps and num_train_epochs: training ends before"):
        stage_of(arguments)
