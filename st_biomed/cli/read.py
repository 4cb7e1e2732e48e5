"""``st-biomed read``: a source to a saved terminology, and what became of each of its rows."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from st_biomed.errors import InputError
from st_biomed.readers import check_options, reader, reader_names, reader_options


def run(
    source: Annotated[str, typer.Argument(help=f"The reader: {', '.join(reader_names())}.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to save to: new, empty or a terminology.")],
    path: Annotated[Path | None, typer.Argument(help="What to read; some readers bring their source along.")] = None,
    option: Annotated[
        list[str] | None, typer.Option("--option", help="key=value for the reader; may be given several times.")
    ] = None,
) -> None:
    """Read a source and save it as a terminology."""
    options = _parsed(source, option or [])

    from st_biomed.store import check_folder
    from st_biomed.terminology import Terminology

    check_folder(output)
    terminology = Terminology.read(source, path, **options)
    terminology.save(output)
    for stage, tally in terminology.tallies.items():
        typer.echo(f"{stage}: {tally}")
    typer.echo(f"{terminology!r} saved to {output}")


def _parsed(source: str, pairs: list[str]) -> dict[str, Any]:
    """``["key=value"]`` as the keyword arguments of a reader, each of the type that the reader declares."""
    texts = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals:
            raise InputError(f"--option takes key=value, found {pair!r}")
        texts[key] = value
    known = reader_options(source)
    check_options(source, texts)
    hints = get_type_hints(reader(source).records)
    return {key: _value(key, value, hints[key], known[key]) for key, value in texts.items()}


def _value(key: str, value: str, hint: Any, option: inspect.Parameter) -> Any:
    if hint is bool:
        if value.lower() not in ("true", "false"):
            raise InputError(f"--option {key} must be true or false, found {value!r}")
        return value.lower() == "true"
    convert: Callable[[str], Any] = hint if hint in (int, float) else str
    try:
        return convert(value)
    except ValueError:
        raise InputError(f"--option {key} must be a number like {option.default}, found {value!r}") from None
