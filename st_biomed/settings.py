"""A recipe's settings: dataclasses filled from a YAML file and from arguments, arguments winning."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Sequence
from dataclasses import MISSING, Field, fields
from pathlib import Path
from types import UnionType
from typing import Any, NoReturn, TypeVar, Union, get_args, get_origin, get_type_hints

import yaml

from st_biomed.bundled import bundled
from st_biomed.errors import InputError, unknown_name

Filled = TypeVar("Filled")

PUSH_TO_HUB = (
    "repository on the Hub that the release folder is published in at the end, owner/name: a new or an empty one, private "
    "unless --hub_private_repo false; --hub_token and --hub_revision (a branch) are as in the library"
)


def read_settings(dataclasses: Sequence[Any], argv: Sequence[str] | None = None) -> tuple[Any, ...]:
    """Fill dataclasses as ``recipe.py [settings.yaml] [--name value ...]`` says.

    A YAML key is an argument's name, or ``extends`` with the name of another file beside it. Keys and arguments go
    through the same parser, so that an unknown key or a value of the wrong type is refused wherever it stands.

    Args:
        dataclasses: Classes whose fields are the arguments, e.g. a recipe's own and the trainer's.
        argv: Arguments; the command line's by default.

    Returns:
        One instance per class.

    Raises:
        InputError: A missing or malformed file, an unknown argument, or a value that does not fit.
    """
    from transformers import HfArgumentParser

    class Parser(HfArgumentParser):
        def add_argument(self, *names: str, **options: Any) -> Any:
            if "--push_to_hub" in names:
                # The trainer's is a switch that uploads its own folder; a recipe's says where the release goes.
                options = {"type": str, "default": "", "metavar": "OWNER/NAME", "help": PUSH_TO_HUB}
            return super().add_argument(*names, **options)

        def error(self, message: str) -> NoReturn:
            raise InputError(f"{self.prog}: {message} (--help lists all arguments)")

    argv = list(sys.argv[1:] if argv is None else argv)
    parser = Parser(list(dataclasses), allow_abbrev=False)
    tokens: list[str] = []
    known = {one.name: _default(one) for each in dataclasses for one in fields(each) if one.init}
    if argv and not argv[0].startswith("-"):
        path = Path(argv.pop(0))
        for name, value in extended_yaml(path).items():
            if name not in known:
                raise InputError(f"{path}: {unknown_name('setting', name, known)}")
            if value is None and known[name] is not None:
                raise InputError(f"{path}: {name} holds nothing, expected a value like {known[name]!r}")
            if value is not None and value != []:
                tokens += [f"--{name}", *_tokens(value)]
    try:
        *filled, unused = parser.parse_args_into_dataclasses(tokens + argv, return_remaining_strings=True)
    except ValueError as error:
        raise error if isinstance(error, InputError) else InputError(" ".join(str(error).split())) from error
    if unused:
        raise InputError(str(unknown_name("argument", unused[0], (f"--{name}" for name in known))))
    return tuple(filled)


def _default(argument: Field[Any]) -> Any:
    """What an argument is where nobody says; ``None`` where it has no default."""
    if argument.default_factory is not MISSING:
        return argument.default_factory()
    return None if argument.default is MISSING else argument.default


def read_yaml(path: Path) -> dict[str, Any]:
    """A YAML file that holds a mapping.

    Raises:
        InputError: It is missing, a folder, malformed (with the line), or holds something else.
    """
    if not path.is_file():
        raise InputError(
            f"{path}: {'is a folder' if path.is_dir() else 'no such file'}, a YAML file of settings is needed"
        )
    try:
        settings = yaml.safe_load(path.read_text("utf-8"))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f":{mark.line + 1}" if mark is not None else ""
        raise InputError(f"{path}{where}: not YAML: {getattr(error, 'problem', error)}") from error
    if not isinstance(settings, dict):
        raise InputError(f"{path}: holds a {type(settings).__name__}, expected `name: value` lines")
    return settings


def extended_yaml(path: Path) -> dict[str, Any]:
    """A file of settings with those of the file that it ``extends``; its own win.

    That file lies beside it, or is one of the configurations that come with the recipes.

    Raises:
        InputError: As :func:`read_yaml`, a file to extend that is nowhere, or files that extend each other in a circle.
    """
    chain, settings = [path], read_yaml(path)
    while "extends" in settings:
        above = str(settings.pop("extends"))
        beside, packaged = path.parent / above, bundled(f"recipes/configs/{above}")
        if not beside.is_file() and packaged is None:
            raise InputError(
                f"{path}: extends {above!r}, which lies neither beside it nor among the recipes' configurations"
            )
        path = packaged if packaged is not None and not beside.is_file() else beside
        if path in chain:
            raise InputError(f"{chain[0]}: extends itself by way of {path.name}")
        chain.append(path)
        settings = {**read_yaml(path), **settings}
    return settings


def filled(cls: type[Filled], values: Any, where: str, **given: Any) -> Filled:
    """A dataclass from what a YAML file says, checked against the types of its fields.

    Args:
        cls: The dataclass; its fields are strings, numbers, booleans, and lists and mappings of these.
        values: Key to value.
        where: File and place, for messages.
        **given: Fields that are not written there.

    Raises:
        InputError: An unknown or missing key, or a value of another type.
    """
    if not isinstance(values, dict):
        raise InputError(f"{where}: holds {values!r}, expected `name: value` lines")
    types = get_type_hints(cls)
    known = {one.name: one for one in fields(cls) if one.name not in given}  # type: ignore[arg-type]
    for key, value in values.items():
        if key not in known:
            raise InputError(f"{where}: {unknown_name('key', key, known)}")
        if not _fits(value, types[key]):
            raise InputError(f"{where}: {key} has to be {_in_words(types[key])}, found {value!r}")
    for key, one in known.items():
        if key not in values and one.default is MISSING and one.default_factory is MISSING:
            raise InputError(f"{where}: {key} is missing")
    return cls(**given, **values)


def _fits(value: Any, wanted: Any) -> bool:
    """Whether a value of a YAML file is of the type of a field."""
    origin, arguments = get_origin(wanted), get_args(wanted)
    if origin in (Union, UnionType):
        return any(_fits(value, one) for one in arguments)
    if origin is list:
        return isinstance(value, list) and all(_fits(one, arguments[0]) for one in value)
    if origin is dict:
        return isinstance(value, dict) and all(isinstance(key, str) for key in value)
    if wanted is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if wanted is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return wanted is Any or isinstance(value, wanted)


def _in_words(wanted: Any) -> str:
    return wanted.__name__ if isinstance(wanted, type) and not get_args(wanted) else str(wanted)


def _tokens(value: Any) -> list[str]:
    """A YAML value as the words one would type."""
    if isinstance(value, list):
        return [word for item in value for word in _tokens(item)]
    if isinstance(value, bool):
        return ["true" if value else "false"]
    if isinstance(value, dict):
        return [json.dumps(value)]
    return [str(value)]


def run_recipe(main: Callable[[], None]) -> None:
    """Run a recipe's ``main``, with what the package says of its long steps; a mistake ends in one line and exit code 2."""
    logging.getLogger("st_biomed.batches").setLevel(logging.INFO)
    logging.basicConfig(format="%(message)s")
    try:
        main()
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(2) from None
