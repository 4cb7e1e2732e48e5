"""A few names of every high-level concept for training, and as many others for validation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from datasets import Dataset, Features, Value

from st_biomed.errors import InputError, check_instance, check_integer, check_name
from st_biomed.records import Tally
from st_biomed.terminology import Terminology
from st_biomed.training_data.high_level_concepts import top_concepts

AMBIGUOUS = ("error", "drop")


class FewShotSplit(NamedTuple):
    """Training and validation names of the same concepts.

    Attributes:
        train, validation: Columns ``text`` and ``label`` (int64: the concept's number), ``shots`` rows of every concept.
        codes: The concept of each label.
        tally: Counts of the available, drawn (kept) and remaining names.
    """

    train: Dataset
    validation: Dataset
    codes: tuple[str, ...]
    tally: Tally


def few_shot_names(
    concepts: Mapping[str, Sequence[str]] | Terminology, shots: int, seed: int = 0, *, ambiguous: str = "error"
) -> FewShotSplit:
    """Draw names of every concept without replacement: ``shots`` for training, then ``shots`` others for validation.

    "We randomly sample a small fixed amount of names from each concept in our training data as actual few-shot training
    names. We then randomly sample the same amount of names as validation data" (Fivez et al. 2021, section 3.2). No
    two drawn names are equal, ignoring case and surrounding spaces. With the same seed and names, the training names
    of fewer shots are among those of more.

    Args:
        concepts: Names of each concept, in the order of the labels, as
            :func:`~st_biomed.training_data.high_level_concepts.child_concepts` returns them; for a terminology, its
            :func:`~st_biomed.training_data.high_level_concepts.top_concepts` are used.
        shots: Number of names per concept in each of the two datasets, at least 1; 15 in the paper.
        ambiguous: Handling of a name under two concepts: ``"error"``, or ``"drop"`` to remove it from all of them.

    Raises:
        InputError: Concepts that are no mapping, fewer than two concepts, a concept without names or with fewer than ``2 * shots``, a name that is
            empty or under two concepts, or an argument out of range.
    """
    for name, value, least in (("shots", shots, 1), ("seed", seed, 0)):
        check_integer(name, value, least)
    check_name("ambiguous", ambiguous, AMBIGUOUS)
    if isinstance(concepts, Terminology):
        concepts = top_concepts(concepts)
    check_instance("concepts", concepts, Mapping)
    if len(concepts) < 2:
        raise InputError(f"concepts must be at least two, found {len(concepts)}")
    tally = Tally()
    pools = distinct_names(concepts, ambiguous, tally)
    drawn = [_draw(code, pool, shots, seed, label) for label, (code, pool) in enumerate(pools.items())]
    kept = 2 * shots * len(drawn)
    tally.keep(kept)
    tally.drop("names that were not drawn", sum(map(len, pools.values())) - kept)
    return FewShotSplit(
        _dataset([names[:shots] for names in drawn]),
        _dataset([names[shots:] for names in drawn]),
        tuple(pools),
        tally,
    )


def distinct_names(
    concepts: Mapping[str, Sequence[str]], ambiguous: str, tally: Tally | None = None
) -> dict[str, list[str]]:
    """The names of each concept that may be drawn, sorted, equal ones once.

    Args:
        concepts, ambiguous: As of :func:`few_shot_names`.
        tally: Counts what is left out.

    Raises:
        InputError: A concept without names, or a name that is empty or under two concepts.
    """
    tally = Tally() if tally is None else tally
    pools: dict[str, dict[str, str]] = {}
    owner: dict[str, str] = {}
    shared: set[str] = set()
    for code, names in concepts.items():
        if isinstance(names, str) or not all(isinstance(name, str) and name.strip() for name in names):
            raise InputError(f"concept {code!r}: names must be a sequence of strings that are not empty")
        if not names:
            raise InputError(f"concept {code!r} has no names: leave it out")
        tally.read(len(names))
        pools[code] = {name.strip().lower(): name.strip() for name in sorted(names, reverse=True)}
        tally.drop("names that their concept has already", len(names) - len(pools[code]))
        for lowered, name in pools[code].items():
            if owner.setdefault(lowered, code) != code:
                shared.add(lowered)
                if ambiguous == "error":
                    raise InputError(
                        f"name {name!r} is under two concepts, {owner[lowered]!r} and {code!r}: keep it under one, or set "
                        "ambiguous='drop' (--ambiguous drop)"
                    )
    for code, pool in pools.items():
        removed = pool.keys() & shared
        tally.drop("names under several concepts", len(removed))
        pools[code] = {lowered: name for lowered, name in pool.items() if lowered not in removed}
    return {code: sorted(pool.values()) for code, pool in pools.items()}


def _draw(code: str, pool: list[str], shots: int, seed: int, label: int) -> list[str]:
    """Names to train on, then names to validate on."""
    if len(pool) < 2 * shots:
        remedy = f"take at most {len(pool) // 2} shots" if len(pool) > 1 else "give it more names"
        raise InputError(
            f"concept {code!r} has {len(pool)} unambiguous names, {shots} shots need {2 * shots} ({shots} to train, "
            f"{shots} to validate): {remedy}, or leave the concept out"
        )
    order = np.random.default_rng([seed, label]).permutation(len(pool))
    places = np.concatenate([order[:shots], order[len(order) - shots :]])
    return [pool[place] for place in places]


def _dataset(names: list[list[str]]) -> Dataset:
    rows = {
        "text": [name for of_concept in names for name in of_concept],
        "label": [label for label, of_concept in enumerate(names) for _ in of_concept],
    }
    return Dataset.from_dict(rows, features=Features({"text": Value("string"), "label": Value("int64")}))
