"""The first import of every recipe: threads sleep while they wait, and mistyped arguments are reported at once."""

from __future__ import annotations

import sys
from pathlib import Path

import st_biomed.settings.threads  # noqa: F401
from st_biomed.errors import InputError, one_line
from st_biomed.settings.written_arguments import check_words


def check_command() -> None:
    """Check the command line against the source of the running script, if it is a recipe.

    Exits with code 2 and one line for a user's mistake, like :func:`~st_biomed.settings.recipe.run_recipe`.
    """
    script = getattr(sys.modules["__main__"], "__file__", None)
    if script is None or Path(script).parent.name != "recipes":
        return
    try:
        check_words(Path(script).resolve(), sys.argv[1:], Path(sys.argv[0]).name)
    except InputError as error:
        print(f"error: {one_line(error)}", file=sys.stderr)
        raise SystemExit(2) from None


check_command()
