"""``st-biomed average``: one encoder whose weights are the average of several."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from st_biomed.cli._options import TrustRemoteCode
from st_biomed.errors import InputError, shown
from st_biomed.settings.checks import FOLDER, PATH, Check


def _numbers(text: str) -> list[float]:
    return [float(part) for part in text.split(",")]


def _no_numbers(name: str, value: str) -> str | None:
    try:
        _numbers(value or "1")
    except ValueError:
        return f"{name} are numbers with commas between, e.g. .5,.5, found {shown(value)}"
    return None


def run(
    models: Annotated[list[str], typer.Argument(help="Folders with encoders, or ids on the Hub; two or more."), PATH],
    output: Annotated[Path, typer.Option("--output", "-o", help="The release folder to write."), FOLDER],
    weights: Annotated[
        str,
        typer.Option(
            help="Weight of each model, in the order of the models; they add up to 1, e.g. .7,.3. Equal by default."
        ),
        Check(_no_numbers),
    ] = "",
    license: Annotated[
        str, typer.Option(help="License of the files; by default the one that all averaged releases share.")
    ] = "",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the release in the output folder.")] = False,
    trust_remote_code: TrustRemoteCode = False,
) -> None:
    """Average the weights of encoders of one architecture: of several seeds or objectives, or with a base model."""
    from st_biomed.averaging.weights import check_weights

    if len(models) < 2:
        raise InputError(f"average takes two models or more, found {len(models)}")
    shares = _numbers(weights) if weights else [1 / len(models)] * len(models)
    check_weights(shares, len(models))

    from st_biomed.averaging.release import average_into

    averaged = average_into(
        output, models, shares, license=license, overwrite=overwrite, trust_remote_code=trust_remote_code
    )
    for model in averaged.run["averaging"]["models"]:
        typer.echo(f"{model['weight']:6.3f}  {model['digest'][:12]}  {model['name']}")
    if averaged.unsearched:
        typer.echo(
            f"names of {', '.join(averaged.unsearched)} were not searched for, no terminology with them lies beside the models: "
            f"`st-biomed release` asks for it"
        )
    typer.echo(f"saved to {output}; nothing was measured: st-biomed evaluate {output} ...")
