"""The command line ``st-biomed``: one file per verb, each importing what it needs when it runs."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from st_biomed.cli import (
    evaluate,
    index,
    kge,
    link,
    mentions,
    merge,
    pairs,
    picture,
    read,
    release,
    stats,
    subset,
    train,
)
from st_biomed.errors import InputError


class OneLineErrors(TyperGroup):
    """Ends a person's mistake in one line on stderr and exit code 2; a bug keeps its traceback."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except InputError as error:
            typer.echo(f"error: {error}", err=True)
            raise typer.Exit(2) from None


app = typer.Typer(
    name="st-biomed",
    help="Train, measure and release biomedical term embeddings.",
    cls=OneLineErrors,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
for verb in (read, merge, subset, stats, pairs, mentions, evaluate, index, link, release):
    app.command(verb.__name__.rpartition(".")[2])(verb.run)

app.add_typer(kge.app, name="kge")
app.add_typer(picture.app, name="picture")
app.command(
    "train", context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}
)(train.run)


def main() -> None:
    """Entry point of the console script."""
    app()
