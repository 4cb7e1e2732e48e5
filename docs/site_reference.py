"""Pages that are written when the site is built: the command line, and the arguments of the recipes."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from typer.cli import get_docs_for_click

from st_biomed.cli import app as command_line

ROOT = Path(__file__).parents[1]
FOLDER = Path(__file__).parent / "reference"
RECIPES = sorted(path.stem for path in (ROOT / "recipes").glob("*.py") if path.stem != "__init__")


def commands() -> str:
    """What ``--help`` says of every verb."""
    command = typer.main.get_command(command_line)
    context = typer.Context(command, info_name="st-biomed")
    return get_docs_for_click(obj=command, ctx=context, name="st-biomed", title="Command line")


def recipe_arguments() -> str:
    """The arguments that each recipe has besides those of its trainer."""
    parts = [
        "# Arguments of the recipes\n",
        "Every argument of the trainer is one of a recipe, too (`kge`: the settings of `KGESettings`); `st-biomed train RECIPE "
        "--help-all` lists all of them. The defaults are those without a settings file.\n",
    ]
    for recipe in RECIPES:
        parts += [f"## {recipe}\n", "| argument | default | what |", "|---|---|---|", *rows_of(recipe), ""]
    return "\n".join(parts)


def rows_of(recipe: str) -> Iterator[str]:
    """A line of the table for each argument, the recipe's own first."""
    module = importlib.import_module(f"recipes.{recipe}")
    kinds = [kind for kind in vars(module).values() if isinstance(kind, type) and kind.__module__ == module.__name__]
    (own,) = (kind for kind in kinds if dataclasses.is_dataclass(kind) and kind.__name__.endswith("Arguments"))
    shared = {name for base in own.__mro__[1:] if dataclasses.is_dataclass(base) for name in base.__annotations__}
    fields = dataclasses.fields(own)
    for argument in sorted(fields, key=lambda field: field.name in shared and field.name not in own.__annotations__):
        text = argument.metadata.get("help", "").replace("%%", "%").replace("|", "\\|")
        yield f"| `--{argument.name}` | {shown(argument)} | {text} |"


def shown(field: dataclasses.Field[Any]) -> str:
    """A default as it is written after the argument."""
    value = field.default_factory() if field.default_factory is not dataclasses.MISSING else field.default
    if isinstance(value, (list, tuple)):
        value = " ".join(map(str, value))
    text = str(value).lower() if isinstance(value, bool) else "" if value is None else str(value)
    return f"`{text}`" if text else ""


def write_pages(app: Any = None) -> None:
    """Write the pages that are missing or out of date."""
    FOLDER.mkdir(exist_ok=True)
    for name, text in (("commands", commands()), ("recipe_arguments", recipe_arguments())):
        path = FOLDER / f"{name}.md"
        if not path.is_file() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")


def setup(app: Any) -> dict[str, Any]:
    app.connect("builder-inited", write_pages)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
