"""Imported first by every recipe: threads wait asleep, and a mistyped argument is told before the libraries load."""

from __future__ import annotations

import sys
from pathlib import Path

import st_biomed.settings.threads  # noqa: F401
from st_biomed.errors import InputError, one_line
from st_biomed.settings.written_arguments import check_words


def check_command() -> None:
    """Check the words of the command line by the source of the script that runs, where that is a recipe.

    Exits with code 2 and one line for a person's mistake, as :func:`~st_biomed.settings.recipe.run_recipe` does.
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
