"""A concept is as near as the nearest of its names."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from st_biomed.csr import CSR
from st_biomed.linking.pooling import pool_names


def naive(scores, names, table: CSR, k: int) -> list[tuple[int, int, int, float]]:
    out = []
    for query, row in enumerate(names):
        seen: list[int] = []
        for score, name in zip(scores[query], row):
            for concept in table.row(name).tolist() if name >= 0 else []:
                if concept not in seen and len(seen) < k:
                    seen.append(concept)
                    out.append((query, concept, int(name), float(score)))
    return out


@given(st.data())
def test_pooling_is_that_of_a_loop(data: st.DataObject) -> None:
    """Catches a concept that is counted twice, one cut off behind k names, and a query without names."""
    n_names, n_concepts, n_queries, depth = (data.draw(st.integers(1, 6)) for _ in range(4))
    rng = np.random.default_rng(data.draw(st.integers(0, 999)))
    pairs = rng.integers(0, (n_names, n_concepts), (8, 2))
    table = CSR.from_pairs(pairs[:, 0], pairs[:, 1], n_names)
    names = rng.integers(-1, n_names, (n_queries, depth))
    scores = -np.sort(-rng.random((n_queries, depth)).astype(np.float32), axis=1)
    k = data.draw(st.integers(1, 4))
    pooled = pool_names(scores, names, table, k)
    found = list(zip(*(column.tolist() for column in (pooled.query, pooled.concept, pooled.name, pooled.score))))
    assert found == naive(scores, names, table, k)
