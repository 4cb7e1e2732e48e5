"""Claims about finding terms in files."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from st_biomed.release import term_search
from st_biomed.release.name_kinds import Kind, kinds_of
from st_biomed.release.term_search import TermSearch

TERM = "Chronic zorbal inflammation, of the left flenn"


def occurs(text: str, term: str = TERM) -> bool:
    return bool(TermSearch({"file": [text]}).find(pa.array([term])))


words = st.lists(st.sampled_from(["a", "of", "zorb", "flennitis", "mibbleglobulinaemiaopathy", "7"]), max_size=9)


@settings(deadline=None)
@given(text=words, terms=st.lists(words, max_size=5))
def test_finds_exactly_the_terms_that_a_naive_search_finds(text: list[str], terms: list[list[str]]) -> None:
    """Would catch a term lost, or invented, where it is shorter, as long as or longer than the indexed head."""
    found = TermSearch({"file": [" ".join(text)]}).find(pa.array([" ".join(term) for term in terms], pa.string()))
    naive = {
        " ".join(term)
        for term in terms
        if not set(term) <= {"7"} and any(text[i : i + len(term)] == term for i in range(len(text) - len(term) + 1))
    }
    assert set(found) == naive


@pytest.mark.parametrize(
    "text",
    [
        "see CHRONIC ZORBAL INFLAMMATION OF THE LEFT FLENN.",
        "| chronic zorbal\ninflammation (of the *left* flenn) |",
        "chronic_zorbal_inflammation-of-the-left-flenn",
        "\ufeffchronic zorbal in\ufb02ammation of the left \uff46\uff4c\uff45\uff4e\uff4e",
    ],
)
def test_case_punctuation_and_layout_do_not_hide_a_term(text: str) -> None:
    """Would catch a rule that a line break or a capital letter slips through."""
    assert occurs(text)


def test_words_are_whole_and_terms_stay_within_one_passage() -> None:
    """Would catch a term found in the middle of longer words, or glued together from neighboring strings."""
    assert not occurs("nonchronic zorbal inflammation of the left flenn")
    assert not occurs("chronic zorbal inflammation of the left flennitis")
    assert not TermSearch({"file": ["chronic zorbal inflammation", "of the left flenn"]}).find(pa.array([TERM]))


def test_terms_beyond_the_first_batch_are_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Would catch a search that stops after one batch, or takes terms of one batch for those of another."""
    monkeypatch.setattr(term_search, "_ROWS", 3)
    terms = pa.chunked_array([[f"term number {i}" for i in range(5)], [f"term number {i}" for i in range(5, 11)]])
    assert TermSearch({"file": ["term number 9"]}).find(terms) == {"term number 9": "term number 9"}


def test_letters_in_a_row_count_where_words_begin_and_end_with_them() -> None:
    """Catches a long name that another break than its own hides, and one found inside longer words."""
    assert occurs("chroniczorbal inflam mation of the leftflenn")
    assert not occurs("x-nonchroniczorbal inflam mation of the leftflenn")
    assert not occurs("chroniczorbal inflam mation of the leftflennitis")
    assert (
        occurs("foot bed", "foot bed") and not occurs("football bed", "foot bed") and not occurs("footbed", "foot bed")
    )


def test_a_clause_ends_with_a_sentence_a_cell_or_a_paragraph() -> None:
    """Catches a name of two words put together from two sentences, and one that a line break hides."""
    for text in ("zorb flenn", "zorb\nflenn", "zorb-flenn", "zorb, flenn", "the zorb (flenn)", "zorb `flenn`"):
        assert TermSearch({"file": [text]}).where_in_a_clause("zorb flenn") == ["file"], text
    for text in (
        "a zorb. Flenn too",
        "zorb | flenn",
        "zorb\n\nflenn",
        "zorb\n* flenn",
        "zorb\n2. flenn",
        "zorb? flenn",
    ):
        assert TermSearch({"file": [text]}).where_in_a_clause("zorb flenn") == [], text


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("foot of bed", Kind.TELLING),
        ("mibbleglobulinaemias", Kind.TELLING),
        ("foot bed", Kind.SHORT),
        ("zorb - itis", Kind.SHORT),
        ("beta-flumper", Kind.SHORT),
        ("mibbleglobulinaemia", Kind.SINGLE),
        ("zorb 12345678", Kind.BRIEF),
        ("急性流恩", Kind.UNSPACED),
        ("2型流恩", Kind.UNSPACED),
        ("フルンパ", Kind.UNSPACED),
        ("급성 췌장", Kind.UNSPACED),
        ("肺炎", Kind.BRIEF_UNSPACED),
        ("췌장", Kind.BRIEF_UNSPACED),
        ("1 2 3 4 5 6 7 8 9 10 11", Kind.NUMBER),
        ("", Kind.NUMBER),
    ],
)
def test_names_have_a_kind(name: str, kind: Kind) -> None:
    """Catches a name that nobody looks for and nobody counts."""
    assert kinds_of(pa.array([name, "x"])) == [kind, Kind.SINGLE]
