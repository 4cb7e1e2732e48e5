"""Averages several encoders into a release folder, whose record lists the training data of each."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling

from st_biomed.averaging.average_encoders import average_encoders
from st_biomed.encoder import find_model, has_own_pooling, load_encoder
from st_biomed.encoder.digest import model_digest
from st_biomed.errors import InputError
from st_biomed.files import check_output, lock, replacing
from st_biomed.release.folder import fill_release
from st_biomed.release.machine import machine, versions
from st_biomed.release.model_record import record_of
from st_biomed.release.portable import plain, plain_command, plain_model
from st_biomed.release.privacy import may_leave
from st_biomed.release.recheck import saved_beside
from st_biomed.release.run_data import (
    AveragedModelData,
    AveragingData,
    RunData,
    began_from,
    empty_run,
)
from st_biomed.terminology import Terminology


class Averaged(NamedTuple):
    """The result of :func:`average_into`.

    Attributes:
        run: Its record.
        unsearched: Sources whose names may not be redistributed and were not searched for, because their terminologies
            are not available; publishing requires them.
    """

    run: RunData
    unsearched: list[str]


def average_into(
    output: str | Path,
    names: Sequence[str],
    weights: Sequence[float],
    *,
    license: str = "",
    overwrite: bool = False,
    trust_remote_code: bool = False,
) -> Averaged:
    """Average encoders and write a release folder.

    The tokenizer, the length limit and the prompts are those of the first model. A plain checkpoint gets the pooling
    of the first model that has one. The record lists the terminologies and corpora of the models that are releases, or
    that a run with ``keep_trained`` left beside its release, so that the check on licensed names covers all of them.
    Terminologies beside the models are searched for at once.

    Args:
        output: A new or empty folder, or a release if ``overwrite`` is set.
        names: Distinct folders or Hub ids.
        weights: A non-negative number for each; they add up to 1.
        license: License of the files; by default the common license of all models that are releases, or ``"other"``.
        overwrite: Whether a release in the output folder is replaced.
        trust_remote_code: As in :func:`~st_biomed.encoder.load_model`.

    Raises:
        InputError: A repeated model, a model that is the output, models that differ in more than weights, invalid
            weights, or a violation of the rule of :mod:`st_biomed.release.privacy`.
    """
    started, output = time.perf_counter(), Path(output)
    if len({Path(name).resolve() if Path(name).is_dir() else name for name in names}) < len(names):
        raise InputError(f"models: each must be listed once, found {' '.join(names)}")
    for name in names:
        if Path(name).is_dir() and Path(name).resolve() == output.resolve():
            raise InputError(f"{output}: is one of the averaged models; choose another output")
    with lock(output):
        check_output(output, what="a release", is_own=may_leave, marker="run.json", overwrite=overwrite)
        sources = [find_model(name) for name in names]
        runs = [record_of(source.folder) for source in sources]
        models = _loaded(names, trust_remote_code)
        digests = [model_digest(model) for model in models]
        model = average_encoders(models, weights, names)
        run = _record(names, weights, digests, runs, license)
        run["seconds"] = round(time.perf_counter() - started, 1)
        at_hand = _at_hand(names, {terminology["digest"] for terminology in run["terminologies"]})
        with replacing(output) as draft:
            fill_release(model, draft, run=run, terminologies=at_hand, base_model=sources[0].folder)
    searched = {terminology.digest for terminology in at_hand}
    unsearched = {
        source["name"]
        for terminology in run["terminologies"]
        for source in terminology["sources"]
        if terminology["digest"] not in searched and not source["redistributable"]
    }
    return Averaged(run, sorted(unsearched))


def _loaded(names: Sequence[str], trust_remote_code: bool) -> list[SentenceTransformer]:
    """The models on the CPU; plain checkpoints get the pooling of the first model that has one."""
    own = {name: has_own_pooling(name) for name in names}
    models = {
        name: load_encoder(name, device="cpu", trust_remote_code=trust_remote_code) for name in names if own[name]
    }
    poolings = [module.pooling_mode for model in models.values() for module in model if isinstance(module, Pooling)]
    pooling = poolings[0] if poolings and isinstance(poolings[0], str) else None
    for name in names:
        if not own[name]:
            models[name] = load_encoder(name, pooling=pooling, device="cpu", trust_remote_code=trust_remote_code)
    return [models[name] for name in names]


def _record(
    names: Sequence[str],
    weights: Sequence[float],
    digests: Sequence[str],
    runs: Sequence[RunData | None],
    license: str,
) -> RunData:
    """The averaged models, and all their training data."""
    known = [run for run in runs if run is not None]
    licenses = {run["license"] for run in known}
    stages = [stage for run in known for stage in (run, *run["earlier"])]
    corpora = [corpus for stage in stages for corpus in stage["corpora"]]
    return {
        **empty_run(),
        "recipe": "average",
        "description": f"Its weights are the average of those of {len(names)} encoders.",
        "base_model": began_from(runs[0]) if runs[0] is not None else plain_model(names[0]),
        "license": license or (licenses.pop() if len(licenses) == 1 else "other"),
        "language": list(dict.fromkeys(code for run in known for code in run["language"])),
        "command": plain_command(sys.argv),
        "configuration": {
            "models": [_shown(name) for name in names],
            "weights": list(weights),
            **_shared_pooling(known),
        },
        "losses": {f"{i}-{dataset}": loss for i, run in enumerate(known) for dataset, loss in run["losses"].items()},
        "batches": {f"{i}-{part}": number for i, run in enumerate(known) for part, number in run["batches"].items()},
        "citations": {name: text for run in known for name, text in run["citations"].items()},
        "readings": list(dict.fromkeys(reading for run in known for reading in run["readings"])),
        "terminologies": list(
            {terminology["digest"]: terminology for stage in stages for terminology in stage["terminologies"]}.values()
        ),
        "corpora": [corpus for i, corpus in enumerate(corpora) if corpus not in corpora[:i]],
        "averaging": AveragingData(
            models=[
                AveragedModelData(
                    name=_shown(name), recipe="" if run is None else run["recipe"], digest=digest, weight=weight
                )
                for name, run, digest, weight in zip(names, runs, digests, weights)
            ],
            metrics=[],
            tolerance=0.0,
            curve=[],
            chosen=False,
        ),
        "versions": versions(),
        "machine": machine(),
    }


def _shown(name: str) -> str:
    """A model for the record; of the folder ``trained`` that a run has kept, with the run's folder."""
    shown, path = str(plain(name)), Path(name)
    return f"{path.parent.name}/trained" if shown == "trained" and path.parent.name else shown


def _shared_pooling(runs: Sequence[RunData]) -> dict[str, str]:
    """The pooling with which all runs read their base; nothing if they differ, or if a base is of an earlier run."""
    poolings = {run["configuration"].get("pooling") for run in runs}
    shared = poolings.pop() if len(poolings) == 1 else None
    return {} if shared is None or any(run["earlier"] for run in runs) else {"pooling": shared}


def _at_hand(names: Sequence[str], digests: set[str]) -> list[Terminology]:
    """The terminologies of the record that the models' runs have stored beside them."""
    terminologies: dict[str, Terminology] = {}
    for place in (place for name in names for place in saved_beside(name)):
        if (place / "terminology.json").is_file() and digests - terminologies.keys():
            terminology = Terminology.load(place)
            if terminology.digest in digests:
                terminologies[terminology.digest] = terminology
    return list(terminologies.values())
