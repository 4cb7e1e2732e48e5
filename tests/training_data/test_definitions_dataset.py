"""Names and definitions as rows of one dataset."""

from __future__ import annotations

import pytest

from st_biomed.errors import InputError
from st_biomed.terminology import Terminology
from st_biomed.training_data import DEFINITIONS, definitions_dataset, names_dataset, terminology_digest

TOY = Terminology.read("toy", trees=2, depth=2, branching=2, definitions=True)


def test_names_come_first_with_their_text_ids_and_definitions_follow():
    """Would catch a definition with the label of a name."""
    dataset, names = definitions_dataset(TOY), names_dataset(TOY)
    assert dataset[: TOY.n_texts] == names[:]
    assert dataset["label"][:] == list(range(TOY.n_texts + TOY.n_definitions))
    assert dataset["text"][TOY.n_texts :] == TOY.definition_strings
    DEFINITIONS.check(dataset)
    assert terminology_digest(dataset) == TOY.digest


def test_the_fingerprint_is_the_contents_and_no_other_datasets():
    """Would catch a cached map of the names taken for one of names and definitions."""
    prints = [
        definitions_dataset(TOY)._fingerprint,
        definitions_dataset(TOY)._fingerprint,
        names_dataset(TOY)._fingerprint,
    ]
    assert prints[0] == prints[1] != prints[2]


def test_a_terminology_without_definitions_is_refused():
    with pytest.raises(InputError, match="no definitions: Terminology.TOY: .* has none"):
        definitions_dataset(Terminology.read("toy"))
