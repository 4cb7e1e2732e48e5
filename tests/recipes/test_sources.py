"""Every value of the papers' configurations stands in recipes/sources.md with its source, and is that value."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from recipes.sapbert_finetune import EPOCHS
from st_biomed.kge import KGESettings
from st_biomed.losses.by_name import miner_by_name
from st_biomed.losses.multi_similarity import PRESETS
from st_biomed.settings.extended_yaml import extended_yaml
from st_biomed.settings.recipe import read_settings
from st_biomed.settings.yaml_files import read_yaml
from st_biomed.training_data import relation_pairs
from tests.recipes.test_configurations import CONFIGS, arguments_of

SOURCES = CONFIGS.parent / "sources.md"
COMMON = "every configuration"
PINNED = sorted(
    path.stem
    for path in CONFIGS.glob("*.yaml")
    if path.stem.endswith(("_paper", "_code"))
    or (
        "extends" in read_yaml(path)
        and not path.stem.endswith(("_open", "_smoke", "_quickstart"))
        and not path.stem.startswith("open_encoder")
    )
)
HOST = (
    "learning_rate",
    "lr_scheduler_type",
    "warmup_steps",
    "optim",
    "weight_decay",
    "adam_beta1",
    "adam_beta2",
    "adam_epsilon",
    "max_grad_norm",
    "per_device_train_batch_size",
    "gradient_accumulation_steps",
    "num_train_epochs",
    "max_steps",
    "seed",
)
"""Arguments of the trainer that are in force whether a configuration names them or not."""
_READ_OR_WRITTEN = """
    terminology corpus corpus_license text_form text_field processes linking relatedness benchmarks slow_benchmarks rankings
    release release_seed earlier stage output_dir cache_dir license overwrite smoke device resume vocabulary_settings
    trust_remote_code fold
    kge_settings inject_settings
"""
_MEASURED = "held_out_dictionary least_relation_pairs pairs_per_class paired_tests relation_list"
NO_SETTING = frozenset((_READ_OR_WRITTEN + _MEASURED).split())
"""Arguments of a recipe that change no weight, or that a user gives; one that a configuration names needs a row all the same.

What is held out of training changes weights, and so does the seed by which it is drawn."""
UNUSED = {
    "adapter": ("none", {"adapter_size"}),
    "held_out_translations": (0, {"translated", "languages"}),
    "average": ("none", {"average_tolerance", "average_steps", "average_benchmarks", "average_curve", "keep_trained"}),
    "distillation": (0, {"distillation_target", "distillation_share", "distillation_removed", "part_distillation"}),
    "neighbors": (0, {"prototypes", "positives", "prototypes_per_concept", "refresh_steps"}),
}
"""Argument to the value under which others are not read."""
SOURCE = re.compile(
    r"\(\d|\((?:Table|Figure|Eq\.)|^(?:Table|Figure) |`[\w./]+\.(?:py|sh|ipynb)`|not stated|\bours\b|\bcard of\b"
)


class Row(NamedTuple):
    """A value as it is written, and where it is from."""

    value: str
    source: str


@cache
def tables() -> dict[str, dict[str, Row]]:
    """Heading to setting to row."""
    found: dict[str, dict[str, Row]] = {}
    for part in SOURCES.read_text("utf-8").split("\n## ")[1:]:
        heading, _, text = part.partition("\n")
        rows = re.findall(r"^\| `(\w+)` \| (.+?) \| (.*) \|$", text, re.MULTILINE)
        assert len(rows) == len([line for line in text.splitlines() if line.startswith("| `")]), heading
        assert len({name for name, _, _ in rows}) == len(rows), f"{heading}: a setting stands there twice"
        found[heading] = {name: Row(value, source) for name, value, source in rows}
    return found


def rows_of(name: str) -> dict[str, Row]:
    """Those of a configuration, of what it extends, and of all."""
    above = read_yaml(CONFIGS / f"{name}.yaml").get("extends")
    return {**(rows_of(Path(above).stem) if above else tables()[COMMON]), **tables()[name]}


@cache
def in_force(name: str) -> dict[str, Any]:
    """Every setting of a configuration that has to have a row, resolved as the recipe resolves it."""
    path = CONFIGS / f"{name}.yaml"
    kinds = arguments_of(path)
    recipe, training = read_settings(kinds, [str(path)])
    values = {field.name: getattr(recipe, field.name) for field in fields(recipe) if field.name not in NO_SETTING}
    for argument, (value, others) in UNUSED.items():
        if values.get(argument) == value:
            values = {key: setting for key, setting in values.items() if key not in others}
    host = [field.name for field in fields(training)] if kinds[1] is KGESettings else HOST
    values |= {name: getattr(training, name) for name in host}
    for key in extended_yaml(path):
        values[key] = getattr(recipe if hasattr(recipe, key) else training, key)
    return values


def same(found: Any, written: Any) -> bool:
    """Whether a resolved value is the one that is written."""
    if isinstance(found, list):
        return isinstance(written, list) and len(found) == len(written) and all(map(same, found, written))
    if found is None or isinstance(found, bool):
        return found is written
    if isinstance(found, int | float):
        return not isinstance(written, bool) and float(written) == found
    return str(getattr(found, "value", found)).removesuffix("_fused") == str(written)


def check(found: Mapping[str, Any], rows: Mapping[str, Row], where: str) -> None:
    for key, value in found.items():
        assert key in rows, f"{where}: {key} ({value!r}) has no row in {SOURCES.name}"
        assert same(value, yaml.safe_load(rows[key].value)), f"{where}: {key} is {value!r}, its source has {rows[key]}"


@pytest.mark.parametrize("name", PINNED)
def test_every_setting_is_the_one_of_its_source(name: str):
    """Catches a learning rate, a cap, a clipping or a default of sentence-transformers that changes without a source."""
    check(in_force(name), rows_of(name), name)


@pytest.mark.parametrize("name", PINNED)
def test_no_row_is_left_behind(name: str):
    """Catches a row of a setting that is gone, and one that an extended configuration says already."""
    left = tables()[name].keys() - in_force(name).keys()
    assert not left, left
    above = read_yaml(CONFIGS / f"{name}.yaml").get("extends")
    known = rows_of(Path(above).stem) if above else tables()[COMMON]
    repeated = {key for key, row in tables()[name].items() if key in known and known[key].value == row.value}
    assert not repeated - {"seed"}, repeated


def numbers() -> Iterator[tuple[str, dict[str, Any]]]:
    """What configurations name or take for granted and the code has: section to its values."""
    for name, preset in PRESETS.items():
        miner = preset["miner"].get_config_dict()
        yield f"preset {name}", {key: value for key, value in preset.items() if key != "miner"} | miner
    yield "finetuning epochs", dict(EPOCHS)
    defaults = {key: parameter.default for key, parameter in inspect.signature(relation_pairs).parameters.items()}
    yield "relation pairs", {key: defaults[key] for key in ("max_concept_pairs", "names_per_pair", "inverses")}


@pytest.mark.parametrize(
    ("section", "values"), [*numbers()], ids=lambda value: value if isinstance(value, str) else ""
)
def test_the_numbers_in_the_code_are_those_of_their_sources(section: str, values: dict[str, Any]):
    """Catches a preset's alpha, a miner's margin or a cap in the code that changes without a source."""
    check(values, tables()[section], section)
    assert tables()[section].keys() == values.keys()


def test_the_miner_of_a_name_is_that_of_its_preset():
    """Catches a margin of `miner: triplet` that is not the preset's."""
    assert miner_by_name("triplet").get_config_dict() == PRESETS["sapbert"]["miner"].get_config_dict()
    assert miner_by_name("ms").get_config_dict() == PRESETS["coder"]["miner"].get_config_dict()


def test_every_section_is_of_something_and_every_row_names_a_source():
    """Catches a row with a value and nothing behind it, and a section of a configuration that is gone."""
    assert tables().keys() == {COMMON, *PINNED, *(section for section, _ in numbers())}
    for section, rows in tables().items():
        for key, row in rows.items():
            assert SOURCE.search(row.source), f"{section}: {key} names no source: {row.source!r}"


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("*.yaml")), ids=lambda path: path.stem)
def test_a_configuration_says_whether_it_clips(path: Path):
    """Catches sentence-transformers' default, a norm of 1, in force where nobody has read of it."""
    if arguments_of(path)[1] is not KGESettings:
        assert "max_grad_norm" in extended_yaml(path)
