"""Every option there is, one after the other: what no option takes is refused by all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest
from sentence_transformers import SentenceTransformerTrainingArguments
from transformers import TrainingArguments
from typer.models import ArgumentInfo, OptionInfo

from recipes.sapbert_finetune import FinetuningTraining
from st_biomed.cli import app, kge, picture
from st_biomed.cli._options import written
from st_biomed.errors import InputError
from st_biomed.kge import KGESettings
from st_biomed.settings.recipe import read_settings

OWN = {
    "bergamot": "BergamotArguments",
    "biolord": "BioLORDArguments",
    "extend_bert": "ExtendBERTArguments",
    "fewshot_names": "FewShotArguments",
    "hiprbert": "HiPrBERTArguments",
    "italian_kge": "ItalianArguments",
    "kge": "KGEArguments",
    "knowledge_injection": "InjectionArguments",
    "open_encoder": "OpenEncoderArguments",
    "sapbert": "SapBERTArguments",
    "sapbert_finetune": "FinetuningArguments",
}
CLASSES: list[Any] = [getattr(import_module(f"recipes.{recipe}"), name) for recipe, name in OWN.items()]
CLASSES += [SentenceTransformerTrainingArguments, FinetuningTraining, TrainingArguments, KGESettings]

REQUIRED = {
    "read": "toy -o {new}",
    "merge": "toy toy -o {new}",
    "unite": "{file} -o {new}",
    "subset": "toy -o {new} --sources TOY",
    "stats": "toy",
    "show": "toy TOY:D0",
    "pairs": "toy -o {new}",
    "mentions": "toy {file} -o {new}",
    "evaluate": "m",
    "index": "toy -o {new} --model m",
    "link": "{folder}",
    "release": "{folder} org/x",
    "average": "a b -o {new}",
    "export": "m -o {new}",
    "kge evaluate": "{folder}",
    "picture concepts": "toy m -o {new}.png",
    "picture pairs": "toy m -o {new}.png",
    "picture results": "{folder} -o {new}.png",
    "picture scorecard": "{folder} -o {new}.png",
    "picture types": "{folder} -o {new}.png",
    "picture curves": "{folder} -o {new}.png",
    "picture distances": "{folder} -o {new}.png",
    "picture average": "{folder} -o {new}.png",
    "train": "hiprbert",
}


def kinds_of(hint: Any) -> set[Any]:
    """The plain types of a hint: those of a union, and of a list's members."""
    if get_origin(hint) in (Union, UnionType, list):
        return {kind for alternative in get_args(hint) for kind in kinds_of(alternative)}
    return {hint}


def numbers(cls: Any) -> Iterator[tuple[str, Any]]:
    hints = get_type_hints(cls)
    for option in fields(cls):
        kinds = kinds_of(hints[option.name])
        if option.init and kinds & {int, float} and dict not in {get_origin(kind) for kind in kinds}:
            yield option.name, float if float in kinds else int


@pytest.mark.long
@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_numbers_of_a_recipe(cls: Any):
    """Catches a new field that takes NaN, infinity or a number that overflows something later."""
    for name, kind in numbers(cls):
        for value in ("nan", "inf", "-inf") if kind is float else ("9" * 30, "-" + "9" * 30):
            with pytest.raises(InputError, match=name):
                read_settings((cls,), [f"--{name}={value}"])


@pytest.mark.long
@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_texts_of_a_recipe(cls: Any, tmp_path: Path):
    """Catches a text that the operating system refuses with a ``ValueError``."""
    for option in fields(cls):
        if option.init and get_type_hints(cls)[option.name] in (str, str | None):
            (tmp_path / "a.yaml").write_text(f'{option.name}: "a\\0b"\n')
            with pytest.raises(InputError, match=option.name):
                read_settings((cls,), [str(tmp_path / "a.yaml")])


def verbs() -> dict[str, Callable[..., None]]:
    groups = {"": app, "kge ": kge.app, "picture ": picture.app}
    return {
        f"{prefix}{command.name}": command.callback
        for prefix, group in groups.items()
        for command in group.registered_commands
        if command.callback is not None
    }


def options(verb: Callable[..., None], *wanted: Any) -> Iterator[tuple[str, Any]]:
    """How the options of some types are written; an argument has no name to be given by."""
    for name, hint in get_type_hints(verb, include_extras=True).items():
        info = next(
            (annotation for annotation in getattr(hint, "__metadata__", ()) if isinstance(annotation, OptionInfo)),
            None,
        )
        if info is not None and (kind := kinds_of(get_args(hint)[0]) & {*wanted}):
            yield written(name, hint.__metadata__), kind.pop()


@pytest.mark.parametrize("verb", sorted(verbs()))
def test_numbers_and_paths_of_a_verb(verb: str, words, nothing_is_loaded: None, verb_refused: Callable[..., str]):
    """Catches a new option that takes NaN, a number that overflows, or a path that no file system takes."""
    values = {float: ("nan", "inf", "-inf"), int: ("9" * 30, "-" + "9" * 30), Path: ("a" * 300, "a/" * 3000)}
    for option, kind in options(verbs()[verb], *values):
        for value in values[kind]:
            line = verb_refused(*verb.split(), *words(REQUIRED[verb]), f"{option}={value}")
            assert option in line and "o such option" not in line


def test_every_verb_is_written_with_the_types_that_are_looked_at():
    """Guards the guard: an option that is no ``Annotated`` parameter would be passed over."""
    for name, verb in verbs().items():
        for parameter, hint in get_type_hints(verb, include_extras=True).items():
            known = getattr(hint, "__metadata__", ())
            if parameter not in ("return", "context"):
                assert any(isinstance(annotation, OptionInfo | ArgumentInfo) for annotation in known), (
                    name,
                    parameter,
                )
