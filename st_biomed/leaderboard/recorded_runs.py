"""What the record of a release says of a model that is measured: what it began from, and what it was trained on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from st_biomed.encoder import POOLINGS, has_own_pooling
from st_biomed.errors import InputError
from st_biomed.leaderboard.models import MeasuredModel, read_baselines
from st_biomed.release.base_model import base_model_folder
from st_biomed.release.run_data import RunData, began_from, read_run


def run_of(model: str) -> RunData | None:
    """The record of a model; nothing where it has none, or is not within reach.

    Args:
        model: A folder, an id on the Hub, or a ``.npz`` file.

    Raises:
        InputError: A record that is damaged.
    """
    try:
        folder = base_model_folder(model)
    except InputError:
        return None
    return read_run(folder / "run.json") if (folder / "run.json").is_file() else None


def trained_on(run: RunData) -> set[str]:
    """Names of the sources that a model was trained on, those of earlier stages among them."""
    terminologies = [*run["terminologies"], *(each for stage in run["earlier"] for each in stage["terminologies"])]
    return {source["name"] for each in terminologies for source in each["sources"]}


def base_of(models: Sequence[MeasuredModel]) -> MeasuredModel:
    """The one model that several releases began from, as it was read for their training.

    Raises:
        InputError: No record names one, or they name several.
    """
    found: dict[MeasuredModel, str] = {}
    for one in models:
        if (run := run_of(one.model)) is not None:
            found.setdefault(_base_of(run), one.name)
    if not found:
        names = ", ".join(one.name for one in models)
        raise InputError(f"--base: the record of a release (run.json) names its base, {names} has none: name a model")
    if len(found) > 1:
        several = " and ".join(
            f"{base.model} ({base.pooling or 'its own pooling'}) of {name}" for base, name in found.items()
        )
        raise InputError(f"--base: releases of one scorecard have one base, found {several}: name a model")
    return next(iter(found))


def with_base(models: Sequence[MeasuredModel], base: str | None) -> list[MeasuredModel]:
    """The base and then the models that are compared with it.

    Args:
        models: What a person named.
        base: As a person writes it; by default what the releases among the models began from, read as the models have it where it
            is one of them.

    Raises:
        InputError: As :func:`base_of`, a base of the name of another model, or no model beside it.
    """
    chosen = base_of(models) if base is None else MeasuredModel.named(base)
    named = next(
        (one for one in models if (one.model == chosen.model if base is None else _same(one, chosen))), chosen
    )
    others = [one for one in models if one is not named]
    if not others:
        raise InputError(f"--scorecard: compares models with their base, found {named.name} alone")
    if named.name in {one.name for one in others}:
        raise InputError(
            f"--base: a model that it is compared with is called {named.name!r}, too: write --base NAME=MODEL"
        )
    return [named, *others]


def _same(one: MeasuredModel, other: MeasuredModel) -> bool:
    return (one.model, one.pooling, one.max_length) == (other.model, other.pooling, other.max_length)


def _base_of(run: RunData) -> MeasuredModel:
    """What the first stage began from: with the pooling and length of its recipe, or, where other runs stood between, as a known
    baseline is read."""
    model = began_from(run)
    known = [one for one in read_baselines().values() if one.model == model]
    name = next((one.name for one in known), Path(model).name)
    if run["earlier"]:
        return (
            MeasuredModel(name, model, known[0].pooling, known[0].max_length) if known else MeasuredModel(name, model)
        )
    pooling, length = run["configuration"].get("pooling"), run["configuration"].get("max_length")
    if pooling == "own_or_cls":
        pooling = "own" if has_own_pooling(model) else "cls"
    return MeasuredModel(
        name,
        model,
        pooling if pooling in POOLINGS else "",
        length if isinstance(length, int) and not isinstance(length, bool) else 0,
    )
