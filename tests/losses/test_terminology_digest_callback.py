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
from st_biomed.losses.barlow_twins import BarlowTwinsLoss
from st_biomed.losses.cached import CachedMultiSimilarityLoss
from st_biomed.losses.multi_similarity import MultiSimilarityLoss
from st_biomed.losses.ordinal_multi_similarity import OrdinalMultiSimilarityLoss
from st_biomed.losses.terminology_digest_callback import TerminologyDigestCallback
from st_biomed.training_data import RelationLookup, names_dataset, relation_pairs, terminology_digest


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


@pytest.mark.parametrize(
    "loss",
    [
        MultiSimilarityLoss(None),
        BarlowTwinsLoss(None),
        OrdinalMultiSimilarityLoss(None),
        CachedMultiSimilarityLoss(None),
    ],
)
def test_text_ids_need_a_lookup(terminologies, loss):
    """Catches a training in which every name is a class of its own, so that the loss is 0 from the first step."""
    loader = SimpleNamespace(dataset=names_dataset(terminologies[0]))
    with pytest.raises(InputError, match="looks labels up nowhere, and those of its dataset are text ids"):
        begin(TerminologyDigestCallback(loss), train_dataloader=loader)


def test_two_columns_of_barlow_twins_need_no_lookup(terminologies):
    pairs = names_dataset(terminologies[0]).add_column("other", names_dataset(terminologies[0])["text"])
    begin(TerminologyDigestCallback(BarlowTwinsLoss(None)), train_dataloader=SimpleNamespace(dataset=pairs))


def test_relations_and_names_are_looked_up_each_in_their_own_way(terminologies):
    """Catches concepts that are taken for text ids: both are valid numbers of one terminology."""
    terminology = Terminology.read("toy")
    names = MultiSimilarityLoss(None, lookup=terminology)
    relations = MultiSimilarityLoss(None, lookup=RelationLookup(terminology))
    datasets = names_dataset(terminology), relation_pairs(terminology)
    for loss, dataset in zip((names, relations), datasets):
        begin(TerminologyDigestCallback(loss), train_dataloader=SimpleNamespace(dataset=dataset))
    for loss, dataset, rows in ((relations, datasets[0], "names"), (names, datasets[1], "relations")):
        with pytest.raises(InputError, match=f"and the rows of its dataset are {rows}: pass"):
            begin(TerminologyDigestCallback(loss), train_dataloader=SimpleNamespace(dataset=dataset))


def test_evaluation_data_are_compared_too(tiny_bert, terminologies, tmp_path):
    """Catches an evaluation loss of other names than those of the terminology."""
    terminology, other = terminologies
    loss = MultiSimilarityLoss(tiny_bert, lookup=terminology)
    args = SentenceTransformerTrainingArguments(
        output_dir=str(tmp_path),
        use_cpu=True,
        max_steps=1,
        disable_tqdm=True,
        save_strategy="no",
        eval_strategy="steps",
        eval_steps=1,
    )
    for dataset, fits in (
        (names_dataset(terminology).select(range(8)), True),
        (names_dataset(other).select(range(8)), False),
    ):
        trainer = SentenceTransformerTrainer(
            tiny_bert,
            args,
            names_dataset(terminology).select(range(8)),
            dataset,
            loss=loss,
            callbacks=[TerminologyDigestCallback(loss)],
        )
        if fits:
            trainer.train()
        else:
            with pytest.raises(InputError, match="its dataset was made from terminology"):
                trainer.train()
