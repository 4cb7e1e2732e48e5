"""The controls of the open encoder."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from evaluation.open_encoder_controls import shuffled, without_top
from st_biomed.terminology import Terminology
from st_biomed.training.all_but_the_top import AllButTheTop


def test_a_shuffled_terminology_has_the_same_strings_and_structure_and_other_meanings():
    terminology = Terminology.read("toy", definitions=True)
    control = shuffled(terminology, 0)
    assert control.strings == terminology.strings
    assert control.parents.equals(terminology.parents) and control.relations.equals(terminology.relations)
    assert names_per_concept(control) == names_per_concept(terminology)
    assert sorted(control.definitions["text"].to_pylist()) == sorted(terminology.definitions["text"].to_pylist())
    for table, most in (("terms", 0.05), ("definitions", 0.2)):
        kept = pairs(control, table) & pairs(terminology, table)
        assert len(kept) < most * len(pairs(terminology, table))
    assert shuffled(terminology, 0).digest == control.digest != shuffled(terminology, 1).digest


def names_per_concept(terminology: Terminology) -> Counter[int]:
    return Counter(terminology.terms["concept"].to_pylist())


def pairs(terminology: Terminology, table: str) -> set[tuple]:
    columns = terminology.tables[table]
    return set(zip(columns["concept"].to_pylist(), columns["text"].to_pylist()))


@pytest.mark.parametrize("removed", [0, 1, 3])
def test_the_untrained_control_is_a_plain_model_with_the_cosines_of_the_map(
    tiny_bert: SentenceTransformer, removed: int, tmp_path: Path
):
    names = [f"{kind} {organ}" for kind in ("acute", "chronic", "viral") for organ in ("heart", "liver", "lung")]
    vectors = tiny_bert.encode(names, normalize_embeddings=True)
    fitted = AllButTheTop.fit(vectors, removed)
    expected = fitted(vectors)
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    without_top(tiny_bert, fitted).save_pretrained(str(tmp_path))
    found = SentenceTransformer(str(tmp_path), device="cpu").encode(names)
    np.testing.assert_allclose(found, expected, atol=1e-5)
