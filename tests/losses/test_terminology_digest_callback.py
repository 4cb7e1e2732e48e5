"""Labels belong to the terminology that they came from."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from datasets import Dataset, DatasetDict, concatenate_datasets
from sentence_transformers import SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from torch import nn
from transformers import TrainerControl, TrainerState

from st_biomed import Terminology
from st_biomed.errors import InputError
from st_biomed.hierarchy import Hierarchy
from st_biomed.losses.cached import CachedMultiSimilarityLoss
from st_biomed.losses.callbacks import TerminologyDigestCallback
from st_biomed.losses.multi_similarity import MultiSimilarityLoss
from st_biomed.losses.ordinal_multi_similarity import OrdinalMultiSimilarityLoss
from st_biomed.training_data import names_dataset, terminology_digest


def begin(callback: TerminologyDigestCallback, **kwargs) -> None:
    callback.on_train_begin(SimpleNamespace(fp16=False), TrainerState(), TrainerControl(), **kwargs)


@pytest.fixture(scope="module")
def terminologies() -> tuple[Terminology, Terminology]:
    return Terminology.read("toy", trees=2, depth=2), Terminology.read("toy", trees=2, depth=2, synonyms=1)


def losses_on(terminology: Terminology) -> list[nn.Module]:
    return [
        MultiSimilarityLoss(None, lookup=terminology),
        OrdinalMultiSimilarityLoss(None, Hierarchy(terminology)),
        CachedMultiSimilarityLoss(None, lookup=terminology),
    ]


def test_a_dataset_of_another_terminology_is_refused(terminologies):
    """Catches text ids that are valid in both terminologies and mean other names in one."""
    terminology, other = terminologies
    names = names_dataset(terminology)
    for dataset in (names, names.select(range(9)), concatenate_datasets([names, names])):
        loader = SimpleNamespace(dataset=dataset)
        for loss in losses_on(terminology):
            begin(TerminologyDigestCallback(loss), train_dataloader=loader)
        for loss in losses_on(other):
            with pytest.raises(InputError, match=f"in terminology {other.digest[:12]}.* {terminology.digest[:12]}"):
                begin(TerminologyDigestCallback(loss), train_dataloader=loader)


def test_data_that_names_no_terminology_may_train(terminologies):
    """Catches refusing anybody's labeled data."""
    plain = Dataset.from_dict({"text": ["flu", "gout"], "label": [0, 1]})
    assert terminology_digest(plain) is None
    begin(TerminologyDigestCallback(losses_on(terminologies[0])[0]), train_dataloader=SimpleNamespace(dataset=plain))
    begin(TerminologyDigestCallback(MultiSimilarityLoss(None)), train_dataloader=SimpleNamespace(dataset=plain))


@pytest.mark.parametrize("wrong", [False, True])
def test_each_dataset_is_compared_with_its_own_loss(tiny_bert, terminologies, tmp_path, wrong):
    """Catches the losses of a dictionary being paired with the datasets by their order."""
    terminology, other = terminologies
    losses = {
        "hierarchy": OrdinalMultiSimilarityLoss(tiny_bert, Hierarchy(terminology if wrong else other)),
        "synonyms": MultiSimilarityLoss(tiny_bert, lookup=terminology),
    }
    datasets = DatasetDict(
        synonyms=names_dataset(terminology).select(range(8)), hierarchy=names_dataset(other).select(range(8))
    )
    args = SentenceTransformerTrainingArguments(
        output_dir=str(tmp_path), use_cpu=True, max_steps=1, disable_tqdm=True, save_strategy="no"
    )
    trainer = SentenceTransformerTrainer(
        tiny_bert, args, datasets, loss=losses, callbacks=[TerminologyDigestCallback(losses)]
    )
    if wrong:
        with pytest.raises(InputError, match="OrdinalMultiSimilarityLoss looks labels up"):
            trainer.train()
    else:
        trainer.train()
