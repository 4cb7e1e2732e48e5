"""A recipe's settings: dataclasses filled from a YAML file and from arguments, which override the file."""

from __future__ import annotations

import argparse
import json
import logging
import sys
from collections.abc import Callable, Sequence
from dataclasses import MISSING, Field, fields, replace
from inspect import get_annotations
from pathlib import Path
from types import UnionType
from typing import Any, NoReturn, TypeVar, Union, get_args, get_origin, get_type_hints

from st_biomed.errors import InputError, disk_error, print_error, shown, unknown_name
from st_biomed.settings.bundled import bundled
from st_biomed.settings.checks import Check, check_value
from st_biomed.settings.extended_yaml import extended_files
from st_biomed.settings.origins import carry_origins, with_origins
from st_biomed.settings.shared_names import Namespace, own_arguments
from st_biomed.settings.trainer_checks import TRAINER, check_trainer

Filled = TypeVar("Filled")

_LONG = 400  # characters of the parser's own messages
_SWITCHES = ("push_to_hub", "resume_from_checkpoint")  # text that may be a truth value

PUSH_TO_HUB = (
    "owner/name of a new or empty repository on the Hub, to which the release folder is published at the end; private "
    "unless --hub_private_repo false; --hub_token and --hub_revision (a branch) are as in the library"
)


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
    from transformers import HfArgumentParser, TrainingArguments

    arguments = own_arguments(dataclasses)
    hosts = {name for name, (owner, _) in arguments.items() if issubclass(owner, TrainingArguments)}
    written: dict[str, Path] = {}

    class Parser(HfArgumentParser):
        def add_argument(self, *names: str, **options: Any) -> Any:
            if (first := self._option_string_actions.get(names[0])) is not None:
                return first
            options.pop("check", None)
            if "--push_to_hub" in names:
                # The trainer's switch uploads its own folder; in a recipe, the value is the repository of the release.
                options = {"type": str, "default": "", "metavar": "OWNER/NAME", "help": PUSH_TO_HUB}
            if "choices" in options:
                options["type"] = _choice(options["choices"])
            return super().add_argument(*names, **options)

        def arrange_help(self, whole: bool) -> None:
            """Show the recipe's own arguments first, and those of the trainer only with ``--help-all``."""
            classes = [base for dataclass_ in dataclasses for base in dataclass_.__mro__]
            home = {name: i for i, base in reversed([*enumerate(classes)]) for name in get_annotations(base)}
            actions = self._optionals._group_actions
            actions.sort(key=lambda action: home.get(action.dest, -1))
            trainer = [action for action in actions if action.dest in hosts]
            for action in () if whole else trainer:
                action.help = argparse.SUPPRESS
            if trainer and not whole:
                self.epilog = (
                    f"{len({action.dest for action in trainer})} more are the trainer's: --help-all lists them."
                )
            super().add_argument(
                "--help-all", action="help", help="show all arguments, including those of the trainer"
            )

        def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
            values, unused = super().parse_known_args(args, Namespace() if namespace is None else namespace)
            if unused:
                word = unused[0].partition("=")[0] if unused[0].startswith("--") else unused[0]
                raise unknown_name("argument", word, (f"--{name}" for name in arguments))
            for name, value in vars(values).items():
                try:
                    check_value(name, value, check_of(name, arguments[name][1]))
                except InputError as error:
                    raise InputError(f"{written[name]}: {error}" if name in written else str(error)) from None
            return values, unused

        def error(self, message: str) -> NoReturn:
            message = message if len(message) < _LONG else f"{message[:_LONG]}..."
            raise InputError(f"{self.prog}: {message} (--help-all lists all arguments)")

    argv = list(sys.argv[1:] if argv is None else argv)
    parser = Parser(list(dataclasses), allow_abbrev=False, usage="%(prog)s [settings.yaml] [--name value ...]")
    parser.arrange_help("--help-all" in argv)
    named = {word.partition("=")[0].lstrip("-").replace("-", "_") for word in argv if word.startswith("--")}
    tokens: list[str] = []
    files: list[dict[str, Any]] = []
    if argv and not argv[0].startswith("-"):
        path = Path(argv.pop(0))
        types = {name: hint for cls in reversed(dataclasses) for name, hint in get_type_hints(cls).items()}
        files = extended_files(path)
        for name, value in {name: value for settings in files for name, value in settings.items()}.items():
            if name not in arguments:
                raise InputError(f"{path}: {unknown_name('setting', name, arguments)}")
            tokens += _tokens(name, value, types[name], f"{path}: {name}", _default(arguments[name][1]))
        written = {token[2:].partition("=")[0]: path for token in tokens if token.startswith("--")}
        written = {name: path for name, path in written.items() if name not in named}
    try:
        filled = parser.parse_args_into_dataclasses(tokens + argv, look_for_args_file=False)
    except InputError:
        raise
    except (ValueError, TypeError, KeyError, ImportError, OSError, RuntimeError, OverflowError) as error:
        message = " ".join(str(error).split())  # the message of sentence-transformers' dataclass
        remedy = "; or say --load_best_model_at_end false" if message.startswith("--load_best_model_at_end") else ""
        raise InputError(f"{message}{remedy}") from error
    for instance in filled:
        if isinstance(instance, TrainingArguments):
            check_trainer(instance)
    return tuple(with_origins(instance, [*files, named]) for instance in filled)


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


def check_of(name: str, argument: Field[Any]) -> Check | None:
    """The check of an argument: its own, or that of sentence-transformers' argument with its name."""
    return argument.metadata.get("check", TRAINER.get(name))


def _choice(choices: Sequence[Any]) -> Callable[[str], Any]:
    """The value of a word; the parser's own error would list all choices, however many."""
    known = {str(choice_): choice_ for choice_ in choices}

    def choice(word: str) -> Any:
        if word not in known:
            raise argparse.ArgumentTypeError(str(unknown_name("value", word, known)))
        return known[word]

    return choice


def _default(argument: Field[Any]) -> Any:
    """The value of an argument that is not given; ``None`` if it has no default."""
    if argument.default_factory is not MISSING:
        return argument.default_factory()
    return None if argument.default is MISSING else argument.default


def fill_dataclass(cls: type[Filled], values: Any, where: str, **fixed: Any) -> Filled:
    """A dataclass from the settings of a YAML file, checked against the types of its fields.

    Args:
        cls: The dataclass; its fields are strings, numbers, booleans, and lists and mappings of these.
        values: Key to value.
        where: File and place, for messages.
        **fixed: Fields that are not in the file.

    Raises:
        InputError: An unknown or missing key, or a value of another type.
    """
    if not isinstance(values, dict):
        raise InputError(f"{where}: contains {values!r}, expected `name: value` lines")
    types = get_type_hints(cls)
    known = {argument.name: argument for argument in fields(cls) if argument.name not in fixed}  # type: ignore[arg-type]
    for key, value in values.items():
        if key not in known:
            raise InputError(f"{where}: {unknown_name('key', key, known)}")
        if not _fits(value, types[key]):
            raise InputError(f"{where}: {key} must be of type {_in_words(types[key])}, found {value!r}")
        check_value(f"{where}: {key}", value, known[key].metadata.get("check"))
    for key, argument in known.items():
        if key not in values and argument.default is MISSING and argument.default_factory is MISSING:
            raise InputError(f"{where}: {key} is missing")
    return cls(**fixed, **values)


def _fits(value: Any, wanted: Any) -> bool:
    """Whether a value of a YAML file has the type of a field."""
    origin, arguments = get_origin(wanted), get_args(wanted)
    if origin in (Union, UnionType):
        return any(_fits(value, alternative) for alternative in arguments)
    if origin is list:
        return isinstance(value, list) and all(_fits(member, arguments[0]) for member in value)
    if origin is dict:
        return isinstance(value, dict) and all(isinstance(key, str) for key in value)
    if wanted is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if wanted is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return wanted is Any or isinstance(value, wanted)


def _in_words(wanted: Any) -> str:
    return wanted.__name__ if isinstance(wanted, type) and not get_args(wanted) else str(wanted)


def _tokens(name: str, value: Any, wanted: Any, where: str, default: Any) -> list[str]:
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
