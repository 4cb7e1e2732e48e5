"""The average of encoders that one command trained is in its record."""

from __future__ import annotations

import copy

import torch

from st_biomed.averaging.trained_here import average_trained
from st_biomed.encoder.digest import model_digest
from st_biomed.release.run_record import RunRecord


def test_each_encoder_is_recorded_before_it_is_averaged(tiny_bert):
    """Catches several runs averaged without a word, and digests of the average in place of what it was made of."""
    other = copy.deepcopy(tiny_bert)
    with torch.no_grad():
        for weight in other.parameters():
            weight.add_(0.5)
    models, record = {"run-1": tiny_bert, "run-2": other}, RunRecord("open_encoder", "base", {}, 0, [])
    digests = [model_digest(model) for model in models.values()]
    expected = next(tiny_bert.parameters()).detach().clone() + 0.125
    averaged = average_trained(record, models, [0.75, 0.25])
    torch.testing.assert_close(next(averaged.parameters()).detach(), expected)
    found = record.to_dict()["averaging"]["models"]
    assert [(model["name"], model["weight"], model["digest"]) for model in found] == [
        ("run-1", 0.75, digests[0]),
        ("run-2", 0.25, digests[1]),
    ]


def test_one_encoder_is_no_average(tiny_bert):
    record = RunRecord("open_encoder", "base", {}, 0, [])
    assert average_trained(record, {"run-1": tiny_bert}, [1.0]) is tiny_bert
    assert record.to_dict()["averaging"]["models"] == []
