"""Pairs for fine-tuning on a linking data set: each training mention with every name of its concepts."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import torch
from datasets import Dataset, DatasetInfo
from torch import Tensor

from st_biomed.errors import InputError
from st_biomed.linking_data.records import LinkingDataset, LinkingDictionary, Mention
from st_biomed.records import Record, SourceInfo, Tally, Term
from st_biomed.terminology import Terminology
from st_biomed.training_data.chosen_sources import texts_named_by
from st_biomed.training_data.columns import description


class MentionPairs(NamedTuple):
    """Training data of a linking data set.

    Attributes:
        terminology: The terminology of the labels: the dictionary, with the training mentions as names of their
            concepts.
        dataset: Columns ``mention``, ``name`` and ``label`` (the text ids of the two, int64).
        tally: Counts of the parts of mentions, kept or dropped by reason.
        mention_source: Name of the source of the mentions in the terminology.
        dictionary_source: Name of the source of the dictionary's names; a text may be of both.
    """

    terminology: Terminology
    dataset: Dataset
    tally: Tally
    mention_source: str
    dictionary_source: str

    def masks(self) -> dict[str, Tensor]:
        """Which texts are ``mentions`` and which are ``names`` of the dictionary, boolean ``[T]`` each."""
        sources = {"mentions": self.mention_source, "names": self.dictionary_source}
        return {key: torch.from_numpy(texts_named_by(self.terminology, [name])) for key, name in sources.items()}


def mention_pairs(dataset: LinkingDataset, splits: Sequence[str] = ("train",)) -> MentionPairs:
    """Every mention of some splits with every name of its concepts in the dictionary.

    "a positive pair list is generated through traversing the combinations of mention and all ground truth synonyms"
    (SapBERT, section 4.1). No other split is read. A part of a composite mention is paired if parts and groups of ids
    correspond one to one. A mention of several groups that was not split into parts is dropped and counted, because it
    names none of them alone. Equal mentions of one concept count once, and a name equal to the mention is not a pair.

    Labels are texts, so one text with two concepts pulls the names of both together. The dictionary decides between
    concepts where it has the mention as a name: those of the mention's concepts count that have it there. A mention
    that it has as a name of other concepts alone is dropped and counted. Where it does not have the mention, all
    occurrences of the text are dropped and counted if they share no concept. Otherwise each occurrence is paired with
    the names of all its concepts, alternative ids among them, also of those that another occurrence does not have.

    Raises:
        InputError: No such split, or no pair in it.
    """
    tally = Tally()
    mentions = [mention for split in splits for mention in dataset.split(split)]
    wanted = sorted(set(_parts(mentions, dataset, tally)))
    terminology = Terminology.from_records(_records(dataset, wanted), dataset.source)
    place = {text: i for i, text in enumerate(terminology.strings)}
    concept = {code: i for i, code in enumerate(terminology.codes)}
    names = {name.strip() for name in dataset.dictionary.names}
    texts_of_mentions, synonyms = [], []
    in_dictionary = np.array([text in names for text in terminology.strings])
    for text, code in wanted:
        around = terminology.concept_texts.row(concept[code])
        around = around[in_dictionary[around] & (around != place[text])]
        texts_of_mentions.append(np.full(len(around), place[text]))
        synonyms.append(around.astype(np.int64))
    labels = np.stack(
        [np.concatenate(parts) if parts else np.empty(0, np.int64) for parts in (texts_of_mentions, synonyms)], axis=1
    )
    labels = np.unique(labels, axis=0)
    if not len(labels):
        raise InputError(f"{dataset.name}: no mention of {', '.join(splits)} has a name in the dictionary ({tally})")
    texts = terminology.texts["text"]
    table = pa.table(
        {
            "mention": texts.take(pa.array(labels[:, 0])),
            "name": texts.take(pa.array(labels[:, 1])),
            "label": pa.FixedSizeListArray.from_arrays(pa.array(labels.reshape(-1)), 2),
        }
    )
    info = DatasetInfo(description=description(terminology))
    return MentionPairs(terminology, Dataset(table, info=info), tally, dataset.source.name, _dictionary_name(dataset))


def _dictionary_name(dataset: LinkingDataset) -> str:
    return f"{dataset.source.name}_DICTIONARY"


def _parts(mentions: Sequence[Mention], dataset: LinkingDataset, tally: Tally) -> Iterator[tuple[str, str]]:
    """Text and id of each part that can be paired."""
    known = dataset.dictionary.id_index
    found: list[tuple[str, set[str]]] = []
    for mention in mentions:
        aligned = len(mention.parts) == len(mention.gold)
        for i, part in enumerate(mention.parts):
            tally.read()
            ids = {code for code in (mention.gold[i] if aligned else ()) if code in known}
            if ids and part.strip():
                found.append((part.strip(), ids))
            elif not mention.gold:
                tally.drop("mentions of no concept")
            elif not aligned:
                tally.drop("composite mentions that are not taken apart")
            else:
                tally.drop("mentions whose concept has no name in the dictionary")
    named = _concepts_of_names(dataset.dictionary, {text for text, _ in found})
    meant: dict[str, set[str]] = {}
    for text, ids in found:
        meant[text] = meant.get(text, ids) & ids
    for text, ids in found:
        if text in named and not ids & named[text]:
            tally.drop("mentions that are a name of another concept in the dictionary")
        elif text not in named and not meant[text]:
            tally.drop("mentions of several concepts, none of which has the mention as a name")
        else:
            tally.keep()
            yield from ((text, code) for code in sorted(ids & named.get(text, ids)))


def _concepts_of_names(dictionary: LinkingDictionary, texts: Collection[str]) -> dict[str, set[str]]:
    """The concepts of those texts that are names of a dictionary."""
    concepts: dict[str, set[str]] = {}
    for i, name in enumerate(dictionary.names):
        if (name := name.strip()) in texts:
            concepts.setdefault(name, set()).update(dictionary.entry(i)[1])
    return concepts


def _records(dataset: LinkingDataset, wanted: list[tuple[str, str]]) -> Iterator[Record]:
    """The names of the dictionary, which is somebody else's than the mentions, and the mentions."""
    dictionary = SourceInfo(
        name=_dictionary_name(dataset),
        title=f"Dictionary that {dataset.name} is linked to",
        license="that of the dictionary",
        url="not stated",
    )
    yield dictionary
    for i in range(len(dataset.dictionary)):
        name, ids = dataset.dictionary.entry(i)
        yield from (Term(code, name, source=dictionary.name) for code in sorted(ids))
    yield from (Term(code, text, "synonym") for text, code in wanted)
