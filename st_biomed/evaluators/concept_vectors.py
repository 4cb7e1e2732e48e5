"""Benchmarks of names measured on vectors of concepts: the similarity columns of the Italian paper's Table 2."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

import pyarrow as pa

from st_biomed.errors import InputError
from st_biomed.evaluators.base import EmbeddingEvaluator, EvaluatorOptions
from st_biomed.evaluators.benchmark import Benchmark
from st_biomed.evaluators.embedders import table_embedder
from st_biomed.evaluators.mcsm.evaluator import MCSMEvaluator
from st_biomed.evaluators.mcsm.settings import MCSMSettings
from st_biomed.evaluators.relatedness.evaluator import RelatednessEvaluator
from st_biomed.evaluators.relatedness.settings import RelatednessSettings
from st_biomed.readers._normalizers import normalize

if TYPE_CHECKING:
    from st_biomed.kge.table import KGETable
    from st_biomed.terminology import Terminology


def graph_evaluator(
    benchmark: Benchmark, table: KGETable, terminology: Terminology, **options: Unpack[EvaluatorOptions]
) -> EmbeddingEvaluator:
    """A benchmark over the codes that have a vector.

    MCSM is measured among its concepts with a vector. In a relatedness benchmark, each term is replaced by a concept
    with a vector that has this name in the terminology, regardless of case (the first by code if there are several).
    Pairs without such concepts count as missing.

    Args:
        benchmark: A benchmark of MCSM or of relatedness.
        terminology: The terminology with the names of the concepts.

    Raises:
        InputError: A benchmark of another evaluator, or too few concepts or pairs with vectors.
    """
    protocol = benchmark.evaluator_settings()
    if isinstance(protocol, MCSMSettings):
        (mcsm,) = replace(protocol, keys="codes").evaluators(**options)
        return with_vectors(mcsm, table, protocol.least_concepts, **options)
    if isinstance(protocol, RelatednessSettings):
        (pairs,) = protocol.evaluators(**options)
        return by_code(pairs, table, terminology, **options)
    raise InputError(
        f"{benchmark.name}: has evaluator {benchmark.evaluator!r}; vectors of concepts need 'mcsm' or 'relatedness'"
    )


def measure_table(evaluator: EmbeddingEvaluator, table: KGETable) -> dict[str, float]:
    """The metrics of an evaluator over codes for the vectors of a table."""
    return evaluator.measure(table_embedder(table.codes, table.vectors))


def with_vectors(
    evaluator: MCSMEvaluator, table: KGETable, least_concepts: int = 1, **options: Unpack[EvaluatorOptions]
) -> MCSMEvaluator:
    """MCSM over the codes that have a vector.

    Args:
        evaluator: MCSM over codes.
        table: The vectors.
        least_concepts: Types with fewer concepts with a vector are left out.

    Raises:
        InputError: Fewer than two codes have a vector, or no type is left.
    """
    codes = [evaluator.texts[row] for row in evaluator.rows.tolist()]
    kept = [code for code, row in zip(codes, table.rows(codes).tolist()) if row >= 0]
    if len(kept) < 2:
        raise InputError(
            f"{evaluator.name}: {len(kept)} of {len(codes):,} concepts have a vector; at least two are needed"
        )
    options["name"] = evaluator.name
    types = replace(evaluator.types, codes=codes).for_codes(kept).select(least_concepts=least_concepts)
    return MCSMEvaluator(
        kept, types, k=evaluator.k, last_type_only=evaluator.last_type_only, labels=evaluator.labels, **options
    )


def by_code(
    evaluator: RelatednessEvaluator, table: KGETable, terminology: Terminology, **options: Unpack[EvaluatorOptions]
) -> RelatednessEvaluator:
    """Relatedness of names, measured as that of their concepts.

    Raises:
        InputError: Fewer than three pairs of concepts with vectors.
    """
    code_of = _codes_of(evaluator.texts, table, terminology)
    first, second = (
        [code_of.get(evaluator.texts[i], "") for i in side.tolist()] for side in (evaluator.left, evaluator.right)
    )
    options["name"] = evaluator.name
    linked = RelatednessEvaluator(first, second, evaluator.scores.tolist(), **options)
    linked.n_missing += evaluator.n_missing
    return linked


def _codes_of(names: Sequence[str], table: KGETable, terminology: Terminology) -> dict[str, str]:
    """A name to the first code, in their order, of the concepts with a vector that have it."""
    wanted: dict[str, list[str]] = {}
    for name, folded in zip(names, normalize(pa.array(names, pa.string()), "lower").to_pylist()):
        wanted.setdefault(folded, []).append(name)
    has_vector = table.rows(terminology.codes) >= 0
    found: dict[str, str] = {}
    folded_texts = normalize(terminology.texts["text"].combine_chunks(), "lower").to_pylist()
    for text, folded in enumerate(folded_texts):
        if folded in wanted:
            for concept in terminology.text_concepts.row(text).tolist():
                if has_vector[concept]:
                    for name in wanted[folded]:
                        code = terminology.codes[concept]
                        found[name] = min(found.get(name, code), code)
    return found
