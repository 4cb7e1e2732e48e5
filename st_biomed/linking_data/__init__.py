"""Data sets for entity linking: one file per format, one per form of dictionary, and the steps that prepare them."""

from __future__ import annotations

from st_biomed.linking_data.dictionaries import dictionary_forms, open_dictionary
from st_biomed.linking_data.formats import linking_names
from st_biomed.linking_data.open_dataset import open_linking
from st_biomed.linking_data.records import LinkingDataset, LinkingDictionary, Mention

__all__ = [
    "LinkingDataset",
    "LinkingDictionary",
    "Mention",
    "dictionary_forms",
    "linking_names",
    "open_dictionary",
    "open_linking",
]
