"""Terms found in text: against a scan over all terms and places, and where matchers go wrong."""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from st_biomed.corpus.matching import TermMatcher
from st_biomed.corpus.matching_rules import MatchPolicy, policy_of
from st_biomed.corpus.token_paths import PathTable
from st_biomed.corpus.tokens import SEPARATOR, code_points, tokenize
from st_biomed.csr import CSR
from st_biomed.errors import InputError
from st_biomed.records import SourceInfo, Term
from st_biomed.terminology import Terminology

SOURCE = SourceInfo("S", "Source", license="CC0-1.0", redistributable=True)
LOOSE = MatchPolicy(minimum_length=1, acronym_length=0)


def terminology_of(*names: str, language: str = "en") -> Terminology:
    """Each name is a concept of its own."""
    return Terminology.from_records(
        [Term(f"S:{i}", name, "preferred", language) for i, name in enumerate(names)], SOURCE
    )


def matcher_of(*names: str, policy: MatchPolicy | None = LOOSE, language: str = "en") -> TermMatcher:
    return TermMatcher(terminology_of(*names, language=language), language, policy)


def found(matcher: TermMatcher, text: str) -> list[str]:
    return [text[start:end] for start, end in zip(*matcher.find(text)[:2])]


def naive(names: list[str], text: str) -> list[tuple[int, int, str]]:
    """Every term at every token, the first of those that overlap, the longest of those that begin together."""
    tokens = [(m.start(), m.end(), m.group().casefold()) for m in re.finditer(r"\w+|[^\w\s]", text)]
    spelled = {tuple(token.casefold() for token in re.findall(r"\w+|[^\w\s]", name)): name for name in names}
    spans, reached = [], 0
    for i, (start, _, _) in enumerate(tokens):
        for j in range(len(tokens), i, -1):
            words = tuple(word for _, _, word in tokens[i:j])
            if start >= reached and words in spelled:
                spans.append((start, tokens[j - 1][1], spelled[words]))
                reached = tokens[j - 1][1]
                break
    return spans


WORDS = st.text("ab -'.", min_size=1, max_size=6)
NAMES = st.lists(WORDS.filter(lambda word: any(map(str.isalpha, word))), min_size=1, max_size=8)


@pytest.mark.long
@given(NAMES, st.text("abAB -'.\n", max_size=60))
def test_mentions_are_those_of_a_scan_over_all_terms_and_places(names: list[str], text: str):
    """Catches a step that is taken across an end of the text, a shorter match that hides a longer, or a lost collision."""
    matcher = matcher_of(*names)
    terminology = terminology_of(*names)
    expected = naive(names, text)
    starts, ends, forms = matcher.find(text)
    assert list(zip(starts.tolist(), ends.tolist())) == [(start, end) for start, end, _ in expected]
    for form, (_, _, name) in zip(forms.tolist(), expected):
        label = terminology.strings[matcher.labels[form]]
        assert re.findall(r"\w+|[^\w\s]", label) == re.findall(r"\w+|[^\w\s]", name)


def test_a_longer_match_that_ends_within_a_word_does_not_hide_a_shorter_one():
    """The boundary trap of leftmost-longest automata: "flumpa di" begins "flumpa dita" but ends no word there."""
    assert found(matcher_of("flumpa", "flumpa di"), "la flumpa dita") == ["flumpa"]


def test_the_first_of_overlapping_mentions_and_the_longest_of_a_place_stay():
    matcher = matcher_of("mimi", "mimi terkia", "terkia orvena lusda")
    assert found(matcher, "mimi terkia orvena lusda") == ["mimi terkia"]
    assert found(matcher, "mimi, terkia orvena lusda") == ["mimi", "terkia orvena lusda"]


def test_a_word_within_a_word_is_no_mention_but_hyphens_and_apostrophes_are_boundaries():
    """Catches a substring match, and a matcher that misses Italian elision and compounds."""
    matcher = matcher_of("terkia", "non-orvena")
    assert found(matcher, "terkiale eterkia terkia2 _terkia") == []
    assert found(matcher, "l'terkia, l’terkia; lus-terkia (terkia)") == ["terkia"] * 4
    assert found(matcher, "non-orvena non‑orvena non - orvena nonorvena non orvena") == [
        "non-orvena",
        "non‑orvena",
        "non - orvena",
    ]


def test_spaces_and_line_ends_between_words_make_no_difference():
    assert found(matcher_of("mimi terkia"), "mimi\n  terkia mimiterkia") == ["mimi\n  terkia"]


def test_case_makes_no_difference_but_for_acronyms():
    """Catches the acronym ALL found in every "all"."""
    matcher = matcher_of("QUI", "Terkia", policy=MatchPolicy())
    assert found(matcher, "qui Qui QUI TERKIA terkia") == ["QUI", "TERKIA", "terkia"]
    assert found(matcher_of("QUI", policy=MatchPolicy(acronym_length=2)), "qui QUI") == ["qui", "QUI"]


def test_a_word_and_an_acronym_of_the_same_letters_are_told_apart_and_both_meant_in_capitals():
    """Catches concepts of the acronym given to the word, and those of the word lost in a heading."""
    terminology = terminology_of("LUS", "lus")
    matcher = TermMatcher(terminology, "en")
    starts, _, forms = matcher.find("lus LUS Lus")
    assert starts.tolist() == [0, 4, 8]
    concepts = [[terminology.codes[concept] for concept in matcher.concepts.row(form)] for form in forms.tolist()]
    assert concepts == [["S:1"], ["S:0", "S:1"], ["S:1"]]
    assert terminology.strings[matcher.labels[forms[0]]] == "lus"


def test_an_ambiguous_string_keeps_its_concepts_and_the_richest_spelling_is_the_label():
    """Catches a mention that is given one of its concepts at random."""
    records = [Term("S:1", "terkia"), Term("S:2", "terkia", "synonym"), Term("S:3", "Terkia"), Term("S:4", "mimi")]
    terminology = Terminology.from_records([*records, Term("S:2", "zor")], SOURCE)
    matcher = TermMatcher(terminology, "en")
    _, _, forms = matcher.find("TERKIA, Terkia")
    assert forms[0] == forms[1] and terminology.strings[matcher.labels[forms[0]]] == "terkia"
    assert [terminology.codes[concept] for concept in matcher.concepts.row(forms[0])] == ["S:1", "S:2", "S:3"]
    assert matcher.texts.row(forms[0]).tolist() == [terminology.strings.index(name) for name in ("Terkia", "terkia")]


def test_accents_are_kept_in_italian_and_folded_in_english():
    text = "Mènière meniere MÈNIÈRE"
    assert found(matcher_of("mènière", policy=None, language="it"), text) == ["Mènière", "MÈNIÈRE"]
    assert found(matcher_of("mènière", policy=None), text) == ["Mènière", "meniere", "MÈNIÈRE"]
    assert policy_of("xx") == MatchPolicy()


@pytest.mark.parametrize("term", ["flumpità grave", "FLUMPITA' GRAVE"])
def test_italian_final_accents_may_be_typed_as_apostrophes(term: str):
    """Catches registers in capitals (ETA') that match no running text (età), and the reverse."""
    text = "flumpità grave, flumpita' grave, FLUMPITA’ GRAVE, flumpita grave, flumpitàl grave"
    matcher = matcher_of(term, policy=None, language="it")
    assert found(matcher, text) == ["flumpità grave", "flumpita' grave", "FLUMPITA’ GRAVE"]


def test_spellings_of_a_term_with_final_accents():
    policy = policy_of("it")
    assert policy.spellings("piu' te'") == ["piu' te'", "piu' tè", "piu' té", "più te'", "più tè", "più té"]
    assert policy.spellings("l'età") == ["l'età", "l'eta'"]
    assert len(policy.spellings(" ".join(["te'"] * 40))) == 16
    assert policy_of("en").spellings("età") == ["età"]


def test_decomposed_terms_are_found_in_composed_text():
    """Catches a terminology in NFD, as some ontologies are, that matches nothing."""
    assert found(matcher_of(unicodedata.normalize("NFD", "flumpità"), policy=None, language="it"), "flumpità") == [
        "flumpità"
    ]


def test_characters_of_any_plane_are_matched():
    """Catches a table of characters that ends before the text does."""
    matcher = matcher_of("𠀋𠀌", "ßtraße", "İlus", "𝒯erkia")
    assert found(matcher, "x 𠀋𠀌 ßTRAßE İLUS 𝒯erkia \ud800") == ["𠀋𠀌", "ßTRAßE", "İLUS", "𝒯erkia"]


def test_terms_that_are_not_looked_for_are_counted():
    terminology = terminology_of("ab", "123", "della", "terkia")
    matcher = TermMatcher(terminology, "en", MatchPolicy(stop_words=("Della",)))
    assert matcher.tally.dropped == {"shorter than 3 characters": 1, "without a letter": 1, "stop words": 1}
    assert matcher.tally.adds_up() and matcher.n_forms == 1


def test_no_text_no_mention():
    for text in ("", " \n", SEPARATOR, "qui"):
        assert found(matcher_of("terkia"), text) == []


def test_a_mention_does_not_cross_from_one_text_to_the_next():
    """Catches blocks of documents searched as one."""
    assert found(matcher_of("mimi terkia"), f"mimi{SEPARATOR}terkia") == []
    assert found(matcher_of(f"mimi{SEPARATOR}terkia"), "mimi terkia") == ["mimi terkia"]


def test_wrong_arguments_are_named():
    terminology = terminology_of("terkia")
    with pytest.raises(InputError, match="unknown language of the terms 'it': allowed are 'en'"):
        TermMatcher(terminology, "it")
    with pytest.raises(InputError, match="no term is left to search for .*1 stop words"):
        TermMatcher(terminology, "en", MatchPolicy(stop_words=("terkia",)))
    with pytest.raises(InputError, match="unknown accents 'drop'"):
        MatchPolicy(accents="drop")
    with pytest.raises(InputError, match="minimum_length must be at least 1"):
        MatchPolicy(minimum_length=0)
    with pytest.raises(InputError, match="stop_words must be a list"):
        MatchPolicy(stop_words="della")


@given(st.text("aB é’-\n.", max_size=40))
def test_tokens_are_those_of_a_regular_expression(text: str):
    """Catches a token that is cut or joined at the edges of the block."""
    tokens = tokenize(code_points(text), "keep")
    spans = [match.span() for match in re.finditer(r"\w+|[^\w\s]", text)]
    assert list(zip(tokens.starts.tolist(), tokens.ends.tolist())) == spans
    folded = [text[start:end].lower().replace("’", "'") for start, end in spans]
    for (a, b), (first, second) in zip(pairwise(tokens.hashes.tolist()), pairwise(folded)):
        assert (a == b) == (first == second)


def test_hashes_do_not_depend_on_the_place_in_a_long_text():
    """Catches the powers of the hash running out or wrapping wrongly."""
    tokens = tokenize(code_points("terkia " * 50_000), "keep")
    assert len(tokens.starts) == 50_000 and len(set(tokens.hashes.tolist())) == 1


def test_a_full_table_finds_every_path():
    """Catches paths lost where several fall into one slot."""
    hashes = np.arange(1, 5001, dtype=np.uint64) << np.uint64(40)  # neighbors share their slots
    table = PathTable(hashes, np.ones(5000, dtype=np.int64))
    assert np.array_equal(table.find(hashes), table.term_ends)
    assert (table.find(hashes + np.uint64(1)) == -2).all()


def test_names_without_a_concept_leave_nothing_to_search_for():
    with pytest.raises(InputError, match="no term is left to search for"):
        TermMatcher.of_names(pa.array(["zorb"]), CSR(np.zeros(2, dtype=np.int64), np.zeros(0, dtype=np.int64)), "")


def test_letters_that_differ_in_form_alone_are_equal():
    """Catches a Greek term in small letters that is not found in capitals, and one of two micro signs."""
    assert found(matcher_of("νόσος", language="el"), "Η ΝΌΣΟΣ, η νόσος") == ["ΝΌΣΟΣ", "νόσος"]
    assert found(matcher_of("ΝΌΣΟΣ", language="el"), "η νόσος") == ["νόσος"]
    assert found(matcher_of("\u00b5g test"), "\u03bcg test, \u00b5G TEST") == ["\u03bcg test", "\u00b5G TEST"]
    assert found(matcher_of("straße"), "STRASSE Straße") == ["Straße"]
