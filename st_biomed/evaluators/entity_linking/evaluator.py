"""Entity linking: are the names nearest to a mention names of its concept?"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from st_biomed.csr import CSR
from st_biomed.errors import InputError
from st_biomed.evaluators.base import EmbeddingEvaluator, EvaluationResult, EvaluatorOptions
from st_biomed.evaluators.embedders import EmbedOnce
from st_biomed.evaluators.entity_linking.predictions import LinkingPredictions, digest_of_documents, documents_of
from st_biomed.evaluators.entity_linking.queries import PUBLISHED, DictionaryTexts, LinkingQueries, Scoring
from st_biomed.losses.citations import BIOSYN
from st_biomed.metrics.linking import distinct_entries, first_hits, linking_metrics, mention_ranks, unsettled
from st_biomed.metrics.significance import Units
from st_biomed.neighbors import RunningNearest, search_device

if TYPE_CHECKING:
    from st_biomed.linking_data.records import LinkingDataset, Mention

KS, RECALL_KS = (1, 5), (20, 64)

logger = logging.getLogger(__name__)


class EntityLinkingEvaluator(EmbeddingEvaluator):
    """Accuracy of linking mentions to a dictionary by nearest names (BioSyn, section 4; SapBERT, section 3).

    Every part of a mention is looked up among the names of the dictionary. A mention is correct within the k best if
    all its parts are; see :func:`~st_biomed.metrics.linking.linking_metrics` for ``acc@k``, ``mrr@K`` and
    ``recall@k``. Further metrics are

    - ``acc@k_low`` and ``acc@k_high``: 95% bootstrap interval;
    - ``concept_acc@k``, ``concept_mrr@K`` (``name_...`` with ``rank_unit="concept"``): the other way of ranking, and
      ``concept_unsettled``, the number of looked-up strings whose ranked names contain too few concepts to decide;
    - ``exact_match_acc@1``: the dictionary alone, without a model: entries whose name equals the string;
    - ``unlisted_...``: accuracies for the mentions of which a part is no name of the dictionary, which exact match
      does not link;
    - ``abbreviation_...``, ``other_...`` (see :attr:`~st_biomed.linking_data.records.Mention.is_abbreviation`),
      ``refined_...``, ``distant_...``: accuracies and exact match for a subset of the mentions;
    - ``coverage``: share of the mentions with gold ids whose gold is in the dictionary; and ``n_...``: counts.

    Mentions are embedded as queries and names as documents, by the rule of a :class:`~st_biomed.linking.ConceptIndex`
    (:func:`~st_biomed.encoder.prompts.task_input`). Equal names are embedded once, and entries with equal scores keep
    the order of the dictionary. The names are embedded and compared in chunks that are not kept, so memory is that of
    the mentions' vectors.

    Args:
        dataset: Mentions by split, and the dictionary.
        split: The split to measure.
        ks: The k of the accuracies, including 1.
        recall_ks: The k of the recalls.
        rank_unit: ``"name"`` ranks entries of the dictionary; ``"concept"`` skips entries whose ids are ranked
            already, so each id has the rank of its best name. Both have the same acc@1.
        similarity: ``"cosine"``, ``"dot"`` or ``"euclidean"``; by default cosine.
        align_parts: Whether part i of a composite mention must match group i of its gold ids if there are equally
            many; otherwise any part may match any of its ids. Aligned by default.
        gold_match: ``"any"``: a candidate with one of the ids; ``"exact"``: a candidate with exactly the ids of a
            group, or of all groups together; ``"first"``: only the first group counts.
        nil: ``"skip"`` leaves out mentions without gold ids, ``"error"`` rejects them.
        missing_gold: ``"count_as_miss"`` or ``"skip"`` for mentions whose gold the dictionary lacks.
        dedup_queries: Whether mentions with the same strings and the same gold count once.
        seen: Names of splits, or mentions. The refined set has each string that is not among theirs once for each gold.
        distance: The distant set is the part of the refined set that is farther than this from all their strings, in
            edit distance divided by the length of the longer string; 0 for none. The filters of Medical Crossing
            (Alekseev et al. 2022) are these two, with .2.
        lower_case: Whether to lower-case mentions and names (as in the published data sets).
        as_published: Score like BioSyn's and SapBERT's scripts: inner product, and no alignment. The other settings
            above must then have their defaults. (The scripts also truncate names to 25 tokens: set the model's
            ``max_seq_length``.)
        depth: Number of names ranked for each string, K; by default the largest k, or four times that for concepts.
        dictionary_chunk: Number of names embedded at once.
        device: Device of the comparison; ``None`` for a GPU if there is one.
        by_document: Whether intervals and tests draw documents with all their mentions in place of single mentions.
        **options: See :class:`~st_biomed.evaluators.base.EmbeddingEvaluator`.

    Attributes:
        predictions: The predictions of the last call, ``None`` before the first.

    Raises:
        InputError: An argument out of range, no such split, no mention that can be measured, or ``by_document`` and
            mentions without a document.

    Example:
        ::

            evaluator = EntityLinkingEvaluator(dataset, seen=["train", "dev"])
            before, first = evaluator(model), evaluator.predictions
            ...
            print(evaluator.table(before=before, after=evaluator(model)))
            print(evaluator.predictions.compare(first))
    """

    uses_task_prompts = True

    def __init__(
        self,
        dataset: LinkingDataset,
        split: str = "test",
        *,
        ks: Sequence[int] = KS,
        recall_ks: Sequence[int] = RECALL_KS,
        rank_unit: str = "name",
        similarity: str | None = None,
        align_parts: bool | None = None,
        gold_match: str = "any",
        nil: str = "skip",
        missing_gold: str = "count_as_miss",
        dedup_queries: bool = False,
        seen: Iterable[str | Mention] = (),
        distance: float = 0.0,
        lower_case: bool = True,
        as_published: bool = False,
        depth: int | None = None,
        dictionary_chunk: int = 65_536,
        device: str | None = None,
        by_document: bool = False,
        **options: Unpack[EvaluatorOptions],
    ) -> None:
        super().__init__(primary="acc@1", **options)
        defaults = PUBLISHED if as_published else Scoring()
        self.scoring = Scoring(
            rank_unit=rank_unit,
            similarity=defaults.similarity if similarity is None else similarity,
            align_parts=defaults.align_parts if align_parts is None else align_parts,
            gold_match=gold_match,
            nil=nil,
            missing_gold=missing_gold,
            dedup_queries=dedup_queries,
            lower_case=lower_case,
        )
        if as_published and self.scoring != PUBLISHED:
            raise InputError(f"as_published: {self.scoring.difference(PUBLISHED)}; remove one of the two")
        self.ks, self.recall_ks = tuple(ks), tuple(recall_ks)
        if 1 not in self.ks or min([*self.ks, *self.recall_ks]) < 1:
            raise InputError(
                f"ks: expected whole numbers from 1, and 1 among them, found {[*self.ks, *self.recall_ks]}"
            )
        deepest = max([*self.ks, *self.recall_ks])
        self.depth = deepest * (4 if rank_unit == "concept" else 1) if depth is None else depth
        for argument, value, least in (
            ("depth", self.depth, deepest),
            ("dictionary_chunk", dictionary_chunk, 1),
        ):
            if value < least:
                raise InputError(f"{argument} must be at least {least}, found {value}")
        self.dataset, self.split = dataset, split
        self.dictionary_chunk, self.device = dictionary_chunk, device
        self.by_document = by_document
        self.queries = LinkingQueries(dataset, split, self.scoring, seen, distance)
        self.names = DictionaryTexts(dataset.dictionary, self.scoring)
        self.predictions: LinkingPredictions | None = None
        found = self.names.find(self.queries.texts)
        self._subsets = {"unlisted": self.queries.with_any(found[:, 0] < 0), **self.queries.subsets}
        exact, _ = self.names.ranked_entries(found, np.zeros(found.shape, dtype=np.float32), self.depth)
        self._exact = self._part_ranks(exact, self.scoring.rank_unit)[0]
        where = f"{dataset.name}, split {split!r}: "
        self._documents = documents_of(self.queries.mentions, where) if by_document else None
        if self._documents is not None and len(set(self._documents)) < 2:
            logger.warning(
                "%sone document: intervals by document have no width, and no test tells models apart", where
            )

    # ------------------------------------------------------------------ measuring

    def compute_metrics(self, embed: EmbedOnce) -> EvaluationResult:
        """The metrics listed above; ``predictions`` is updated. The units are the mentions, or their documents."""
        mentions, names = embed.of_task("query"), embed.of_task("document")
        search = RunningNearest(
            mentions(self.queries.texts),
            self.depth,
            similarity=self.scoring.similarity,
            device=search_device(self.device),
        )
        texts, size = self.names.texts, self.dictionary_chunk
        for start in range(0, len(texts), size):
            search.add(names.pass_through(texts[start : start + size]))
        scores, rows = (tensor.cpu().numpy() for tensor in search.result())
        entries, scores = self.names.ranked_entries(rows, scores, self.depth)
        ranks = {unit: self._part_ranks(entries, unit) for unit in ("name", "concept")}
        self.predictions = self._predictions(ranks[self.scoring.rank_unit][0], entries, scores)
        found = self.predictions.ranks
        units = {f"acc@{k}": Units("mention", found <= k, clusters=self._documents) for k in sorted(self.ks)}
        return EvaluationResult(self._metrics(ranks), units)

    # ------------------------------------------------------------------ scoring

    def _part_ranks(self, entries: np.ndarray, unit: str) -> tuple[np.ndarray, int]:
        """Rank of the first right candidate of each part ``[P]`` from entries ``[U, K]``; how many are unsettled."""
        entry_ids, gold = self.dataset.dictionary.entry_ids, self.queries.gold
        if unit == "name":
            return first_hits(entries[self.queries.text_of_part], entry_ids, gold), 0
        concepts = distinct_entries(entries, self._concept_keys, self.depth)[self.queries.text_of_part]
        ranks = first_hits(concepts, entry_ids, gold)
        all_ranked = len(self.dataset.dictionary) <= self.depth
        return ranks, 0 if all_ranked else unsettled(concepts, ranks, self._concept_ks)

    @cached_property
    def _concept_keys(self) -> CSR:
        """Entry to what tells concepts apart: its ids, or the set of them where a match has to be exact."""
        entry_ids = self.dataset.dictionary.entry_ids
        if not self.queries.gold.exact:
            return entry_ids
        number: dict[tuple[int, ...], int] = {}
        keys = [number.setdefault(tuple(entry_ids.row(i)), len(number)) for i in range(entry_ids.n_rows)]
        return CSR(np.arange(len(keys) + 1), np.array(keys))

    @property
    def _concept_ks(self) -> tuple[int, ...]:
        return (*self.ks, *self.recall_ks) if self.scoring.rank_unit == "concept" else self.ks

    def _predictions(self, part_ranks: np.ndarray, entries: np.ndarray, scores: np.ndarray) -> LinkingPredictions:
        rows, gold = self.queries.text_of_part, self.queries.gold
        ranks = mention_ranks(part_ranks, gold)
        return LinkingPredictions(
            self.queries.mentions, gold, ranks, self.dataset.dictionary, entries[rows], scores[rows]
        )

    def _metrics(self, ranks: Mapping[str, tuple[np.ndarray, int]]) -> dict[str, float]:
        gold, unit = self.queries.gold, self.scoring.rank_unit
        other = "concept" if unit == "name" else "name"
        part_ranks = ranks[unit][0]
        metrics = linking_metrics(part_ranks, gold, depth=self.depth, ks=self.ks, recall_ks=self.recall_ks)
        of_model, of_names = mention_ranks(part_ranks, gold), mention_ranks(self._exact, gold)
        beside = linking_metrics(ranks[other][0], gold, depth=self.depth, ks=self.ks, recall_ks=())
        metrics |= {f"{other}_{key}": value for key, value in beside.items()}
        metrics["concept_unsettled"] = float(ranks["concept"][1])
        metrics["exact_match_acc@1"] = float((of_names <= 1).mean())
        for name, mask in self._subsets.items():
            if mask.any():
                metrics |= {f"{name}_acc@{k}": float((of_model[mask] <= k).mean()) for k in self.ks}
            if mask.any() and name != "unlisted":
                metrics[f"{name}_exact_match_acc@1"] = float((of_names[mask] <= 1).mean())
        return metrics | {"coverage": gold.coverage} | {key: float(n) for key, n in self.counts.items()}

    # ------------------------------------------------------------------ for people

    @property
    def counts(self) -> dict[str, int]:
        """Number of mentions measured and left out, and the size of each subset."""
        gold = self.queries.gold
        return {
            "n_mentions": len(gold.mentions),
            "n_nil": gold.n_nil,
            "n_missing_gold": int((~gold.coverable).sum()),
            "n_duplicates": self.queries.n_duplicates,
            **{f"n_{name}": int(mask.sum()) for name, mask in self._subsets.items()},
        }

    @property
    def n_texts(self) -> int:
        """Number of strings to look up, and of names."""
        return len(self.queries.texts) + len(self.names.texts)

    @property
    def table_rows(self) -> dict[str, str]:
        other = "concept" if self.scoring.rank_unit == "name" else "name"
        keys = [f"acc@{k}" for k in self.ks] + [f"mrr@{self.depth}"] + [f"recall@{k}" for k in self.recall_ks]
        keys += [f"{other}_acc@{k}" for k in self.ks] + ["exact_match_acc@1"]
        for name, mask in self._subsets.items():
            keys += [f"{name}_acc@{k}" for k in self.ks] if mask.any() else []
            keys += [f"{name}_exact_match_acc@1"] if mask.any() and name != "unlisted" else []
        return {key.replace("_", " "): key for key in [*keys, "coverage"]}

    def get_config_dict(self) -> dict[str, Any]:
        """Settings, sizes and the dictionary's digest, never a text."""
        dictionary = self.dataset.dictionary
        return {
            "dataset": self.dataset.name,
            "split": self.split,
            "steps": list(self.dataset.steps),
            **asdict(self.scoring),
            **({"ks": sorted(self.ks)} if set(self.ks) != set(KS) else {}),
            **({"recall_ks": sorted(self.recall_ks)} if set(self.recall_ks) != set(RECALL_KS) else {}),
            "depth": self.depth,
            "dictionary": {"entries": len(dictionary), "names": len(self.names.texts), "ids": len(dictionary.ids)},
            "dictionary_sha256": dictionary.digest,
            "mentions_sha256": self.queries.digest,
            **self.counts,
            "missing_ids": len(self.dataset.missing(self.split)),
            "by_document": self.by_document,
            **({} if self._documents is None else {"documents_sha256": digest_of_documents(self._documents)}),
            **super().get_config_dict(),
        }

    @property
    def citation(self) -> str:
        return BIOSYN.strip()
