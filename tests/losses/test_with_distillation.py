"""Self-distillation added to another loss: its form, its options, and its map of labels."""

from __future__ import annotations

import numpy as np
import pytest

from st_biomed.errors import InputError
from st_biomed.losses.bergamot import BergamotLoss
from st_biomed.losses.cached import CachedMultiSimilarityLoss
from st_biomed.losses.distilled import CachedDistilledLoss, DistilledLoss, with_distillation
from st_biomed.losses.info_nce import InfoNCELoss
from st_biomed.losses.multi_similarity import MultiSimilarityLoss

TEACHER = np.eye(6)[:5]


def test_a_loss_with_its_model_keeps_its_form_and_its_options(tiny_bert):
    """Catches a model that stays in the inner loss, which is then saved and synchronized twice."""
    teacher = np.eye(6)
    plain = with_distillation(InfoNCELoss(tiny_bert, gather_across_devices=True), teacher, weight=2.0)
    assert type(plain) is DistilledLoss and plain.loss.model is None and plain.distillation.gather_across_devices
    assert list(dict(plain.named_parameters())) == [f"model.{name}" for name, _ in tiny_bert.named_parameters()]
    cached = with_distillation(
        CachedMultiSimilarityLoss(tiny_bert, mini_batch_size=3), teacher, weight=2.0, target="vectors"
    )
    assert type(cached) is CachedDistilledLoss and cached.mini_batch_size == 3
    assert type(cached.loss.loss) is MultiSimilarityLoss and cached.loss.distillation.target == "vectors"
    assert list(dict(cached.named_parameters())) == [f"model.{name}" for name, _ in tiny_bert.named_parameters()]


@pytest.mark.parametrize("name", ["rows", "labels"])
def test_a_map_that_a_loss_would_not_use_is_refused(name):
    """Catches rows of the teacher that are not the ones of the map."""
    loss = BergamotLoss(None, None, node_weight=0, intermodal_weight=0, dgi_weight=0)
    with pytest.raises(
        InputError, match=f"{name} must be None for BergamotLoss, which takes no map of labels, found one"
    ):
        with_distillation(loss, TEACHER, weight=1.0, **{name: lambda labels: labels + 1})
    assert with_distillation(loss, TEACHER, weight=1.0) is loss and loss.distillation is not None
