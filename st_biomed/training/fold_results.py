"""The results of a recipe on each fold of a data set, and their means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from st_biomed.evaluators.entity_linking.folds import mean_of_folds
from st_biomed.evaluators.entity_linking.suite import LinkingSuite
from st_biomed.evaluators.terminal_table import metrics_table
from st_biomed.training.finish import Measured


class FoldResult(NamedTuple):
    """The evaluators of a fold, and their results before and after training."""

    suite: LinkingSuite
    before: Measured
    after: Measured


def mean_table(results: Sequence[FoldResult]) -> str:
    """A table of means over the folds before and after training, with a row for each metric of all folds."""
    lines = []
    for evaluator in results[-1].suite.tests:
        columns = {"before": [fold.before for fold in results], "after": [fold.after for fold in results]}
        means = {
            column: mean_of_folds([figures[evaluator.name] for figures in folds], f"{evaluator.name}_")
            for column, folds in columns.items()
        }
        rows = {label: key for label, key in evaluator.headline.items() if key in means["after"]}
        lines += [f"{evaluator.name}, mean of {len(results)} folds", metrics_table(means, rows)]
    return "\n".join(lines)
