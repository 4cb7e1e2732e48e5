"""Self-distillation as arguments: the teacher is the encoder before training, for every kind of rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from datasets import Dataset
from sentence_transformers import SentenceTransformerTrainingArguments

from recipes import open_encoder
from recipes.open_encoder import PARTS, OpenEncoderArguments
from st_biomed.errors import InputError
from st_biomed.losses.bergamot import BergamotLoss
from st_biomed.losses.distilled import DistilledLoss
from st_biomed.losses.graph_batch import GraphBatch
from st_biomed.losses.multi_similarity import MultiSimilarityLoss
from st_biomed.losses.self_distillation import SelfDistillationLoss
from st_biomed.losses.similarity import join_labels
from st_biomed.settings.recipe import read_settings
from st_biomed.terminology import Terminology
from st_biomed.training.distillation import DistillationArguments

NAMES = ["flu", "zoster", "other", "gout"]


def test_without_a_weight_the_loss_stays_as_it_is(tiny_bert, tmp_path: Path):
    recipe = DistillationArguments()
    loss, rows = MultiSimilarityLoss(tiny_bert), Dataset.from_dict({"text": NAMES, "label": [0, 0, 1, 1]})
    assert recipe.distill_loss(loss, tiny_bert, NAMES) is loss
    assert recipe.distill_rows(loss, tiny_bert, rows) == (rows, loss)
    toy = Terminology.read("toy", definitions=True)
    in_parts = OpenEncoderArguments()
    part = in_parts.part("synonyms", tiny_bert, toy, tmp_path / "terminology", 0)
    assert in_parts.distill_parts({"synonyms": part}, tiny_bert, toy) == {"synonyms": part.loss}


@pytest.mark.parametrize(
    "given", [{"distillation_target": "vectors"}, {"distillation_share": 0.33}, {"distillation_removed": 0}]
)
def test_options_without_a_weight_are_refused(given: dict):
    """Catches an option that is accepted and does nothing."""
    (name,) = given
    with pytest.raises(InputError, match=f"^{name}: is not used with --distillation 0, which distills nothing"):
        DistillationArguments(**given).check_distillation()
    DistillationArguments(**given, distillation=1.0).check_distillation()


def test_self_distillation_of_a_configuration_can_be_switched_off():
    """Catches an ablation that must name every option of what it leaves out."""
    config = str(Path(open_encoder.__file__).parent / "configs" / "open_encoder_english.yaml")
    recipe, _ = read_settings(
        (OpenEncoderArguments, SentenceTransformerTrainingArguments), [config, "--distillation", "0"]
    )
    assert recipe.distillation_removed == 1
    recipe.check_distillation()


def test_the_teacher_is_the_encoder_before_training(tiny_bert):
    """Catches vectors with dropout, of another order, or of weights that have moved."""
    tiny_bert.train()
    expected = tiny_bert.encode(NAMES)
    loss = DistillationArguments(distillation=2.0).distill_loss(MultiSimilarityLoss(tiny_bert), tiny_bert, NAMES)
    assert isinstance(loss, DistilledLoss) and loss.distillation.weight == 2.0
    with torch.no_grad():
        for parameter in tiny_bert.parameters():
            parameter.add_(0.1)
    np.testing.assert_allclose(loss.distillation.teacher[:], expected, atol=2e-3)


def test_parts_share_one_teacher_in_which_relations_find_their_names(tiny_bert, tmp_path: Path):
    """Catches a table for each part, definitions that are looked up among the names, and labels of relations that are taken for rows."""
    toy = Terminology.read("toy", definitions=True)
    recipe = OpenEncoderArguments(distillation=3.0)
    parts = {name: recipe.part(name, tiny_bert, toy, tmp_path / "terminology", 0) for name in PARTS}
    losses = recipe.distill_parts(parts, tiny_bert, toy)
    tables = [losses[name].distillation.teacher for name in PARTS]
    assert all(table is tables[0] for table in tables) and len(tables[0]) == toy.n_texts + toy.n_definitions
    for name, loss in losses.items():
        part = parts[name]
        rows = part.rows.select(range(len(part.rows) - 5, len(part.rows)))
        columns = [list(rows[column]) for column in rows.column_names if column != "label"]
        labels = torch.tensor(list(rows["label"]))
        texts = [text for column in columns for text in column]
        found = tables[0][join_labels(labels if loss.rows is None else loss.rows(labels), columns)]
        np.testing.assert_allclose(found, tiny_bert.encode(texts), atol=2e-3, err_msg=name)
        embeddings = [torch.from_numpy(tiny_bert.encode(column)) for column in columns]
        alone = part.loss.compute_loss_from_embeddings(embeddings, labels)
        held = loss.compute_loss_from_embeddings(embeddings, labels)
        torch.testing.assert_close(held, alone, atol=1e-5, rtol=0)  # the encoder is its own teacher as yet
    only = recipe.distill_parts({"relations": recipe.part("relations", tiny_bert, toy, tmp_path, 0)}, tiny_bert, toy)
    assert len(only["relations"].distillation.teacher) == toy.n_texts


def test_names_of_chosen_sources_are_found_by_their_text_id(tiny_bert, tmp_path: Path):
    """Catches a teacher of the rows alone, in which a text id is the row of another name or of none."""
    toy = Terminology.read("toy")
    recipe = OpenEncoderArguments(distillation=3.0)
    part = recipe.part("synonyms", tiny_bert, toy, tmp_path / "terminology", 0)
    part = part._replace(rows=part.rows.select(range(5, toy.n_texts)))
    teacher = recipe.distill_parts({"synonyms": part}, tiny_bert, toy)["synonyms"].distillation.teacher
    found = teacher[list(part.rows["label"])[-3:]]
    np.testing.assert_allclose(found, tiny_bert.encode(list(part.rows["text"])[-3:]), atol=2e-3)


def test_texts_with_one_label_have_rows_of_their_own(tiny_bert):
    """Catches contexts of a term that are held near one another's vectors, and a loss that gets rows for labels."""
    contexts = ["acute flu", "chronic flu", "acute gout", "acute flu"]
    rows = Dataset.from_dict({"text": contexts, "label": [7, 7, 2, 7]})
    seen: list[torch.Tensor] = []

    class Watched(MultiSimilarityLoss):
        def compute_loss_from_embeddings(self, embeddings: list[torch.Tensor], labels: torch.Tensor) -> torch.Tensor:
            seen.append(labels)
            return super().compute_loss_from_embeddings(embeddings, labels)

    given = Watched(tiny_bert, miner=None)
    relabeled, loss = DistillationArguments(distillation=1.0).distill_rows(given, tiny_bert, rows)
    assert list(relabeled["label"]) == [0, 1, 2, 0] and list(rows["label"]) == [7, 7, 2, 7]
    assert relabeled.with_format(None)[:] == rows[:], "a sampler reads the labels"
    batch = relabeled[[2, 1, 3]]
    labels = torch.tensor(batch["label"])
    loss.compute_loss_from_embeddings([torch.from_numpy(tiny_bert.encode(batch["text"]))], labels)
    assert seen[0].tolist() == [2, 7, 7]
    np.testing.assert_allclose(loss.distillation.teacher[labels], tiny_bert.encode(batch["text"]), atol=2e-3)


def test_bergamot_holds_the_names_of_its_targets():
    """Catches vectors of the neighbors among those of the targets, and views that change places."""
    generator = torch.Generator().manual_seed(4)
    texts = torch.randn(6, 8, generator=generator, requires_grad=True)
    teacher = np.random.default_rng(4).normal(size=(9, 8))
    loss = BergamotLoss(None, None, node_weight=0, intermodal_weight=0, dgi_weight=0)
    graph = GraphBatch(torch.tensor([[[3, 1, 0], [2, 5, 4]]]), torch.tensor([[[0], [2], [0]]]))
    labels = torch.tensor([[8, 0], [3, 5]])
    without = loss.compute_loss_from_embeddings([texts], labels, graph)
    held = DistillationArguments(distillation=2.0)._distill(loss, teacher)
    assert held is loss and held.get_config_dict()["distillation"]["weight"] == 2.0 and "park2019" in held.citation
    found = held.compute_loss_from_embeddings([texts], labels, graph)
    expected = SelfDistillationLoss(None, teacher, 2.0).compute_loss_from_embeddings(
        [texts[[3, 1, 2, 5]]], torch.tensor([8, 3, 0, 5])
    )
    assert set(found) == {*without, "distillation"}
    torch.testing.assert_close(found["distillation"], expected)
    found["distillation"].backward()
    assert texts.grad[[1, 2, 3, 5]].abs().sum() > 0 == texts.grad[[0, 4]].abs().sum()
