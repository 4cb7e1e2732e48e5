"""What a run leaves behind, ``run.json``: model cards, tables and plots are made from it and from nothing else.

Its keys are those of :class:`RunData`. It names sources, versions, counts and digests, never a term; paths are relative
to the working directory or cut to their last part, and no host name and no access token is recorded.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypedDict

from st_biomed.errors import InputError
from st_biomed.files import settle
from st_biomed.release.strict_json import misfit, strict_json

FORMAT = 1
STAGES = ("before", "after")
_INSTEAD = "take it from an intact copy of the release, or train again"


class SourceData(TypedDict):
    """One source of a terminology, as its reader describes it, and how many of the terminology's names come from it."""

    name: str
    title: str
    version: str
    license: str
    url: str
    redistributable: bool
    terms: int


class TerminologyData(TypedDict):
    """One terminology: SHA-256 of its content, its sizes and its sources."""

    digest: str
    concepts: int
    texts: int
    terms: int
    parents: int
    relations: int
    sources: list[SourceData]


class CorpusData(TypedDict):
    """Raw text that was read: names of its files and folders, what was counted in it, its license as the run was told."""

    files: list[str]
    documents: int
    words: int
    license: str


class EarlierData(TypedDict):
    """A run whose model this one started from, as its own record has it."""

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
    """A model whose weights went into an average: its name, the recipe that made it where that is known, the digest of what it
    computes (:func:`st_biomed.encoder.digest.model_digest`), and its share."""

    name: str
    recipe: str
    digest: str
    weight: float


class AveragingPointData(TypedDict):
    """What was found on dev where the last model has this share; a figure is null where it was not finite."""

    weight: float
    figures: dict[str, float | None]


class AveragingData(TypedDict):
    """An average of weights; no model where there is none.

    Of a recipe the models are the base and the trained one. The curve is there where the share was chosen on dev: no figure of
    ``metrics`` may be below the base model's by more than ``tolerance``, as a share of the largest value it can have.
    """

    models: list[AveragedModelData]
    metrics: list[str]
    tolerance: float
    curve: list[AveragingPointData]


class MetricData(TypedDict):
    """One number during training; ``value`` is null where it was not finite."""

    step: int
    epoch: float | None
    name: str
    value: float | None


class LossData(TypedDict):
    """One objective: the class and ``get_config_dict()``."""

    loss: str
    config: dict[str, Any]


class MachineData(TypedDict):
    """What the run ran on; ``cores`` are those it was allowed to use."""

    cpu: str
    cores: int
    gpus: list[str]


class RunData(TypedDict):
    """The content of ``run.json``."""

    format: int
    recipe: str  # name of the recipe
    description: str  # what the model does, in a sentence or two
    model_id: str  # where it is published; empty when nowhere
    base_model: str
    license: str  # of the released files; identifier as the Hub writes it
    language: list[str]  # ISO 639-1
    command: list[str]
    seed: int
    configuration: dict[str, Any]  # every argument of the recipe, resolved
    training_arguments: dict[str, Any]  # every argument of the trainer, resolved
    changed_arguments: list[str]  # names of those that are not the host's default
    losses: dict[str, LossData]  # dataset name to its objective
    citations: dict[str, str]  # class of a loss to the BibTeX of its paper
    readings: list[str]  # how each open point of the paper was read
    terminologies: list[TerminologyData]
    corpora: list[CorpusData]
    earlier: list[EarlierData]  # the run that base_model is from, then the one before it, and so on
    averaging: AveragingData  # of the released weights
    metrics: list[MetricData]  # over time
    headline: list[str]  # names of the results that the card's tables show; all when empty
    results: dict[str, dict[str, dict[str, float | None]]]  # benchmark to "before" and "after" to metric to value
    published: list[PublishedData]  # for metrics of the results
    versions: dict[str, str]
    machine: MachineData
    seconds: float  # wall time from the record's making to its saving


def empty_run() -> RunData:
    """A run of which nothing is known."""
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
        citations={},
        readings=[],
        terminologies=[],
        corpora=[],
        earlier=[],
        averaging=AveragingData(models=[], metrics=[], tolerance=0.0, curve=[]),
        metrics=[],
        headline=[],
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
        InputError: Not there, not JSON, another format, a key is missing or there twice, or a value is not what it is to be.
    """
    path = Path(path)
    settle(path.parent)
    if not path.parent.is_dir():
        raise InputError(f"{path.parent}: no such folder; the release folder of a recipe is needed")
    try:
        run = strict_json(path.read_text("utf-8"))
    except OSError as error:
        below = ", ".join(sorted(str(one.parent) for one in path.parent.glob(f"*/{path.name}")))
        hint = f"those below it are {below}: choose one" if below else f"a recipe writes {path.name} beside its model"
        raise InputError(f"{path}: no run record there ({error.strerror}); {hint}") from error
    except ValueError as error:
        raise InputError(f"{path}: is not JSON ({' '.join(str(error).split())}); {_INSTEAD}") from error
    check_run(run, path, hint=f"; {_INSTEAD}")
    return run


def began_from(run: RunData) -> str:
    """The model that the first of all stages started from."""
    return run["earlier"][-1]["base_model"] if run["earlier"] else run["base_model"]


def check_run(run: Mapping[str, Any], what: object = "run", hint: str = "") -> None:
    """Refuse what is not a complete record.

    Args:
        run: The record.
        what: What it is called.
        hint: What else the message says of one that is damaged.

    Raises:
        InputError: Another format, keys that are missing, or a value of another type.
    """
    if not isinstance(run, Mapping) or run.get("format") != FORMAT:
        found = run.get("format") if isinstance(run, Mapping) else type(run).__name__
        raise InputError(f"{what}: format {found!r}, this version reads run records of format {FORMAT}")
    if wrong := misfit(dict(run), RunData):
        raise InputError(f"{what}: {wrong}{hint}")


def results_table(run: RunData, benchmark: str) -> str:
    """The results of one benchmark before and after training as a Markdown table; the headline ones where there are any.

    Metrics have their 95% interval where one was drawn.
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
