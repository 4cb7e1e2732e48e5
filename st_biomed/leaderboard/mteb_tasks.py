"""Benchmarks as MTEB tasks (Muennighoff et al. 2023)."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from st_biomed.errors import InputError
from st_biomed.evaluators.benchmark import Benchmark
from st_biomed.evaluators.entity_linking.evaluator import EntityLinkingEvaluator
from st_biomed.evaluators.relatedness.evaluator import RelatednessEvaluator

if TYPE_CHECKING:
    from mteb.abstasks import AbsTask

logger = logging.getLogger(__name__)

LANGUAGES = {
    "en": "eng-Latn",
    "it": "ita-Latn",
    "es": "spa-Latn",
    "fr": "fra-Latn",
    "de": "deu-Latn",
    "nl": "nld-Latn",
    "pt": "por-Latn",
    "ru": "rus-Cyrl",
}


def mteb_tasks(benchmark: Benchmark, *, language: str | None = None) -> list[AbsTask]:
    """The MTEB tasks of a benchmark; ``mteb.evaluate(model, tasks, cache=None)`` measures them offline.

    Relatedness becomes an STS task whose ``cosine_spearman`` is our ``spearman``. Linking becomes a retrieval task:
    the distinct names of the dictionary are the documents, and each part of a mention is a query. ``hit_rate_at_k`` is
    our ``acc@k`` for mentions with one part, if each name is one entry of the dictionary, as after the steps
    ``lower_case`` and ``merge_names``. A name with several entries, such as those of two concepts, is one document that
    is correct for each of them, while ``acc@k`` ranks its entries one after another. ``hit_rate_at_k`` is then at least
    ``acc@k``, and a warning says so. MTEB counts each part of a composite mention separately, and orders names with equal
    similarities in its own way. The benchmark's own steps read the data when a task is created, and nothing is fetched.

    Args:
        benchmark: A benchmark of the evaluator ``relatedness`` or ``entity_linking``.
        language: Language of its texts, two letters; by default that of the benchmark.

    Raises:
        InputError: mteb is not installed, another kind of benchmark, one in folds, an unknown language, or invalid data.
    """
    try:
        import mteb  # noqa: F401
    except ImportError as error:
        raise InputError("MTEB tasks need mteb: pip install 'st-biomed[mteb]'") from error
    if benchmark.evaluator not in ("relatedness", "entity_linking"):
        raise InputError(
            f"{benchmark.name}: MTEB has tasks for relatedness and entity_linking, found {benchmark.evaluator!r}"
        )
    language = benchmark.language if language is None else language
    if language not in LANGUAGES:
        raise InputError(f"language must be one of {', '.join(LANGUAGES)}, found {language!r}")
    tasks: list[AbsTask] = []
    for evaluator in benchmark.evaluator_settings().evaluators():
        if isinstance(evaluator, RelatednessEvaluator):
            tasks.append(_relatedness(evaluator, benchmark, LANGUAGES[language]))
        elif isinstance(evaluator, EntityLinkingEvaluator):
            if n := int((evaluator.names.entries.counts > 1).sum()):
                logger.warning(
                    "%s: hit_rate_at_k may be above acc@k, since %d of %d names have several entries in the dictionary; the "
                    "steps lower_case and merge_names give each one entry",
                    *(evaluator.name, n, len(evaluator.names.texts)),
                )
            tasks.append(_linking(evaluator, benchmark, LANGUAGES[language]))
        else:
            raise InputError(f"{benchmark.name}: is a mean over folds, which no MTEB task is; name one fold")
    return tasks


def _relatedness(evaluator: RelatednessEvaluator, benchmark: Benchmark, language: str) -> AbsTask:
    from datasets import Dataset
    from mteb.abstasks import AbsTaskSTS

    rows = {
        "sentence1": [evaluator.texts[i] for i in evaluator.left],
        "sentence2": [evaluator.texts[i] for i in evaluator.right],
        "score": evaluator.scores.tolist(),
    }
    dataset = Dataset.from_dict(rows)

    class Relatedness(AbsTaskSTS):
        metadata = _metadata(evaluator.name, benchmark, language, type="STS", main_score="cosine_spearman")
        min_score, max_score = float(evaluator.scores.min()), float(evaluator.scores.max())

        def load_data(self, **_: Any) -> None:
            self.dataset = {"test": dataset}
            self.data_loaded = True

    return Relatedness()


def _linking(evaluator: EntityLinkingEvaluator, benchmark: Benchmark, language: str) -> AbsTask:
    from datasets import Dataset
    from mteb.abstasks import AbsTaskRetrieval

    queries, names = evaluator.queries, evaluator.names
    corpus = Dataset.from_dict(
        {"id": [f"n{i}" for i in range(len(names.texts))], "text": names.texts, "title": [""] * len(names.texts)}
    )
    parts = Dataset.from_dict(
        {
            "id": [f"q{i}" for i in range(len(queries.text_of_part))],
            "text": [queries.texts[row] for row in queries.text_of_part],
        }
    )
    # A query without a correct name stays as a miss: MTEB leaves out queries without documents.
    relevant = {
        f"q{i}": {f"n{row}": 1 for row in rows.tolist()} or {"in no name": 1}
        for i, rows in enumerate(right_names(evaluator))
    }

    class Linking(AbsTaskRetrieval):
        metadata = _metadata(evaluator.name, benchmark, language, type="Retrieval", main_score="hit_rate_at_1")
        k_values = (1, 3, 5, 10, 20, 64)

        def load_data(self, **_: Any) -> None:
            split = {"queries": parts, "corpus": corpus, "relevant_docs": relevant, "top_ranked": None}
            self.dataset = {"default": {"test": split}}
            self.data_loaded = True

    return Linking()


def right_names(evaluator: EntityLinkingEvaluator) -> list[np.ndarray]:
    """The correct names of the dictionary for each part of the mentions: P arrays of their indices.

    The indices are those of ``evaluator.names.texts``. A name is correct if one of its entries is, whatever their order.
    """
    dictionary, gold = evaluator.dataset.dictionary, evaluator.queries.gold
    entries = evaluator.names.entries
    text_of_entry = np.empty(len(dictionary), dtype=np.int64)
    text_of_entry[entries.indices] = np.repeat(np.arange(entries.n_rows), entries.counts)
    names_of_id: dict[int, list[int]] = {}
    for entry, row in enumerate(text_of_entry.tolist()):
        for id_ in dictionary.entry_ids.row(entry).tolist():
            names_of_id.setdefault(id_, []).append(row)
    rows_of = []
    for part in range(len(evaluator.queries.text_of_part)):
        ids = [id_ for group in gold.sets.row(part).tolist() for id_ in gold.ids.row(group).tolist()]
        rows_of.append(np.unique([row for id_ in ids for row in names_of_id.get(id_, [])]).astype(np.int64))
    return rows_of


def _metadata(name: str, benchmark: Benchmark, language: str, **kind: str) -> Any:
    from mteb.abstasks.task_metadata import TaskMetadata

    settings: Mapping[str, Any] = {
        "name": name,
        "description": benchmark.title or name,
        "dataset": {"path": benchmark.name, "revision": benchmark.data.version or "unknown"},
        "eval_splits": ["test"],
        "eval_langs": [language],
        "domains": ["Medical"],
        "modalities": ["text"],
        "category": "t2t",
        "is_public": False,
        **kind,
    }
    return TaskMetadata(**settings)
