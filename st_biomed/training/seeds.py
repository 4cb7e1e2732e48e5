"""Runs with several seeds from one base model: their folders, their progress, and the mean of their results."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path

from sentence_transformers import SentenceTransformerTrainingArguments

from st_biomed.errors import InputError
from st_biomed.files import check_writable, lock, replace_text
from st_biomed.release.push_target import push_target
from st_biomed.release.run_data import read_run
from st_biomed.terminology import Terminology
from st_biomed.training.arguments import EncoderArguments
from st_biomed.training.checkpoints import last_complete_checkpoint
from st_biomed.training.encoder_run import record_run
from st_biomed.training.finish import Measured
from st_biomed.training.output import is_main, resume_point
from st_biomed.training.same_run import check_same

_METRICS = ("acc@1", "acc@5", "spearman")


@dataclass
class SeedRuns:
    """The runs of one command.

    Attributes:
        folder: The folder of ``seeds.json`` and of the folders of the runs.
        runs: The trainer's arguments of each run.
        results: The results of each run after training, by its seed; for :meth:`report`.
    """

    folder: Path
    runs: Sequence[SentenceTransformerTrainingArguments]
    results: dict[int, Measured] = field(default_factory=dict)

    def unfinished(
        self, recipe: EncoderArguments, terminologies: Sequence[Terminology]
    ) -> Iterator[SentenceTransformerTrainingArguments]:
        """The arguments of each unfinished run; the results of finished runs are read.

        Args:
            recipe: The recipe's arguments; with ``overwrite``, finished runs are repeated.
            terminologies: Those of training, as a run records them.

        Raises:
            InputError: A finished run was trained with other settings; nothing is trained.
        """
        finished_runs = {}
        for training in self.runs if not recipe.overwrite else ():
            finished = Path(str(training.output_dir), "run.json")
            if finished.is_file():
                now = record_run("", recipe, training, {}, terminologies=terminologies).to_dict()
                instead = "take another --output_dir; --overwrite true repeats finished seeds"
                check_same(read_run(finished), now, training, finished.parent, instead=instead)
                finished_runs[training.seed] = finished
        for training in self.runs:
            if resume_point(training) is True:
                found, passed = last_complete_checkpoint(Path(f"{training.output_dir}-training"))
                if found is None:  # this seed has not been started, or was stopped while it wrote its first checkpoint
                    training.resume_from_checkpoint = None
                for why in passed.values() if found is None else ():
                    print(f"passed over: {why}")
            if training.seed in finished_runs:
                finished = finished_runs[training.seed]
                print(f"seed {training.seed}: finished in an earlier run ({finished.parent})")
                self.results[training.seed] = results_of(finished)
            else:
                yield training

    def report(self) -> None:
        """Write the figures of all runs, and print the mean and standard deviation of each main figure."""
        if not is_main(self.runs[0]):
            return
        results = [self.results[training.seed] for training in self.runs]
        seeds = [training.seed for training in self.runs]
        replace_text(self.folder / "seeds.json", json.dumps({"seeds": seeds, "results": results}, indent=1) + "\n")
        print(f"\nMean and standard deviation over seeds {', '.join(map(str, seeds))}:")
        for name, first in results[0].items():
            for key in (f"{name}_{metric}" for metric in _METRICS if f"{name}_{metric}" in first):
                if lacking := [seed for seed, figures in zip(seeds, results) if key not in figures.get(name, {})]:
                    print(f"{key:40} was not measured with seed {lacking[0]}")
                    continue
                values = [figures[name][key] for figures in results]
                deviation = statistics.stdev(values) if len(values) > 1 else 0.0
                print(f"{key:40} {statistics.fmean(values):.4f} +- {deviation:.4f}")


@contextmanager
def seed_runs(
    training: SentenceTransformerTrainingArguments, seeds: Sequence[int], folder: Path
) -> Iterator[SeedRuns]:
    """The runs of several seeds, each in its own folder; the main process locks the folder above them.

    Args:
        training: The trainer's arguments, except the seed and the output folder.
        seeds: The seeds of the runs.
        folder: The folder in which the folders of the runs are made.

    Raises:
        InputError: A seed is given twice, ``push_to_hub`` is set, ``resume_from_checkpoint`` names a checkpoint, or
            another process writes to the folder.
    """
    if len(set(seeds)) < len(seeds):
        raise InputError(f"seeds: each is run once, found {' '.join(map(str, seeds))}")
    if push_target(training) is not None:
        raise InputError(
            "push_to_hub: with --seeds, publish the run that you choose: st-biomed release FOLDER owner/name"
        )
    if isinstance(point := resume_point(training), str):
        raise InputError(f"resume_from_checkpoint: with --seeds it takes true, found {point}")
    runs = [replace(training, seed=seed, output_dir=str(folder / f"seed-{seed}")) for seed in seeds]
    check_writable(folder)
    with lock(folder) if is_main(training) else nullcontext():
        yield SeedRuns(folder, runs)


def results_of(path: Path) -> Measured:
    """The results of a finished run after training, from its ``run.json``."""
    return {
        name: {key: value for key, value in stages.get("after", {}).items() if value is not None}
        for name, stages in read_run(path)["results"].items()
    }
