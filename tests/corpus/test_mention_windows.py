"""Sequences with all their mentions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from st_biomed.corpus.matching import TermMatcher
from st_biomed.corpus.raw_text import Document
from st_biomed.corpus.windows import mention_windows
from st_biomed.errors import InputError
from st_biomed.records import SourceInfo, Term
from st_biomed.terminology import Terminology

SOURCE = SourceInfo("S", "Source", license="CC0-1.0", redistributable=True)
TERMINOLOGY = Terminology.from_records(
    [Term("S:1", "flumpa"), Term("S:2", "mimi terkia"), Term("S:3", "zor qui lus da")], SOURCE
)
MATCHER = TermMatcher(TERMINOLOGY, "en")
WORDS = ["flumpa", "mimi", "terkia", "mimi terkia", "zor qui lus da", "uno", "due-flumpa", "flumpa-mimi terkia-flumpa"]


def rows(text: str, **options: object) -> list[dict]:
    return list(mention_windows(MATCHER, [Document("d", text)], **options).dataset)


def shown(row: dict) -> tuple[str, list[str]]:
    return row["text"], [row["text"][start:end] for start, end in zip(row["starts"], row["ends"])]


def test_sequences_follow_one_another_and_end_before_a_mention_they_would_cut():
    assert [*map(shown, rows("uno due flumpa mimi terkia x", tokens=4))] == [
        ("uno due flumpa", ["flumpa"]),
        ("mimi terkia x", ["mimi terkia"]),
    ]


def test_places_are_those_of_the_sequence_and_labels_those_of_the_terms():
    (row,) = rows("uno\n due flumpa", tokens=2)
    assert row == {
        "text": "flumpa",
        "starts": [0],
        "ends": [6],
        "texts": [TERMINOLOGY.strings.index("flumpa")],
        "document": "d",
        "start": 9,
    }


def test_a_sequence_has_no_more_mentions_than_allowed():
    assert [len(row["starts"]) for row in rows("flumpa uno " * 7, tokens=100, most_mentions=3)] == [3, 3, 1]


def test_a_mention_longer_than_a_sequence_is_dropped_and_counted():
    found = mention_windows(MATCHER, [Document("d", "flumpa zor qui lus da")], tokens=3)
    assert [*map(shown, found.dataset)] == [("flumpa zor qui", ["flumpa"])]
    assert found.coverage.dropped == {"longer than a sequence": 1} and found.coverage.mentions == 2


def test_mentions_that_share_a_word_stay_together():
    """Catches a sequence that ends before one mention and within the one before it."""
    assert [*map(shown, rows("x mimi terkia-zor qui lus da", tokens=5))] == [
        ("mimi terkia-zor qui lus da", ["mimi terkia", "zor qui lus da"])
    ]


@pytest.mark.long
@given(
    st.lists(st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join), max_size=4),
    st.integers(1, 7),
    st.integers(1, 4),
)
def test_sequences_hold_every_word_once_and_every_mention_whole(texts: list[str], tokens: int, most: int):
    """Catches a word lost or doubled, a mention cut or given to two sequences, and a sequence over two documents."""
    documents = [Document(str(i), text) for i, text in enumerate(texts) if text]
    found = mention_windows(MATCHER, documents, tokens=tokens, most_mentions=most, without_mentions=True)
    n_mentions = 0
    for document in documents:
        own = [row for row in found.dataset if row["document"] == document.name]
        assert " ".join(row["text"] for row in own).split() == document.text.split()
        for row in own:
            assert len(row["text"].split()) <= tokens and len(row["starts"]) <= most
            assert document.text[row["start"] :].startswith(row["text"])
            spans = list(zip(row["starts"], row["ends"], row["texts"]))
            n_mentions += len(spans)
            for start, end, label in spans:
                assert 0 <= start < end <= len(row["text"])
                assert row["text"][start:end].split() == TERMINOLOGY.strings[label].split()
            assert spans == sorted(spans)
    assert n_mentions + sum(found.coverage.dropped.values()) == found.coverage.mentions


@pytest.mark.long
def test_two_processes_give_the_rows_of_one(tmp_path):
    documents = [Document(str(i), "uno flumpa mimi terkia " * 9) for i in range(9)]
    rows_of_one = mention_windows(MATCHER, documents, tokens=5)
    rows_of_two = mention_windows(MATCHER, documents, tokens=5, processes=2, file=tmp_path / "rows.arrow")
    assert rows_of_one.dataset[:] == rows_of_two.dataset[:] and rows_of_one.coverage == rows_of_two.coverage


def test_without_a_matcher_text_is_cut_all_the_same():
    found = mention_windows(None, [Document("d", "uno due flumpa")], tokens=2, without_mentions=True)
    assert [*map(shown, found.dataset)] == [("uno due", []), ("flumpa", [])]
    with pytest.raises(InputError, match="mention_windows needs a matcher"):
        mention_windows(None, [])
    with pytest.raises(InputError, match="most_mentions must be at least 1"):
        mention_windows(MATCHER, [], most_mentions=0)
