"""The command line ``st-biomed``: one file per verb, each importing what it needs when it runs."""

from __future__ import annotations

import typer

import st_biomed.settings.threads  # noqa: F401
from st_biomed.cli import (
    average,
    evaluate,
    export,
    index,
    kge,
    link,
    mentions,
    merge,
    pairs,
    picture,
    read,
    release,
    show,
    stats,
    subset,
    train,
    unite,
)
from st_biomed.cli._options import OneLineErrors, checked

app = typer.Typer(
    name="st-biomed",
    help="Train, evaluate and release biomedical term embeddings.",
    cls=OneLineErrors,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
for verb in (
    read,
    merge,
    unite,
    subset,
    stats,
    show,
    pairs,
    mentions,
    evaluate,
    index,
    link,
    export,
    average,
    release,
):
    app.command(verb.__name__.rpartition(".")[2])(verb.run)

app.add_typer(kge.app, name="kge")
app.add_typer(picture.app, name="picture")
app.command(
    "train", context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}
)(train.run)
for group in (app, kge.app, picture.app):
    for command in group.registered_commands:
        if command.callback is not None:
            command.callback = checked(command.callback)


def main() -> None:
    """Entry point of the console script."""
    app()
