"""The report of an experiment: the paper's tables, its figure, and rankings of names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from st_biomed.errors import InputError
from st_biomed.evaluators.embedders import Embed
from st_biomed.few_shot.difference_tables import difference_tables
from st_biomed.few_shot.experiment import TrainedChain
from st_biomed.few_shot.outcomes import Outcomes
from st_biomed.few_shot.rankings import first_validation_names, ranking_tables
from st_biomed.few_shot.training_sets import TrainingSet
from st_biomed.files import replace_text
from st_biomed.plots.canvas import check_picture
from st_biomed.plots.shot_curves import shot_curves

PROTOTYPES = "validation names whose nearest prototype is that of their own concept"


def write_tables(
    outcomes: Outcomes, sets: Mapping[str, TrainingSet], tuning: Mapping[str, Mapping[int, float]], folder: Path
) -> None:
    """The paper's Tables 2 and 3 and the paired tests, as Markdown, and its Figure 1 (Fivez et al. 2021).

    Args:
        tuning: Validation loss by set and width of the hidden layer.
        folder: The folder for ``tables.md`` and ``figure.svg``.
    """
    parts = [f"Names of {part.name}:\n\n```\n{part.statistics}\n```" for part in sets.values()]
    for name, losses in tuning.items():
        row = ", ".join(f"{width}: {loss:.4f}" for width, loss in losses.items())
        parts.append(f"Validation loss of {name} by width of the hidden layer: {row}.")
    for shots in outcomes.shots[::-1]:
        if outcomes.metrics:
            parts.append(f"{shots}-shot:\n\n{outcomes.table(shots)}")
        parts.append(f"{shots}-shot, {PROTOTYPES}:\n\n{outcomes.prototype_table(shots)}")
    parts += difference_tables(outcomes)
    print(f"\n{(outcomes.table if outcomes.metrics else outcomes.prototype_table)(outcomes.shots[-1])}\n")
    replace_text(folder / "tables.md", "\n\n".join(parts) + "\n")
    print(f"{folder / 'tables.md'}: all tables")
    if len(outcomes.shots) < 2 or not outcomes.metrics:
        return
    curves = {outcomes.labels[evaluator]: outcomes.curves(evaluator) for evaluator in outcomes.metrics}
    curves = {title: lines for title, lines in curves.items() if any(len(points) > 1 for points in lines.values())}
    baselines = {outcomes.labels[name]: outcomes.base[name][metric] for name, metric in outcomes.metrics.items()}
    try:
        print(f"{shot_curves(check_picture(folder / 'figure.svg'), curves, baselines)}: by number of names")
    except InputError as error:
        print(f"no figure: {error}")


def write_rankings(
    rankings: Sequence[str], sets: Mapping[str, TrainingSet], chain: TrainedChain, encoder: Embed, folder: Path
) -> None:
    """The paper's Table 4 for the released encoder.

    Args:
        rankings: Names to rank training names by; some validation names if there is none.
        encoder: Vectors of the input.
        folder: The folder for ``rankings.md``.
    """
    split = chain.stages[-1].split
    names = [name for name in rankings if name] or first_validation_names(split)
    tables = ranking_tables(names, sets[chain.sets[-1]], split, encoder, chain.embed)
    replace_text(folder / "rankings.md", tables + "\n")
    print(f"{folder / 'rankings.md'}: nearest training names of {', '.join(map(repr, names))}")
