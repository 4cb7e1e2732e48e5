"""Collects the record of a run during the run."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from numbers import Real
from pathlib import Path
from typing import Any

import torch
from sentence_transformers import SentenceTransformer
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from st_biomed.corpus.arguments import CorpusArguments
from st_biomed.corpus.coverage import Coverage
from st_biomed.encoder.sources import folder_in_cache
from st_biomed.errors import InputError, check_name
from st_biomed.release.machine import machine, versions
from st_biomed.release.model_record import record_of
from st_biomed.release.portable import plain, plain_command, plain_model
from st_biomed.release.run_data import (
    STAGES,
    AveragingData,
    CorpusData,
    EarlierData,
    LossData,
    MetricData,
    PublishedData,
    RunData,
    SourceData,
    TerminologyData,
    empty_run,
    write_run,
)
from st_biomed.terminology import Terminology


@dataclass
class RunRecord:
    """Collects the arguments and results of a run.

    Create it when the run begins (this starts the clock), pass :meth:`callback` to the trainer, add losses and
    results, and save it at the end.

    The arguments are the keys of :class:`RunData` that only the recipe knows.

    Args:
        base_model: Id or path of the model that training started from.
        configuration: Every argument of the recipe, resolved.
        seed: The one seed of the run.
        terminologies: All terminologies of training or measurement.
        license: License of the released files, as an identifier of the Hub (``"apache-2.0"``).
        language: ISO 639-1 codes of the names; by default those of the terminologies.
        model_id: Hub id of the released model.
        description: Description of the model, in a sentence or two.
        readings: Interpretation of each open point of the paper, a short sentence each.
        headline: Names of the results on the card; empty for all.
        command: The command line; by default that of this process. Access tokens in it are redacted.
    """

    recipe: str
    base_model: str
    configuration: Mapping[str, Any]
    seed: int
    terminologies: Sequence[Terminology]
    license: str = "other"
    language: Sequence[str] = ()
    model_id: str = ""
    description: str = ""
    readings: Sequence[str] = ()
    corpora: Sequence[CorpusData] = ()
    headline: Sequence[str] = ()
    command: Sequence[str] = field(default_factory=lambda: tuple(sys.argv))

    def __post_init__(self) -> None:
        for name in ("language", "readings", "corpora", "headline", "command", "terminologies"):
            value = getattr(self, name)
            if isinstance(value, str) or not isinstance(value, Sequence):
                raise InputError(f"{name} must be a list, found {type(value).__name__}: write [{name}]")
        self._started = time.perf_counter()
        self._run = empty_run()
        for argument in fields(self):
            if argument.name != "terminologies":
                self._run[argument.name] = plain(getattr(self, argument.name))  # type: ignore[literal-required]
        if not self.language:
            self._run["language"] = sorted(
                {code for terminology in self.terminologies for code in terminology.languages}
            )
        self._run["base_model"] = plain_model(self.base_model)
        self._run["command"] = plain_command(self.command)
        self._run["terminologies"] = [_terminology_data(terminology) for terminology in self.terminologies]
        self._run["earlier"] = _earlier(self.base_model)
        self._run["versions"] = versions()
        self._run["machine"] = machine()

    def add_losses(self, losses: torch.nn.Module | Mapping[str, torch.nn.Module]) -> None:
        """Record the configuration and paper of each objective.

        Args:
            losses: The losses of the trainer: one loss, or dataset name to loss.
        """
        for dataset, loss in losses.items() if isinstance(losses, Mapping) else [("", losses)]:
            config: Callable[[], dict[str, Any]] = getattr(loss, "get_config_dict", dict)
            self._run["losses"][dataset] = LossData(loss=type(loss).__name__, config=plain(config()))
            part: Any = loss
            while part is not None:
                if citation := getattr(part, "citation", ""):
                    self._run["citations"][type(part).__name__] = citation.strip()
                part = getattr(part, "loss", None)  # sentence-transformers' name for a wrapped loss

    def add_batches(self, batches: Mapping[str, int]) -> None:
        """Record the number of batches of each dataset of a mixed training in an epoch."""
        self._run["batches"].update(batches)

    def add_published(self, figures: Iterable[Any]) -> None:
        """Record figures of the literature, with ``system``, ``metric``, ``value`` and ``source``, for the card."""
        for figure in figures:
            self._run["published"].append(
                PublishedData(system=figure.system, metric=figure.metric, value=figure.value, source=figure.source)
            )

    def add_training_arguments(self, arguments: TrainingArguments, changed: Iterable[str] = ()) -> None:
        """Record all arguments of the trainer except its access tokens.

        Args:
            changed: Names of the arguments that differ from sentence-transformers' defaults.
        """
        resolved = {name: plain(value) for name, value in arguments.to_dict().items() if not name.endswith("_token")}
        self._run["training_arguments"] = resolved
        self._run["changed_arguments"] = [name for name in changed if name in resolved]

    def add_results(self, benchmark: str, stage: str, metrics: Mapping[str, float]) -> None:
        """Record the result of an evaluator.

        Args:
            benchmark: The benchmark, e.g. ``"icd10cm_tree"``.
            stage: ``"before"`` or ``"after"`` training.

        Raises:
            InputError: Another stage.
        """
        check_name("stage", stage, STAGES)
        values = {name: _finite(float(value)) for name, value in metrics.items()}
        self._run["results"].setdefault(benchmark, {}).setdefault(stage, {}).update(values)

    def add_averaging(self, averaging: AveragingData) -> None:
        """Record the models whose average the released weights are."""
        self._run["averaging"] = averaging

    def add_metrics(self, step: int, epoch: float | None, metrics: Mapping[str, Any]) -> None:
        """Record numbers of one training step; other values are left out."""
        for name, value in metrics.items():
            if isinstance(value, Real):
                self._run["metrics"].append(MetricData(step=step, epoch=epoch, name=name, value=_finite(float(value))))

    def callback(self) -> RunRecordCallback:
        """The trainer's callback, which records its arguments, its training losses and its evaluations."""
        return RunRecordCallback(self)

    def to_dict(self) -> RunData:
        """The record up to now."""
        return {**self._run, "seconds": round(time.perf_counter() - self._started, 1)}

    def save(self, folder: str | Path) -> Path:
        """Write ``run.json`` into a folder, which is created if it does not exist."""
        Path(folder).mkdir(parents=True, exist_ok=True)
        return write_run(self.to_dict(), Path(folder) / "run.json")


class RunRecordCallback(TrainerCallback):
    """Feeds a :class:`RunRecord` from the trainer's main process."""

    def __init__(self, record: RunRecord) -> None:
        self.record = record

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Entries from before a run was stopped and resumed are in the state of its checkpoint."""
        self.record.add_training_arguments(args)
        for entry in state.log_history if state.is_world_process_zero else ():
            values = _evaluated(entry) if any(name.startswith("eval_") for name in entry) else _logged(entry)
            self.record.add_metrics(int(entry["step"]), entry.get("epoch"), values)

    def on_train_end(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        model: SentenceTransformer | None = None,
        **kwargs: Any,
    ) -> None:
        """sentence-transformers has compared the arguments with its defaults for the model's card."""
        card = getattr(model, "model_card_data", None)
        self.record.add_training_arguments(args, getattr(card, "non_default_hyperparameters", {}))

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Training losses and learning rate; evaluations and the final summary are recorded elsewhere."""
        self._add(state, _logged(logs or {}))

    def on_evaluate(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        metrics: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """All results of the evaluators except their durations."""
        self._add(state, _evaluated(metrics or {}))

    def _add(self, state: TrainerState, metrics: Mapping[str, Any]) -> None:
        if state.is_world_process_zero:
            self.record.add_metrics(state.global_step, state.epoch, metrics)


def _logged(entry: Mapping[str, Any]) -> dict[str, Any]:
    """The training losses and learning rate of an entry of the log."""
    return {
        name: value
        for name, value in entry.items()
        if not name.startswith(("eval_", "train_")) and name not in ("epoch", "step", "total_flos")
    }


def _evaluated(entry: Mapping[str, Any]) -> dict[str, Any]:
    """The results of the evaluators."""
    return {
        name: value
        for name, value in entry.items()
        if name.startswith("eval_") and not name.endswith(("_runtime", "_per_second"))
    }


def _terminology_data(terminology: Terminology) -> TerminologyData:
    stats = terminology.stats()
    return TerminologyData(
        digest=terminology.digest,
        concepts=stats["concepts"],
        texts=stats["texts"],
        terms=stats["terms"],
        definitions=stats["definitions"],
        parents=stats["parents"],
        relations=stats["relations"],
        sources=[
            SourceData(
                name=source.name,
                title=source.title,
                version=source.version,
                license=source.license,
                url=source.url,
                redistributable=source.redistributable,
                terms=stats["terms by source"].get(source.name, 0),
            )
            for source in terminology.sources.values()
        ],
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def corpus_data(arguments: CorpusArguments, coverage: Coverage) -> CorpusData:
    """The record of raw text: names of files and folders without their location, and counts."""
    return CorpusData(
        files=[Path(file).name for file in arguments.corpus],
        documents=coverage.documents,
        words=coverage.words,
        license=arguments.corpus_license,
    )


def _earlier(base_model: str) -> list[EarlierData]:
    """The runs of a base model, the last one first, from its record."""
    folder = None if Path(base_model).exists() else folder_in_cache(base_model)
    if (run := record_of(folder or base_model)) is None:
        return []
    last = EarlierData(
        recipe=run["recipe"],
        description=run["description"],
        base_model=run["base_model"],
        command=run["command"],
        seed=run["seed"],
        losses=list(dict.fromkeys(loss["loss"] for loss in run["losses"].values())),
        terminologies=run["terminologies"],
        corpora=run["corpora"],
    )
    return [last, *run["earlier"]]
