"""Where the names of a few concepts lie before and after training (SapBERT, figures 1 and 3)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.manifold import TSNE

from st_biomed.errors import InputError
from st_biomed.evaluators.embedders import Embed
from st_biomed.metrics.cosine import unit_rows
from st_biomed.plots.canvas import panels
from st_biomed.terminology import Terminology


class ConceptNames(NamedTuple):
    """Names to be drawn.

    Attributes:
        concepts: Concept indices, ``[K]``.
        texts: Text ids, ``[N]``.
        of: Place of each name's concept in ``concepts``, ``[N]``.
    """

    concepts: np.ndarray
    texts: np.ndarray
    of: np.ndarray


def draw_names(
    terminology: Terminology, *, n_concepts: int = 30, names_per_concept: int = 10, seed: int = 0
) -> ConceptNames:
    """Concepts with enough names and so many names of each, at random; ambiguous names are left out.

    Args:
        n_concepts: K.

    Raises:
        InputError: A number below 2, or too few concepts with so many names.
    """
    if n_concepts < 2 or names_per_concept < 2:
        raise InputError(
            f"a concept map needs 2 concepts and 2 names or more, found {n_concepts} and {names_per_concept}"
        )
    rng = np.random.default_rng(seed)
    alone = terminology.text_concepts.counts == 1
    names = terminology.concept_texts
    rows = np.repeat(np.arange(names.n_rows), names.counts)
    counts = np.bincount(rows[alone[names.indices]], minlength=names.n_rows)
    enough = np.flatnonzero(counts >= names_per_concept)
    if len(enough) < n_concepts:
        raise InputError(
            f"only {len(enough)} concepts have {names_per_concept} names of their own, {n_concepts} are needed"
        )
    concepts = np.sort(rng.choice(enough, n_concepts, replace=False))
    texts = [
        np.sort(rng.choice(row[alone[row]], names_per_concept, replace=False)) for row in map(names.row, concepts)
    ]
    return ConceptNames(concepts, np.concatenate(texts), np.repeat(np.arange(n_concepts), names_per_concept))


def lay_out(vectors: np.ndarray, *, seed: int = 0) -> np.ndarray:
    """t-SNE of unit vectors, ``[N, D]`` to ``[N, 2]`` (van der Maaten and Hinton 2008).

    Raises:
        InputError: Vectors of one dimension, that are not finite, or all in one direction.
    """
    vectors = np.asarray(vectors)
    if vectors.ndim != 2 or vectors.shape[1] < 2 or not np.isfinite(vectors).all():
        raise InputError(f"vectors: expected finite numbers [N, D] with D from 2, found shape {list(vectors.shape)}")
    if len(np.unique(unit_rows(vectors).astype(np.float32), axis=0)) < 2:  # the library would crash
        raise InputError(f"vectors: all {len(vectors)} have one direction, expected two or more")
    perplexity = min(15.0, (len(vectors) - 1) / 3)
    return TSNE(2, perplexity=perplexity, init="pca", random_state=seed).fit_transform(unit_rows(vectors))


def concept_map(
    path: str | Path, terminology: Terminology, models: Mapping[str, Embed], names: ConceptNames, *, seed: int = 0
) -> Path:
    """Draw the names of each concept in a color and a mark, one panel for each model; both repeat after 100 concepts.

    Args:
        path: The PNG or SVG file.
        terminology: Where the names come from.
        models: Title of the panel to the way to embed.
        names: What is drawn, see :func:`draw_names`.

    Raises:
        InputError: No model, or vectors that :func:`lay_out` refuses.
    """
    if not models:
        raise InputError("models: expected one or more, found none")
    from matplotlib import colormaps

    strings = [terminology.strings[text] for text in names.texts]
    marks, colors = "osD^vP*X<>", [colormaps["tab10"](i) for i in range(10)]
    with panels(path, list(models)) as axes:
        for axis, embed in zip(axes, models.values()):
            place = lay_out(np.asarray(embed(strings), dtype=np.float32), seed=seed)
            for i in range(len(names.concepts)):
                own = place[names.of == i]
                mark, color = marks[i // len(colors) % len(marks)], colors[i % len(colors)]
                axis.scatter(own[:, 0], own[:, 1], s=14, marker=mark, color=color)
            axis.set(xticks=[], yticks=[])
    return Path(path)
