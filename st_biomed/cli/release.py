"""``st-biomed release``: plan the publication of a release folder on the Hub; ``--push`` executes the plan."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from st_biomed.cli._options import check_used
from st_biomed.errors import InputError


def run(
    folder: Annotated[Path, typer.Argument(help="A release folder, written by a recipe.")],
    repository: Annotated[str | None, typer.Argument(help="Repository on the Hub: owner/name.")] = None,
    push: Annotated[bool, typer.Option("--push", help="Send the files; without it only the plan is printed.")] = False,
    public: Annotated[
        bool, typer.Option("--public", help="Make a new repository public; private by default.")
    ] = False,
    branch: Annotated[
        str, typer.Option(help="Branch to commit to in place of main; created if it does not exist.")
    ] = "",
    pr: Annotated[bool, typer.Option("--pr", help="Open a pull request in place of a commit to main.")] = False,
    tag: Annotated[str, typer.Option(help="Tag for the commit.")] = "",
    update: Annotated[bool, typer.Option("--update", help="Update a repository that is not empty.")] = False,
    collection: Annotated[str, typer.Option(help="Title of the owner's collection to add the repository to.")] = "",
    terminology: Annotated[
        list[str] | None,
        typer.Option(
            help="Terminology of the training, whose names are searched for: a folder, a reader's name, or reader:path."
        ),
    ] = None,
    allow_source: Annotated[
        list[str] | None, typer.Option(help="Source whose names may be published; they are not searched for.")
    ] = None,
    base_model: Annotated[
        str | None, typer.Option(help="Base model of the training, if it is not at the path in run.json.")
    ] = None,
    scorecard: Annotated[
        Path | None,
        typer.Option(
            help="Put the scorecard of this model into its record and card: the folder of results of `st-biomed evaluate --scorecard`."
        ),
    ] = None,
    legacy: Annotated[
        Path | None, typer.Option(help="Write a folder that sentence-transformers 5 can also load, and publish it.")
    ] = None,
) -> None:
    """Check a release and print the plan for publishing it on the Hub; --push executes it. Private unless --public."""
    if repository is None and ((legacy is None and scorecard is None) or push):
        raise InputError("release needs a repository, owner/name, --legacy FOLDER, or --scorecard RESULTS")
    of_the_hub: dict[str, object] = {
        "--public": public,
        "--branch": branch,
        "--pr": pr,
        "--tag": tag,
        "--update": update,
        "--collection": collection,
    }
    check_used(of_the_hub, "with a repository, owner/name", used=repository is not None)
    from st_biomed.release.hub_plan import PushOptions
    from st_biomed.terminology import Terminology

    options = None
    if repository is not None:
        options = PushOptions(repository, public, branch, pr, tag, update, collection)
    rule: dict[str, Any] = {
        "terminologies": [Terminology.open(name) for name in terminology or []],
        "allow_sources": allow_source or [],
        "base_model": base_model,
    }
    if scorecard is not None:
        from st_biomed.leaderboard.scorecard_file import read_scorecards
        from st_biomed.release.add_scorecard import add_scorecard

        found = read_scorecards(scorecard)["scorecards"]
        verdict = add_scorecard(folder, found, **rule)
        typer.echo(f"{folder}: the record and the card have the scorecard of {scorecard}\n{verdict}")
    place = folder  # the run has its terminology beside this folder
    if legacy is not None:
        from st_biomed.release.legacy import save_legacy

        folder = save_legacy(folder, legacy)
        typer.echo(f"wrote {folder}, which sentence-transformers 5 and 6 load")
    if options is None:
        return

    from st_biomed.release.hub import plan_push, push_plan

    plan = plan_push(folder, options, **rule, place=place)
    typer.echo(str(plan))
    if not push:
        typer.echo("\nnothing was sent; --push publishes it")
        return
    pushed = push_plan(plan)
    typer.echo(f"\n{'published' if pushed.changed else 'nothing has changed since'}: {pushed.url}")
    if pushed.collection:
        typer.echo(f"collection: {pushed.collection}")
