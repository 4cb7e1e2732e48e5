from __future__ import annotations

import pytest

from st_biomed.linking_data.preparation.abbreviations import LongForms, find_abbreviations, find_definitions


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Familial mimpic flumpa (FMF) is common.", {"FMF": "Familial mimpic flumpa"}),
        ("The zorb-drelph disease (ZDD) was seen.", {"ZDD": "zorb-drelph disease"}),
        ("Many voles of the grudthic flumpa (gf) type.", {"gf": "grudthic flumpa"}),
        ("It is FMF (familial mimpic flumpa) again.", {"FMF": "familial mimpic flumpa"}),
        (
            "Flumpa skark type 2 [FS2] and vorb terkin (VT; 12 voles)",
            {"FS2": "Flumpa skark type 2", "VT": "vorb terkin"},
        ),
        ("The x-linked terkin (XLT) type", {"XLT": "x-linked terkin"}),
        ("the skarkin flumpa of voles (SFV)", {"SFV": "skarkin flumpa of voles"}),
        ("beta-zorbase A (zor A) lack", {"zor A": "beta-zorbase A"}),
    ],
)
def test_definitions(text: str, found: dict[str, str]) -> None:
    assert find_abbreviations(text) == found


def test_a_letter_inside_a_word_may_match_but_not_the_first() -> None:
    """Catches the first letter found in the middle of a word: 'orb flumpa' of 'zorb flumpa'."""
    assert find_abbreviations("a zorb flumpa (OF) of voles") == {}
    assert find_abbreviations("a skarboma (SKB) of voles") == {"SKB": "skarboma"}


@pytest.mark.parametrize(
    "text",
    [
        "mimpic flumpa (12)",
        "mimpic flumpa (M)",
        "mimpic flumpa (see figure two of it)",
        "mimpic flumpa (mimpicflumpas)",
        "mimpic flumpa. And so (MF)",
        "MF (MF)",
        "()",
        "(MF) mimpic flumpa",
        "many voles in the far skark and flumpa (MF)",
    ],
)
def test_what_defines_nothing(text: str) -> None:
    """Catches short forms without a letter, too short, too long; a sentence's end passed; a long form too far away."""
    assert find_abbreviations(text) == {}


def test_the_first_definition_counts() -> None:
    assert find_abbreviations("mimpic flumpa (MF). Later: mild fever (MF).") == {"MF": "mimpic flumpa"}


def test_letters_in_another_order_only_where_asked_for() -> None:
    """Catches an extension of the paper that comes without being named."""
    text = "flumpic mimpa (MF) and mimpic zorb (MZ)"
    assert find_abbreviations(text) == {"MZ": "mimpic zorb"}
    assert find_abbreviations(text, any_order=True) == {"MF": "flumpic mimpa", "MZ": "mimpic zorb"}
    assert find_abbreviations("flumpic zorb (MF)", any_order=True) == {}


def test_each_definition_has_its_place():
    """Catches positions within a sentence, and one definition for all."""
    text = "Mild fever (MF). In\nmimpic flumpa (MF), and GX (gradtha xorb)."
    assert find_definitions(text) == [
        ("MF", "Mild fever", text.index("MF")),
        ("MF", "mimpic flumpa", text.rindex("MF")),
        ("GX", "gradtha xorb", text.index("GX")),
    ]
    found = LongForms(find_definitions(text))
    assert [*found] == ["MF", "GX"]
    ends = (0, text.index("MF"), text.index("MF") + 2, text.rindex("MF"), text.rindex("MF") + 2, len(text))
    assert [found.at("MF", end) for end in ends] == ["Mild fever"] * 4 + ["mimpic flumpa"] * 2
    assert found.within("a GX", 0) == {"GX": "gradtha xorb"}


def test_a_short_form_at_the_end_of_a_sentence_is_no_long_form():
    """Catches "MF." as the long form of MF."""
    assert find_definitions("No mild MF. (MF) and non-MF: (MF)") == []
