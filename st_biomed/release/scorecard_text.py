"""A scorecard for the card of a release: names of benchmarks and figures, none of their texts."""

from __future__ import annotations

from collections.abc import Sequence

from st_biomed.release.scorecard_data import (
    DifferenceData,
    ScorecardData,
    by_family,
    counts,
    counts_by_holm,
    outside_training,
)


def scorecard_summary(scorecard: ScorecardData) -> str:
    """The base, the counts, a line for each family, and all losses by name, in Markdown."""
    rows = scorecard["benchmarks"]
    outside = outside_training(rows)
    summary = f"Against {base_line(scorecard)}, on {_benchmarks(len(rows))}: **{counts(rows)}**."
    if len(outside) < len(rows):
        n = _benchmarks(len(rows) - len(outside))
        summary += f" Without the {n} made of terminologies that it was trained on: **{counts(outside)}**."
    lines = ["| | gained | kept | lost | without what it was trained on |", "|:--|--:|--:|--:|--:|"]
    for family, rows_of_family in by_family(rows).items():
        left = outside_training(rows_of_family)
        lines.append(
            f"| {family} | {' | '.join(map(str, counts(rows_of_family)))} | {counts(left) if left else '–'} |"
        )
    lost = [f"- {loss_line(row)}" for row in rows if row["outcome"] == "lost"]
    parts = [summary, "\n".join(lines), "Lost:\n\n" + "\n".join(lost) if lost else "No benchmark was lost."]
    if scorecard["not_compared"]:
        parts.append(f"Measured and not compared: {', '.join(scorecard['not_compared'])}.")
    return "\n\n".join([*parts, *scorecard_notes(scorecard)])


def scorecard_notes(scorecard: ScorecardData) -> list[str]:
    """Notes on the counting and its limits."""
    rows, alpha = scorecard["benchmarks"], f"{scorecard['alpha']:.2f}".lstrip("0")
    tested = (
        f"*Gained* and *lost*: p < {alpha} in a two-sided paired test over the same units (approximate randomization, "
        f"{scorecard['draws']:,} draws from seed {scorecard['draws_seed']}); *kept*: all others, which is no proof "
        "that they are equal. Documents are drawn with all their mentions where linking benchmarks have them; of 20 or more "
        "held-out sub-trees or relations, whole ones are drawn, and the p of trees is that of a bootstrap. "
    )
    notes = [
        tested
        + f"Of many tests some are below {alpha} by chance: by p adjusted for the number of tests (Holm 1979) it is "
        f"{counts_by_holm(rows, scorecard['alpha'])}."
    ]
    if (least := len(rows) / (scorecard["draws"] + 1)) >= scorecard["alpha"]:
        notes.append(
            f"With {scorecard['draws']:,} draws the smallest of {len(rows)} adjusted p is never below "
            f"{shown_p(least)}: more draws are needed to tell."
        )
    if not scorecard["recorded"]:
        notes.append("No record says what the model was trained on, so no benchmark is marked as made of it.")
    if scorecard["as_published"]:
        notes.append("Scored as the papers' scripts do where that differs from what is sound.")
    return notes


def scorecard_table(scorecard: ScorecardData) -> str:
    """Each benchmark with both figures, the difference and the test, in Markdown."""
    lines = ["| benchmark | base | this model | difference | p | Holm's p | |", "|:--|--:|--:|--:|--:|--:|:--|"]
    for row in scorecard["benchmarks"]:
        figures = f"{row['base']:.3f} | {row['value']:.3f} | {shown_difference(row)}"
        p_values = f"{shown_p(row['p'])} | {shown_p(row['p_holm'])}"
        lines.append(
            f"| {marked(row['benchmark'], row['in_domain'])}, {row['metric']} | {figures} | {p_values} | "
            f"{row['outcome']} |"
        )
    if any(row["in_domain"] for row in scorecard["benchmarks"]):
        lines += ["", IN_DOMAIN_NOTE]
    return "\n".join(lines)


IN_DOMAIN_NOTE = "\\* made of a terminology or dictionary that it was trained on."


def base_line(scorecard: ScorecardData) -> str:
    """The base and its settings."""
    pooling, length = scorecard["base_pooling"], scorecard["base_max_length"]
    read = ", ".join([*([f"{pooling} pooling"] if pooling else []), *([f"{length} tokens"] if length else [])])
    return f"`{scorecard['base']}`{f' ({read})' if read else ''}"


def loss_line(row: DifferenceData) -> str:
    """A benchmark with its figures in a line."""
    return (
        f"{row['benchmark']}, {row['metric']}: {row['base']:.3f} to {row['value']:.3f}, {shown_difference(row)}, "
        f"p {shown_p(row['p'])}, Holm's {shown_p(row['p_holm'])}"
    )


def marked(benchmark: str, in_domain: Sequence[str]) -> str:
    """A benchmark's name, with a star if it is made of training data."""
    return f"{benchmark} \\*" if in_domain else benchmark


def shown_difference(row: DifferenceData) -> str:
    """A difference with its interval."""
    return f"{row['difference']:+.3f} ({row['low']:+.3f} to {row['high']:+.3f})"


def shown_p(value: float) -> str:
    """A p value in its printed form."""
    return "< .001" if value < 0.001 else f"{value:.3f}".lstrip("0") if value < 1 else "1"


def _benchmarks(n: int) -> str:
    return f"{n} benchmark{'' if n == 1 else 's'}"
