"""Word vectors as an encoder of names: means by hand, unknown words, every format, and every way a file is wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from st_biomed.errors import InputError
from st_biomed.modules.fasttext_binary import FastTextBinary
from st_biomed.modules.name_tokens import name_tokenizer, tokens_of, without_prefix
from st_biomed.modules.word_vectors import word_coverage, word_vectors_encoder
from tests.fresh import run_fresh
from tests.modules.fasttext_files import fasttext_bytes, random_matrix, write

VEC = "5 2\nfever 1 2\nFever 9 9\nglorp 3 -4 \near 0.5 1e1\nZoster 7 7\n"
MEANS = {
    "fever": [1, 2],
    "Glorp FEVER": [2, -1],
    "fever, fever unheardof (ear)": [2.5 / 3, 14 / 3],
    "zoster": [7, 7],
    "unheardof": [0, 0],
    "e": [0, 0],
    "": [0, 0],
}


@pytest.fixture
def vec(tmp_path) -> Path:
    return write(tmp_path / "w.vec", VEC)


def test_a_name_is_the_mean_of_its_known_words(vec):
    """By hand; catches unknown words counted as zeros, a name's case, and the last number before a space."""
    model = word_vectors_encoder(vec)
    np.testing.assert_allclose(model.encode(list(MEANS)), list(MEANS.values()), rtol=1e-6)
    assert model.get_embedding_dimension() == 2
    assert not any(parameter.requires_grad for parameter in model.parameters())
    np.testing.assert_array_equal(model.encode(["unheardof"]), [[0, 0]])


def test_of_several_cases_the_lower_one_counts(tmp_path):
    """Catches an entry that no lower-cased name would find, and the last one winning."""
    file = write(tmp_path / "w.vec", "5 1\nEar 1\nEAR 2\nFlu 3\nflu 4\nFLU 5\n")
    np.testing.assert_array_equal(word_vectors_encoder(file).encode(["ear", "Flu"]), [[1], [4]])


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Heart :[ weak ] or [ failure NOS ]", ["heart", ":[", "weak", "]", "or", "[", "failure", "nos", "]"]),
        ("double kidney and/or pelvis", ["double", "kidney", "and/or", "pelvis"]),
        ("delivery, nos", ["delivery", ",", "nos"]),
        ("Crohn's, crohn’s", ["crohn", "'s", ",", "crohn", "'s"]),
        ("o'nyong-nyong 3,4-dioxy 1.5", ["o'nyong-nyong", "3,4-dioxy", "1.5"]),
        ("O157:H7 factor(s)", ["o157", ":", "h7", "factor", "(", "s", ")"]),
        ("Ménière", ["ménière"]),
        ("Me\u0301ne", ["méne"]),
        ("  ", []),
    ],
)
def test_words_are_split_as_the_paper_shows(name, words):
    """Its Table 4 has the first two; catches words that punctuation sticks to."""
    assert [without_prefix(token) for token in tokens_of(name_tokenizer({}), name)] == words


FRESH = """
import sys
sys.modules["st_biomed"] = None  # as where the package is not installed
import numpy
from sentence_transformers import SentenceTransformer
model = SentenceTransformer(sys.argv[1], device="cpu")
numpy.save(sys.argv[2], model.encode(sys.argv[3:]))
"""


def test_it_loads_anywhere_without_a_flag(vec, tmp_path):
    """Catches a tokenizer that forgets to leave words out once it is saved."""
    word_vectors_encoder(vec).save_pretrained(str(tmp_path / "m"), create_model_card=False)
    assert run_fresh(FRESH, tmp_path / "m", tmp_path / "out.npy", *MEANS, cwd=tmp_path).returncode == 0
    np.testing.assert_allclose(np.load(tmp_path / "out.npy"), list(MEANS.values()), rtol=1e-6)
    loaded = SentenceTransformer(str(tmp_path / "m"), device="cpu")
    assert word_coverage(loaded, MEANS).without_words == ["unheardof", "e", ""]


def test_coverage_counts_words_and_tells_names_without_any(vec):
    """Catches a name of zeros that nobody hears of, and a word counted once for all its names."""
    found = word_coverage(word_vectors_encoder(vec), [*MEANS, "Unheardof ear"])
    assert (found.names, found.words) == (8, 15)
    assert found.unknown == {"unheardof": 3, ",": 1, "(": 1, ")": 1, "e": 1}
    assert found.without_words == ["unheardof", "e", ""]
    assert str(found) == (
        "7 of 15 words unknown, most often unheardof (3), , (1), ( (1), ) (1), e (1); "
        "3 of 8 names without a vector: 'unheardof', 'e', ''"
    )
    assert str(word_coverage(word_vectors_encoder(vec), ["ear"])) == (
        "0 of 1 words unknown; 0 of 1 names without a vector"
    )


def test_coverage_is_of_word_vectors_only(tiny_bert):
    with pytest.raises(
        InputError, match="an encoder of word vectors is needed, found one that starts with Transformer"
    ):
        word_coverage(tiny_bert, ["flu"])


def test_only_the_words_of_names_are_kept(vec):
    """Catches a table of two million words for three hundred names."""
    model = word_vectors_encoder(vec, names=["Fever of the ear", "unheardof"])
    assert sorted(map(without_prefix, model[0].tokenizer.get_vocab())) == ["ear", "fever"]
    np.testing.assert_allclose(model.encode(["ear fever", "glorp"]), [[0.75, 6], [0, 0]])


@pytest.mark.parametrize("stored", [False, True])
def test_a_matrix_with_whole_names(tmp_path, stored):
    """Catches names that are split, and a case or a space that makes a name another one."""
    matrix, names = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), ["Heart attack", "q", "flu, acute"]
    if stored:
        np.save(tmp_path / "m.npy", matrix)
        file = write(tmp_path / "n.txt", "\ufeff" + "\r\n".join(names) + "\r\n")
        model = word_vectors_encoder(tmp_path / "m.npy", file, unit="name")
    else:
        model = word_vectors_encoder(matrix, names, unit="name")
    asked = [" heart  ATTACK", "Q", "Flu, acute", "heart", "aq", "acute"]
    np.testing.assert_array_equal(model.encode(asked), [[1, 2], [3, 4], [5, 6], [0, 0], [0, 0], [0, 0]])
    assert word_coverage(model, asked).without_words == ["heart", "aq", "acute"]


def test_a_matrix_with_words():
    model = word_vectors_encoder(np.arange(6).reshape(3, 2), ["ear", "flu", "heart attack"])
    np.testing.assert_array_equal(model.encode(["ear flu", "heart attack"]), [[1, 2], [0, 0]])


def test_a_model_of_fasttext_knows_every_word_of_the_names(tmp_path):
    """Catches words of the names that fall out of the table since the dictionary does not have them."""
    file = write(tmp_path / "w.bin", fasttext_bytes(random_matrix()))
    model, own = word_vectors_encoder(file, names=["Flu gnarf's", "naïve"]), FastTextBinary(file)
    expected = np.mean([own.vector("flu"), own.vector("gnarf"), own.vector("'s")], axis=0)
    np.testing.assert_allclose(model.encode(["flu Gnarf's", "Naïve"]), [expected, own.vector("naïve")], atol=1e-6)
    assert word_coverage(model, ["glorp"]).without_words == ["glorp"]
    dictionary = word_vectors_encoder(file)
    np.testing.assert_allclose(dictionary.encode(["glorp gnarf"])[0], own.vector("glorp"), atol=1e-6)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "w.vec:1: expected the number of words and of dimensions, as in '20000 300', found ''"),
        ("a 1 2\n", "w.vec:1: expected the number of words .* found 'a 1 2'"),
        ("0 2\n", "w.vec:1: expected the number of words"),
        ("999999999 300\na 1\n", "w.vec:1: the file is too short for 999,999,999 words of 300 numbers"),
        ("3 2\na 1 2\nb 1.1111 2.3333\n", "w.vec:3: the file ends after 2 words, but the first line announces 3"),
        ("1 2\na 1 2\nb 1 2\n", "w.vec:3: the first line announces 1 words, but there are more"),
        ("2 2\na 1 2\nb 1\n", "w.vec:3: expected a word and 2 numbers, found 1 of them"),
        ("2 2\na 1 2\nb 1 2 3\n", "w.vec:3: expected a word and 2 numbers, found 3 of them"),
        ("2 2\na 1 2\n\nb 1 2", "w.vec:3: expected a word and 2 numbers, found 0"),
        ("2 2\na 1 2\nb 1 x\n", "w.vec:3: expected 2 numbers after the word, .*'x'"),
        ("2 2\na 1 2\na 3 4\n", "w.vec:3: 'a' occurs twice, first in line 2"),
        ("2 2\na 1 nan\nb 1 1\n", "w.vec:2: the vector has NaN or infinity"),
        ("2 2\na 1 2\nb 1 1e39\n", "w.vec:3: the vector has NaN or infinity"),
        ("1 2\ne.coli 1 2\n", "w.vec: of 1 entries none is a token of a name with unit='word'"),
    ],
)
def test_wrong_text_files(tmp_path, content, message):
    with pytest.raises(InputError, match=message) as caught:
        word_vectors_encoder(write(tmp_path / "w.vec", content))
    assert "\n" not in str(caught.value)


def test_words_that_are_no_text_are_left_out_and_counted(tmp_path, caplog):
    file = write(tmp_path / "w.vec", b"2 1\n\xff\xfe 1\nflu\xe2\x80\xa8x 2\n")
    with pytest.raises(InputError, match="of 2 entries none"):
        word_vectors_encoder(file)
    word_vectors_encoder(write(file, b"2 1\n\xff\xfe 1\nflu 2\n"))
    assert "1 entries are not UTF-8 and left out" in caplog.text


@pytest.mark.parametrize(
    ("vectors", "vocabulary", "message"),
    [
        (np.ones((2, 2)), None, "vocabulary: a matrix needs the words"),
        (np.ones((2, 2)), ["a"], "vectors: expected a row for each of 1 entries of the vocabulary, found 2"),
        (np.ones((2, 2)), ["a", "a"], "vocabulary, entry 2: 'a' occurs twice, first as row 1"),
        (np.ones((2, 2)), ["a", " "], "vocabulary, entry 2: expected a word or a name, found ' '"),
        (np.array([[1, 2], [np.inf, 1]]), ["a", "b"], "vocabulary, entry 2: the vector of 'b' has NaN or infinity"),
        (np.ones(2), ["a", "b"], r"vectors: expected real numbers \[n, D\], found float64 of shape \[2\]"),
        (np.array([["a"]]), ["a"], r"vectors: expected real numbers \[n, D\], found <U1"),
        (np.ones((1, 2)), ["heart attack"], "vectors: of 1 entries none is a token of a name with unit='word'"),
    ],
)
def test_wrong_matrices(vectors, vocabulary, message):
    with pytest.raises(InputError, match=message):
        word_vectors_encoder(vectors, vocabulary)


def test_wrong_files_of_a_matrix(tmp_path):
    np.save(tmp_path / "m.npy", np.array([[1.0], [np.nan]]))
    for content, message in {
        b"a\n\xff\n": "n.txt:2: is not UTF-8",
        b"a\na\n": "n.txt:2: 'a' occurs twice, first as row 1",
        b"a\n\nb\n": "n.txt:2: expected a word or a name, found ''",
        b"a\nb\n": "n.txt:2: the vector of 'b' has NaN or infinity",
        b"a\n": "m.npy: expected a row for each of 1 entries of the vocabulary, found 2",
    }.items():
        with pytest.raises(InputError, match=message):
            word_vectors_encoder(tmp_path / "m.npy", write(tmp_path / "n.txt", content))
    for broken in (b"", b"no matrix", (tmp_path / "m.npy").read_bytes()[:-4]):
        with pytest.raises(InputError, match=r"b.npy: cannot be read as a matrix of numpy") as caught:
            word_vectors_encoder(write(tmp_path / "b.npy", broken), ["a"])
        assert "\n" not in str(caught.value)


def test_wrong_arguments(vec, tmp_path):
    for arguments, options, message in [
        ((tmp_path / "none.vec",), {}, "none.vec: no such file"),
        ((np.ones((1, 1)), tmp_path / "none.txt"), {}, "none.txt: no such file"),
        ((tmp_path / "w.ftz",), {}, "word vectors end in .bin, .vec, .txt or .npy, found '.ftz'"),
        ((vec, ["a"]), {}, "has its own, only a matrix needs one"),
        ((vec,), {"unit": "words"}, "unknown unit 'words': allowed are 'name', 'word'"),
        ((write(tmp_path / "w.bin", b"no"),), {"unit": "name"}, "has vectors of words, found unit='name'"),
        ((vec,), {"names": ["", " "]}, "names: expected at least one word, found none"),
        ((vec,), {"names": ["unheardof"]}, "of 5 entries none is a token of the names"),
    ]:
        with pytest.raises(InputError, match=message):
            word_vectors_encoder(*arguments, **options)
