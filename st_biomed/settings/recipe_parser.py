"""The parser of a recipe's arguments: that of transformers, with checks of values and short errors and help."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from inspect import get_annotations
from pathlib import Path
from typing import Any, NoReturn

from transformers import HfArgumentParser, TrainingArguments

from st_biomed.errors import InputError, unknown_name
from st_biomed.settings.checks import check_value
from st_biomed.settings.shared_names import Namespace, own_arguments
from st_biomed.settings.trainer_checks import check_of

_LONG = 400  # characters of the parser's own messages

PUSH_TO_HUB = (
    "owner/name of a new or empty repository on the Hub, to which the release folder is published at the end; private "
    "unless --hub_private_repo false; --hub_token and --hub_revision (a branch) are as in the library"
)


class RecipeParser(HfArgumentParser):
    """Parses words into instances of several dataclasses.

    Args:
        dataclasses: Classes whose fields are the arguments. A name that several of them have is an argument of the
            first.

    Attributes:
        arguments: Name to the class that has the argument and its field.
        files: Name of an argument to the settings file that its value is from, for messages.
    """

    def __init__(self, dataclasses: Sequence[Any]) -> None:
        self._classes = dataclasses
        self.arguments = own_arguments(dataclasses)
        self.files: Mapping[str, Path] = {}
        super().__init__(list(dataclasses), allow_abbrev=False, usage="%(prog)s [settings.yaml] [--name value ...]")

    def add_argument(self, *names: str, **options: Any) -> Any:
        if (first := self._option_string_actions.get(names[0])) is not None:
            return first
        options.pop("check", None)
        if "--push_to_hub" in names:
            # The trainer's switch uploads its own folder; in a recipe, the value is the repository of the release.
            options = {"type": str, "default": "", "metavar": "OWNER/NAME", "help": PUSH_TO_HUB}
        if options.get("action") == "store_false" and names[0].startswith("--no_"):
            options["help"] = f"as --{names[0].removeprefix('--no_')} false"
        if "choices" in options:
            options["type"] = _choice(options["choices"])
        return super().add_argument(*names, **options)

    def arrange_help(self, whole: bool) -> None:
        """Show the recipe's own arguments first, and those of the trainer only with ``--help-all``."""
        classes = [base for dataclass_ in self._classes for base in dataclass_.__mro__]
        home = {name: i for i, base in reversed([*enumerate(classes)]) for name in get_annotations(base)}
        actions = self._optionals._group_actions
        actions.sort(key=lambda action: home.get(action.dest, -1))
        trainer = [action for action in actions if self._is_of_trainer(action.dest)]
        for action in () if whole else trainer:
            action.help = argparse.SUPPRESS
        if trainer and not whole:
            self.epilog = f"{len({action.dest for action in trainer})} more are the trainer's: --help-all lists them."
        super().add_argument("--help-all", action="help", help="show all arguments, including those of the trainer")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        values, unused = super().parse_known_args(args, Namespace() if namespace is None else namespace)
        if unused:
            word = unused[0].partition("=")[0] if unused[0].startswith("--") else unused[0]
            raise unknown_name("argument", word, (f"--{name}" for name in self.arguments))
        for name, value in vars(values).items():
            try:
                check_value(name, value, check_of(name, self.arguments[name][1]))
            except InputError as error:
                raise InputError(f"{self.files[name]}: {error}" if name in self.files else str(error)) from None
        return values, unused

    def error(self, message: str) -> NoReturn:
        message = message if len(message) < _LONG else f"{message[:_LONG]}..."
        raise InputError(f"{self.prog}: {message} (--help-all lists all arguments)")

    def _is_of_trainer(self, name: str) -> bool:
        return name in self.arguments and issubclass(self.arguments[name][0], TrainingArguments)


def _choice(choices: Sequence[Any]) -> Callable[[str], Any]:
    """The value of a word; the parser's own error would list all choices, however many."""
    known = {str(choice_): choice_ for choice_ in choices}

    def choice(word: str) -> Any:
        if word not in known:
            raise argparse.ArgumentTypeError(str(unknown_name("value", word, known)))
        return known[word]

    return choice
