"""Mentions of concepts that the dictionary does not have."""

from __future__ import annotations

from st_biomed.linking_data.preparation.record import StepTally, taken
from st_biomed.linking_data.records import LinkingDataset


def drop_unknown(dataset: LinkingDataset) -> LinkingDataset:
    """Leave out the mentions, of every split, that have no concept or one of which the dictionary has no id.

    BioSyn's preparation does so before it adds mentions to the dictionary (``query_preprocess.py --remove_cuiless``), and what is
    published on its data is measured over the mentions that are left. Without this step they count as wrong.

    Args:
        dataset: Any.
    """
    known, tally = dataset.dictionary.id_index, StepTally()
    mentions = {}
    for split, found in dataset.mentions.items():
        kept = tuple(one for one in found if one.gold and not any(group.isdisjoint(known) for group in one.gold))
        mentions[split] = kept
        tally.read(len(found))
        tally.keep(len(kept))
        tally.drop(f"of concepts that the dictionary lacks, in {split}", len(found) - len(kept))
    return taken(dataset, "drop_unknown", tally, mentions=mentions)
