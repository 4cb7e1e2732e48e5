from __future__ import annotations

import pytest

from st_biomed.linking_data import LinkingDataset, LinkingDictionary, Mention
from st_biomed.linking_data.preparation import split_composites
from st_biomed.linking_data.preparation.composites import parts_of
from st_biomed.records import SourceInfo


@pytest.mark.parametrize(
    ("text", "n_parts", "parts"),
    [
        ("skark or zorb flumpa", 2, ("skark flumpa", "zorb flumpa")),
        ("skark and/or zorb flumpa", 2, ("skark flumpa", "zorb flumpa")),
        ("skark/zorb flumpa", 2, ("skark flumpa", "zorb flumpa")),
        ("terkin, skark, and zorb flumpas", 3, ("terkin flumpas", "skark flumpas", "zorb flumpas")),
        ("mild skark and the zorb flumpa", 2, ("mild skark flumpa", "zorb flumpa")),
        ("skark and zorb mimpic flumpa", 2, ("skark mimpic flumpa", "zorb mimpic flumpa")),
        ("skark flumpas and zorb flumpa", 2, ("skark flumpas", "zorb flumpa")),
        ("flumpa of the vole and shrew", 2, ("flumpa of the vole", "flumpa of the shrew")),
        ("lack of vole mimp and shrew zorb", 2, ("lack of vole mimp", "lack of shrew zorb")),
        (
            "flumps in the vole, shrew, and newt",
            3,
            ("flumps in the vole", "flumps in the shrew", "flumps in the newt"),
        ),
        ("vole flumpa and zorb", 2, ("vole flumpa", "vole zorb")),
        ("terkins 1 and 2", 2, ("terkins 1", "terkins 2")),
        ("flumpa/zorb", 2, ("flumpa", "zorb")),
        ("zorb lack (Z2 and Z7)", 2, ("zorb lack Z2", "zorb lack Z7")),
    ],
)
def test_parts_share_a_head(text: str, n_parts: int, parts: tuple[str, ...]) -> None:
    assert parts_of(text, n_parts) == parts


@pytest.mark.parametrize(
    ("text", "n_parts"),
    [("mimpic flumpa", 2), ("skark and zorb flumpa", 3), ("skark, or zorb, flumpa", 2), ("and/", 2)],
)
def test_as_many_parts_as_ids_or_none(text: str, n_parts: int) -> None:
    """Catches a part without an id, and a mention whose ids are not coordinated taken apart."""
    assert parts_of(text, n_parts) == (text,)


def test_only_mentions_with_several_ids_that_are_whole_are_split() -> None:
    """Catches "zorb and skark disease" of one concept taken apart, and parts of the annotators taken apart again."""
    two = (frozenset({"X1"}), frozenset({"X2"}))
    mentions = (
        Mention("skark and zorb flumpa", two),
        Mention("skark and zorb flumpa", two[:1]),
        Mention("skark and zorb flumpa", (frozenset({"X1", "X2"}),)),
        Mention("a|b", two, parts=("mild a and b", "c")),
        Mention("mimpic flumpa", two),
    )
    dictionary = LinkingDictionary.from_entries([("flumpa", ["X1"])])
    dataset = split_composites(LinkingDataset("toy", {"all": mentions}, dictionary, SourceInfo("TOY", "Toy")))
    assert [mention.parts for mention in dataset.split("all")] == [
        ("skark flumpa", "zorb flumpa"),
        ("skark and zorb flumpa",),
        ("skark and zorb flumpa",),
        ("mild a and b", "c"),
        ("mimpic flumpa",),
    ]
    assert [mention.text for mention in dataset.split("all")] == [mention.text for mention in mentions]
    tally = dataset.tallies["step 1: split_composites"].to_dict()
    assert tally["changed"] == {"split": 1, "with several ids, but not as many parts": 1}
