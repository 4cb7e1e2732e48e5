"""The record of a run, ``run.json``, the only source of model cards, tables and plots.

Its keys are those of :class:`RunData`. It has sources, versions, counts and digests, never a term. Paths are relative
to the working directory or reduced to their last part, and host names and access tokens are not recorded.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypedDict

from st_biomed.errors import InputError
from st_biomed.files import finish_replacement
from st_biomed.release.scorecard_data import ScorecardData
from st_biomed.release.strict_json import misfit, strict_json

FORMAT = 1
STAGES = ("before", "after")
_INSTEAD = "take it from an intact copy of the release, or train again"


class SourceData(TypedDict):
    """One source of a terminology, as its reader describes it, with the number of its names."""

    name: str
    title: str
    version: str
    license: str
    url: str
    redistributable: bool
    terms: int


class TerminologyData(TypedDict):
    """One terminology: SHA-256 of its content, its sizes and its sources.

    ``definitions`` is 0 in records that were written before it was counted.
    """

    digest: str
    concepts: int
    texts: int
    terms: int
    definitions: int
    parents: int
    relations: int
    sources: list[SourceData]


class CorpusData(TypedDict):
    """Raw text: names of its files and folders, its counts, and its license as given to the run."""

    files: list[str]
    documents: int
    words: int
    license: str


class EarlierData(TypedDict):
    """A run whose model this run started from, from its own record."""

    recipe: str
    description: str
    base_model: str
    command: list[str]
    seed: int
    losses: list[str]
    terminologies: list[TerminologyData]
    corpora: list[CorpusData]


class PublishedData(TypedDict):
    """A figure of the literature for a metric of the results."""

    system: str
    metric: str
    value: float
    source: str


class AveragedModelData(TypedDict):
    """A model of an average: its name, its recipe if known, the digest of its computation
    (:func:`st_biomed.encoder.digest.model_digest`), and its share."""

    name: str
    recipe: str
    digest: str
    weight: float


class AveragingPointData(TypedDict):
    """The figures on dev for a share of the last model; a figure is null if it was not finite."""

    weight: float
    figures: dict[str, float | None]


class AveragingData(TypedDict):
    """An average of weights; no models if there is none.

    For a recipe, the models are the base and the trained one, or the students of ``biolord``. There is a curve if shares were
    measured on dev. If the share was ``chosen`` by it, no figure of ``metrics`` may be below the base model's by more than
    ``tolerance``, as a share of its largest possible value.
    """

    models: list[AveragedModelData]
    metrics: list[str]
    tolerance: float
    curve: list[AveragingPointData]
    chosen: bool


class MetricData(TypedDict):
    """One number during training; ``value`` is null if it was not finite."""

    step: int
    epoch: float | None
    name: str
    value: float | None


class LossData(TypedDict):
    """One objective: the class and ``get_config_dict()``."""

    loss: str
    config: dict[str, Any]


class MachineData(TypedDict):
    """The machine of the run; ``cores`` are those that it was allowed to use."""

    cpu: str
    cores: int
    gpus: list[str]


class RunData(TypedDict):
    """The content of ``run.json``."""

    format: int
    recipe: str  # name of the recipe
    description: str  # description of the model, in a sentence or two
    model_id: str  # its repository; empty if unpublished
    base_model: str  # a folder below the working directory begins with "./", an id of the Hub does not
    license: str  # license of the released files; identifier of the Hub
    language: list[str]  # ISO 639-1
    command: list[str]
    seed: int
    configuration: dict[str, Any]  # every argument of the recipe, resolved
    training_arguments: dict[str, Any]  # every argument of the trainer, resolved
    changed_arguments: list[str]  # names of those that differ from the defaults
    losses: dict[str, LossData]  # dataset name to its objective
    batches: dict[str, int]  # dataset name to its number of batches in an epoch, if several datasets are mixed
    citations: dict[str, str]  # class of a loss to the BibTeX of its paper
    readings: list[str]  # interpretation of each open point of the paper
    terminologies: list[TerminologyData]
    corpora: list[CorpusData]
    earlier: list[EarlierData]  # the run of base_model, then the one before it, and so on
    averaging: AveragingData  # of the released weights
    metrics: list[MetricData]  # over time
    headline: list[str]  # names of the results in the card's tables; empty for all
    scorecards: list[ScorecardData]  # comparisons with other models, the newest first
    results: dict[str, dict[str, dict[str, float | None]]]  # benchmark to "before" and "after" to metric to value
    published: list[PublishedData]  # for metrics of the results
    versions: dict[str, str]
    machine: MachineData
    seconds: float  # wall time from the record's creation to its saving


def empty_run() -> RunData:
    """An empty record."""
    return RunData(
        format=FORMAT,
        recipe="",
        description="",
        model_id="",
        base_model="",
        license="other",
        language=[],
        command=[],
        seed=0,
        configuration={},
        training_arguments={},
        changed_arguments=[],
        losses={},
        batches={},
        citations={},
        readings=[],
        terminologies=[],
        corpora=[],
        earlier=[],
        averaging=AveragingData(models=[], metrics=[], tolerance=0.0, curve=[], chosen=False),
        metrics=[],
        headline=[],
        scorecards=[],
        results={},
        published=[],
        versions={},
        machine=MachineData(cpu="", cores=0, gpus=[]),
        seconds=0.0,
    )


def write_run(run: RunData, path: Path) -> Path:
    """Write a record as JSON."""
    path.write_text(json.dumps(run, indent=1, ensure_ascii=False, allow_nan=False) + "\n", "utf-8")
    return path


def read_run(path: str | Path) -> RunData:
    """Read ``run.json``.

    Raises:
        InputError: Missing, not JSON, another format, a missing or repeated key, or an invalid value.
    """
    path = Path(path)
    finish_replacement(path.parent)
    if not path.parent.is_dir():
        raise InputError(f"{path.parent}: no such folder; expected the release folder of a recipe")
    try:
        run = strict_json(path.read_text("utf-8"))
    except OSError as error:
        below = ", ".join(sorted(str(record_path.parent) for record_path in path.parent.glob(f"*/{path.name}")))
        hint = f"those below it are {below}: choose one" if below else f"a recipe writes {path.name} beside its model"
        raise InputError(f"{path}: no run record found ({error.strerror}); {hint}") from error
    except ValueError as error:
        raise InputError(f"{path}: is not JSON ({' '.join(str(error).split())}); {_INSTEAD}") from error
    _add_later_fields(run)
    check_run(run, path, hint=f"; {_INSTEAD}")
    return run


def _add_later_fields(run: Any) -> None:
    """Add to a record of an earlier version the fields that it lacks."""
    if isinstance(run, dict):
        run.setdefault("batches", {})
        if isinstance(averaging := run.get("averaging"), dict):
            averaging.setdefault("chosen", bool(averaging.get("curve")))  # only a choice had a curve
    for stage in (run, *_objects(run, "earlier")):
        for terminology in _objects(stage, "terminologies"):
            terminology.setdefault("definitions", 0)


def _objects(record: Any, name: str) -> list[dict[str, Any]]:
    """The objects of a list of a record; none if it is damaged, which its check reports."""
    members = record.get(name) if isinstance(record, dict) else None
    return [member for member in members if isinstance(member, dict)] if isinstance(members, list) else []


def began_from(run: RunData) -> str:
    """The base model of the first of all stages."""
    return run["earlier"][-1]["base_model"] if run["earlier"] else run["base_model"]


def check_run(run: Mapping[str, Any], what: object = "run", hint: str = "") -> None:
    """Reject an incomplete record.

    Args:
        hint: Further text of the message for a damaged record.

    Raises:
        InputError: Another format, missing keys, or a value of another type.
    """
    if not isinstance(run, Mapping) or run.get("format") != FORMAT:
        format_found = run.get("format") if isinstance(run, Mapping) else type(run).__name__
        raise InputError(f"{what}: format {format_found!r}, this version reads run records of format {FORMAT}")
    if wrong := misfit(dict(run), RunData):
        raise InputError(f"{what}: {wrong}{hint}")


def results_table(run: RunData, benchmark: str) -> str:
    """The results of one benchmark before and after training as a Markdown table, of the headline metrics if any.

    Metrics have their 95% interval if one was drawn.
    """
    stages = run["results"][benchmark]
    before, after = (stages.get(stage, {}) for stage in STAGES)
    names = list({**after, **before})
    names = [name for name in names if name in run["headline"]] or names

    def cell(value: float | None, form: str = ".4f") -> str:
        return "–" if value is None else format(value, form)

    def with_interval(values: Mapping[str, float | None], name: str) -> str:
        low, high = (values.get(f"{name}_{end}") for end in ("low", "high"))
        interval = "" if low is None or high is None else f" ({cell(low)} to {cell(high)})"
        return cell(values.get(name)) + interval

    def change(name: str) -> float | None:
        old, new = before.get(name), after.get(name)
        return None if old is None or new is None else new - old

    rows = [
        f"| {name.removeprefix(f'{benchmark}_')} | {with_interval(before, name)} | {with_interval(after, name)} "
        f"| {cell(change(name), '+.4f')} |"
        for name in names
    ]
    return "\n".join(["| metric | before | after | change |", "|:--|--:|--:|--:|", *rows])
