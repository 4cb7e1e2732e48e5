"""Drugs with diseases that they treat, and with others."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest

from evaluation import drug_indications
from st_biomed.evaluators.benchmark import read_benchmark_settings
from st_biomed.evaluators.relation.settings import RelationSettings


def test_benchmark_has_the_listed_pairs_and_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """Would catch a listed pair among the others, a repeated pair, and other pairs in another run."""
    written = []
    for folder in (tmp_path / "one", tmp_path / "two"):
        monkeypatch.setattr(sys, "argv", ["drug_indications.py", str(folder)])
        drug_indications.main()
        written.append((folder / "pairs.txt").read_text().splitlines())
    assert written[0] == written[1]
    pairs = [line.split("||") for line in written[0]]
    treated = [(drug, disease) for drug, disease, relation in pairs if relation == "treats"]
    others = [(drug, disease) for drug, disease, relation in pairs if relation == "random"]
    assert len(treated) == len(set(treated)) == 225
    assert len(others) == len(set(others)) and not set(others) & set(treated)
    assert set(Counter(drug for drug, _ in others).values()) == {20}
    assert "225 pairs, and 4,500 of the same drugs" in capsys.readouterr().out
    settings = read_benchmark_settings(tmp_path / "one" / "drug_indications.yaml", RelationSettings)
    [evaluator] = settings.evaluators()
    assert evaluator.name == "drug_indications"


def test_a_drug_of_two_diseases_has_others_of_neither():
    """Would catch that only the disease of the same line is left out."""
    treated = [("dax", "flu"), ("dax", "wug"), ("blick", "gorp"), ("zib", "nerp")]
    assert set(drug_indications.others(treated, n=2)) >= {("dax", "gorp"), ("dax", "nerp")}
    with pytest.raises(ValueError, match="larger than population"):
        drug_indications.others(treated, n=3)
