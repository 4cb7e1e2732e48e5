"""``st-biomed train``: a recipe script with its settings, from a checkout or an installation."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from st_biomed.errors import InputError, unknown_name
from st_biomed.settings.bundled import bundled, bundled_folder


def run(
    context: typer.Context,
    recipe: Annotated[str, typer.Argument(help="Name of the recipe, e.g. hiprbert.")],
) -> None:
    """Run a recipe: st-biomed train hiprbert hiprbert_open.yaml --max_steps 50. Same as python recipes/hiprbert.py."""
    script = bundled(f"recipes/{recipe}.py")
    if script is None:
        folder = bundled("recipes/README.md")
        names = sorted(path.stem for path in folder.parent.glob("*.py")) if folder is not None else []
        if recipe in ("--help", "-h"):
            typer.echo(f"{run.__doc__}\n\nRecipes: {', '.join(names)}. Their arguments: st-biomed train RECIPE --help")
            return
        raise unknown_name("recipe", recipe, names)
    arguments = list(context.args)
    if arguments and not arguments[0].startswith("-") and not Path(arguments[0]).is_file():
        arguments[0] = str(bundled(f"recipes/configs/{arguments[0]}") or _unknown_settings(recipe, arguments[0]))
    sys.argv = [f"recipes/{recipe}.py", *arguments]
    runpy.run_path(str(script), run_name="__main__")


def _unknown_settings(recipe: str, settings: str) -> NoReturn:
    """Reject settings that are not a file, and list the configurations that come with the recipe."""
    folder = bundled_folder("recipes/configs")
    packaged = (
        sorted(path.name for path in folder.glob(f"{recipe.split('_')[0]}_*.yaml")) if folder is not None else []
    )
    raise InputError(f"{settings}: no such file; packaged configurations are {', '.join(packaged)}")
