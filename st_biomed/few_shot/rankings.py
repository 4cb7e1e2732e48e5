"""The training names nearest to a name, before and after training: the paper's Table 4."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from st_biomed.errors import InputError
from st_biomed.evaluators.embedders import Embed
from st_biomed.few_shot.training_sets import TrainingSet
from st_biomed.metrics.cosine import unit_rows
from st_biomed.training_data.few_shot import FewShotSplit

TOP = 10
""""Top 10 ranking" (Fivez et al. 2021, Table 4)."""

LEGEND = "The training names nearest to each name; those of another concept than its own are underlined."


def ranking_tables(
    names: Sequence[str], training_set: TrainingSet, split: FewShotSplit, before: Embed, after: Embed
) -> str:
    """A table in Markdown for each name: the training names nearest to it before and after training.

    "Non-matching names are underlined": those of another concept than the name's, if the training set has the name.

    Args:
        names: Any names; empty names are rejected.
        split: The training names, which are ranked, and the validation names.

    Raises:
        InputError: An empty name.
    """
    if blank := [name for name in names if not name.strip()]:
        raise InputError(f"rankings: a name must have at least one letter, found {blank[0]!r}")
    texts = list(split.train["text"])
    labels = np.array(split.train["label"])
    tables = []
    for name in names:
        concept = training_set.concept_of(name)
        label = split.codes.index(concept) if concept in split.codes else None
        columns = []
        for embed in (after, before):
            nearest = rows_by_cosine(embed([name])[0], embed(texts))[:TOP]
            columns.append([_cell(texts[row], label is None or labels[row] == label) for row in nearest])
        title = "of no concept of the set" if concept is None else f"{training_set.titles[concept]}, {concept}"
        lines = ["| | after | before |", "|--:|:--|:--|"]
        lines += [
            f"| {i} | {name_after} | {name_before} |" for i, (name_after, name_before) in enumerate(zip(*columns), 1)
        ]
        tables.append("\n".join([f"**{name}** ({title})", "", *lines]))
    return "\n\n".join([LEGEND, *tables])


def rows_by_cosine(vector: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """The rows of a matrix ``[N, D]`` by their cosine with a vector ``[D]``, nearest first; ties keep their order."""
    cosines = unit_rows(matrix) @ unit_rows(vector[None])[0]
    return np.argsort(-cosines.astype(np.float32), kind="stable")  # float64 would break ties by the order of summation


def first_validation_names(split: FewShotSplit) -> list[str]:
    """A validation name of each of the first three concepts."""
    labels = list(split.validation["label"])
    return [split.validation["text"][labels.index(label)] for label in range(min(3, len(split.codes)))]


def _cell(name: str, matches: bool) -> str:
    name = name.replace("|", "\\|")
    return name if matches else f"<u>{name}</u>"
