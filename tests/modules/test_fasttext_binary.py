"""fastText's file of a model: hashes against published values, n-grams written out by hand, damaged files."""

from __future__ import annotations

import numpy as np
import pytest

from st_biomed.errors import InputError
from st_biomed.modules.fasttext_binary import FastTextBinary, ngram_hashes
from tests.modules.fasttext_files import BUCKETS, WORDS, fasttext_bytes, random_matrix, write


def signed_fnv(text: str) -> int:
    """The hash by its definition: 32 bits, bytes as signed numbers."""
    value = 2166136261
    for byte in np.frombuffer(text.encode(), np.int8):
        value = ((value ^ (int(byte) & 0xFFFFFFFF)) * 16777619) % 2**32
    return value


def test_the_hash_is_fnv_1a():
    """Values from the hash's authors (Fowler, Noll, Vo: test vectors of 32 bits); catches FNV-1, which multiplies first."""
    assert [signed_fnv(text) for text in ("", "a", "foobar")] == [0x811C9DC5, 0xE40C292C, 0xBF9CF968]
    assert ngram_hashes("foobar", 6, 6) == [signed_fnv(gram) for gram in ("<fooba", "foobar", "oobar>")]


def test_n_grams_are_of_characters_and_the_brackets_alone_are_none():
    """Catches n-grams of bytes, bytes as unsigned numbers, and "<" as a word's 1-gram."""
    grams = ["<n", "<nï", "n", "nï", "nï>", "ï", "ï>"]
    assert ngram_hashes("nï", 1, 3) == [signed_fnv(gram) for gram in grams]
    assert ngram_hashes("nï", 1, 0) == [] and ngram_hashes("a", 3, 3) == [signed_fnv("<a>")]
    assert signed_fnv("ï") != ((2166136261 ^ 0xC3) * 16777619 % 2**32 ^ 0xAF) * 16777619 % 2**32


def test_vectors_are_means_of_rows(tmp_path):
    """Of a word and its n-grams, or of the n-grams alone; catches a sum, and the row of a neighbor."""
    matrix = random_matrix()
    model = FastTextBinary(write(tmp_path / "m.bin", fasttext_bytes(matrix)))
    assert (model.words, model.dimension, model.undecodable) == (WORDS, 3, 0)
    bucket = {gram: len(WORDS) + signed_fnv(gram) % BUCKETS for gram in ("<g", "<go", "go", "go>", "o>")}
    for word, rows in {"go": [*bucket.values()], "</s>": [0]}.items():
        assert model.rows(word) == rows
        np.testing.assert_allclose(model.vector(word), matrix[rows].mean(0), atol=1e-6)
    assert model.rows("flu")[0] == 1 and len(model.rows("flu")) == 1 + 4 + 3
    assert model.rows("naïve")[0] == 3
    assert model.table(["go", "flu"]).words == ["go", "flu"]


def test_without_n_grams_only_the_dictionary_has_vectors(tmp_path):
    """Catches an unknown word that gets zeros, or a division by no rows; labels are no words."""
    matrix = random_matrix(4)
    content = fasttext_bytes(matrix, labels=["__label__ear"], buckets=0, longest=0, model=3)
    model = FastTextBinary(write(tmp_path / "m.bin", content))
    assert model.vector("go") is None and model.vector("__label__ear") is None
    np.testing.assert_array_equal(model.vector("glorp"), matrix[2])
    table = model.table(["go", "flu", "zoster"])
    assert table.words == ["flu"] and np.array_equal(table.vectors, matrix[1:2])
    old = FastTextBinary(write(tmp_path / "old.bin", fasttext_bytes(random_matrix(), version=11, model=3)))
    assert old.rows("flu") == [1]  # a supervised model of version 11 has no n-grams, whatever it says


def test_words_that_are_no_text_keep_their_rows(tmp_path):
    """Catches a dictionary that moves up by one, and a UnicodeDecodeError on published models."""
    words = ["flu", b"\xff\xfe", "glorp"]
    matrix = random_matrix(3)
    model = FastTextBinary(write(tmp_path / "m.bin", fasttext_bytes(matrix, words, buckets=0, longest=0)))
    assert (model.words, model.undecodable) == (["flu", "glorp"], 1)
    np.testing.assert_array_equal(model.vector("glorp"), matrix[2])


def test_a_file_cut_anywhere_is_one_line(tmp_path):
    """Catches struct.error and IndexError, at every byte before the end of the matrix."""
    whole = fasttext_bytes(random_matrix())
    end = len(whole) - 25  # the output matrix
    for size in [*range(160), end - 1]:
        with pytest.raises(InputError, match=rf"m.bin: ends within the \w+, at byte {size}$"):
            FastTextBinary(write(tmp_path / "m.bin", whole[:size]))
    FastTextBinary(write(tmp_path / "m.bin", whole[:end]))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"version": 13}, "is not a fastText model of version 11 or 12; binary vectors of word2vec"),
        ({"pruned": 0}, r"a pruned model \(.ftz\) has lost n-grams"),
        ({"quantized": True}, r"a quantized model \(.ftz\) has no vectors of its own"),
        ({"buckets": 49}, r"a matrix of shape \[54, 3\], expected \[4 words \+ 49 n-grams, 3\]"),
        ({"words": ["a", "b", "c", "a"]}, "the dictionary has 'a' twice"),
        ({"words": []}, "a dictionary of 0 entries with 0 words, 0 labels"),
    ],
)
def test_other_models_are_refused(tmp_path, settings, message):
    with pytest.raises(InputError, match=message):
        FastTextBinary(write(tmp_path / "m.bin", fasttext_bytes(random_matrix(), **settings)))


def test_numbers_that_are_none_are_refused(tmp_path):
    matrix = random_matrix()
    matrix[1, 2] = np.nan
    model = FastTextBinary(write(tmp_path / "m.bin", fasttext_bytes(matrix)))
    with pytest.raises(InputError, match="m.bin: the vector of 'flu' has NaN or infinity"):
        model.vector("flu")
    with pytest.raises(InputError, match="no row for any"):
        FastTextBinary(write(tmp_path / "n.bin", fasttext_bytes(random_matrix(4), buckets=0)))
