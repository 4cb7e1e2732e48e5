"""The record of a measured release: its base and its training data."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from st_biomed.encoder import POOLINGS, has_own_pooling
from st_biomed.errors import InputError
from st_biomed.leaderboard.models import ModelSpec, read_known_models
from st_biomed.release.base_model import base_model_folder
from st_biomed.release.model_record import known_record
from st_biomed.release.run_data import RunData, began_from


def run_of(model: str) -> RunData | None:
    """The record of a model (a folder, an id on the Hub, or a ``.npz`` file); nothing if it has none or is not available.

    Raises:
        InputError: A damaged record.
    """
    try:
        folder = base_model_folder(model)
    except InputError:
        return None
    return known_record(folder)


def trained_on(run: RunData) -> set[str]:
    """Names of the sources of a model's training data, including those of earlier stages."""
    terminologies = [
        *run["terminologies"],
        *(terminology for stage in run["earlier"] for terminology in stage["terminologies"]),
    ]
    return {source["name"] for terminology in terminologies for source in terminology["sources"]}


def base_of(models: Sequence[ModelSpec]) -> ModelSpec:
    """The one base of several releases, with the settings of their training.

    Raises:
        InputError: No record has a base, or the records have several.
    """
    bases: dict[ModelSpec, str] = {}
    for model in models:
        if (run := run_of(model.model)) is not None:
            bases.setdefault(_base_of(run), model.name)
    if not bases:
        raise InputError(
            "--base: the record of a release (run.json) has its base, but "
            f"{', '.join(model.name for model in models)} has no record: give a model"
        )
    if len(bases) > 1:
        several = " and ".join(
            f"{base.model} ({base.pooling or 'its own pooling'}) of {name}" for base, name in bases.items()
        )
        raise InputError(f"--base: releases of one scorecard must have one base, found {several}: give a model")
    return next(iter(bases))


def with_base(models: Sequence[ModelSpec], base: str | None) -> list[ModelSpec]:
    """The base and then the models that are compared with it.

    Args:
        base: The base given by the user; by default the base of the releases among the models, with the settings of
            the models if it is one of them.

    Raises:
        InputError: As in :func:`base_of`, a base with the name of another model, or no other model.
    """
    chosen = base_of(models) if base is None else ModelSpec.named(base)
    named = next((model for model in models if _is_of(model, chosen, settings=base is not None)), chosen)
    others = [model for model in models if model is not named]
    if not others:
        raise InputError(f"--scorecard: compares models with their base, found {named.name} alone")
    if named.name in {model.name for model in others}:
        raise InputError(f"--base: another model has the name {named.name!r} too: write --base NAME=MODEL")
    return [named, *others]


def _is_of(model: ModelSpec, base: ModelSpec, *, settings: bool) -> bool:
    """Whether both are the same folder or id, and with ``settings`` of the same pooling and length limit."""
    of_model, of_base = (Path(name).resolve() if Path(name).is_dir() else name for name in (model.model, base.model))
    alike = (model.pooling, model.max_length) == (base.pooling, base.max_length)
    return of_model == of_base and (alike or not settings)


def _base_of(run: RunData) -> ModelSpec:
    """The base of the first stage, with the pooling of its recipe.

    If other runs were in between, or the record has no pooling, a known baseline has its own settings.
    """
    model = began_from(run)
    known = [baseline for baseline in read_known_models().values() if baseline.model == model]
    name = next((baseline.name for baseline in known), Path(model).name)
    pooling = run["configuration"].get("pooling")
    if run["earlier"] or pooling is None:
        return ModelSpec(name, model, known[0].pooling, known[0].max_length) if known else ModelSpec(name, model)
    if pooling == "own_or_cls":
        pooling = "own" if has_own_pooling(model) else "cls"
    return ModelSpec(name, model, pooling if pooling in POOLINGS else "")
