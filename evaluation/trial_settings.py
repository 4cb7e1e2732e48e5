"""The settings of a trial of the open encoder: those of the configuration, and the arguments that the trial changes."""

from __future__ import annotations

import shlex
from dataclasses import fields

from sentence_transformers import SentenceTransformerTrainingArguments

from recipes import open_encoder
from recipes.open_encoder import OpenEncoderArguments
from st_biomed.errors import InputError, shown
from st_biomed.linking_data.held_out_name_arguments import HeldOutNameArguments
from st_biomed.settings.recipe import read_settings

COMMON = (
    *("base_model", "pooling", "terminology", "trees", "benchmarks", "split_seed", "runs"),
    *(argument.name for argument in fields(HeldOutNameArguments)),
)
"""Arguments of the recipe that all trials of a file have in common."""

Settings = tuple[OpenEncoderArguments, SentenceTransformerTrainingArguments]


def settings(config: str, arguments: str) -> Settings:
    """The settings of a trial.

    Raises:
        InputError: One is invalid or is not the trial's own: data, base model and what is measured are the
            configuration's; or the trial would train parts alone beside its own encoder.
    """
    kinds = (OpenEncoderArguments, SentenceTransformerTrainingArguments)
    recipe, training = read_settings(kinds, [config, *shlex.split(arguments)])
    common, _ = read_settings(kinds, [config])
    for name in COMMON:
        if (found := getattr(recipe, name)) != (wanted := getattr(common, name)):
            raise InputError(
                f"{arguments}: {name} is that of the configuration, {shown(wanted)}, found {shown(found)}"
            )
    open_encoder.without_none(recipe)
    open_encoder.check(recipe)
    if recipe.alone:
        raise InputError(
            f"{arguments}: a trial trains one encoder; found --alone {' '.join(recipe.alone)}: train the part in a trial "
            "of its own (--parts), and average both with mix"
        )
    training.eval_strategy = training.save_strategy = "no"
    return recipe, recipe.training_arguments(training)
