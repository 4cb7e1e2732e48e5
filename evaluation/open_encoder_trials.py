"""Trials of settings of the open encoder on dev parts and development benchmarks; everything is read once.

    python evaluation/open_encoder_trials.py trials.yaml --output out/trials

``--workers 8`` takes eight trials at once, each in a process: one small encoder does not fill a GPU. ``--models FOLDER`` keeps the
encoder of each mix as ``FOLDER/NAME``.

The file has a trial in each entry: arguments of the recipe, and shares of the trained weights to measure (1 by default); a mix, the
shares of earlier trials or of folders of trained models, of which the rest to 1 is the base model's; or the number of leading principal components that are removed
from the vectors of the untrained base model, a control of ``--distillation_removed``::

    mild: {arguments: --distillation 20 --learning_rate 1e-4 --max_steps 300, shares: [1, 0.5]}
    strong: {arguments: --distillation 10 --max_steps 400}
    both: {mix: {mild: 0.5, strong: 0.5}}
    control: {removed: 1}

A line of ``results.jsonl`` has the figures of one share, and a checksum of what it was made of: the terminology, the base
model, all settings, and the weights in a mix. Shares that have their lines are not repeated, unless this changed, and trials
that are added at the end of the file while others run are taken up. NCBI disease is linked to a part of its dictionary, so that figures of a trial
compare with those of other trials alone.
"""

from __future__ import annotations

import st_biomed.settings.first_import  # noqa: F401 # isort: skip

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from torch import Tensor
from transformers import set_seed

sys.path.insert(0, str(Path(__file__).parents[1]))

from evaluation.trial_lines import Turn, check_mixes, left_of, next_trial, write
from evaluation.trial_settings import Settings, settings
from recipes import open_encoder
from st_biomed.averaging.average_encoders import buffers_of
from st_biomed.averaging.states import average_states
from st_biomed.encoder import computes_bf16
from st_biomed.encoder.digest import model_digest
from st_biomed.encoder.load import load_encoder
from st_biomed.errors import InputError
from st_biomed.evaluators.benchmark import read_benchmark_settings
from st_biomed.evaluators.embedders import EmbedOnce, map_embedder, model_embedder
from st_biomed.evaluators.entity_linking.evaluator import EntityLinkingEvaluator
from st_biomed.evaluators.entity_linking.settings import LinkingSettings
from st_biomed.evaluators.shared_embedding import KEPT_TEXTS
from st_biomed.evaluators.suite import EvaluatorSuite
from st_biomed.files import replacing, replacing_file
from st_biomed.files.sealed import checksum, checksum_of
from st_biomed.linking_data import LinkingDataset, LinkingDictionary
from st_biomed.losses.terminology_digest_callback import TerminologyDigestCallback
from st_biomed.release.portable import plain
from st_biomed.samplers import EpochCallback
from st_biomed.settings.recipe import run_recipe
from st_biomed.settings.yaml_files import read_yaml
from st_biomed.training.all_but_the_top import AllButTheTop
from st_biomed.training.encoder_run import record_run, train_encoder
from st_biomed.training.same_run import weight_arguments
from st_biomed.training.teacher import SAMPLE

BENCHMARKS = ("mayosrs", "umnsrs_similarity_modified", "umnsrs_relatedness_modified", "relations_ncit")
WEIGHTS = (".safetensors", ".bin")
DICTIONARY = 3000
"""Names of NCBI disease's dictionary beside those of the concepts that are meant."""

State = dict[str, Tensor]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trials", type=Path, help="YAML file of the trials")
    parser.add_argument("--config", default="recipes/configs/open_encoder_english.yaml", help="what the trials change")
    parser.add_argument("--output", type=Path, default=Path("out/trials"))
    parser.add_argument("--models", type=Path, help="folder for the encoders of mixes")
    parser.add_argument("--workers", type=int, default=1, help="processes; each takes every n-th trial of the file")
    parser.add_argument("--worker", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    if arguments.workers > 1 and arguments.worker is None:
        raise SystemExit(in_processes([sys.executable, *sys.argv], arguments.workers))
    turn = Turn(arguments.worker or 0, arguments.workers)
    recipe, training = settings(arguments.config, "")
    check_mixes(arguments.trials)
    for trial in read_yaml(arguments.trials).values():
        settings(arguments.config, trial.get("arguments", ""))
    data = open_encoder.read(recipe, training)
    suite = development(data)
    results = arguments.output / "results.jsonl"
    base = recipe.encoder()
    common = [model_digest(base), data.whole.digest, str(computes_bf16())]
    identity = partial(made_of, trials=arguments.trials, config=arguments.config, common=common)
    line = partial(write, results, common=identity("base", {}))
    if turn.place == 0 and left_of(results, "base", {}, identity("base", {})):
        line("base", 0.0, measured(base, suite), identity("base", {}))
    while (waiting := next_trial(arguments.trials, results, turn, identity)) is not None:
        name, trial, left = waiting
        of = identity(name, trial)
        if "removed" in trial:
            line(name, 0.0, measured(base, suite, without_top(base, data, trial["removed"])), of)
            continue
        if "mix" in trial:
            others = read_yaml(arguments.trials)
            while turn.of > 1 and not all(
                Path(part).is_dir() or not left_of(results, part, others[part], identity(part, others[part]))
                for part in trial["mix"]
            ):
                time.sleep(1)  # another process trains it
            parts = [weights_of(part, name, others.get(part), identity, arguments.output) for part in trial["mix"]]
            weights = [max(0.0, 1 - sum(trial["mix"].values())), *trial["mix"].values()]
            shares = {1.0: average([base.state_dict(), *parts], weights, base)}
        else:
            kept = arguments.output / f"{name}.pt"
            if (trained := kept_weights(kept, of)) is None:
                trained = train(settings(arguments.config, trial["arguments"]), data, arguments.output / "work" / name)
                with replacing_file(kept) as draft:
                    torch.save({"made_of": of, "weights": trained}, draft)
            shares = {share: average([base.state_dict(), trained], [1 - share, share], base) for share in left}
        for share, state in shares.items():
            model = recipe.encoder()
            model.load_state_dict(state)
            if "mix" in trial and arguments.models:
                with replacing(arguments.models / name) as draft:
                    model.save_pretrained(str(draft), create_model_card=False)
            line(name, share, measured(model, suite), of)


def in_processes(command: list[str], workers: int) -> int:
    """Run the command once for each worker, and end all of them when one fails.

    Returns:
        The status of the first that failed, otherwise 0.
    """
    running = [subprocess.Popen([*command, "--worker", str(place)]) for place in range(workers)]
    try:
        while any(process.poll() is None for process in running):
            if failed := [process.returncode for process in running if process.returncode]:
                return failed[0]
            time.sleep(0.5)
    finally:
        for process in running:
            process.terminate()
    return next((process.returncode for process in running if process.returncode), 0)


def made_of(name: str, trial: dict[str, Any], *, trials: Path, config: str, common: list[str]) -> str:
    """The checksum of all that decides the figures of a trial.

    Args:
        name, trial: The trial, which is empty for the base model.
        trials: File of the trials.
        config: The configuration that they change.
        common: What all trials have in common: digests of the base model and the terminology, and the precision.

    Raises:
        InputError: A mix has a part that is no trial and no folder.
    """
    recipe, training = settings(config, trial.get("arguments", ""))
    how: list[Any] = [*common, trial.get("removed"), plain(asdict(recipe))]
    for place in map(Path, (*recipe.corpus, *recipe.distilled_texts)):
        how += [
            checksum_of(file) for file in sorted(place.rglob("*") if place.is_dir() else [place]) if file.is_file()
        ]
    if "mix" in trial:
        others = read_yaml(trials)
        for part, share in trial["mix"].items():
            if part in others:
                how += [share, made_of(part, others[part], trials=trials, config=config, common=common)]
            elif Path(part).is_dir():
                files = sorted(file for file in Path(part).rglob("*") if file.suffix in WEIGHTS)
                how += [share, *(checksum_of(file) for file in files)]
            else:
                raise InputError(f"{trials}: {name}: expected trials and folders of models in mix, found {part}")
    else:
        how += [training.seed, weight_arguments(training)]
    return checksum(json.dumps(how, sort_keys=True).encode())


def development(data: open_encoder.Data) -> EvaluatorSuite:
    """Dev parts of the recipe and of NCBI disease, and the development benchmarks; without intervals."""
    options: Any = {"n_bootstrap": 0, "bf16": computes_bf16()}
    ncbi = read_benchmark_settings("ncbi_disease", LinkingSettings)
    raw = ncbi.open()
    suite = EvaluatorSuite(
        EntityLinkingEvaluator(smaller(dataset), "dev", name=f"{name}_dev", seen=["train"], **options)
        for name, dataset in (("ncbi_raw", raw), ("ncbi", ncbi.prepared(raw)))
    )
    suite.add_benchmarks(BENCHMARKS, **options)
    for evaluator in [] if data.dev is None else data.dev.evaluators:
        evaluator.show_progress_bar = False
        suite.add_evaluator(evaluator)
    return suite


def smaller(dataset: LinkingDataset) -> LinkingDataset:
    """The data set with a part of its dictionary that has every concept that is meant."""
    names, dictionary = dataset.dictionary.names, dataset.dictionary
    meant = {gold for mentions in dataset.mentions.values() for mention in mentions for gold in mention.ids}
    drawn = np.random.default_rng(0).random(len(names)) < DICTIONARY / len(names)
    entries = [(name, [dictionary.ids[i] for i in dictionary.entry_ids.row(row)]) for row, name in enumerate(names)]
    kept = [entry for entry, chosen in zip(entries, drawn) if chosen or not meant.isdisjoint(entry[1])]
    return replace(dataset, dictionary=LinkingDictionary.from_entries(kept))


def train(trial: Settings, data: open_encoder.Data, output: Path) -> State:
    """The weights after training."""
    recipe, training = trial
    training.output_dir = str(output / "training")
    set_seed(training.seed)
    model = recipe.encoder()
    terminology, _ = recipe.with_corpus(data.train, model.tokenizer)
    parts = {
        name: recipe.part(name, model, terminology, output / "terminology", training.seed) for name in recipe.parts
    }
    losses = recipe.distill_parts(parts, model, terminology, max_length=recipe.max_length, bf16=training.bf16)
    recipe.mix(training, parts)
    record = record_run("open_encoder", recipe, training, losses, terminologies=[data.whole])
    rows = {name: part.rows for name, part in parts.items()}
    train_encoder(model, recipe, training, rows, losses, record, TerminologyDigestCallback(losses), EpochCallback())
    return {name: tensor.detach().cpu().clone() for name, tensor in model.state_dict().items()}


def kept_weights(file: Path, made_of: str) -> State | None:
    """The weights that an earlier run left, if they were made of the same."""
    kept = torch.load(file, weights_only=True) if file.is_file() else {}
    return kept["weights"] if kept.get("made_of") == made_of else None


def weights_of(
    part: str, mix: str, trial: dict[str, Any] | None, identity: Callable[[str, dict[str, Any]], str], output: Path
) -> State:
    """The weights of an earlier trial, or of the model in a folder if no trial has its name.

    Raises:
        InputError: The trial was not trained with its present settings yet.
    """
    if trial is None:
        return load_encoder(part, device="cpu").state_dict()
    if (found := kept_weights(output / f"{part}.pt", identity(part, trial))) is None:
        raise InputError(f"{mix}: the trial {part} is not trained with its present settings yet: put it above {mix}")
    return found


def average(states: list[State], weights: list[float], model: SentenceTransformer) -> State:
    """The average of the weights."""
    return average_states(states, weights, fixed=buffers_of(model), names=[f"part {i}" for i in range(len(states))])


def without_top(
    model: SentenceTransformer, data: open_encoder.Data, removed: int
) -> Callable[[np.ndarray], np.ndarray]:
    """The map that removes the mean and leading components of the vectors of names that are trained on."""
    names = np.random.default_rng(0).permutation(len(data.train.strings))[:SAMPLE]
    vectors = model_embedder(model, bf16=computes_bf16())([data.train.strings[i] for i in names.tolist()])
    return AllButTheTop.fit(vectors, removed)


def measured(
    model: SentenceTransformer, suite: EvaluatorSuite, mapped: Callable[[np.ndarray], np.ndarray] = np.asarray
) -> dict[str, float]:
    """The primary figure of every evaluator, the accuracy on refined mentions besides; of mapped vectors."""
    embed = model_embedder(model, bf16=computes_bf16())
    found = suite.measure_vectors(
        EmbedOnce(map_embedder(embed, lambda one: lambda texts: mapped(one(texts))), KEPT_TEXTS)
    )
    figures = {evaluator.name: found[evaluator.name][evaluator.primary_metric] for evaluator in suite.tests}
    for name, values in found.items():
        figures |= {f"{name} refined": value for key, value in values.items() if key.endswith("refined_acc@1")}
    return {name: round(float(value), 4) for name, value in figures.items()}


if __name__ == "__main__":
    run_recipe(main)
