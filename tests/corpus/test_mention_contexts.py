"""Windows around mentions, caps, coverage, and the same rows from any number of processes."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from st_biomed.corpus import blocks, mentions
from st_biomed.corpus.blocks import ESCAPED, MARKERS
from st_biomed.corpus.coverage import Coverage
from st_biomed.corpus.matching import TermMatcher
from st_biomed.corpus.mention_limits import Caps
from st_biomed.corpus.mentions import mention_contexts, mention_tables
from st_biomed.corpus.raw_text import Document
from st_biomed.csr import CSR
from st_biomed.errors import InputError
from st_biomed.records import SourceInfo, Term
from st_biomed.terminology import Terminology
from st_biomed.training_data.columns import NAMES, check_terminology, terminology_digest

SOURCE = SourceInfo("S", "Source", license="CC0-1.0", redistributable=True)
TERMINOLOGY = Terminology.from_records(
    [
        Term("S:1", "flumpa"),
        Term("S:1", "mimi terkia", "synonym"),
        Term("S:2", "zor"),
        Term("S:3", "zor", "synonym"),
        Term("S:4", "never there"),
    ],
    SOURCE,
)
MATCHER = TermMatcher(TERMINOLOGY, "en")
WORDS = ["flumpa", "mimi terkia", "zor", "uno", "due", "lus", "quattro,", "l'flumpa"]


def corpus(n: int, seed: int = 0) -> list[Document]:
    draw = random.Random(seed)
    return [Document(f"d{i}", " ".join(draw.choices(WORDS, k=draw.randint(1, 60)))) for i in range(n)]


def contexts(text: str, **options: object) -> list[str]:
    return mention_contexts(MATCHER, [Document("d", text)], **options).dataset["text"][:]


def test_a_window_has_as_many_words_on_both_sides_and_more_where_a_side_ends():
    assert contexts("a b c flumpa d e f", window=5) == ["b c [Ms] flumpa [Me] d e"]
    assert contexts("a b c mimi terkia d e f", window=5) == ["c [Ms] mimi terkia [Me] d e"]
    assert contexts("flumpa a b c d e", window=4) == ["[Ms] flumpa [Me] a b c"]
    assert contexts("a b c d e flumpa", window=4) == ["c d e [Ms] flumpa [Me]"]
    assert contexts("a flumpa b", window=32) == ["a [Ms] flumpa [Me] b"]
    assert contexts("a mimi terkia b", window=1) == ["[Ms] mimi terkia [Me]"]
    assert contexts("flumpa") == ["[Ms] flumpa [Me]"]


def test_what_hangs_on_the_mention_stays_outside_the_markers():
    assert contexts("dell'flumpa, (zor)", window=3) == [
        "dell' [Ms] flumpa [Me] , (zor)",
        "dell'flumpa, ( [Ms] zor [Me] )",
    ]


@pytest.mark.long
@given(st.lists(st.sampled_from(WORDS), max_size=40), st.integers(1, 9))
def test_windows_are_those_of_a_naive_count(words: list[str], window: int):
    """Catches a window that reaches into the neighbor document, is too short inside one, or loses the mention."""
    text = " ".join(words)
    rows = mention_contexts(
        MATCHER, [Document("a", "uno zor"), Document("b", text), Document("c", "due")], window=window
    ).dataset
    for row in rows:
        if row["document"] != "b":
            continue
        before, after = text[: row["start"]], text[row["end"] :]
        inner = len((before.split(" ")[-1] + text[row["start"] : row["end"]] + after.split(" ")[0]).split())
        left, right = len(before.split(" ")) - 1, len(after.split(" ")) - 1
        free = max(window - inner, 0)
        n_left = min(left, free // 2)
        n_right = min(right, free - n_left)
        n_left = min(left, free - n_right)
        lo = " ".join(before.split(" ")[left - n_left :])
        hi = " ".join(after.split(" ")[: n_right + 1])
        expected = [*lo.split(), "[Ms]", *text[row["start"] : row["end"]].split(), "[Me]", *hi.split()]
        assert row["text"].split(" ") == expected


def test_columns_say_what_was_found_where():
    found = mention_contexts(MATCHER, [Document("a", "x flumpa"), Document("b", "zor", offset=100)])
    assert found.dataset[:] == {
        "text": ["x [Ms] flumpa [Me]", "[Ms] zor [Me]"],
        "label": [TERMINOLOGY.strings.index("flumpa"), TERMINOLOGY.strings.index("zor")],
        "start": [2, 100],
        "end": [8, 103],
        "concepts": [[0], [1, 2]],
        "document": ["a", "b"],
    }
    assert terminology_digest(found.dataset) == TERMINOLOGY.digest
    NAMES.check(found.dataset.select_columns(["text", "label"]))
    check_terminology(found.dataset, TERMINOLOGY.digest)


@pytest.mark.long
@pytest.mark.parametrize("caps", [Caps(), Caps(3, 5)])
def test_parts_have_the_rows_and_the_mentions_of_the_text(caps: Caps, monkeypatch: pytest.MonkeyPatch):
    """Catches a mention of another document of its block, one with escaped markers, and counts of the parts alone."""
    monkeypatch.setattr(blocks, "_CHARACTERS", 500)
    monkeypatch.setattr(mentions, "_PRUNED_AT", 20)
    documents = [Document("m", "zor [Ms] zor"), Document("p", "uno Zor", offset=100), *corpus(30)]
    matcher = TermMatcher(Terminology.from_records([Term("S:1", "zor"), Term("S:1", "(Ms)", "synonym")], SOURCE))
    for found in (MATCHER, matcher):
        coverage = Coverage()
        table = pa.concat_tables(mention_tables(found, documents, coverage, caps=caps, processes=2))
        whole = mention_contexts(found, documents, caps=caps)
        assert table.drop_columns("mention").to_pylist() == whole.dataset.to_list() and coverage == whole.coverage
        texts = {document.name: (document.offset, document.text) for document in documents}
        for row in table.to_pylist():
            offset, text = texts[row["document"]]
            assert row["mention"] == text[row["start"] - offset : row["end"] - offset] != ""
    if caps.unlimited:
        assert table["mention"].to_pylist()[:4] == ["zor", "[Ms]", "zor", "Zor"]


def test_a_part_is_given_before_the_next_document_is_read(monkeypatch: pytest.MonkeyPatch):
    """Catches parts that are kept until the text has ended."""
    monkeypatch.setattr(blocks, "_CHARACTERS", 5)
    read = iter(corpus(9))
    tables = mention_tables(MATCHER, read, Coverage())
    next(tables)
    assert len(list(read)) == 8


def test_coverage_counts_what_was_found_of_how_much():
    coverage = mention_contexts(MATCHER, [Document("a", "zor uno flumpa zor"), Document("b", "due")]).coverage
    assert (coverage.documents, coverage.words, coverage.mentions, coverage.ambiguous_mentions) == (2, 5, 3, 2)
    assert (coverage.terms_found, coverage.terms, coverage.concepts_found, coverage.concepts) == (2, 4, 3, 4)
    assert (coverage.rows, coverage.dropped) == (3, {})
    assert "2 of 4 terms, 3 of 4 concepts" in str(coverage)


def test_the_commonest_terms_are_named_and_those_of_several_concepts_apart():
    """Catches an everyday word that is a name of ten concepts, and that nobody sees."""
    documents = [Document("a", "zor flumpa zor"), Document("b", "Flumpa flumpa")]
    coverage = mention_contexts(MATCHER, documents, caps=Caps(per_term=1)).coverage
    assert coverage.commonest_named(TERMINOLOGY.strings).splitlines() == [
        "commonest: flumpa 3; zor 2",
        "commonest of several concepts: zor 2 (of 2)",
    ]
    nothing = mention_contexts(MATCHER, [Document("a", "uno")]).coverage
    assert nothing.commonest_named(TERMINOLOGY.strings) == ""


def test_markers_in_the_raw_text_are_escaped_and_counted():
    """Catches a mention that a text pretends to have, and places shifted by the escape."""
    found = mention_contexts(MATCHER, [Document("a", "[Ms] uno [Me] flumpa [Ms]")])
    assert found.dataset["text"][0] == "(Ms) uno (Me) [Ms] flumpa [Me] (Ms)"
    assert (found.dataset["start"][0], found.coverage.escaped_markers) == (14, 3)
    assert [*map(len, MARKERS)] == [*map(len, ESCAPED)]


def test_no_document_and_no_mention_give_an_empty_dataset():
    for documents in ([], [Document("a", "uno")]):
        found = mention_contexts(MATCHER, documents, caps=Caps(2, 2))
        assert len(found.dataset) == 0 and found.dataset.column_names[0] == "text"
        assert found.coverage.mentions == 0


class Letters:
    """A tokenizer whose pieces are letters."""

    def tokenize(self, text: str, *, verbose: bool = True) -> list[str]:
        return list(text)


def test_a_tokenizer_counts_pieces_and_words_stay_whole():
    """Catches a window in words where pieces were asked for, and half a word at its edge."""
    assert contexts("aaa bb flumpa cc ddd", window=10, tokenizer=Letters()) == ["bb [Ms] flumpa [Me] cc"]
    assert contexts("aaa bb flumpa cc ddd", window=9, tokenizer=Letters()) == ["[Ms] flumpa [Me] cc"]
    assert contexts("aaaa bb flumpa c", window=11, tokenizer=Letters()) == ["bb [Ms] flumpa [Me] c"]


@pytest.mark.long
@pytest.mark.parametrize("caps", [Caps(), Caps(3, 5)])
def test_two_processes_give_the_rows_of_one(caps: Caps, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Catches rows in the order in which processes end, and a sample that depends on how the work is shared out."""
    monkeypatch.setattr(blocks, "_CHARACTERS", 500)
    monkeypatch.setattr(mentions, "_PRUNED_AT", 20)
    documents = corpus(40)
    rows_of_one = mention_contexts(MATCHER, documents, caps=caps)
    rows_of_two = mention_contexts(MATCHER, documents, caps=caps, processes=2, file=tmp_path / "rows.arrow")
    assert rows_of_one.dataset[:] == rows_of_two.dataset[:] and rows_of_one.coverage == rows_of_two.coverage
    monkeypatch.setattr(blocks, "_CHARACTERS", 1 << 18)
    assert mention_contexts(MATCHER, documents, caps=caps).dataset[:] == rows_of_one.dataset[:]


def test_caps_keep_as_many_as_they_say_in_the_order_of_the_text():
    documents = corpus(60)
    everything = mention_contexts(MATCHER, documents).dataset
    capped = mention_contexts(MATCHER, documents, caps=Caps(4, seed=1))
    labels = np.array(capped.dataset["label"])
    assert np.unique(labels, return_counts=True)[1].tolist() == [4, 4, 4]
    assert capped.coverage.dropped == {"beyond the caps": len(everything) - 12}
    rows = [(row["document"], row["start"]) for row in everything]
    places = [rows.index((row["document"], row["start"])) for row in capped.dataset]
    assert places == sorted(places)
    other = mention_contexts(MATCHER, documents, caps=Caps(4, seed=2)).dataset
    assert other["text"][:] != capped.dataset["text"][:]
    first = mention_contexts(MATCHER, documents, caps=Caps(2, keep="first")).dataset
    label = first["label"][0]
    assert [row for row in first if row["label"] == label] == [row for row in everything if row["label"] == label][:2]


def test_a_mention_of_several_concepts_counts_for_each():
    """Catches a cap of concepts that an ambiguous term goes around."""
    concepts = CSR.from_pairs(np.array([0, 0, 1, 2, 3]), np.array([7, 8, 7, 8, 9]), 4)
    ranks = np.array([3, 1, 2, 0], dtype=np.uint64)
    assert Caps(per_concept=1).within_concepts(concepts, ranks).tolist() == [1, 2, 3]
    assert Caps(per_concept=2).within_concepts(concepts, ranks).tolist() == [0, 1, 2, 3]


def test_random_caps_prefer_no_part_of_the_text():
    """Catches ranks that follow the order of the text."""
    place = np.arange(20_000)
    caps = Caps(per_term=2_000, seed=5)
    kept = caps.within_terms(np.zeros(20_000, np.int64), caps.ranks(place // 100, place % 100))
    assert 9_000 < kept.mean() < 11_000 and len(kept) == 2_000


def test_wrong_arguments_are_named():
    for arguments, message in (
        ({"window": 0}, "window must be at least 1"),
        ({"processes": 0}, "processes must be at least 1"),
    ):
        with pytest.raises(InputError, match=message):
            mention_contexts(MATCHER, [], **arguments)
    with pytest.raises(InputError, match="window must be at least 1"):
        mention_tables(MATCHER, [], Coverage(), window=0)
    with pytest.raises(InputError, match="per_concept must be at least 1, or None"):
        Caps(per_concept=0)
    with pytest.raises(InputError, match="unknown keep 'last'"):
        Caps(keep="last")


@pytest.mark.parametrize("caps", [Caps(per_concept=2), Caps(per_concept=3, keep="first"), Caps(2, 3)])
def test_what_no_cap_can_keep_is_not_held_and_what_is_kept_stays_the_same(caps: Caps, monkeypatch: pytest.MonkeyPatch):
    """Catches a corpus that is held whole until it ends, and a mention that a later one would have let in again."""
    terms = [Term("S:1", "flumpa"), Term("S:2", "zor"), Term("S:3", "zor"), Term("S:3", "due"), Term("S:2", "uno")]
    matcher = TermMatcher(Terminology.from_records(terms, SOURCE), "en")
    monkeypatch.setattr(blocks, "_CHARACTERS", 300)
    documents = corpus(60)
    whole = mention_contexts(matcher, documents, caps=caps)
    held = []
    monkeypatch.setattr(mentions, "_PRUNED_AT", 12)
    pruned = mentions._not_ruled_out
    monkeypatch.setattr(mentions, "_not_ruled_out", lambda rows, caps: held.append(pruned(rows, caps)) or held[-1])
    found = mention_contexts(matcher, documents, caps=caps)
    assert found.dataset[:] == whole.dataset[:] and found.coverage == whole.coverage
    assert len(held) > 5 and max(map(len, held)) <= 4 * 3 < found.coverage.mentions / 20


def test_rows_are_given_in_parts_whose_texts_fit_in_an_array(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(mentions, "_PART", 2)
    parts = [*mention_tables(MATCHER, corpus(20), Coverage(), caps=Caps(per_term=3))]
    assert [*map(len, parts)] == [2, 2, 2, 2, 1]
    monkeypatch.undo()
    (whole,) = mention_tables(MATCHER, corpus(20), Coverage(), caps=Caps(per_term=3))
    assert pa.concat_tables(parts).to_pylist() == whole.to_pylist() and whole["text"].type == pa.string()
