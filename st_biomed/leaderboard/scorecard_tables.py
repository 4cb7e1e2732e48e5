"""Scorecards as tables: a line for each family, and a table of all benchmarks for each model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from st_biomed.leaderboard.markdown_and_html import Cell, Table
from st_biomed.leaderboard.seed_scorecard import RecipeData
from st_biomed.release.scorecard_data import (
    OutcomeData,
    ScorecardData,
    by_family,
    counts,
    outside_training,
)
from st_biomed.release.scorecard_text import base_line, scorecard_notes, shown_difference, shown_p

_IN_DOMAIN = (
    "In brackets, how many of these were trained on: benchmarks made of a terminology or dictionary that the model "
    "was trained on, below with a star."
)


def scorecard_tables(scorecards: Sequence[ScorecardData], recipes: Sequence[RecipeData] = ()) -> list[Table]:
    """The families of all models, then the benchmarks of each; recipes with several seeds come first.

    Args:
        scorecards: Scorecards of models against one base.
        recipes: Scorecards of recipes with several seeds.
    """
    columns: dict[str, Sequence[OutcomeData]] = {_recipe_name(recipe): recipe["benchmarks"] for recipe in recipes}
    columns |= {scorecard["model"]: scorecard["benchmarks"] for scorecard in scorecards}
    tables = [_families(scorecards[0]["base"], columns)]
    tables += [_of_recipe(recipe) for recipe in recipes]
    return [*tables, *map(_of_model, scorecards)]


def _families(base: str, columns: Mapping[str, Sequence[OutcomeData]]) -> Table:
    families_of = {name: by_family(rows) for name, rows in columns.items()}
    families = list(dict.fromkeys(family for of_model in families_of.values() for family in of_model))
    rows = [(family, [_counted(of_model.get(family, ())) for of_model in families_of.values()]) for family in families]
    rows.append(("all", [_counted(benchmarks) for benchmarks in columns.values()]))
    marked = any(row["in_domain"] for benchmarks in columns.values() for row in benchmarks)
    if marked:
        rows.append(
            (
                "all but what was trained on",
                [_counted(outside_training(benchmarks)) for benchmarks in columns.values()],
            )
        )
    lost = {name: [row["benchmark"] for row in of if row["outcome"] == "lost"] for name, of in columns.items()}
    notes = [f"Lost, {name}: {', '.join(of) or 'none'}." for name, of in lost.items()]
    return Table(f"Against {base}", list(columns), rows, [_IN_DOMAIN, *notes] if marked else notes)


def _of_model(scorecard: ScorecardData) -> Table:
    """Every benchmark of one model."""
    rows = []
    for row in scorecard["benchmarks"]:
        figures = [f"{row['base']:.3f}", f"{row['value']:.3f}", shown_difference(row)]
        cells = [row["family"], *figures, f"{row['n']:,} {row['unit']}s", shown_p(row["p"]), shown_p(row["p_holm"])]
        rows.append((_label(row), [*map(Cell, cells), _outcome(row)]))
    columns = ["family", "base", scorecard["model"], "difference", "measured on", "p", "Holm's p", ""]
    notes = [f"Base: {base_line(scorecard)}.", *(note.replace("*", "") for note in scorecard_notes(scorecard))]
    if scorecard["not_compared"]:
        notes.append(
            f"Measured and not compared, since the base lacks the same units: {', '.join(scorecard['not_compared'])}."
        )
    return Table(f"{scorecard['model']}: {counts(scorecard['benchmarks'])}", columns, rows, notes)


def _of_recipe(recipe: RecipeData) -> Table:
    """Every benchmark of several seeds."""
    rows = []
    for row in recipe["benchmarks"]:
        seeds = [str(row["gained"]), str(row["kept"]), str(row["lost"])]
        difference = f"{row['difference']:+.3f} ({row['low']:+.3f} to {row['high']:+.3f})"
        figures = [f"{row['base']:.3f}", f"{row['base'] + row['difference']:.3f}", difference]
        rows.append((_label(row), [*map(Cell, (row["family"], *figures, *seeds)), _outcome(row)]))
    columns = ["family", "base", "mean of seeds", "mean difference", "seeds gained", "seeds kept", "seeds lost", ""]
    notes = [
        f"Seeds {', '.join(map(str, recipe['seeds']))}: {', '.join(recipe['models'])}. The mean of their differences "
        "from the base and its 95% interval over seeds (Student's t), which says what other seeds would change, not "
        "what other units would. A benchmark is what more than half of the seeds are, each by its own paired test, "
        "and kept where none has so many."
    ]
    return Table(f"{_recipe_name(recipe)}: {counts(recipe['benchmarks'])}", columns, rows, notes)


def _counted(rows: Sequence[OutcomeData]) -> Cell:
    """The counts, and in brackets the numbers of benchmarks made of training data."""
    if not rows:
        return Cell("-")
    of_all, of_some = counts(rows), counts(outside_training(rows))
    if of_all == of_some:
        return Cell(str(of_all))
    shown = [f"{n} ({n - m})" if n > m else str(n) for n, m in zip(of_all, of_some)]
    return Cell(", ".join(f"{n} {outcome}" for n, outcome in zip(shown, of_all._fields)))


def _label(row: OutcomeData) -> str:
    return f"{row['benchmark']}{' *' if row['in_domain'] else ''}, {row['metric']}"


def _outcome(row: OutcomeData) -> Cell:
    return Cell(row["outcome"], row["outcome"] == "lost")


def _recipe_name(recipe: RecipeData) -> str:
    return f"{recipe['recipe']}, {len(recipe['seeds'])} seeds ({', '.join(recipe['models'])})"
