"""Finds strings that resemble one of some others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from st_biomed.errors import InputError

_CHUNK = 1_000_000  # distances computed at once


def near_any(texts: Sequence[str], seen: Sequence[str], distance: float) -> np.ndarray:
    """Whether a text is within a distance of a seen one.

    Args:
        texts: N strings.
        distance: Levenshtein distance divided by the length of the longer of the two, from 0 (equal) to below 1.

    Returns:
        Boolean ``[N]``.

    Raises:
        InputError: A distance out of range, or rapidfuzz is not installed.
    """
    if isinstance(distance, bool) or not isinstance(distance, (int, float)) or not 0 <= distance < 1:
        raise InputError(f"distance must be at least 0 and below 1, found {distance!r}")
    try:
        from rapidfuzz.distance import Levenshtein
        from rapidfuzz.process import cdist
    except ImportError as error:
        raise InputError("edit distances need rapidfuzz: pip install 'st-biomed[linking]'") from error
    is_near = np.zeros(len(texts), dtype=bool)
    rows = max(1, _CHUNK // max(1, len(seen)))
    for start in range(0, len(texts) if seen else 0, rows):
        distances = cdist(
            texts[start : start + rows],
            seen,
            scorer=Levenshtein.normalized_distance,
            score_cutoff=distance,
            dtype=np.float64,
        )
        is_near[start : start + rows] = (distances <= distance).any(axis=1)
    return is_near
