from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from st_biomed.errors import InputError
from st_biomed.linking_data import LinkingDataset, LinkingDictionary, Mention, open_linking
from st_biomed.linking_data.preparation import BIOSYN, STEPS, add_mentions, merge_names, prepare, refine
from st_biomed.linking_data.preparation.expansion import expand
from st_biomed.linking_data.preparation.spelling import read_spelling
from st_biomed.records import SourceInfo
from tests.contracts.linking_contract import FIXTURES

FOLDER = FIXTURES / "ncbi_disease"
SPELLING = FOLDER / "spelling.txt"


@pytest.fixture
def dataset() -> LinkingDataset:
    return open_linking("ncbi_disease", FOLDER, dictionary=FOLDER / "medic.txt")


def entries(dataset: LinkingDataset) -> list[tuple[str, set[str]]]:
    return [(name, set(ids)) for name, ids in map(dataset.dictionary.entry, range(len(dataset.dictionary)))]


def parts(dataset: LinkingDataset, split: str = "test") -> list[tuple[str, ...]]:
    return [mention.parts for mention in dataset.split(split)]


def toy(*mentions: Mention, **splits: tuple[Mention, ...]) -> LinkingDataset:
    dictionary = LinkingDictionary.from_entries([("Zorb", ["X1"]), ("zorb", ["X2"]), ("Zorb", ["X3", "X1"])])
    return LinkingDataset("toy", {"test": mentions, **splits}, dictionary, SourceInfo("TOY", "Toy"))


@pytest.mark.parametrize("name", sorted(STEPS))
def test_every_step_is_recorded_counted_and_leaves_its_input_alone(dataset: LinkingDataset, name: str) -> None:
    """Catches a step that a figure would not say it took, and one that changes what others hold."""
    before = (parts(dataset), dataset.dictionary.digest, dataset.steps, dict(dataset.tallies))
    after = prepare(dataset, {name: {"path": SPELLING} if name == "correct_spelling" else None})
    assert (parts(dataset), dataset.dictionary.digest, dataset.steps, dict(dataset.tallies)) == before
    assert len(after.steps) == 1
    assert after.steps[0].startswith(name)
    tally = after.tallies[f"step 1: {after.steps[0]}"]
    assert tally.n_read > 0
    assert tally.adds_up()
    assert sum(tally.changed.values()) + tally.n_dropped > 0, "the fixture shows nothing of this step"
    if name == "drop_unknown":  # the one that leaves mentions out
        assert set(after.split("test")) < set(dataset.split("test"))
        return
    assert [m.text for m in after.split("test")] == [m.text for m in dataset.split("test")]
    assert [m.gold for m in after.split("test")] == [m.gold for m in dataset.split("test")]


def test_biosyns_steps_in_their_order(dataset: LinkingDataset) -> None:
    """Catches steps taken in another order than they are named in."""
    prepared = prepare(dataset, BIOSYN)
    assert prepared.steps == BIOSYN
    assert parts(prepared) == [
        ("mimpic flumpa",),
        ("zorb",),
        ("zorb drelph",),
        ("terrkinous zorb drelph deficiency",),
        ("skark disease", "vorb disease"),
    ]
    assert parts(prepared, "train")[2:5] == [
        ("familial mimpic flumpa",),
        ("familial mimpic flumpa",),
        ("skark disease", "vorb disease"),
    ]
    assert ("mimpic flumpa", {"MESH:X0001", "MESH:X0006"}) in entries(prepared)


def test_an_expansion_is_kept_beside_the_text(dataset: LinkingDataset) -> None:
    expanded = prepare(dataset, ["expand_abbreviations", "lower_case"]).split("test")
    assert [mention.expansion for mention in expanded] == ["", "", "", "terrkinous zorb drelph deficiency", ""]
    assert expanded[3].text == "terrkinous ZD deficiency"


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("MF", "mimpic flumpa"),
        ("MFs", "mimpic flumpa"),
        ("MF/ZD", "mimpic flumpa/zorb MF drelph"),
        ("mild MF, and ZD", "mild mimpic flumpa, and zorb MF drelph"),
        ("Mimpic flumpa (MF) of voles", "Mimpic flumpa of voles"),
        ("flumpa of (MF)", "flumpa of (mimpic flumpa)"),
        ("non-MF", "non-MF"),
        ("MF-like", "MF-like"),
        ("AMF", "AMF"),
        ("mf", "mf"),
        ("MF A", "second mimpic flumpa"),
    ],
)
def test_short_forms_are_replaced_as_words_and_once(text: str, expanded: str) -> None:
    """Catches a short form inside a word, a long form expanded again, and the shorter of two that fit."""
    assert expand(text, {"MF": "mimpic flumpa", "ZD": "zorb MF drelph", "MF A": "second mimpic flumpa"}) == expanded


def test_an_abbreviation_of_another_document_is_not_used() -> None:
    mentions = (Mention("MF", (), document="a"), Mention("MF", (), document="b"), Mention("MF", ()))
    dataset = replace(toy(*mentions), documents={"a": "mimpic flumpa (MF)", "b": "MF again"})
    assert parts(prepare(dataset, ["expand_abbreviations"])) == [("mimpic flumpa",), ("MF",), ("MF",)]
    with pytest.raises(InputError, match="expand_abbreviations: toy has no documents to look up abbreviations"):
        prepare(toy(*mentions), ["expand_abbreviations"])


def test_spelling_is_corrected_in_whole_words_of_mentions() -> None:
    mentions = (Mention("Terrkinous flumpa", ()), Mention("terrkinously", ()), Mention("unterrkinous", ()))
    prepared = prepare(toy(*mentions), {"correct_spelling": {"path": SPELLING}})
    assert parts(prepared) == [("terkinous flumpa",), ("terrkinously",), ("unterrkinous",)]
    assert prepared.steps == ("correct_spelling(spelling.txt)",)


def test_letters_that_are_equal_but_in_lower_case_are_corrected_or_kept(tmp_path: Path) -> None:
    """Catches a word that the list has with the Greek letter, and a text with the sign of micro."""
    (tmp_path / "s.txt").write_text("\u03bcg||microgram\nteles||telesis\n", "utf-8")
    mentions = (Mention("5 \u00b5g", ()), Mention("tele\u017f", ()), Mention("\u03bcG", ()))
    prepared = prepare(toy(*mentions), {"correct_spelling": {"path": tmp_path / "s.txt"}})
    assert parts(prepared) == [("5 microgram",), ("telesis",), ("microgram",)]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("flumppa\n", r"s.txt:1: expected wrong\|\|right, found 'flumppa'"),
        ("a||b\nA||c\n", r"s.txt:2: 'A' already has the correction 'b'"),
        ("\n", r"s.txt: is empty"),
    ],
)
def test_bad_spelling_lists_are_named(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "s.txt").write_text(content)
    with pytest.raises(InputError, match=message):
        read_spelling(tmp_path / "s.txt")


def test_punctuation_becomes_a_space_and_nothing_becomes_empty() -> None:
    mentions = (Mention("x-linked (type 2) zorb", ()), Mention("?!", ()), Mention("a|b", (), parts=("a, b", "c.")))
    dictionary = LinkingDictionary.from_entries([("Zorb, mild", ["X1"]), ("(-)", ["X2"])])
    prepared = prepare(replace(toy(*mentions), dictionary=dictionary), ["remove_punctuation"])
    assert prepared.dictionary.names == ["Zorb mild", "(-)"]
    assert parts(prepared) == [("x linked type 2 zorb",), ("?!",), ("a b", "c")]


def test_equal_names_become_one_entry_with_all_ids() -> None:
    """Catches a name that is right for one of its concepts only, and names merged that differ in case."""
    assert entries(merge_names(toy())) == [("Zorb", {"X1", "X3"}), ("zorb", {"X2"})]
    merged = merge_names(toy(), ignore_case=True)
    assert entries(merged) == [("Zorb", {"X1", "X2", "X3"})]
    assert merged.steps == ("merge_names(ignore_case)",)
    assert merged.tallies["step 1: merge_names(ignore_case)"].dropped == {"names merged into an equal one": 2}


def test_mentions_of_other_splits_become_names() -> None:
    train = (Mention("zorb", (frozenset({"X4"}),)), Mention("new", (frozenset({"X5"}),)), Mention("nil", ()))
    added = add_mentions(toy(Mention("secret", (frozenset({"X1"}),)), train=train), splits="train")
    assert entries(added) == [("Zorb", {"X1", "X3"}), ("zorb", {"X2", "X4"}), ("new", {"X5"})]
    assert added.tallies["step 1: add_mentions(train)"].to_dict() == {
        "read": 3,
        "kept": 2,
        "dropped": {"without a concept": 1},
        "changed": {"names that are new": 1},
    }
    with pytest.raises(InputError, match=r"unknown splits 'dev': allowed are 'test', 'train'"):
        add_mentions(toy(train=train), splits=["train", "dev"])


def test_mentions_of_concepts_that_the_dictionary_lacks_can_be_left_out() -> None:
    """Catches a composite mention that stays with half of its concepts, and alternative ids that all have to be known."""
    known = Mention("a", (frozenset({"X1", "X9"}),))
    both, half = (Mention("b c", (frozenset({"X2"}), frozenset({other}))) for other in ("X3", "X9"))
    dataset = toy(known, both, half, Mention("d", ()), train=(Mention("e", (frozenset({"X9"}),)), known))
    after = prepare(dataset, ["drop_unknown"])
    assert (after.split("test"), after.split("train")) == ((known, both), (known,))
    tally = after.tallies["step 1: drop_unknown"]
    assert tally.dropped == {
        "of concepts that the dictionary lacks, in test": 2,
        "of concepts that the dictionary lacks, in train": 1,
    }
    added = prepare(dataset, {"drop_unknown": None, "add_mentions": {"splits": ["train"]}})
    assert "e" not in added.dictionary.names and "a" in added.dictionary.names


def test_a_refined_set_has_each_mention_once_and_none_that_was_trained_on() -> None:
    """Catches a text with other ids taken for the same, and case taken for a difference."""
    x1, x2 = (frozenset({"X1"}),), (frozenset({"X2"}),)
    test = (Mention("Zorb", x1), Mention("zorb", x2), Mention("FLUMPA", x1), Mention("flumpa", x1), Mention("nil", ()))
    refined = refine(toy(*test, train=(Mention("zorb", x1),), dev=(Mention("nil", ()),)))
    assert [(m.text, m.gold) for m in refined.split("test_refined")] == [("zorb", x2), ("FLUMPA", x1)]
    assert refined.split("test") == test
    assert refined.tallies["step 1: refine(test)"].dropped == {"repeated": 1, "seen in train or dev": 2}


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        (["lowercase"], r"unknown step 'lowercase': allowed are .*did you mean 'lower_case'"),
        (["lower_case", "merge_names", "lower_case"], r"steps: 'lower_case' is repeated, each step may be given once"),
        ({"lower_case": {"path": 1}}, r"unknown argument of step 'lower_case' 'path'"),
        ({"merge_names": {"ignorecase": 1}}, r"unknown argument of step 'merge_names' 'ignorecase': .*'ignore_case'"),
        (["correct_spelling"], r"step 'correct_spelling' needs path="),
        (
            {"refine": {"seen": "test"}},
            r"refine: seen= must name at least one split other than 'test' of 'test', 'train'",
        ),
        ({"refine": {"split": "tset"}}, r"toy: no split 'tset'; available are 'test', 'train'"),
    ],
)
def test_bad_steps_are_refused(steps: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        prepare(toy(Mention("zorb", ()), train=(Mention("a", ()),)), steps)


@pytest.mark.parametrize(
    ("step", "arguments", "message"),
    [
        ("refine", {"seen": 3}, "step 'refine': seen must be texts, found 3"),
        ("refine", {"seen": ["train", 3]}, r"step 'refine': seen must be texts, found \['train', 3\]"),
        ("refine", {"split": ["test"]}, r"step 'refine': split must be text, found \['test'\]"),
        (
            "merge_names",
            {"ignore_case": "maybe"},
            "step 'merge_names': ignore_case must be true or false, found 'maybe'",
        ),
        ("merge_names", {"ignore_case": 1}, "step 'merge_names': ignore_case must be true or false, found 1"),
    ],
)
def test_arguments_of_another_type_are_refused(step: str, arguments: dict[str, Any], message: str) -> None:
    """Catches a traceback, and a step that takes any text for true."""
    dataset = toy(Mention("zorb", ()), train=(Mention("drelph", ()),))
    with pytest.raises(InputError, match=f"^{message}$"):
        prepare(dataset, {step: arguments})


def test_lists_are_of_texts() -> None:
    """Catches a traceback of a step that is called by itself, and a generator whose texts are gone after the check."""
    dataset = toy(Mention("zorb", ()), train=(Mention("zorb", ()),))
    with pytest.raises(InputError, match="^seen must be texts, found 3$"):
        refine(dataset, seen=3)  # type: ignore[arg-type]
    for seen in ("train, dev", ("train",), (split for split in ["train"])):
        assert prepare(dataset, {"refine": {"seen": seen}}).split("test_refined") == ()
