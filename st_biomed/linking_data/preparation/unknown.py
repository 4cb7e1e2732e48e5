"""Mentions of concepts that the dictionary does not have."""

from __future__ import annotations

from st_biomed.linking_data.preparation.record import StepTally, record_step
from st_biomed.linking_data.records import LinkingDataset


def drop_unknown(dataset: LinkingDataset) -> LinkingDataset:
    """Leave out mentions, in every split, that have no concept or whose concept's ids are not in the dictionary.

    BioSyn's preparation does this before it adds mentions to the dictionary (``query_preprocess.py
    --remove_cuiless``), and published figures on its data are measured over the remaining mentions. Without this step
    they count as wrong.
    """
    known, tally = dataset.dictionary.id_index, StepTally()
    remaining = {}
    for split, mentions in dataset.mentions.items():
        kept = tuple(
            mention
            for mention in mentions
            if mention.gold and all(any(identifier in known for identifier in group) for group in mention.gold)
        )
        remaining[split] = kept
        tally.read(len(mentions))
        tally.keep(len(kept))
        tally.drop(f"of concepts that the dictionary lacks, in {split}", len(mentions) - len(kept))
    return record_step(dataset, "drop_unknown", tally, mentions=remaining)
