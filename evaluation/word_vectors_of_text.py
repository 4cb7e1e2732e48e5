"""Word vectors of open text, for where fastText's of MEDLINE cannot be had: fastText (.bin), or PPMI and its SVD (.vec).

python evaluation/word_vectors_of_text.py out/text.bin text_en/e3c_en_layer3.jsonl.gz ontologies/hp.v2024-04-26.json.gz

Texts are documents (any form that `st-biomed mentions` reads) and the definitions of OBO graphs (.json). Words are split as
names are split for word vectors.

A .bin has "300-dimensional fastText (Bojanowski et al., 2017) word embeddings" (Fivez et al. 2021, section 3.1), made by gensim.
Fivez et al. state no other setting; the others are those of Bojanowski et al. 2017 (Enriching word vectors with subword
information, sections 3.2 and 4.2): skip-grams, n-grams of 3 to 6 characters, windows of up to 5 words, 5 negatives, words with 5
occurrences or more, subsampling above 1e-4, 5 passes with a step size from .05. It has 500,000 rows for n-grams instead of
2,000,000, since such text has about 100,000 different ones. One thread and one seed, so that a second run gives the same file.

A .vec has no parts of words: window 5, words with 3 occurrences or more, positive pointwise mutual information with contexts
smoothed by the power .75, 300 dimensions, singular values to the power .5: what Levy, Goldberg and Dagan 2015 (Improving
distributional similarity with lessons learned from word embeddings) find as good as skip-grams on texts of this size.
"""

from __future__ import annotations

import gzip
import json
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array
from sklearn.utils.extmath import randomized_svd

from st_biomed.corpus.raw_text import documents
from st_biomed.errors import InputError
from st_biomed.modules.name_tokens import name_tokenizer, tokens_of, without_prefix
from st_biomed.settings.recipe import run_recipe

WINDOW, LEAST, SMOOTHING, WIDTH, POWER = 5, 3, 0.75, 300, 0.5
FASTTEXT: dict[str, Any] = {
    "vector_size": WIDTH,
    "sg": 1,
    "min_n": 3,
    "max_n": 6,
    "bucket": 500_000,
    "window": WINDOW,
    "negative": 5,
    "min_count": 5,
    "sample": 1e-4,
    "epochs": 5,
    "alpha": 0.05,
    "workers": 1,
    "seed": 0,
}
LINE = 1024  # words; fastText starts a new line there, and gensim would drop what is beyond 10,000


def texts(path: str) -> Iterator[str]:
    """Documents of a file, or definitions of an OBO graph."""
    if not path.endswith((".json", ".json.gz")):
        yield from (document.text for document in documents(path))
        return
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as file:
        graphs = json.load(file)["graphs"]
    for node in (node for graph in graphs for node in graph["nodes"]):
        if definition := node.get("meta", {}).get("definition", {}).get("val"):
            yield definition


def words_of(paths: Iterable[str]) -> list[list[str]]:
    """The words of every text."""
    tokenizer = name_tokenizer({})
    return [[without_prefix(token) for token in tokens_of(tokenizer, text)] for path in paths for text in texts(path)]


def lines(split: Iterable[list[str]]) -> list[list[str]]:
    """Texts in lines of at most :data:`LINE` words."""
    return [words[start : start + LINE] for words in split for start in range(0, len(words), LINE)]


def fasttext(split: list[list[str]], out: Path) -> str:
    """Train fastText and write its ``.bin``; returns what was made.

    Raises:
        InputError: gensim is not installed, or no word occurs often enough.
    """
    try:
        from gensim.models import FastText
        from gensim.models.fasttext import save_facebook_model
    except ImportError as error:
        raise InputError("a .bin needs gensim: pip install gensim==4.4.0; or write a .vec") from error
    rows = lines(split)
    model = FastText(**FASTTEXT)
    model.build_vocab(rows)
    if not len(model.wv):
        raise InputError(f"the texts have no word with {FASTTEXT['min_count']} occurrences")
    started = time.perf_counter()
    model.train(rows, total_examples=len(rows), epochs=FASTTEXT["epochs"])
    minutes = (time.perf_counter() - started) / 60
    save_facebook_model(model, str(out))
    return f"{len(model.wv):,} words of {sum(map(len, rows)):,} running ones, trained in {minutes:.1f} minutes"


def counted(split: list[list[str]]) -> tuple[list[str], np.ndarray]:
    """The vocabulary, most frequent first, and all texts as rows of it; -1 between texts and for rare words."""
    counts = Counter(word for words in split for word in words)
    vocabulary = [
        word for word, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])) if count >= LEAST
    ]
    row = {word: i for i, word in enumerate(vocabulary)}
    gap = [-1] * WINDOW
    return vocabulary, np.array([i for words in split for i in [*(row.get(word, -1) for word in words), *gap]])


def positive_information(rows: np.ndarray, n_words: int) -> csr_array:
    """PPMI of words ``[V, V]`` from the rows of running text."""
    pairs = csr_array((n_words, n_words))
    for distance in range(1, WINDOW + 1):
        left, right = rows[:-distance], rows[distance:]
        both = (left >= 0) & (right >= 0)
        ones = np.ones(int(both.sum()), np.float32)
        pairs = pairs + coo_array((ones, (left[both], right[both])), shape=pairs.shape).tocsr()
    counts = (pairs + pairs.T).tocoo()
    words = np.asarray(counts.sum(axis=1), dtype=np.float64)
    contexts = words**SMOOTHING / (words**SMOOTHING).sum()
    i, j = counts.coords
    information = np.log(counts.data / words[i] / contexts[j])
    positive = information > 0
    return coo_array((information[positive], (i[positive], j[positive])), shape=counts.shape).tocsr()


def factorized(split: list[list[str]], out: Path) -> str:
    """Write the ``.vec`` of the factorized PPMI; returns what was made.

    Raises:
        InputError: Fewer words than dimensions.
    """
    vocabulary, rows = counted(split)
    if len(vocabulary) <= WIDTH:
        raise InputError(
            f"{WIDTH} dimensions need more words than that, found {len(vocabulary)} of {LEAST} occurrences"
        )
    left, values, _ = randomized_svd(positive_information(rows, len(vocabulary)), WIDTH, random_state=0)
    vectors = left * values**POWER
    with out.open("w", encoding="utf-8") as file:
        file.write(f"{len(vocabulary)} {WIDTH}\n")
        for word, vector in zip(vocabulary, vectors):
            file.write(f"{word} {' '.join(f'{number:.5g}' for number in vector)}\n")
    return f"{len(vocabulary):,} words of {int((rows >= 0).sum()):,} running ones"


FORMS = {".bin": fasttext, ".vec": factorized}


def main() -> None:
    if len(sys.argv) < 3 or Path(sys.argv[1]).suffix not in FORMS:
        raise InputError("usage: word_vectors_of_text.py OUT.bin|OUT.vec TEXT [TEXT ...]")
    out, *paths = sys.argv[1:]
    Path(out).parent.mkdir(parents=True, exist_ok=True)
    print(f"{out}: {FORMS[Path(out).suffix](words_of(paths), Path(out))}")


if __name__ == "__main__":
    run_recipe(main)
