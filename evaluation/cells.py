"""The cells of an experiment, compared seed by seed with a reference cell.

    python evaluation/cells.py out/bergamot_cells/evaluation --reference text -o out/bergamot_cells/report.md
    python evaluation/cells.py out/parts/results.jsonl out/controls/results.jsonl --reference "all 0.8" -o out/parts/report.md
    python evaluation/cells.py out/kge-{0,1,2}/results.json --reference transe -o out/kge.md

The models of the folder of results are named CELL-SEED, and so are the trials of files of ``open_encoder_trials.py``, whose
cells are CELL SHARE. The graph embeddings of ``recipes/kge.py`` are cells, whose record has their seed. A trial without a seed, and the
reference if it is a model without one, such as the base model, stand for each seed. A row has the mean figure of a cell over its seeds, and the mean of the differences from the reference with the
same seed, with Student's 95% interval if there are two seeds. The interval says what other seeds would change on the same
mentions. A difference whose interval contains 0 is not shown by these seeds. Where the folder has the units of the results (mentions or
their documents, pairs, sub-trees), a row also has the interval and the p of the same mean difference over the units, for these
very models. Of several results of a model and a benchmark, those with the last settings are taken, and a note says which are left out.
"""

from __future__ import annotations

import argparse
import json
import logging
import math
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from evaluation.trial_lines import is_seed, lines_of
from st_biomed.errors import InputError
from st_biomed.files import check_writable, replace_text
from st_biomed.leaderboard.results import Result, ResultsFolder
from st_biomed.leaderboard.select_results import one_of_each
from st_biomed.metrics.seed_interval import shown_over_seeds
from st_biomed.metrics.significance import PairedTest, Units, compare_means
from st_biomed.settings.recipe import run_recipe

logger = logging.getLogger(__name__)

Figures = dict[str, dict[str, dict[int | None, float]]]
"""Metric to cell to seed to figure; the seed of a model that has none, such as the base model, is ``None``."""

GRAPH_FIGURES = ("filtered_mrr", "filtered_hits@1", "filtered_hits@10", "filtered_mr")
"""Figures of link prediction: Table 2 of Amore Bondarenko et al. 2022."""

Tests = dict[str, dict[str, tuple[str, PairedTest]]]
"""Metric to cell to the kind of unit and the test against the reference."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = "folder of `st-biomed evaluate`, files of trials (results.jsonl), or of graph embeddings (results.json)"
    parser.add_argument("results", type=Path, nargs="+", help=what)
    parser.add_argument("--reference", default="text", help="the cell that others are compared with")
    parser.add_argument("--also", nargs="*", default=[], help="metrics beside the primary ones, without the prefix")
    parser.add_argument("--resamples", type=int, default=1000, help="draws of units for each interval and each test")
    parser.add_argument("-o", "--output", type=Path, required=True, help="file of the tables")
    arguments = parser.parse_args()
    check_writable(arguments.output, file=True)
    notes, tests = list[str](), None
    if all(path.suffix == ".json" for path in arguments.results):
        found = figures_of_graphs(arguments.results, arguments.also)
    elif all(path.is_file() for path in arguments.results):
        found, notes = figures_of_trials(arguments.results)
    elif len(arguments.results) > 1:
        given = " ".join(map(str, arguments.results))
        raise InputError(f"expected one folder of results, or files of trials, found {given}")
    else:
        folder = ResultsFolder(arguments.results[0])
        chosen = one_of_each(folder.results)
        found, notes = figures(chosen.results, arguments.also, arguments.reference), chosen.notes
        tests = tests_over_units(chosen.results, folder, found, arguments.reference, arguments.resamples)
    text = report(found, arguments.reference, [*notes, *not_found(found, arguments.also)], tests)
    print(text)
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    replace_text(arguments.output, text)


def figures(results: Iterable[Result], also: Collection[str] = (), reference: str = "") -> Figures:
    """The primary figures of the models that are named CELL-SEED, and others.

    Args:
        results: The results.
        also: Names of other metrics without the evaluator's prefix; those that an evaluator has are taken.
        reference: A model without a seed that is taken, too, where a cell was measured. Others are left out.
    """
    found: Figures = {}
    alone: dict[str, float] = {}
    for result in results:
        if result.is_raw:
            continue
        cell, _, seed = result.model.rpartition("-")
        others = [f"{result.evaluator}_{name}" for name in also]
        for metric in dict.fromkeys([result.primary, *(name for name in others if name in result.metrics)]):
            if cell and is_seed(seed):
                found.setdefault(metric, {}).setdefault(cell, {})[int(seed)] = result.metrics[metric]
            elif result.model == reference:
                alone[metric] = result.metrics[metric]
    for metric in found.keys() & alone.keys():
        found[metric].setdefault(reference, {None: alone[metric]})
    return found


def not_found(found: Figures, also: Iterable[str]) -> list[str]:
    """A note for each of these metrics that no result has."""
    known = "".join(f"_{metric}\n" for metric in found)
    return [f"No result has the metric {name}." for name in also if f"_{name}\n" not in known]


def figures_of_trials(files: Iterable[Path]) -> tuple[Figures, list[str]]:
    """The figures of trials that are named CELL-SEED, by CELL and share, and of those without a seed; and notes.

    Args:
        files: A line for each trial and share, as ``open_encoder_trials.py`` writes them. A cell that several files have is one
            cell; of equal lines, the last counts. Lines of a file that were made with another configuration or
            terminology than its last line are left out, and a note names them.
    """
    found: Figures = {}
    notes = []
    for file in files:
        lines = [json.loads(line) for line in lines_of(file).values()]
        if not lines:
            raise InputError(f"{file}: has no line of a trial")
        present = [line for line in lines if line.get("common", "") == lines[-1].get("common", "")]
        if others := sorted({line["trial"] for line in lines if line not in present}):
            notes.append(f"Left out, made with another configuration or terminology: {', '.join(others)} of {file}.")
        shares: dict[str, set[float]] = {}
        for line in present:
            shares.setdefault(line["trial"], set()).add(line["share"])
        for line in present:
            cell, _, seed = line["trial"].rpartition("-")
            of_cell, of_seed = (cell, int(seed)) if is_seed(seed) else (line["trial"], None)
            if of_seed is not None or len(shares[line["trial"]]) > 1:
                of_cell = f"{of_cell} {line['share']:g}"
            for metric in line.keys() - {"trial", "share", "time", "made_of", "common"}:
                found.setdefault(metric, {}).setdefault(of_cell, {})[of_seed] = line[metric]
    return found, notes


def figures_of_graphs(files: Iterable[Path], also: Collection[str] = ()) -> Figures:
    """The link prediction of graph embeddings by model and seed, from files of ``recipes/kge.py``.

    Args:
        files: ``results.json`` of each seed.
        also: Names of further figures of these files, such as ``mcsm_icd9_it_mcsm``.

    Raises:
        InputError: No such file, or one that has other contents.
    """
    found: Figures = {}
    for file in files:
        try:
            content = json.loads(file.read_text("utf-8"))
            seeds = {name: int(record["settings"]["seed"]) for name, record in content["models"].items()}
            of_models = {name: dict(content["results"][name]) for name in seeds}
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"{file}: expected the results of recipes/kge.py, found {error!r}") from error
        for name, figures in of_models.items():
            for metric in (*GRAPH_FIGURES, *also):
                if metric in figures:
                    found.setdefault(metric, {}).setdefault(name, {})[seeds[name]] = figures[metric]
    return found


def tests_over_units(
    results: Iterable[Result], folder: ResultsFolder, found: Figures, reference: str, n_resamples: int
) -> Tests:
    """The mean difference of each cell from the reference, over the units of the benchmark.

    Args:
        results: The results of the figures.
        folder: The folder with their units.
        found: The figures.
        reference: The cell that others are compared with.
        n_resamples: Number of draws.

    Returns:
        Metric to cell to the kind of unit and the test; cells without units of every seed are left out, and so are those of
        other units, which are logged.
    """
    of_model = {(result.model, metric): result for result in results if not result.is_raw for metric in result.metrics}
    tests: Tests = {}
    for metric, cells in found.items():
        units = cache(partial(_units, of_model, folder, metric))  # those of the reference are read once
        for cell in cells.keys() - {reference} if reference in cells else ():
            pairs = [
                (units(cell, seed), units(reference, other)) for seed, other in _seeds(cells[cell], cells[reference])
            ]
            known = [(one, other) for one, other in pairs if one is not None and other is not None]
            if not known or len(known) < len(pairs):
                continue
            ours, others = zip(*known)
            try:
                test = compare_means(ours, others, n_resamples=n_resamples)
            except InputError as error:
                logger.warning("%s, %s and %s: %s", metric, cell, reference, error)
                continue
            result = of_model[_model(cell, next(iter(cells[cell]))), metric]
            tests.setdefault(metric, {})[cell] = (_drawn(result, ours[0]), test)
    return tests


def _drawn(result: Result, units: Units) -> str:
    """What a test draws: the sub-trees or relations that the benchmark names, or units, alone or in clusters."""
    alone = units.unit if units.clusters is None else f"{units.unit}, drawn in clusters"
    return str(result.settings.get("resampling", alone))


def _model(cell: str, seed: int | None) -> str:
    return cell if seed is None else f"{cell}-{seed}"


def _units(
    of_model: Mapping[tuple[str, str], Result], folder: ResultsFolder, metric: str, cell: str, seed: int | None
) -> Units | None:
    """The units of a figure, ``None`` if the folder lacks them."""
    result = of_model[_model(cell, seed), metric]
    try:
        return folder.units(result).get(metric.removeprefix(f"{result.evaluator}_"))
    except InputError as error:
        logger.warning("%s of %s has no test over units: %s", metric, result.model, error)
        return None


def report(found: Figures, reference: str, notes: Sequence[str] = (), tests: Tests | None = None) -> str:
    """A table for each metric, largest figure first. Cells with fewer than two seeds of the reference have no interval.

    Args:
        found: The figures.
        reference: The cell that others are compared with; a metric that it lacks has no table but a note.
        notes: Notes below the tables.
        tests: The differences over units, from :func:`tests_over_units`.

    Raises:
        InputError: There are no figures, or none of the reference.
    """
    without = sorted(metric for metric, cells in found.items() if reference not in cells)
    if found and len(without) == len(found):
        cells_of_all = sorted({cell for cells in found.values() for cell in cells})
        raise InputError(f"reference {reference!r} was not measured; there are {', '.join(cells_of_all)}")
    if without:
        notes = [*notes, f"Without a table, since {reference} was not measured by it: {', '.join(without)}."]
    blocks = []
    for metric, cells in sorted(found.items()):
        if metric in without:
            continue
        rows = []
        of_units = (tests or {}).get(metric, {})
        for cell, of_seeds in cells.items():
            pairs = [(of_seeds[seed], cells[reference][other]) for seed, other in _seeds(of_seeds, cells[reference])]
            over = _over_units(of_units.get(cell)) if of_units else ""
            if not pairs:
                rows.append((-math.inf, f"| {cell} | 0 | - | no seed of {reference} |{over}"))
                continue
            mean = sum(figure for figure, _ in pairs) / len(pairs)
            shown = "" if cell == reference else _difference([figure - other for figure, other in pairs])
            seeds = "-" if None in of_seeds else len(pairs)
            rows.append((mean, f"| {cell} | {seeds} | {mean:.3f} | {shown} |{over}"))
        head = f"| cell | seeds | mean | difference from {reference} |", "|---|--:|--:|---|"
        if of_units:
            kinds = ", ".join(dict.fromkeys(unit for unit, _ in of_units.values()))
            head = f"{head[0]} over units ({kinds}) | p over units |", f"{head[1]}---|--:|"
        table = [f"## {metric}", "", *head]
        blocks.append("\n".join([*table, *(row for _, row in sorted(rows, reverse=True))]))
    if not blocks:
        raise InputError("no model of the folder is named CELL-SEED")
    return "\n\n".join([*blocks, *notes]) + "\n"


def _seeds(of_seeds: Collection[int | None], others: Collection[int | None]) -> list[tuple[int | None, int | None]]:
    """The seeds of a cell beside those of the reference; a model without a seed stands for each."""
    if None in of_seeds:
        return [(None, other) for other in others]
    if None in others:
        return [(seed, None) for seed in of_seeds]
    return [(seed, seed) for seed in sorted(set(of_seeds) & set(others), key=str)]


def _over_units(found: tuple[str, PairedTest] | None) -> str:
    """The columns of a difference over units."""
    if found is None:
        return "  |  |"
    _, test = found
    p = f"{test.p_value:.3f}" if test.p_value >= 0.001 else "< .001"
    return f" {test.low:+.3f} to {test.high:+.3f} | {p} |"


def _difference(of_seeds: Sequence[float]) -> str:
    """The mean difference, with its interval if there are two seeds."""
    return shown_over_seeds(of_seeds, "+.3f") + (" (one seed)" if len(of_seeds) < 2 else "")


if __name__ == "__main__":
    run_recipe(main)
