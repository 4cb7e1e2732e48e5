"""Tables of the paired tests of an experiment: each draw beside the input encoder."""

from __future__ import annotations

from st_biomed.few_shot.outcomes import Outcomes
from st_biomed.few_shot.paired_tests import DrawTest
from st_biomed.release.scorecard_text import shown_p

ALPHA = 0.05
LEGEND = (
    "Each draw of names beside the input: the difference and, in brackets, p of the paired test (approximate "
    "randomization over the same units) and p adjusted by Holm's procedure for all draws of the training set, with any "
    "number of names."
)
COUNTS = (
    f"Draws that differ from the input, higher / lower of all draws of the training set and number of names (p < {ALPHA} "
    "after Holm's procedure):"
)


def difference_tables(outcomes: Outcomes) -> list[str]:
    """The number of draws that differ from the input, then all draws, one table per evaluator; empty without tests."""
    evaluators = [name for name in outcomes.metrics if any(name in run.tests for run in outcomes.runs)]
    if not evaluators:
        return []
    tables = [f"{_title(outcomes, name)}:\n\n{draw_table(outcomes, name)}" for name in evaluators]
    return [f"{COUNTS}\n\n{count_table(outcomes, evaluators)}", LEGEND, *tables]


def count_table(outcomes: Outcomes, evaluators: list[str]) -> str:
    """How many draws are higher or lower than the input, in Markdown; a row for each training set and number of names."""
    lines = [["training set", "names", *(outcomes.labels[name] for name in evaluators)]]
    lines.append([":--", "--:", *["--:"] * len(evaluators)])
    for row in _rows(outcomes):
        adjusted = {name: outcomes.adjusted_p(name, row) for name in evaluators}
        for shots in outcomes.shots[::-1]:
            draws = {name: _tests(outcomes, name, row, shots) for name in evaluators}
            cells = []
            for name, tests in draws.items():
                told = [test.difference for seed, test in tests.items() if adjusted[name][shots, seed] < ALPHA]
                higher = sum(difference > 0 for difference in told)
                cells.append(f"{higher} / {len(told) - higher} of {len(tests)}" if tests else "–")
            if any(draws.values()):
                lines.append([row, str(shots), *cells])
    return _markdown(lines)


def draw_table(outcomes: Outcomes, evaluator: str) -> str:
    """Every draw of an evaluator, in Markdown: a row for each training set and number of names, a column for each seed."""
    seeds = sorted({run.seed for run in outcomes.runs})
    lines = [["training set", "names", *(f"seed {seed}" for seed in seeds)], [":--", "--:", *["--:"] * len(seeds)]]
    for row in _rows(outcomes):
        adjusted = outcomes.adjusted_p(evaluator, row)
        for shots in outcomes.shots[::-1]:
            tests = _tests(outcomes, evaluator, row, shots)
            cells = {
                seed: f"{test.difference:+.3f} ({shown_p(test.p)}; {shown_p(adjusted[shots, seed])})"
                for seed, test in tests.items()
            }
            if cells:
                lines.append([row, str(shots), *(cells.get(seed, "–") for seed in seeds)])
    return _markdown(lines)


def _rows(outcomes: Outcomes) -> list[str]:
    return list(dict.fromkeys(run.name for run in outcomes.runs))


def _tests(outcomes: Outcomes, evaluator: str, row: str, shots: int) -> dict[int, DrawTest]:
    """Seed to test."""
    return {
        run.seed: run.tests[evaluator]
        for run in outcomes.runs
        if (run.name, run.shots) == (row, shots) and evaluator in run.tests
    }


def _title(outcomes: Outcomes, evaluator: str) -> str:
    first = next(run.tests[evaluator] for run in outcomes.runs if evaluator in run.tests)
    return f"{outcomes.labels[evaluator]}, {first.n:,} {first.unit}s"


def _markdown(lines: list[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
