"""The spaCy component against the bare index: the same mentions, in documents and in one list.

About ten thousand names of ICD-10-CM are encoded first (extra ``quickstart``)::

    OMP_NUM_THREADS=1 python -m benchmarks spacy_linking
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import spacy
from spacy.tokens import Doc, Span

import st_biomed.linking.spacy_pipe  # noqa: F401  # registers the component
from benchmarks.harness import Table, Timing, interleaved
from st_biomed.encoder import PACKAGED
from st_biomed.linking import ConceptIndex, EncodingOptions
from st_biomed.linking_data.records import LinkingDictionary
from st_biomed.terminology import Terminology

MENTIONS_OF_A_DOCUMENT = 4
BETWEEN = ["and", "the", "patient", "was", "also", "seen", "for"]
"""Words between two mentions."""


def main(quick: bool = False) -> Table:
    """Both ways over documents of four entities, and the way from raw text."""
    n_names, n_mentions, repeats = (500, 80, 1) if quick else (10_000, 1_600, 5)
    strings = Terminology.read("icd10cm").strings
    order = np.random.default_rng(0).permutation(len(strings))
    names = [strings[i] for i in order[:n_names]]
    mentions = [strings[i] for i in order[n_names : n_names + n_mentions]]
    with tempfile.TemporaryDirectory() as folder:
        dictionary = LinkingDictionary.from_entries([(name, [f"D:{i}"]) for i, name in enumerate(names)])
        encoding = EncodingOptions(device="cpu", show_progress=False)
        index = ConceptIndex.build(dictionary, PACKAGED, Path(folder, "index"), kind="exact", encoding=encoding)
        found = ways(index, mentions)
        times = interleaved({name: way.run for name, way in found.items()}, repeats)
    rows = [
        [name, f"{way.n_mentions:,}", f"{way.n_mentions / times[name].median:,.0f}", against(times, name, way)]
        for name, way in found.items()
    ]
    return Table(
        "The spaCy component",
        ["way", "mentions", "a second", "time, against the bare index"],
        rows,
        notes=[
            f"Documents of {MENTIONS_OF_A_DOCUMENT} mentions, {n_names:,} names of ICD-10-CM in an exact index, "
            "all-MiniLM-L6-v2, k = 5. Entities: other names of ICD-10-CM are entities of the documents, and the component "
            "alone runs. Raw text: the tokenizer runs, and the component finds the mentions, names of the index. The bare index "
            "has the same mentions in one list. Goal: at most 15 % more than the bare index for entities.",
            f"The ways took turns, and the last column is the median over {repeats} "
            "rounds of the quotient in each round.",
        ],
        peers=["sentence-transformers", "spacy"],
    )


class Way(NamedTuple):
    """A way to link mentions.

    Attributes:
        run: Links all of them.
        n_mentions: Their number.
        bare: The way that has the same mentions in one list; empty for that way itself.
    """

    run: Callable[[], object]
    n_mentions: int
    bare: str = ""


def against(times: dict[str, Timing], name: str, way: Way) -> str:
    """How much longer a way takes than the bare index."""
    return f"{(1 / times[name].times_faster_than(times[way.bare]) - 1) * 100:+.1f} %" if way.bare else ""


def ways(index: ConceptIndex, mentions: list[str]) -> dict[str, Way]:
    """The ways by name.

    Raises:
        AssertionError: The component gives other concepts than the index.
    """
    settings = {"index": str(index.folder), "device": "cpu"}
    nlp, finding = spacy.blank("en"), spacy.blank("en")
    nlp.add_pipe("st_biomed_linker", config=settings)
    finding.add_pipe("st_biomed_linker", config={**settings, "find_names": True})
    names = index.catalog.texts(slice(0, len(mentions)))
    groups = [
        slice(start, start + MENTIONS_OF_A_DOCUMENT) for start in range(0, len(mentions), MENTIONS_OF_A_DOCUMENT)
    ]
    docs = [document(nlp, mentions[group]) for group in groups]
    texts = [f" {' '.join(BETWEEN)} ".join(names[group]) for group in groups]
    made = {}
    for what, pipe, inputs in (("entities", nlp, docs), ("raw text", finding, texts)):
        entities = [entity for doc in pipe.pipe(inputs) for entity in doc.ents]
        listed = [entity.text for entity in entities]
        best = [matches[0].concept for matches in index.search(listed)]
        if [entity._.concepts[0].concept for entity in entities] != best:
            raise AssertionError("the component gives other concepts than the index")
        bare = f"bare index, {what}"
        made[bare] = Way(partial(index.search, listed), len(listed))
        made[f"spaCy, {what}"] = Way(partial(linked, pipe, inputs), len(listed), bare)
    return made


def linked(nlp: spacy.Language, inputs: list[Any]) -> None:
    """Run a pipeline over documents or texts."""
    for _ in nlp.pipe(inputs):
        pass


def document(nlp: spacy.Language, mentions: list[str]) -> Doc:
    """A document with these entities, and words between them."""
    words: list[str] = []
    places = []
    for mention in mentions:
        tokens = mention.split()
        places.append((len(words), len(words) + len(tokens)))
        words += [*tokens, *BETWEEN]
    doc = Doc(nlp.vocab, words=words)
    doc.ents = [Span(doc, start, end, "DISEASE") for start, end in places]
    return doc
