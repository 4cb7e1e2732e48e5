"""Word vectors of open text, for where fastText's of MEDLINE cannot be had: PPMI of words in a window, and its SVD.

python evaluation/word_vectors_of_text.py out/text.vec text_en/e3c_en_layer3.jsonl.gz ontologies/hp.v2024-04-26.json.gz

Texts are documents (any form that `st-biomed mentions` reads) and the definitions of OBO graphs (.json). Words are split as
names are split for word vectors. Window 5, words with 3 occurrences or more, positive pointwise mutual information with
contexts smoothed by the power .75, 300 dimensions, singular values to the power .5: what Levy, Goldberg and Dagan 2015
(Improving distributional similarity with lessons learned from word embeddings) find as good as skip-grams on texts of this
size. Unlike fastText, whose 300 dimensions it has, it knows no parts of words.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from scipy.sparse import coo_array, csr_array
from sklearn.utils.extmath import randomized_svd

from st_biomed.corpus.raw_text import documents
from st_biomed.errors import InputError
from st_biomed.modules.name_tokens import name_tokenizer, shown, tokens_of
from st_biomed.settings.recipe import run_recipe

WINDOW, LEAST, SMOOTHING, WIDTH, POWER = 5, 3, 0.75, 300, 0.5


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


def counted(paths: Iterable[str]) -> tuple[list[str], np.ndarray]:
    """The vocabulary, most frequent first, and all texts as rows of it; -1 between texts and for rare words."""
    tokenizer = name_tokenizer({})
    split = [[shown(token) for token in tokens_of(tokenizer, text)] for path in paths for text in texts(path)]
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


def main() -> None:
    if len(sys.argv) < 3:
        raise InputError("usage: word_vectors_of_text.py OUT.vec TEXT [TEXT ...]")
    out, *paths = sys.argv[1:]
    vocabulary, rows = counted(paths)
    if len(vocabulary) <= WIDTH:
        raise InputError(
            f"{WIDTH} dimensions need more words than that, found {len(vocabulary)} of {LEAST} occurrences"
        )
    left, values, _ = randomized_svd(positive_information(rows, len(vocabulary)), WIDTH, random_state=0)
    vectors = left * values**POWER
    Path(out).parent.mkdir(parents=True, exist_ok=True)
    with Path(out).open("w", encoding="utf-8") as file:
        file.write(f"{len(vocabulary)} {WIDTH}\n")
        for word, vector in zip(vocabulary, vectors):
            file.write(f"{word} {' '.join(f'{number:.5g}' for number in vector)}\n")
    print(f"{out}: {len(vocabulary):,} words of {int((rows >= 0).sum()):,} running ones")


if __name__ == "__main__":
    run_recipe(main)
