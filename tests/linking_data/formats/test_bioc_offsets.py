"""Offsets in BioC: what they may count, and mentions that do not stand where they say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.linking_data.formats.bioc_files import annotation, collection, found, opened

TEXT = "Über α-𝛼 zorb, and zorb."


@pytest.mark.parametrize(
    ("place", "length", "note"),
    [
        (lambda before: 1 + len(before), 4, ""),
        (lambda before: 1 + len(before.encode()), 4, "a.json: offsets count bytes of UTF-8"),
        (lambda before: 1 + len(before.encode("utf-16-le")) // 2, 4, "a.json: offsets count units of UTF-16"),
        (lambda before: len(before) - 199, 4, "a.json: offsets count characters from the passage"),
    ],
    ids=["characters", "bytes", "utf-16", "passage"],
)
def test_offsets_may_count_other_things_which_is_said(tmp_path: Path, place: Any, length: int, note: str) -> None:
    """Catches mentions cut at the wrong letters, as older tools of NCBI write bytes, and those in Java UTF-16."""
    first = 200
    before = TEXT[: TEXT.index("zorb")]
    marked = annotation(place(before) + first - 1, "zorb", length)
    dataset = opened(tmp_path, collection(TEXT, [marked], offset=first, before="T" * (first - 1)))
    (mention,) = dataset.split("all")
    assert (mention.start, mention.end) == (first + len(before), first + len(before) + 4)
    assert found(dataset) == [("zorb", "zorb")]
    assert dataset.tallies["mentions"].notes == ([note] if note else [])


def test_a_mention_that_is_not_at_its_offsets_is_kept_without_a_place_and_said(tmp_path: Path) -> None:
    """Catches a corpus of other offsets that is read without a word."""
    dataset = opened(
        tmp_path, collection(TEXT, [annotation(3, "zorb"), annotation(900, "zorb"), annotation(0, "Über")])
    )
    assert [(mention.text, mention.start) for mention in dataset.split("all")] == [
        ("zorb", -1),
        ("zorb", -1),
        ("Über", 0),
    ]
    (note,) = dataset.tallies["mentions"].notes
    assert note.startswith("2 mentions not found at the offsets, first ")
    assert note.endswith("a.json:1: document 1: 'zorb'")


@pytest.mark.parametrize(("offset", "length"), [(9, 5), (8, 5), (8, 6)])
def test_spaces_around_a_mention_are_no_part_of_it(tmp_path: Path, offset: int, length: int) -> None:
    """Catches offsets of the padded string, and a length beyond the end of the passage."""
    dataset = opened(tmp_path, collection("Über α-𝛼 zorb", [annotation(offset, " zorb", length)]))
    assert found(dataset) == [("zorb", "zorb")]


def test_a_mention_without_a_string_is_what_stands_there(tmp_path: Path) -> None:
    dataset = opened(
        tmp_path, collection(TEXT, [annotation(0, None, 4), annotation(4, "", 1), annotation(999, None, 4)])
    )
    assert found(dataset) == [("Über", "Über")]
    assert dataset.tallies["mentions"].dropped == {"annotations without a string": 2}


def test_passages_out_of_order_and_overlapping_stay_apart(tmp_path: Path) -> None:
    """Catches a passage that is written over another one."""
    passages = [
        {"offset": 5, "text": "flumpa", "annotations": [annotation(5, "flumpa")]},
        {"offset": 0, "text": "zorb skark", "annotations": [annotation(0, "zorb")]},
    ]
    dataset = opened(tmp_path, {"documents": [{"id": 1, "passages": passages}]})
    assert dataset.documents["1"] == "zorb skark flumpa"
    assert sorted(found(dataset)) == [("flumpa", "flumpa"), ("zorb", "zorb")]


def test_annotations_of_the_document_and_of_sentences_are_read(tmp_path: Path) -> None:
    passage = {"offset": 0, "text": "zorb skark", "sentences": [{"offset": 0, "annotations": [annotation(0, "zorb")]}]}
    document = {"id": "1", "passages": [passage], "annotations": [annotation(5, "skark")]}
    assert found(opened(tmp_path, document)) == [("zorb", "zorb"), ("skark", "skark")]
