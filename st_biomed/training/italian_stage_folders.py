"""The folders in which the stages of the Italian system store their output for later stages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from transformers import TrainingArguments

from st_biomed.averaging.arguments import AveragingArguments
from st_biomed.encoder import find_model
from st_biomed.errors import InputError
from st_biomed.evaluators.benchmark import chosen_benchmarks
from st_biomed.files import check_output, finish_replacement
from st_biomed.settings.bundled import bundled
from st_biomed.settings.checks import check_unused
from st_biomed.settings.keyword_options import unless_none
from st_biomed.terminology import Terminology
from st_biomed.training.distillation import DistillationArguments
from st_biomed.training.encoder_run import read_terminology

RETENTION = (
    *(option.name for kind in (AveragingArguments, DistillationArguments) for option in fields(kind)),
    *("dropout", "frozen", "adapter", "layer_decay", "decay_all", "ema_decay"),
)
"""Arguments that preserve the base model, of the contrastive stages alone."""

STAGES = ("vocabulary", "kge", "inject", "contrastive", "pipelined")


@dataclass(frozen=True)
class StageFolders:
    """The output folders of earlier stages.

    Args:
        folder: The ``output_dir`` of the run that wrote them.
    """

    folder: Path

    @property
    def terminology(self) -> Path:
        """The terminology of all stages."""
        return self.folder / "terminology"

    @property
    def injected(self) -> Path:
        """The encoder with injected graph embeddings."""
        return self.folder / "injected"

    def graph(self, model: str) -> Path:
        """The graph embeddings of a model."""
        return self.folder / "kge" / model

    def text_model(self, base_model: str) -> str:
        """ext-BERT, or the base model if the vocabulary stage was not run."""
        extended = self.folder / "vocabulary"
        return str(extended) if extended.is_dir() else base_model

    def finish_replacement(self, kge_model: str) -> None:
        """Finish or undo the folder replacements that a killed stage left incomplete."""
        for path in (self.terminology, self.folder / "vocabulary", self.graph(kge_model), self.injected):
            finish_replacement(path)

    def check_graph(self, kge_model: str, reader: str) -> None:
        """Raise InputError if the graph embeddings do not exist.

        Args:
            reader: The loss or stage that needs the embeddings, for the message.

        Raises:
            InputError: The folder of the embeddings is missing.
        """
        table = self.graph(kge_model)
        if not table.is_dir():
            available = ", ".join(sorted(path.name for path in table.parent.glob("*") if path.is_dir())) or "none"
            raise InputError(
                f"{table}: no graph embeddings for {reader} (there: {available}); run --stage kge "
                f"--kge_model {kge_model} first, or take one that is there"
            )

    def keep_terminology(self, recipe: Any, training: TrainingArguments) -> Terminology:
        """Read the terminology of all stages, and save it for the stages that load it from the folder.

        Args:
            training: The trainer's arguments; they determine which process writes.

        Raises:
            InputError: No term is in the language, or earlier stages used another terminology.
        """
        terminology = read_terminology(recipe.terminology)
        if recipe.language and recipe.language not in terminology.languages:
            raise InputError(
                f"language: no name of the terminology is in {recipe.language!r}, they are in "
                f"{', '.join(terminology.languages)}; --language chooses one, and a reader takes that of its names by "
                "--option language="
            )
        anew = recipe.stage == "all" and recipe.overwrite
        kept = self.terminology
        with training.main_process_first(desc="terminology"):
            if recipe.earlier:  # the folder of another run, which is only read
                if Terminology.load(kept).digest != terminology.digest:
                    raise InputError(
                        f"{kept}: the run of --earlier had another terminology; give that of this run, or choose another --earlier"
                    )
                return terminology
            began = [name for name in ("vocabulary", "kge", "injected") if (self.folder / name).exists()]
            if began and not anew and (kept / "terminology.json").is_file():
                if Terminology.load(kept).digest != terminology.digest:
                    raise InputError(
                        f"{kept}: the earlier stages ({', '.join(began)}) had another terminology; choose another "
                        "output_dir, or run all stages anew: --stage all --overwrite true"
                    )
            elif training.should_save:
                terminology.save(kept)
        return terminology


def check_retention(recipe: Any) -> None:
    """Raise InputError if arguments that keep the knowledge of the base model do not fit each other or the stage.

    They are those of the contrastive stages. The other stages are recipes with settings of their own, in which the
    values would be of other layers and other trainings.

    Raises:
        InputError: As of ``check_averaging`` and ``check_distillation``, shares to measure without a benchmark, or another
            stage alone with one of the arguments.
    """
    recipe.check_averaging()
    if recipe.measures_shares and not unless_none(recipe.average_benchmarks):
        what = "average: dev" if recipe.average == "dev" else "average_curve:"
        raise InputError(f"{what} needs --average_benchmarks here, where nothing is held out of the terminology")
    recipe.check_distillation()
    if recipe.stage not in ("all", "contrastive", "pipelined"):
        where = f"stage {recipe.stage}, whose settings are those of {recipe.stage}_settings"
        check_unused(recipe, RETENTION, where, by=("stage",))


def check_outputs(folder: Path, stages: Sequence[str], overwrite: bool) -> None:
    """Raise InputError if a stage has a release that may not be replaced, before the first stage is trained.

    The stage kge resumes, or keeps what is there, by itself.

    Raises:
        InputError: As of :func:`~st_biomed.files.check_output`.
    """
    for stage in stages:
        if stage != "kge":
            written = folder / ("injected" if stage == "inject" else stage)
            check_output(written, what="a release", is_own=lambda _: True, marker="run.json", overwrite=overwrite)


def check_stages(recipe: Any, stages: Sequence[str], left: StageFolders) -> None:
    """Raise InputError if the base model, a corpus, a settings file or the output of an earlier stage is missing.

    Raises:
        InputError: Something is missing, and the message names the stage that writes it; or a control of loss v3 with another
            loss.
    """
    left.finish_replacement(recipe.kge_model)
    if recipe.corpus:
        recipe.check_corpus()
    elif {"vocabulary", "inject"} & {*stages}:
        raise InputError("corpus: is needed, nothing was given")
    elif {"contrastive", "pipelined"} & {*stages} and not recipe.bare_names:
        raise InputError("corpus: is needed, nothing was given; --bare_names true trains on the names alone")
    if {"inject", "contrastive", "pipelined"} & {*stages}:
        chosen_benchmarks(recipe.benchmarks)
    if {"contrastive", "pipelined"} & {*stages}:
        recipe.check_loss()
    for stage in (stage for stage in STAGES[:3] if stage in stages):
        settings = getattr(recipe, f"{stage}_settings")
        if not Path(settings).is_file() and bundled(f"recipes/configs/{settings}") is None:
            raise InputError(f"{stage}_settings: {settings}: no such file")
    reads_graph = recipe.loss == "v3" and {"contrastive", "pipelined"} & {*stages}
    if "kge" not in stages and (reads_graph or "inject" in stages):
        left.check_graph(recipe.kge_model, "loss v3" if reads_graph else "stage inject")
    if "pipelined" in stages and "inject" not in stages and not left.injected.is_dir():
        raise InputError(f"{left.injected}: no injected model for stage pipelined; run --stage inject first")
    if {"vocabulary", "inject", "contrastive"} & {*stages}:
        find_model(left.text_model(recipe.base_model))
