"""The card's text on averaged weights: a few sentences, and the figures of the choice."""

from __future__ import annotations

from st_biomed.release.run_data import AveragingData


def averaging_sentences(averaging: AveragingData, recipe: str) -> list[str]:
    """Sentences on the averaged models and the choice of the share.

    Args:
        averaging: The averaging of a record.
        recipe: The recipe of the record. That of ``average`` is of several encoders, whatever their names; that of another recipe
            is of a base and a trained model if the last model is called ``trained``, otherwise of several encoders.
    """
    models = averaging["models"]
    if not models:
        return []
    if recipe == "average" or models[-1]["name"] != "trained":
        parts = [f"{model['weight']:g} of {model['name']} (`{model['digest'][:12]}`)" for model in models]
        return [f"The weights are the average of {len(models)} encoders: {', '.join(parts)}."]
    base, weight = models[0]["name"], models[-1]["weight"]
    sentences = [
        f"The weights are averages of those that were trained and those of {base}, where training started: a share of "
        f"{weight:g} is the trained one's (WiSE-FT, arXiv:2109.01903)."
        if weight
        else f"No share of the trained weights was better on dev: the weights are those of {base}, where training started, "
        "and nothing is released as improved."
    ]
    if averaging["curve"] and not averaging["chosen"]:
        sentences.append("The share was given; the table has the figures on dev of this one and of others.")
    if averaging["chosen"]:
        lost = f"more than {averaging['tolerance']:g} of its largest value" if averaging["tolerance"] else "anything"
        sentences.append(
            f"The share was chosen on {', '.join(f'`{name}`' for name in averaging['metrics'])}: the one with the "
            f"largest mean gain over {base} of those at which no metric loses {lost}, the smallest of equal ones."
        )
    return sentences


def averaging_table(averaging: AveragingData) -> str:
    """The figures at each share as a Markdown table; empty if there are none."""
    if not averaging["curve"]:
        return ""
    names, chosen = averaging["metrics"], averaging["models"][-1]["weight"]
    lines = [f"| share of the trained weights | {' | '.join(names)} |", f"|--:|{'--:|' * len(names)}"]
    for point in averaging["curve"]:
        figures = (point["figures"].get(name) for name in names)
        cells = ["–" if figure is None else f"{figure:.4f}" for figure in figures]
        share = f"**{point['weight']:g}**" if point["weight"] == chosen else f"{point['weight']:g}"
        lines.append(f"| {share} | {' | '.join(cells)} |")
    return "\n".join(lines)
