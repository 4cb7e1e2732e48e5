"""Metrics as a table for the terminal."""

from __future__ import annotations

from collections.abc import Mapping


def metrics_table(runs: Mapping[str, Mapping[str, float]], rows: Mapping[str, str]) -> str:
    """Selected metrics of several runs side by side; with exactly two runs, also the change from the first to the
    second.

    Args:
        runs: Heading of a column, e.g. ``"before"``, to the metrics of an evaluator.
        rows: Label of a row, e.g. ``"0v1"``, to the key of its metric in every run.

    Returns:
        Lines of equal length, beginning with the headings; ``-`` if a run lacks the metric.
    """
    two = list(runs.values()) if len(runs) == 2 else None
    lines = [["", *runs, *(["change"] if two else [])]]
    for label, key in rows.items():
        cells = [f"{metrics[key]:.3f}" if key in metrics else "-" for metrics in runs.values()]
        if two:
            cells.append(f"{two[1][key] - two[0][key]:+.3f}" if key in two[0] and key in two[1] else "-")
        lines.append([label, *cells])
    widths = [max(map(len, column)) for column in zip(*lines)]
    return "\n".join(
        "  ".join([line[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:]))])
        for line in lines
    )
