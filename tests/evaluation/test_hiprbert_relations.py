"""HiPrBERT's test of relations: what is measured and what is trained on, and the control."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from evaluation import hiprbert_relations
from evaluation.hiprbert_relations import shuffled
from st_biomed.evaluators.benchmark import read_benchmark_settings
from st_biomed.evaluators.relation.file import RANDOM, read_pairs
from st_biomed.evaluators.relation.settings import RelationSettings
from st_biomed.records import Relation, SourceInfo, Term
from st_biomed.terminology import Terminology

SOURCE = SourceInfo("X", "X")


def related(n: int) -> Terminology:
    """Concepts that are each related to ten others, by one of two relations."""
    names = [Term(f"X:{i}", f"zorb {i}") for i in range(n)]
    pairs = [(i, (i + step) % n) for i in range(n) for step in range(1, 11)]
    relations = [Relation(f"X:{head}", "treats" if head % 2 else "causes", f"X:{tail}") for head, tail in pairs]
    return Terminology.from_records([*names, *relations], SOURCE)


def rows(terminology: Terminology) -> list[tuple[str, str, str]]:
    table, codes = terminology.relations, terminology.codes
    return [
        (codes[row["head"]], row["relation"], codes[row["tail"]])
        for row in table.select(["head", "relation", "tail"]).to_pylist()
    ]


def test_each_relation_keeps_its_heads_and_tails_and_loses_its_pairs():
    """Catches a control with other concepts, another relation, or the true pairs."""
    true = related(200)
    control = shuffled(true, 0)
    before, after = rows(true), rows(control)
    assert control.strings == true.strings and len(after) > 0.9 * len(before)
    assert len(set(before) & set(after)) < 0.1 * len(before)
    for place in (0, 2):
        ends, others = (Counter((row[1], row[place]) for row in each) for each in (before, after))
        assert not others - ends, "no concept has more relations than before"
    assert rows(shuffled(true, 0)) == after != rows(shuffled(true, 1))


def test_no_measured_concept_has_a_trained_relation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Catches pairs that are measured and trained on, and a control of another size."""
    related(300).save(tmp_path / "whole")
    monkeypatch.setattr("sys.argv", ["x", str(tmp_path / "whole"), str(tmp_path / "parts")])
    hiprbert_relations.main()
    train, control = (Terminology.load(tmp_path / "parts" / name) for name in ("train", "shuffled"))
    settings = read_benchmark_settings(tmp_path / "parts/relations.yaml", RelationSettings)
    pairs = read_pairs(settings.pairs)
    measured = {name for kind in pairs.values() for pair in kind for name in pair}
    of_code = dict(zip(train.codes, (train.concept_names(code)[0] for code in train.codes)))
    for terminology in (train, control):
        trained = {of_code[code] for head, _, tail in rows(terminology) for code in (head, tail)}
        assert measured.isdisjoint(trained) and terminology.strings == related(300).strings
    assert set(pairs) == {"treats", "causes", RANDOM} and min(map(len, pairs.values())) >= 50
    held_out = 300 - len({code for head, _, tail in rows(train) for code in (head, tail)})
    assert abs(held_out - 90) < 4 * np.sqrt(300 * 0.3 * 0.7)
