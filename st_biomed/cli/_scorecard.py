"""``st-biomed evaluate --scorecard``: what is printed and written of models against their base."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from st_biomed.errors import InputError

if TYPE_CHECKING:
    from st_biomed.evaluators.benchmark import Benchmark
    from st_biomed.leaderboard.models import ModelSpec
    from st_biomed.leaderboard.results import Result, ResultsFolder


def check_scorecard(scorecard: bool, base: str | None, n_bootstrap: int) -> None:
    """Refuse options that no scorecard can be made with.

    Raises:
        InputError: A base without a scorecard, or a scorecard without tests.
    """
    if base is not None and not scorecard:
        raise InputError("--base: names what a scorecard compares with; give --scorecard, too")
    if scorecard and n_bootstrap < 1:
        raise InputError("--n-bootstrap: the tests of a scorecard need at least 1 draw, found 0")


def show_scorecard(
    models: Sequence[ModelSpec],
    results: Sequence[Result],
    benchmarks: Mapping[str, Benchmark],
    folder: ResultsFolder,
    *,
    n_resamples: int,
    seed: int,
    as_published: bool,
) -> None:
    """Print the scorecards, and write them as Markdown and JSON into the folder of results.

    Args:
        models: The base, and what is compared with it.
        results: Of all that could be measured.
        benchmarks: By name.
        folder: Of the results.
        n_resamples, seed: Of the tests.
        as_published: How the benchmarks were scored.
    """
    from st_biomed.leaderboard.comparison import compare
    from st_biomed.leaderboard.markdown_and_html import markdown
    from st_biomed.leaderboard.recorded_runs import run_of, trained_on
    from st_biomed.leaderboard.scorecard import scorecard
    from st_biomed.leaderboard.scorecard_file import file_stem, write_scorecards
    from st_biomed.leaderboard.scorecard_tables import scorecard_tables
    from st_biomed.leaderboard.seed_scorecard import recipe_scorecards

    base, *others = models
    measured = {result.model for result in results}
    compared = [model for model in others if model.name in measured]
    if base.name not in measured or not compared:
        lacking = base.name if base.name not in measured else ", ".join(model.name for model in others)
        typer.echo(f"no scorecard: {lacking} was not measured", err=True)
        return
    tests = compare(results, base.name, folder, n_resamples=n_resamples, seed=seed)
    runs = {model.name: run for model in compared if (run := run_of(model.model)) is not None}
    cards = [
        scorecard(
            model.name,
            base.name,
            results,
            tests,
            benchmarks,
            trained_on=trained_on(runs[model.name]) if model.name in runs else None,
            n_resamples=n_resamples,
            seed=seed,
        )
        for model in compared
    ]
    recipes = recipe_scorecards(cards, runs)
    text = markdown("Scorecard", scorecard_tables(cards, recipes))
    typer.echo(text)
    stem = file_stem(as_published)
    written = folder.write(f"{stem}.md", text)
    write_scorecards(folder, cards, recipes, as_published=as_published)
    typer.echo(f"written: {written}, and {stem}.json beside it", err=True)
    releases = [model.model for model in compared if model.name in runs and Path(model.model, "README.md").is_file()]
    if releases and not as_published:
        typer.echo(
            f"into the card of a release: st-biomed release {releases[0]} --scorecard {folder.folder}", err=True
        )
