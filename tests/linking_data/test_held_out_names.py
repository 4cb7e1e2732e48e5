"""Names held out of a terminology: unseen, findable, and the same every time."""

from __future__ import annotations

import pyarrow as pa
import pytest

from st_biomed.errors import InputError
from st_biomed.linking_data.held_out_names import hold_out_names
from st_biomed.linking_data.name_spellings import name_key, name_keys
from st_biomed.records import SourceInfo, Term
from st_biomed.terminology import Terminology

RECORDS = [
    Term(f"S:{c:02}", f"{word} {c}", "synonym" if i else "preferred")
    for c in range(30)
    for i, word in enumerate(("flumpa", "terkia", "mimpa"))
]
RECORDS += [Term(f"S:{c:02}", "drod", "synonym") for c in range(30)]
RECORDS += [Term("T:1", "two"), Term("T:1", "names", "synonym")]
TERMINOLOGY = Terminology.from_records(RECORDS, SourceInfo("S", "S"))


def test_a_held_out_name_is_gone_from_training_and_its_concept_is_not():
    """Catches a mention that the dictionary has, and a concept that nothing can be trained on."""
    held = hold_out_names(TERMINOLOGY, n_dev=10, n_test=15)
    mentions = [*held.dataset.split("dev"), *held.dataset.split("test")]
    assert (len(held.dataset.split("dev")), len(mentions)) == (10, 25)
    assert not {mention.text for mention in mentions} & set(held.train.strings)
    assert held.train.n_texts == TERMINOLOGY.n_texts - 25
    codes = [code for mention in mentions for code in mention.ids]
    assert len(set(codes)) == 25
    for mention, code in zip(mentions, codes):
        assert mention.text in TERMINOLOGY.concept_names(code)
        assert len(held.train.concept_names(code)) == 3
    assert held.dataset.missing("dev") == held.dataset.missing("test") == []
    assert set(held.dataset.dictionary.names) == set(held.train.strings)


def test_preferred_ambiguous_and_last_names_stay():
    """Catches a title, a name of many concepts or the only synonym of a concept among the mentions."""
    held = hold_out_names(TERMINOLOGY, n_dev=15, n_test=15)
    texts = {mention.text.split()[0] for split in ("dev", "test") for mention in held.dataset.split(split)}
    assert texts == {"terkia", "mimpa"}
    assert "names" in held.train.strings
    assert held.dataset.tallies["held-out names"].adds_up()


def test_spellings_of_one_name_are_held_out_together():
    """Catches a mention that equals a name of the dictionary but for case or white space, and one name counted as two."""
    spelled = [Term(f"S:{c:02}", f"Terkia  {c}", "synonym") for c in range(20)]
    spelled += [Term(f"S:{c:02}", f"FLUMPA {c}", "synonym") for c in range(30)]
    spelled += [Term(f"S:{c:02}", f"MIMPA {c + 1}", "synonym") for c in range(20, 29)]
    spelled += [Term("U:1", name, "synonym") for name in ("vosk", "Vosk", "VOSK", "grubol")]
    terminology = Terminology.from_records([*RECORDS, *spelled], SourceInfo("S", "S"))
    held = hold_out_names(terminology, n_dev=15, n_test=15)
    mentions = [*held.dataset.split("dev"), *held.dataset.split("test")]
    texts = {mention.text.casefold() for mention in mentions}
    assert not {" ".join(text.split()) for text in texts} & {
        " ".join(name.casefold().split()) for name in held.train.strings
    }
    assert {text.split()[0] for text in texts} == {"terkia", "mimpa"}
    assert held.dataset.tallies["held-out names"].adds_up()


def test_the_draw_depends_on_the_seed_alone():
    first, again, other = (hold_out_names(TERMINOLOGY, n_dev=5, n_test=5, seed=seed).dataset for seed in (1, 1, 2))
    assert first.mentions == again.mentions
    assert first.mentions != other.mentions


def test_more_than_there_are_is_refused():
    with pytest.raises(InputError, match="31 are requested, but only 30 concepts have three names"):
        hold_out_names(TERMINOLOGY, n_dev=30, n_test=1)
    with pytest.raises(InputError, match="must be at least 1, found 0 and 5"):
        hold_out_names(TERMINOLOGY, n_dev=0, n_test=5)


def test_a_small_dictionary_has_the_concepts_that_are_meant():
    """Catches a draw that leaves a mention without its concept, and a part of the terminology that is not trained on."""
    held = hold_out_names(TERMINOLOGY, n_dev=5, n_test=5, n_dictionary=12)
    dictionary = held.dataset.dictionary
    assert held.dataset.missing("dev") == held.dataset.missing("test") == []
    assert len(dictionary.ids) == 12
    assert held.train.n_texts == TERMINOLOGY.n_texts - 10
    whole = hold_out_names(TERMINOLOGY, n_dev=5, n_test=5)
    assert held.dataset.mentions == whole.dataset.mentions
    assert len(hold_out_names(TERMINOLOGY, n_dev=5, n_test=5, n_dictionary=99).dataset.dictionary.ids) == 31


def test_a_dictionary_without_room_for_the_names_is_refused():
    with pytest.raises(InputError, match="the concepts of all 10 names, found n_dictionary=9"):
        hold_out_names(TERMINOLOGY, n_dev=5, n_test=5, n_dictionary=9)


def test_keys_of_many_names_are_those_of_each() -> None:
    """Catches ASCII names, which Arrow lowers and splits, with other keys than ``name_key`` gives them."""
    texts = [f"A{chr(code)}{chr(code)} b{chr(code)}" for code in range(1, 300)] + [
        "  Zorb\t disease",
        "STRASSE",
        "straße",
    ]
    assert name_keys(pa.array(texts)).to_pylist() == [name_key(text) for text in texts]
    assert name_key("Zorb  DISEASE ") == name_key("zorb disease")
    assert name_key("maladie \u00c9") == name_key("maladie e\u0301")
    assert name_key("ΝΟΣΟΣ") == name_key("νοσος") and name_key("zorb 1") != name_key("zorb 2")
