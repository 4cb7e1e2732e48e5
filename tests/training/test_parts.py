"""What a part of a training brings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from sentence_transformers import SentenceTransformer

from st_biomed.readers import SourceInfo, Term
from st_biomed.samplers.synonyms import SynonymBatches
from st_biomed.terminology import Terminology
from st_biomed.training.parts import MixedPartArguments

TERMINOLOGY = Terminology.from_records(
    [
        Term(f"S:{c}", f"{word} {c}", "synonym" if i else "preferred", language)
        for c in range(6)
        for i, (word, language) in enumerate((("flumpa", "en"), ("terkia", "it"), ("mimpa", "es")))
    ],
    SourceInfo("S", "S"),
)


def test_a_pivot_language_reaches_the_synonyms(tiny_bert: SentenceTransformer, tmp_path: Path):
    """Catches an argument that is asked for and not used: Italian names would be paired with Spanish ones."""
    every = MixedPartArguments(max_length=16)
    pairs = {
        pivot: replace(every, pivot_language=pivot).part("synonyms", tiny_bert, TERMINOLOGY, tmp_path / str(pivot), 0)
        for pivot in (None, "en")
    }
    assert {
        pivot: part.batches.pivot_language for pivot, part in pairs.items() if isinstance(part.batches, SynonymBatches)
    } == {
        None: None,
        "en": "en",
    }
