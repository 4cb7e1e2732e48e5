"""Translations held out of a terminology: gone from training in every language, found by names of the pivot."""

from __future__ import annotations

import pytest

from st_biomed.errors import InputError
from st_biomed.linking_data.held_out_translations import hold_out_translations
from st_biomed.records import SourceInfo, Term
from st_biomed.terminology import Terminology

WORDS = {"en": "flumpa", "es": "flumpo", "it": "flumpi"}
RECORDS = [
    Term(f"S:{c:02}", f"{word} {c}", "preferred", language) for c in range(20) for language, word in WORDS.items()
]
RECORDS += [Term(f"S:{c:02}", f"flumpino {c}", "synonym", "it") for c in range(20)]
RECORDS += [Term(f"S:{c:02}", f"FLUMPA {c}", "synonym", "it") for c in range(20)]  # the English name in capitals
RECORDS += [Term(f"S:{c:02}", "flumpera", "synonym", "it") for c in range(20)]  # of all concepts
RECORDS += [Term("T:1", "terkia", "preferred", "en"), Term("T:1", "terkio", "synonym", "es")]
RECORDS += [Term("S:98", "sin nombre", "preferred", "es")]
TERMINOLOGY = Terminology.from_records(RECORDS, SourceInfo("S", "S"))


def test_a_held_out_concept_keeps_the_names_of_the_pivot_alone():
    """Catches a translation into a third language that gives the concept away in training."""
    held = hold_out_translations(TERMINOLOGY, n_dev=5, n_test=7, prefix="S:")
    assert list(held.datasets) == ["es", "it"]
    for language, per_concept in (("es", 1), ("it", 2)):
        dataset = held.datasets[language]
        assert {split: len(dataset.split(split)) for split in ("dev", "test")} == {
            "dev": 5 * per_concept,
            "test": 7 * per_concept,
        }
        for mention in (*dataset.split("dev"), *dataset.split("test")):
            (code,) = mention.ids
            assert mention.text not in held.train.strings
            left = held.train.concept_names(code)
            assert f"flumpa {int(code[2:])}" in left and "flumpera" in left
            assert not [name for name in left if name.startswith(("flumpo", "flumpi"))]
    dev, test = (
        {code for mention in held.datasets["es"].split(split) for code in mention.ids} for split in ("dev", "test")
    )
    assert not dev & test


def test_the_dictionary_has_the_names_of_the_pivot_below_the_prefix():
    """Catches mentions that find themselves, and concepts that are not in question."""
    held = hold_out_translations(TERMINOLOGY, n_dev=2, n_test=2, prefix="S:")
    assert set(held.datasets["it"].dictionary.names) == {f"flumpa {c}" for c in range(20)}
    assert held.datasets["it"].missing("test") == []
    everything = hold_out_translations(TERMINOLOGY, n_dev=2, n_test=2)
    assert "terkia" in everything.datasets["es"].dictionary.names


def test_what_is_measured_and_what_is_held_out_may_differ():
    """Catches a language that is not measured and stays in training."""
    held = hold_out_translations(TERMINOLOGY, languages=["es"], n_dev=2, n_test=3, prefix="S:")
    assert list(held.datasets) == ["es"]
    assert held.train.n_texts == TERMINOLOGY.n_texts - 5 * 3


def test_the_draw_of_translations_depends_on_the_seed_alone():
    first, again, other = (
        hold_out_translations(TERMINOLOGY, n_dev=4, n_test=4, prefix="S:", seed=seed).datasets["es"].mentions
        for seed in (1, 1, 2)
    )
    assert first == again != other


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_dev": 0}, "must be at least 1, found 0 and 1000"),
        ({"n_dev": 20, "n_test": 1, "prefix": "S:"}, "only 20 whose code begins with 'S:' have a name in 'en'"),
        ({"languages": ["xx"]}, "no name has the language 'xx'; available are en, es, it"),
        ({"languages": ["en"]}, "expected languages other than the pivot 'en'"),
        ({"pivot": "de"}, "no name has the language 'de'"),
    ],
)
def test_translations_that_cannot_be_held_out(arguments: dict[str, object], message: str):
    with pytest.raises(InputError, match=message):
        hold_out_translations(TERMINOLOGY, **arguments)


def test_a_language_that_no_drawn_concept_has_is_named():
    records = [record for record in RECORDS if record.language != "es"] + [Term("S:03", "flumpo 3", "synonym", "es")]
    with pytest.raises(InputError, match="translations-es: none of the concepts drawn for '(dev|test)' has a name"):
        hold_out_translations(Terminology.from_records(records, SourceInfo("S", "S")), n_dev=1, n_test=1)


def test_a_name_of_two_concepts_in_another_spelling_is_not_used():
    """Catches "Tarsta" among the mentions while training has "tarsta" of another concept; so with white space."""
    spelled = [("S:00", "Tarsta"), ("S:01", "tarsta"), ("S:02", "Mimpa  nebza"), ("S:03", "mimpa nebza")]
    records = [*RECORDS, *(Term(code, name, "synonym", "it") for code, name in spelled)]
    records += [Term(f"S:{c:02}", f"Flumpa  {c}", "synonym", "it") for c in range(20)]  # the English name, two spaces
    held = hold_out_translations(
        Terminology.from_records(records, SourceInfo("S", "S")), n_dev=8, n_test=12, prefix="S:"
    )
    mentions = {mention.text for split in ("dev", "test") for mention in held.datasets["it"].split(split)}
    assert mentions == {f"{word} {c}" for word in ("flumpi", "flumpino") for c in range(20)}
    assert {name for _, name in spelled} <= set(held.train.strings)


def test_a_name_in_several_spellings_is_measured_once():
    """Catches a name that counts twice in a language for its capitals, and a spelling of it left in training."""
    spelled = ["Flumpi 3", "flumpi  3", "FLUMPO 3"]
    records = [*RECORDS, *(Term("S:03", name, "synonym", "it") for name in spelled)]
    held = hold_out_translations(
        Terminology.from_records(records, SourceInfo("S", "S")), n_dev=8, n_test=12, prefix="S:"
    )
    mentions = [mention.text for split in ("dev", "test") for mention in held.datasets["it"].split(split)]
    expected = {f"{word} {c}" for word in ("flumpi", "flumpino") for c in range(20)}
    assert len(mentions) == 41 and set(mentions) == expected - {"flumpi 3"} | {"Flumpi 3", "FLUMPO 3"}
    (tally,) = held.datasets["it"].tallies.values()
    assert (tally.n_read, tally.n_kept, tally.dropped) == (43, 41, {"other spellings of held-out names": 2})
    assert len(held.datasets["es"].split("dev")) + len(held.datasets["es"].split("test")) == 20
    assert not set(spelled) & set(held.train.strings)
