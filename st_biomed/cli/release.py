"""``st-biomed release``: what publishing a release folder on the Hub would do, and with ``--push`` that."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from st_biomed.errors import InputError

if TYPE_CHECKING:
    from st_biomed.terminology import Terminology


def run(
    folder: Annotated[Path, typer.Argument(help="A release folder, as a recipe leaves it.")],
    repository: Annotated[str | None, typer.Argument(help="Where to: owner/name on the Hub.")] = None,
    push: Annotated[bool, typer.Option("--push", help="Do it; otherwise nothing is sent.")] = False,
    public: Annotated[bool, typer.Option("--public", help="For everyone to see; private otherwise.")] = False,
    branch: Annotated[str, typer.Option(help="A branch instead of main; made where there is none.")] = "",
    pr: Annotated[bool, typer.Option("--pr", help="A pull request instead of a commit to main.")] = False,
    tag: Annotated[str, typer.Option(help="A tag for the commit.")] = "",
    update: Annotated[bool, typer.Option("--update", help="Change a repository that holds something.")] = False,
    collection: Annotated[str, typer.Option(help="Title of the owner's collection that it belongs to.")] = "",
    terminology: Annotated[
        list[str] | None,
        typer.Option(help="What it was trained on, to search for names: a folder, a reader's name, or reader:path."),
    ] = None,
    allow_source: Annotated[
        list[str] | None, typer.Option(help="A source whose names may leave; they are not searched for.")
    ] = None,
    base_model: Annotated[
        str | None, typer.Option(help="What training started from, where it is not where run.json says.")
    ] = None,
    scorecard: Annotated[
        Path | None,
        typer.Option(
            help="Put the scorecard of this model into its record and card: the folder of results of `st-biomed evaluate --scorecard`."
        ),
    ] = None,
    legacy: Annotated[
        Path | None, typer.Option(help="Write a folder that sentence-transformers 5 loads, too, and publish that.")
    ] = None,
) -> None:
    """Check a release and say what publishing it on the Hub would do; --push does it. Private unless --public."""
    if repository is None and ((legacy is None and scorecard is None) or push):
        raise InputError(
            "release needs a repository to publish in, owner/name, --legacy FOLDER to write, or --scorecard RESULTS to put into it"
        )
    from st_biomed.release.hub_plan import PushOptions

    options = None
    if repository is not None:
        options = PushOptions(repository, public, branch, pr, tag, update, collection)
    terminologies = _opened(terminology)
    if scorecard is not None:
        from st_biomed.leaderboard.scorecard_file import read_scorecards
        from st_biomed.release.add_scorecard import add_scorecard

        found = read_scorecards(scorecard)["scorecards"]
        verdict = add_scorecard(
            folder,
            found,
            terminologies=terminologies,
            allow_sources=allow_source or [],
            base_model=base_model,
        )
        typer.echo(f"{folder}: the record and the card have the scorecard of {scorecard}\n{verdict}")
    if legacy is not None:
        from st_biomed.release.legacy import save_legacy

        folder = save_legacy(folder, legacy)
        typer.echo(f"wrote {folder}, which sentence-transformers 5 and 6 load")
    if options is None:
        return

    from st_biomed.release.hub import plan_push, push_plan

    plan = plan_push(
        folder,
        options,
        terminologies=terminologies,
        allow_sources=allow_source or [],
        base_model=base_model,
    )
    typer.echo(str(plan))
    if not push:
        typer.echo("\nnothing was sent; --push publishes it")
        return
    pushed = push_plan(plan)
    typer.echo(f"\n{'published' if pushed.changed else 'nothing has changed since'}: {pushed.url}")
    if pushed.collection:
        typer.echo(f"collection: {pushed.collection}")


def _opened(names: list[str] | None) -> list[Terminology]:
    from st_biomed.terminology import Terminology

    return [Terminology.open(name) for name in names or []]
