"""Relations that are measured, taken out of training."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from st_biomed.errors import InputError, check_integer, check_several
from st_biomed.terminology import Terminology

_STAGE = "held-out relations"  # of the tallies


def without_relations(terminology: Terminology, sources: Collection[str]) -> Terminology:
    """The terminology without the relations of some sources; concepts, names and parents stay.

    A pair of concepts that such a source relates is held out in both directions, and of every source that relates it.

    Args:
        sources: Sources whose relations are held out; those without relations change nothing.

    Raises:
        InputError: One string in place of sources.
    """
    check_several("sources", sources)
    relations = terminology.relations
    heads, tails = (relations[name].to_numpy().astype(np.int64) for name in ("head", "tail"))
    pairs = np.minimum(heads, tails) * terminology.n_concepts + np.maximum(heads, tails)
    measured = pc.is_in(relations["source"], value_set=pa.array(sorted(sources), pa.string())).to_numpy()
    measured_pairs = np.isin(pairs, pairs[measured])
    return terminology.without_rows("relations", measured_pairs, "relations of pairs that are measured", _STAGE)


def without_relations_of(terminology: Terminology, codes: Collection[str]) -> Terminology:
    """The terminology without the relations of some concepts; concepts, names and parents stay.

    Args:
        codes: Codes of the held-out concepts, also those that a merge replaced: a relation with any of them is held
            out. Unknown codes are ignored.

    Raises:
        InputError: One string in place of codes.
    """
    check_several("codes", codes)
    wanted = pa.array(terminology.present_codes(codes), pa.string())
    held_out = pc.is_in(terminology.concepts["code"], value_set=wanted).to_numpy()
    ends = (held_out[terminology.relations[name].to_numpy()] for name in ("head", "tail"))
    return terminology.without_rows("relations", np.logical_or(*ends), "relations of held-out concepts", _STAGE)


def draw_related(terminology: Terminology, n: int, seed: int = 0) -> list[str]:
    """Codes of the concepts of ``n`` random relations, for :func:`without_relations_of`.

    Raises:
        InputError: ``n`` or ``seed`` is not an integer of at least 0, or every relation has one of these concepts, so none is left for training.
    """
    check_integer("n", n, 0)
    check_integer("seed", seed, 0)
    relations = terminology.relations
    if n >= relations.num_rows:
        raise InputError(f"{n:,} relations cannot be held out: the training terminology has {relations.num_rows:,}")
    rows = np.random.default_rng(seed).choice(relations.num_rows, n, replace=False)
    ends = np.stack([relations[end].to_numpy() for end in ("head", "tail")])
    concepts = np.unique(ends[:, rows])
    if np.isin(ends, concepts).any(axis=0).all():
        raise InputError(f"{n:,} relations cannot be held out: all {relations.num_rows:,} have one of their concepts")
    return terminology.concepts["code"].take(pa.array(concepts)).to_pylist()
