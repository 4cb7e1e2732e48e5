"""A recipe's settings: dataclasses filled from a YAML file and from arguments, which override the file."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, fields, replace
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from st_biomed.errors import InputError, disk_error, print_error, shown, unknown_name
from st_biomed.settings.bundled import bundled
from st_biomed.settings.checks import check_value
from st_biomed.settings.extended_yaml import extended_files
from st_biomed.settings.origins import carry_origins, with_origins
from st_biomed.settings.trainer_checks import check_of, check_trainer

_SWITCHES = ("push_to_hub", "resume_from_checkpoint")  # text that may be a truth value


def read_settings(dataclasses: Sequence[Any], argv: Sequence[str] | None = None) -> tuple[Any, ...]:
    """Fill dataclasses from ``recipe.py [settings.yaml] [--name value ...]``.

    A YAML key is an argument's name, or ``extends`` with the name of another file beside it. Keys and arguments use
    the same parser and the same checks: unknown keys and invalid values are rejected in both, before anything is
    loaded. The check of a field is ``check`` of its metadata; the checks of sentence-transformers' arguments are in
    :mod:`st_biomed.settings.trainer_checks`.

    Args:
        dataclasses: Classes whose fields are the arguments, e.g. a recipe's own and the trainer's. A name that several
            of them have is an argument of the first; the others keep its default.
        argv: Arguments; the command line's by default.

    Returns:
        One instance per class, which knows the origins of its values.

    Raises:
        InputError: A missing or malformed file, an unknown argument, or a value that does not fit.
    """
    from transformers import TrainingArguments

    from st_biomed.settings.recipe_parser import RecipeParser

    argv = list(sys.argv[1:] if argv is None else argv)
    parser = RecipeParser(dataclasses)
    parser.arrange_help("--help-all" in argv)
    named = {word.partition("=")[0].lstrip("-").replace("-", "_") for word in argv if word.startswith("--")}
    words: list[str] = []
    files: list[dict[str, Any]] = []
    if argv and not argv[0].startswith("-"):
        path = Path(argv.pop(0))
        files = extended_files(path)
        words = _words_of_files(path, files, dataclasses, parser.arguments)
        in_file = {word[2:].partition("=")[0] for word in words if word.startswith("--")}
        parser.files = dict.fromkeys(in_file - named, path)
    try:
        instances = parser.parse_args_into_dataclasses(words + argv, look_for_args_file=False)
    except InputError:
        raise
    except (ValueError, TypeError, KeyError, ImportError, OSError, RuntimeError, OverflowError) as error:
        message = " ".join(str(error).split())  # the message of sentence-transformers' dataclass
        remedy = "; or say --load_best_model_at_end false" if message.startswith("--load_best_model_at_end") else ""
        raise InputError(f"{message}{remedy}") from error
    for instance in instances:
        if isinstance(instance, TrainingArguments):
            check_trainer(instance)
    return tuple(with_origins(instance, [*files, named]) for instance in instances)


def read_stage(dataclasses: Sequence[Any], settings: str, **values: Any) -> tuple[Any, ...]:
    """Fill dataclasses from a settings file, for a recipe that another one runs as its stage.

    Args:
        dataclasses: As in :func:`read_settings`.
        settings: A file, or the name of a configuration of the recipes.
        **values: Values that override those of the file, unless they are empty.

    Returns:
        One instance per class.

    Raises:
        InputError: As in :func:`read_settings`.
    """
    path = settings if Path(settings).is_file() else bundled(f"recipes/configs/{settings}") or settings
    instances = []
    for instance in read_settings(dataclasses, [str(path)]):
        own = {argument.name: argument for argument in fields(instance) if argument.init}
        chosen = {name: value for name, value in values.items() if name in own and value not in ("", [], None)}
        for name, value in chosen.items():
            check_value(name, value, check_of(name, own[name]))
        instances.append(carry_origins(instance, replace(instance, **chosen), chosen))
    return tuple(instances)


def _default(argument: Field[Any]) -> Any:
    """The value of an argument that is not given; ``None`` if it has no default."""
    if argument.default_factory is not MISSING:
        return argument.default_factory()
    return None if argument.default is MISSING else argument.default


def _words_of_files(
    path: Path,
    files: Sequence[Mapping[str, Any]],
    dataclasses: Sequence[Any],
    arguments: Mapping[str, tuple[Any, Field[Any]]],
) -> list[str]:
    """The settings of a file and of those that it extends, as words of a command line; later files override earlier ones."""
    types = {name: hint for cls in reversed(dataclasses) for name, hint in get_type_hints(cls).items()}
    words: list[str] = []
    for name, value in {name: value for settings in files for name, value in settings.items()}.items():
        if name not in arguments:
            raise InputError(f"{path}: {unknown_name('setting', name, arguments)}")
        words += _as_words(name, value, types[name], f"{path}: {name}", _default(arguments[name][1]))
    return words


def _as_words(name: str, value: Any, wanted: Any, where: str, default: Any) -> list[str]:
    """A YAML value as words of a command line."""
    kinds = {get_origin(kind) or kind for kind in (get_args(wanted) or (wanted,))} | {get_origin(wanted)}
    if value is None or value == []:
        if default is None or value == default:
            return []
        raise InputError(f"{where} is empty, expected a value like {default!r}")
    if isinstance(value, dict) and dict in kinds:
        return [f"--{name}={json.dumps(value)}"]
    words = value if isinstance(value, list) and list in kinds else [value]
    for word in words:
        if not isinstance(word, str | int | float):
            raise InputError(
                f"{where} takes {'a list of values' if list in kinds else 'one value'}, found {shown(value)}"
            )
        if isinstance(word, bool) and bool not in kinds and name not in _SWITCHES:
            raise InputError(f"{where} must not be true or false, found {str(word).lower()}; write a word in quotes")
    words = [str(word).lower() if isinstance(word, bool) else str(word) for word in words]
    return [f"--{name}={words[0]}"] if len(words) == 1 else [f"--{name}", *words]


def run_recipe(main: Callable[[], None]) -> None:
    """Run a recipe's ``main``, with messages about its long steps.

    A user's mistake, and a disk that is full, read-only or obstructed, end with one line and exit code 2.
    """
    logging.getLogger("st_biomed.samplers").setLevel(logging.INFO)
    logging.basicConfig(format="%(message)s")
    try:
        main()
    except Exception as error:
        failure = error if isinstance(error, InputError) else disk_error(error)
        if failure is None:
            raise
        print_error(failure)
        raise SystemExit(2) from None
