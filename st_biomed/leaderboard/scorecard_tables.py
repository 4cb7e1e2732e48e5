"""Scorecards as tables: a line for each family, and a table of all benchmarks for each model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from st_biomed.leaderboard.recipe_scorecard import RecipeData
from st_biomed.leaderboard.report import Cell, Table
from st_biomed.release.scorecard_data import (
    OutcomeData,
    ScorecardData,
    by_family,
    counts,
    outside_training,
)
from st_biomed.release.scorecard_text import base_line, scorecard_notes, shown_difference, shown_p

_IN_DOMAIN = (
    "In brackets, how many of these were trained on: benchmarks made of a terminology or dictionary that the model was trained on, "
    "below with a star."
)


def scorecard_tables(scorecards: Sequence[ScorecardData], recipes: Sequence[RecipeData] = ()) -> list[Table]:
    """The families of all models, then the benchmarks of each, those of recipes with several seeds first.

    Args:
        scorecards: Of models against one base.
        recipes: Those taken together that are seeds of one recipe.
    """
    columns: dict[str, Sequence[OutcomeData]] = {_recipe_name(one): one["benchmarks"] for one in recipes}
    columns |= {one["model"]: one["benchmarks"] for one in scorecards}
    tables = [_families(scorecards[0]["base"], columns)]
    tables += [_of_recipe(one) for one in recipes]
    return [*tables, *map(_of_model, scorecards)]


def _families(base: str, columns: Mapping[str, Sequence[OutcomeData]]) -> Table:
    found = {name: by_family(rows) for name, rows in columns.items()}
    families = list(dict.fromkeys(family for of_model in found.values() for family in of_model))
    rows = [(family, [_counted(of_model.get(family, ())) for of_model in found.values()]) for family in families]
    rows.append(("all", [_counted(each) for each in columns.values()]))
    marked = any(row["in_domain"] for each in columns.values() for row in each)
    if marked:
        rows.append(("all but what was trained on", [_counted(outside_training(each)) for each in columns.values()]))
    notes = [f"Lost, {name}: {_lost(each)}." for name, each in columns.items()]
    return Table(f"Against {base}", list(columns), rows, [_IN_DOMAIN, *notes] if marked else notes)


def _of_model(scorecard: ScorecardData) -> Table:
    """Every benchmark of one model."""
    rows = []
    for row in scorecard["benchmarks"]:
        figures = [f"{row['base']:.3f}", f"{row['value']:.3f}", shown_difference(row)]
        told = [row["family"], *figures, f"{row['n']:,}", shown_p(row["p"]), shown_p(row["p_holm"])]
        rows.append((_label(row), [*map(Cell, told), _outcome(row)]))
    columns = ["family", "base", scorecard["model"], "difference", "units", "p", "Holm's p", ""]
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
        rows.append((_label(row), [*map(Cell, (row["family"], difference, *seeds)), _outcome(row)]))
    columns = ["family", "mean difference", "seeds gained", "seeds kept", "seeds lost", ""]
    notes = [
        f"Seeds {', '.join(map(str, recipe['seeds']))}: {', '.join(recipe['models'])}. The mean of their differences from the base and "
        "its 95% interval over seeds (Student's t), which says what other seeds would change, not what other units would. A benchmark "
        "is what more than half of the seeds are, each by its own paired test, and kept where none has so many."
    ]
    return Table(f"{_recipe_name(recipe)}: {counts(recipe['benchmarks'])}", columns, rows, notes)


def _lost(rows: Sequence[OutcomeData]) -> str:
    """Every loss by name."""
    return ", ".join(row["benchmark"] for row in rows if row["outcome"] == "lost") or "none"


def _counted(rows: Sequence[OutcomeData]) -> Cell:
    """The counts, and in brackets how many of each are made of what was trained on."""
    if not rows:
        return Cell("-")
    of_all, of_some = counts(rows), counts(outside_training(rows))
    if of_all == of_some:
        return Cell(str(of_all))
    told = [f"{n} ({n - m})" if n > m else str(n) for n, m in zip(of_all, of_some)]
    return Cell(", ".join(f"{n} {outcome}" for n, outcome in zip(told, of_all._fields)))


def _label(row: OutcomeData) -> str:
    return f"{row['benchmark']}{' *' if row['in_domain'] else ''}, {row['metric']}"


def _outcome(row: OutcomeData) -> Cell:
    return Cell(row["outcome"], row["outcome"] == "lost")


def _recipe_name(recipe: RecipeData) -> str:
    return f"{recipe['recipe']}, {len(recipe['seeds'])} seeds ({', '.join(recipe['models'])})"
