"""evaluation/infomax.py: deep graph infomax over the vectors of a frozen encoder."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import pytest

from evaluation.infomax import Cell, main, trained
from st_biomed.terminology import Terminology
from st_biomed.training.teacher import TeacherVectors


@pytest.fixture(scope="module")
def toy() -> Terminology:
    return Terminology.read("toy")


@pytest.mark.long
def test_a_step_without_learning_has_the_loss_of_guessing(toy: Terminology, tiny_bert):
    """Catches parts that keep their weights, and weights that change at a rate of 0."""
    teacher = TeacherVectors(tiny_bert, toy.strings)
    none = [trained(toy, teacher, Cell("published_sage", "original", 0.1, 0.0, steps), 0, 16) for steps in (1, 3)]
    assert none[0] == none[1]
    assert none[0]["dgi"] == pytest.approx(2 * math.log(2), abs=0.15)


@pytest.mark.long
def test_learning_lowers_the_losses_of_the_graph(toy: Terminology, tiny_bert):
    """Catches an optimizer that does not get the graph encoder."""
    teacher = TeacherVectors(tiny_bert, toy.strings)
    before, after = (trained(toy, teacher, Cell("gat", "original", 1, rate, 40), 0, 16)["node"] for rate in (0, 0.01))
    assert after < 0.8 * before


@pytest.mark.long
def test_the_table_has_a_row_for_each_cell(tiny_bert_folder: Path, tmp_path: Path, monkeypatch):
    given = ["infomax.py", "toy", "--model", str(tiny_bert_folder), "--batch", "16", "--seeds", "0", "1"]
    given += ["--steps", "1", "2", "--rates", "1e-3", "1e-2", "-o", str(tmp_path / "new" / "infomax.md")]
    monkeypatch.setattr(sys, "argv", given)
    main()
    rows = (tmp_path / "new" / "infomax.md").read_text("utf-8").splitlines()[2:]
    cells = [[cell.strip() for cell in row.strip("|").split("|")][:5] for row in rows]
    assert cells == [
        ["published_gat", neighbors, "0.1", rate, steps]
        for rate in ("0.001", "0.01")
        for steps in ("1", "2")
        for neighbors in ("original", "shuffled")
    ]
