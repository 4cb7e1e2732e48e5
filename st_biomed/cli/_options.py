"""What the verbs share: options that several have, the checks of all, and errors in one line."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer
from typer.core import TyperGroup
from typer.models import OptionInfo, ParameterInfo

from st_biomed.encoder.foreign_code import FLAG_HELP
from st_biomed.errors import InputError, disk_error, print_error, shown
from st_biomed.settings.checks import FOLDER, PATH, SEED, Check, check_value
from st_biomed.settings.keyword_options import listed


def _no_device(name: str, value: str) -> str | None:
    from st_biomed.settings.devices import DEVICE

    return DEVICE.wrong(name, value)


Device = Annotated[
    str | None, typer.Option(help="Device to compute on; by default the best one available."), Check(_no_device)
]
DrawSeed = Annotated[int, typer.Option(help="Random seed of the draw.", min=0), SEED]
TrustRemoteCode = Annotated[bool, typer.Option("--trust-remote-code", help=FLAG_HELP)]

TerminologyName = Annotated[
    str, typer.Argument(help="A terminology: a folder, a reader's name, or reader:path."), PATH
]
NewTerminology = Annotated[Path, typer.Option("--output", "-o", help="Folder to save to: new or empty."), FOLDER]
ReplaceTerminology = Annotated[bool, typer.Option("--overwrite", help="Replace the terminology in the output folder.")]
Normalize = Annotated[
    str, typer.Option("--normalize", help="Normalize all names after none, lower or coder; equal ones are one text.")
]
WithoutCycles = Annotated[
    bool, typer.Option("--without-cycles", help="Drop the parents that lie on a cycle, as a hierarchy needs it.")
]


def checked(verb: Callable[..., None]) -> Callable[..., None]:
    """A verb that refuses values before it begins: those that no option takes, and what its annotations refuse.

    Args:
        verb: A function whose parameters are ``Annotated`` with typer's options and arguments, and with the
            :class:`~st_biomed.settings.checks.Check` of those that have one.
    """
    extras = {
        name: getattr(hint, "__metadata__", ()) for name, hint in get_type_hints(verb, include_extras=True).items()
    }

    @functools.wraps(verb)
    def run(*args: Any, **kwargs: Any) -> None:
        for name, value in inspect.signature(verb).bind(*args, **kwargs).arguments.items():
            check = next((extra for extra in extras[name] if isinstance(extra, Check)), None)
            if any(isinstance(extra, ParameterInfo) for extra in extras[name]):
                check_value(written(name, extras[name]), value, check)
        verb(*args, **kwargs)

    return run


def check_used(options: dict[str, object], where: str, *, used: bool) -> None:
    """Reject options that nothing reads.

    Args:
        options: The options as a person writes them, with their values; None, False or an empty text if not given.
        where: What they need, e.g. ``"with --output"``.
        used: Whether it is given.

    Raises:
        InputError: With the first option that is given and not used.
    """
    for name, value in options.items():
        if not used and value is not None and value is not False and value != "":
            found = "" if value is True else f", found {shown(value)}"
            raise InputError(f"{name}: is used only {where}{found}")


def check_outside(option: str, file: Path, output: Path) -> None:
    """Reject a file in an output folder, which would be lost with the old folder or make the folder irreplaceable.

    Raises:
        InputError: The file is the folder, or in it.
    """
    if output.resolve() in (file.resolve(), *file.resolve().parents):
        raise InputError(f"{option}: {file} is in {output}, which is replaced whole; choose a file elsewhere")


def written(name: str, extras: tuple[Any, ...]) -> str:
    """How a person writes a parameter: ``--per-term``, or ``INPUT``."""
    info = next(extra for extra in extras if isinstance(extra, ParameterInfo))
    if isinstance(info, OptionInfo):
        named = [
            info.default,
            *(info.param_decls or ()),
        ]  # in an annotation the first name stands where a default would
        names = [
            declaration.partition("/")[0]
            for declaration in named
            if isinstance(declaration, str) and declaration.startswith("--")
        ]
        return names[0] if names else f"--{name.replace('_', '-')}"
    return str(info.metavar or name).upper()


class OneLineErrors(TyperGroup):
    """Ends a person's mistake, and a disk that cannot be written, in one line on stderr and exit code 2.

    A bug keeps its traceback.
    """

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        with _one_line():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> Any:
        with _one_line():
            return super().invoke(ctx)


_UsageError: Any = typer.BadParameter.__mro__[1]  # of the click that this typer is made of


@contextmanager
def _one_line() -> Iterator[None]:
    try:
        yield
    except InputError as error:
        mistake: object = error
    except _UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # no mistake: it shows the help
            raise
        hint = f" ({error.ctx.command_path} --help lists all)" if error.ctx is not None else ""
        mistake = f"{error.format_message().rstrip('.').replace('Value error, ', '')}{hint}"
    except Exception as error:
        if (of_the_disk := disk_error(error)) is None:
            raise
        mistake = of_the_disk
    else:
        return
    print_error(mistake)
    raise typer.Exit(2)


def conditions_of(**values: str | None) -> dict[str, Any]:
    """The members of the options of lists that are given, by name.

    Raises:
        InputError: An option is given without a value, e.g. by an unset variable: it would restrict nothing.
    """
    conditions: dict[str, Any] = {}
    for name, value in values.items():
        if value is not None:
            conditions[name] = listed(f"--{name}", value)
            if not conditions[name]:
                raise InputError(f"--{name}: is empty, expected one or more, or leave it out")
    return conditions
