"""Pairs of training mentions with names: all of them, of that split alone, and nothing lost in silence."""

from __future__ import annotations

import pytest

from st_biomed.errors import InputError
from st_biomed.linking_data.records import LinkingDataset, LinkingDictionary, Mention
from st_biomed.records import SourceInfo
from st_biomed.training_data import MENTION_PAIRS, mention_pairs, terminology_digest

DICTIONARY = LinkingDictionary.from_entries(
    [("flumpa disease", ["Z:1"]), ("Flumpa", ["Z:1", "Z:2"]), ("terkia", ["Z:3"]), ("mimpa", ["Z:4"])]
)


def mention(text: str, *gold: str, parts: tuple[str, ...] = ()) -> Mention:
    """Each of ``gold`` is a group of ids with commas between."""
    return Mention(text, tuple(frozenset(group.split(",")) for group in gold), parts)


def dataset(*train: Mention) -> LinkingDataset:
    test = (mention("never seen", "Z:4"),)
    return LinkingDataset("zorb", {"train": train, "test": test}, DICTIONARY, SourceInfo("ZORB", "Zorb"))


def pairs(*train: Mention) -> set[tuple[str, str]]:
    return {(row["mention"], row["name"]) for row in mention_pairs(dataset(*train)).dataset}


def test_a_mention_meets_every_name_of_its_concepts():
    """Catches alternative ids of which one counts, and a mention paired with itself."""
    assert pairs(mention("flumpas", "Z:1")) == {("flumpas", "flumpa disease"), ("flumpas", "Flumpa")}
    assert pairs(mention("Flumpa", "Z:1,Z:9")) == {("Flumpa", "flumpa disease")}
    assert pairs(mention("both", "Z:1,Z:3")) == {("both", "flumpa disease"), ("both", "Flumpa"), ("both", "terkia")}


def test_two_mentions_of_a_concept_are_no_pair():
    """Catches mentions that become names of the dictionary."""
    assert pairs(mention("one", "Z:3"), mention("two", "Z:3"), mention("one", "Z:3")) == {
        ("one", "terkia"),
        ("two", "terkia"),
    }


def test_labels_are_the_text_ids_and_a_mention_is_a_name_of_its_concept():
    """Catches negatives among the names that a mention means: the loss looks them up here."""
    found = mention_pairs(dataset(mention("flumpas", "Z:1")))
    MENTION_PAIRS.check(found.dataset)
    assert terminology_digest(found.dataset) == found.terminology.digest
    for row in found.dataset:
        assert [found.terminology.strings[text] for text in row["label"]] == [row["mention"], row["name"]]
    assert found.terminology.concept_names("Z:1") == ["Flumpa", "flumpa disease", "flumpas"]
    assert "never seen" not in found.terminology.strings


def test_composites_are_paired_part_by_part_or_counted():
    """Catches "a and b" taken for a name of a."""
    whole = mention("flumpas and terkias", "Z:1", "Z:3")
    apart = mention("flumpas and terkias", "Z:1", "Z:3", parts=("flumpas", "terkias"))
    found = mention_pairs(dataset(whole, apart, mention("none"), mention("gone", "Z:9")))
    assert {row["mention"] for row in found.dataset} == {"flumpas", "terkias"}
    assert found.tally.adds_up()
    assert found.tally.n_read == 5
    assert found.tally.dropped == {
        "composite mentions that are not taken apart": 1,
        "mentions of no concept": 1,
        "mentions whose concept has no name in the dictionary": 1,
    }


def test_ambiguous_mentions_are_counted_and_join_no_names():
    """Catches names of two concepts that are pulled together by a mention: the dictionary decides, or nobody does."""
    found = mention_pairs(
        dataset(
            mention("terkia", "Z:4"),  # a name of Z:3
            mention("mimpa", "Z:3,Z:4"),  # a name of the second
            *(mention("mo", concept) for concept in ("Z:1", "Z:3", "Z:3")),  # of no or of both
            *(mention("ter", concepts) for concepts in ("Z:3", "Z:3,Z:9")),
        )
    )
    assert {(row["mention"], row["name"]) for row in found.dataset} == {("ter", "terkia")}
    assert found.terminology.concept_names("Z:3") == ["ter", "terkia"]
    assert found.terminology.concept_names("Z:4") == ["mimpa"]
    assert found.tally.adds_up() and found.tally.n_kept == 3
    assert found.tally.dropped == {
        "mentions that are a name of another concept in the dictionary": 1,
        "mentions of several concepts, none of which has the mention as a name": 3,
    }


def test_occurrences_that_share_a_concept_keep_all_of_their_own():
    """Catches concepts that are lost because another occurrence of the text has fewer."""
    alone, both = {("mo", "flumpa disease"), ("mo", "Flumpa")}, {("mo", "terkia")}
    assert pairs(mention("mo", "Z:1"), mention("mo", "Z:1,Z:3")) == alone | both
    assert pairs(mention("mo", "Z:1"), mention("mo", "Z:1,Z:9")) == alone


def test_nothing_to_pair_is_refused():
    with pytest.raises(InputError, match="zorb: no split 'dev'"):
        mention_pairs(dataset(), ["dev"])
    with pytest.raises(InputError, match="zorb: no mention of train has a name"):
        mention_pairs(dataset(mention("gone", "Z:9")))
