"""What a part of a training brings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from sentence_transformers import SentenceTransformer

from st_biomed.records import SourceInfo, Term
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
        for pivot in (None, "", "en")
    }
    assert {
        pivot: part.batches.pivot_language for pivot, part in pairs.items() if isinstance(part.batches, SynonymBatches)
    } == {
        None: None,
        "": None,
        "en": "en",
    }


@pytest.mark.parametrize("mini_batch_size", [None, 2])
def test_a_temperature_contrasts_all_synonyms(tiny_bert: SentenceTransformer, tmp_path: Path, mini_batch_size):
    """Catches a temperature that is not used, a miner that stays, and names of one concept that are negatives."""
    given = MixedPartArguments(max_length=16, synonym_temperature=0.2, mini_batch_size=mini_batch_size)
    loss = given.part("synonyms", tiny_bert, TERMINOLOGY, tmp_path, 0).loss
    texts = [f"{word} {c}" for c in (0, 1) for word in ("flumpa", "terkia", "mimpa")]
    labels = torch.tensor([TERMINOLOGY.strings.index(text) for text in texts])
    features = dict(tiny_bert.tokenize(texts))
    with torch.no_grad():
        unit = torch.nn.functional.normalize(tiny_bert.eval()(features)["sentence_embedding"], dim=1)
        logits = (unit @ unit.T / 0.2).exp()
        concept = torch.tensor([i // 3 for i in range(6)])
        other = (logits * (concept[:, None] != concept)).sum(1)
        terms = [
            [
                -(logits[i, j] / (logits[i, j] + other[i])).log()
                for j in range(6)
                if j != i and concept[i] == concept[j]
            ]
            for i in range(6)
        ]
        expected = torch.stack([torch.stack(of_text).mean() for of_text in terms]).mean()
        assert loss([features], labels).item() == pytest.approx(expected.item(), rel=1e-5)


@pytest.mark.parametrize(("preset", "mode"), [("sapbert", "all"), ("hiprbert", "all"), ("sapbert", "hard")])
def test_mine_reaches_the_losses_and_changes_nothing_else(
    tiny_bert: SentenceTransformer, tmp_path: Path, preset, mode
):
    """Catches an argument that is not used, and one that resets the margin, the distance or the mode of a preset."""
    plain = MixedPartArguments(max_length=16, synonym_preset=preset, relation_preset=preset)
    asked = replace(plain, mine="negatives", mining=None if mode == "all" else mode)
    for name, data in (("synonyms", TERMINOLOGY), ("relations", Terminology.read("toy"))):
        before, after = (a.part(name, tiny_bert, data, tmp_path, 0).loss.miner for a in (plain, asked))
        assert after == replace(before, mine="negatives", mode=mode)
    vectors = torch.tensor([[1.0, 0.0], [1.0, 0.0], [-1.0, 0.0]])
    same = torch.tensor([[0, 1, 0], [1, 0, 0], [0, 0, 0]]).bool()
    positives, negatives = after(vectors, vectors @ vectors.T, same, ~(same | torch.eye(3).bool()))
    assert positives.equal(same) and not negatives.any()  # the negatives are far: every positive stays, none of them
