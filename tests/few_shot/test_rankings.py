"""The ranking of training names by hand."""

from __future__ import annotations

import numpy as np
import pytest

from st_biomed.errors import InputError
from st_biomed.few_shot.rankings import first_validation_names, ranking_tables, rows_by_cosine
from st_biomed.few_shot.training_sets import TrainingSet
from st_biomed.training_data.few_shot import few_shot_names

CONCEPTS = {"X:a": ["a1", "a2"], "X:b": ["b1", "b2"]}


def test_nearest_first_before_and_after_in_their_columns():
    """Catches columns that change places, distances for cosines, and names underlined that match."""
    split = few_shot_names(CONCEPTS, 1)
    (of_a, of_b), names = split.train["text"], first_validation_names(split)
    assert [name[0] for name in names] == ["a", "b"] and not {*names} & {of_a, of_b}
    before = {of_a: [0.0, 1], of_b: [9.0, 1], names[0]: [1.0, 0]}
    after = {of_a: [9.0, 1], of_b: [0.0, 1], names[0]: [1.0, 0]}
    embedders = [lambda texts, table=table: np.array([table[text] for text in texts]) for table in (before, after)]
    training_set = TrainingSet("X", CONCEPTS, {"X:a": "Aches", "X:b": "Burns"}, None, "")  # type: ignore[arg-type]
    legend, _, *table = ranking_tables([names[0]], training_set, split, *embedders).splitlines()
    assert legend.endswith("those of another concept than its own are underlined.")
    assert table[0] == f"**{names[0]}** (Aches, X:a)" and table[2] == "| | after | before |"
    assert table[4:] == [f"| 1 | {of_a} | <u>{of_b}</u> |", f"| 2 | <u>{of_b}</u> | {of_a} |"]
    with pytest.raises(InputError, match="rankings: a name must have at least one letter, found ' '"):
        ranking_tables([" "], training_set, split, *embedders)


def test_equal_names_keep_their_order():
    assert rows_by_cosine(np.array([1.0, 0]), np.array([[2.0, 0], [0, 1], [1, 0]])).tolist() == [0, 2, 1]
    direction = np.random.default_rng(0).normal(size=768)
    assert rows_by_cosine(direction, np.tile(direction, (7, 1))).tolist() == list(range(7)), "sums of another order"
