"""The base of all evaluators: embedding, names of metrics, log and model card."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

import numpy as np
from sentence_transformers.base.evaluation import BaseEvaluator

from st_biomed.encoder.digest import model_digest
from st_biomed.errors import InputError, check_instance, check_integer
from st_biomed.evaluators.csv_rows import append_row
from st_biomed.evaluators.embedders import Embed, EmbedOnce, map_embedder, model_embedder, table_embedder
from st_biomed.evaluators.terminal_table import metrics_table
from st_biomed.evaluators.vector_store import stored
from st_biomed.metrics.significance import Units

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

logger = logging.getLogger(__name__)


class EvaluatorOptions(TypedDict, total=False):
    """The keyword arguments of :class:`EmbeddingEvaluator` that every evaluator accepts."""

    name: str
    batch_size: int
    show_progress_bar: bool
    write_csv: bool
    truncate_dim: int | None
    bf16: bool
    n_bootstrap: int
    bootstrap_seed: int
    cache_dir: str | Path | None
    cache_dtype: str


class EvaluationResult(NamedTuple):
    """The result of an evaluator.

    Attributes:
        metrics: Name to figure, without prefix, in a fixed order.
        units: Metric to the units it is counted over, the primary metric first. These metrics get an interval and a
            paired test.
    """

    metrics: dict[str, float]
    units: dict[str, Units]


class EmbeddingEvaluator(BaseEvaluator, ABC):
    """Base of evaluators that measure the vectors of texts.

    A subclass implements :meth:`compute_metrics`, ``citation`` and, where the defaults are not enough, :attr:`table_rows`
    and ``get_config_dict``. Called with a model, it works as an evaluator of the trainer. :meth:`measure` accepts any other way to embed, such as a
    precomputed matrix through :func:`~st_biomed.evaluators.embedders.table_embedder`. Every metric with units also has
    its 95% bootstrap interval, ``<metric>_low`` and ``<metric>_high``.

    Args:
        primary: The primary metric, a key of the metrics of ``compute_metrics``.
        name: Prefix of the metrics and part of the CSV file's name.
        batch_size: Texts per forward pass.
        show_progress_bar: Whether to show a progress bar while embedding.
        write_csv: Whether to append a row to a CSV file if an output path is given.
        truncate_dim: Keep only the first dimensions of the embeddings.
        bf16: Embed under bfloat16 autocast.
        n_bootstrap: Resamples of the intervals; 0 for none.
        bootstrap_seed: Seed of the resamples.
        cache_dir: Folder for the vectors of a model, stored by the digests of the model and of each text, and by prompt;
            ``None``, as needed in training, stores none.
        cache_dtype: ``"float32"`` or ``"float16"``; with half precision the rounded vectors are measured.

    Attributes:
        uses_task_prompts: Whether :meth:`compute_metrics` embeds mentions and names with the prompts of a model for them
            (:meth:`~st_biomed.evaluators.embedders.EmbedOnce.of_task`); otherwise all texts have its default prompt.
        primary_metric: ``primary`` with the prefix, for ``metric_for_best_model``; known before the first call.
        units: Units of the last measurement by metric; ``units[m].compare(earlier[m])`` compares two models, see
            :meth:`st_biomed.metrics.Units.compare`.

    Raises:
        InputError: ``batch_size`` or ``truncate_dim`` is no integer from 1, ``n_bootstrap`` or ``bootstrap_seed`` none from 0, or
            the name cannot be part of a file name.
    """

    uses_task_prompts = False

    def __init__(
        self,
        *,
        primary: str,
        name: str = "",
        batch_size: int = 128,
        show_progress_bar: bool = False,
        write_csv: bool = True,
        truncate_dim: int | None = None,
        bf16: bool = False,
        n_bootstrap: int = 1000,
        bootstrap_seed: int = 0,
        cache_dir: str | Path | None = None,
        cache_dtype: str = "float32",
    ) -> None:
        super().__init__()
        check_integer("n_bootstrap", n_bootstrap, 0)
        check_integer("bootstrap_seed", bootstrap_seed, 0)
        check_integer("batch_size", batch_size)
        check_integer("truncate_dim", truncate_dim, or_none=True)
        check_instance("name", name, str)
        if "/" in name or "\\" in name:
            raise InputError(f"name is part of a file name and must not hold a slash, found {name!r}")
        self.name = name
        self.batch_size = batch_size
        self.show_progress_bar = show_progress_bar
        self.write_csv = write_csv
        self.truncate_dim = truncate_dim
        self.bf16 = bf16
        self.n_bootstrap = n_bootstrap
        self.bootstrap_seed = bootstrap_seed
        self.cache_dir = None if cache_dir is None else Path(cache_dir)
        self.cache_dtype = cache_dtype
        if self.cache_dir is not None:
            self._stored(table_embedder([], np.zeros((0, 0))), "")  # refuses what cannot be one before any embedding
        self.units: dict[str, Units] = {}
        self._primary = primary
        self.primary_metric: str = self._prefixed(primary)
        kind = self.description.lower().replace(" ", "_")
        self.csv_file = "_".join(part for part in (kind, "evaluation", name, "results") if part) + ".csv"

    @abstractmethod
    def compute_metrics(self, embed: EmbedOnce) -> EvaluationResult:
        """The metrics, and the units they are counted over.

        Args:
            embed: Maps N texts to ``[N, D]``; a text that was embedded before is looked up.
        """

    @property
    def largest(self) -> float:
        """The largest possible value of the primary metric; 1 except for sums of gains."""
        return 1.0

    @property
    def n_texts(self) -> int | None:
        """Maximum number of distinct texts to embed; ``None`` if it is not known beforehand."""
        texts = getattr(self, "texts", None)
        return None if texts is None else len(texts)

    @property
    def table_rows(self) -> dict[str, str]:
        """The rows of a table, label to metric without prefix; by default only the primary metric."""
        return {self._primary: self._primary}

    @property
    def headline(self) -> dict[str, str]:
        """:attr:`table_rows` with the keys of the metrics as a call returns them."""
        return {label: self._prefixed(metric) for label, metric in self.table_rows.items()}

    def _prefixed(self, metric: str) -> str:
        return f"{self.name}_{metric}" if self.name else metric

    def table(self, **runs: Mapping[str, float]) -> str:
        """The headline of one or more runs side by side, e.g. ``before=..., after=...``."""
        return metrics_table(runs, self.headline)

    @property
    @abstractmethod
    def citation(self) -> str:
        """BibTeX of the paper that introduced the measure."""

    def __call__(  # type: ignore[override]  # sentence-transformers' evaluators narrow the model's type as well
        self, model: SentenceTransformer, output_path: str | None = None, epoch: int = -1, steps: int = -1
    ) -> dict[str, float]:
        """Measure a model, write the CSV row and hand the metrics to the model card.

        Args:
            output_path: Folder of the CSV file; ``None`` writes none.
            epoch, steps: Where training stands (the trainer passes fractions of an epoch); -1 outside training.

        Returns:
            Prefixed metrics.
        """
        return self.measure_shared(self.embedder(model), model, output_path, epoch, steps)

    def embedder(self, model: SentenceTransformer, digest: str | None = None) -> Embed:
        """How this evaluator embeds with a model; evaluators with equal :attr:`embedding_options` embed identically.

        Args:
            digest: Its digest, if known; only a cache needs it.
        """
        embed = model_embedder(
            model,
            batch_size=self.batch_size,
            show_progress_bar=self.show_progress_bar,
            truncate_dim=self.truncate_dim,
            bf16=self.bf16,
        )
        return embed if self.cache_dir is None else self._stored(embed, digest or model_digest(model))

    @property
    def embedding_options(self) -> tuple[object, ...]:
        """The options that a vector depends on besides the model and its text."""
        return self.truncate_dim, self.bf16, self.cache_dir, self.cache_dtype

    def measure_shared(
        self,
        embed: Embed,
        model: SentenceTransformer,
        output_path: str | None = None,
        epoch: int = -1,
        steps: int = -1,
    ) -> dict[str, float]:
        """A call with a model, with texts embedded by ``embed``, which several evaluators may share."""
        metrics = self.measure(embed, output_path, epoch, steps)
        self.store_metrics_in_model_card_data(model, metrics, epoch, steps)
        return metrics

    def _stored(self, embed: Embed, model: str) -> Embed:
        key = {"model": model, "truncate_dim": self.truncate_dim, "bf16": self.bf16}
        return stored(embed, self.cache_dir or "", key, dtype=self.cache_dtype)

    def measure(
        self, embed: Embed, output_path: str | None = None, epoch: int = -1, steps: int = -1
    ) -> dict[str, float]:
        """Measure with any way to embed; each distinct text is embedded once.

        Args:
            embed: Maps N texts to ``[N, D]``, e.g. ``table_embedder(texts, matrix)``.
            output_path, epoch, steps: As in a call with a model.

        Returns:
            Prefixed metrics.

        Raises:
            InputError: ``embed`` cannot be called.
        """
        if not callable(embed):
            raise InputError(
                f"embed must map texts to vectors, e.g. table_embedder(texts, matrix), found {type(embed).__name__}"
            )
        self._announce(epoch, steps)
        if (most := self.truncate_dim) is not None:
            embed = map_embedder(embed, lambda one: lambda texts: np.asarray(one(texts))[..., :most])
        return self._report(self.compute_metrics(EmbedOnce(embed)), output_path, epoch, steps)

    def _announce(self, epoch: int, steps: int) -> None:
        when = (
            "" if epoch == -1 else f" after epoch {epoch}" if steps == -1 else f" in epoch {epoch} after {steps} steps"
        )
        cut = "" if self.truncate_dim is None else f" (truncated to {self.truncate_dim})"
        logger.info("%s: Evaluating the model on the %s dataset%s%s:", type(self).__name__, self.name, when, cut)

    def _report(self, result: EvaluationResult, output_path: str | None, epoch: int, steps: int) -> dict[str, float]:
        """Add the intervals, log the primary metric, write the row, and put the name before every metric."""
        metrics, self.units = result
        if self.n_bootstrap:
            for metric, units in self.units.items():
                drawn = units.interval(n_resamples=self.n_bootstrap, seed=self.bootstrap_seed)
                metrics |= {f"{metric}_low": drawn.low, f"{metric}_high": drawn.high}
        logger.info("%s: %.4f", self._primary, metrics[self._primary])
        if output_path is not None and self.write_csv:
            append_row(Path(output_path) / self.csv_file, {"epoch": epoch, "steps": steps, **metrics})
        return self.prefix_name_to_metrics(metrics, self.name)

    def get_config_dict(self) -> dict[str, Any]:
        """Settings for the model card: the options of embedding that differ from the defaults."""
        config: dict[str, Any] = {}
        if self.truncate_dim is not None:
            config["truncate_dim"] = self.truncate_dim
        if self.bf16:
            config["bf16"] = True
        if self.cache_dir is not None and self.cache_dtype != "float32":
            config["cache_dtype"] = self.cache_dtype
        return config | {"n_bootstrap": self.n_bootstrap, "bootstrap_seed": self.bootstrap_seed}
