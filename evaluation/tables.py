"""The tables of evaluation/README.md, from the files that they describe: ``python evaluation/tables.py`` renews them."""

from __future__ import annotations

import inspect
import json
import re
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any

from st_biomed.evaluators.benchmark import Benchmark, benchmark_names, evaluator_kinds, settings_class
from st_biomed.leaderboard.models import read_known_models

README = Path(__file__).with_name("README.md")


def benchmarks() -> str:
    """A row for each benchmark, by evaluator."""
    lines = ["| name | what | files | version | license | published figures |", "|---|---|---|---|---|--:|"]
    every = sorted(
        (Benchmark.read(name) for name in benchmark_names()),
        key=lambda benchmark: (benchmark.evaluator, str(benchmark.path)),
    )
    for benchmark in every:
        stem = benchmark.path.stem if benchmark.path else benchmark.name
        files = "<br>".join(f"`{file}`" for file in benchmark.data.files) or benchmark.data.source
        cells = [
            f"[{stem}](benchmarks/{stem}.yaml)",
            benchmark.title,
            files,
            benchmark.data.version,
            benchmark.data.license,
        ]
        lines.append("| " + " | ".join([*cells, str(len(benchmark.published) or "")]) + " |")
    return "\n".join(lines)


def known_models() -> str:
    """A row for each known model."""
    lines = ["| name | model | pooling | tokens, as published | source |", "|---|---|---|--:|---|"]
    for model in read_known_models().values():
        cells = [
            model.name,
            f"`{model.model}`",
            model.pooling or "its own",
            str(model.max_length or ""),
            model.source,
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def evaluators() -> str:
    """A table of the settings of each evaluator, from the docstring of their dataclass."""
    parts = []
    for kind in evaluator_kinds():
        cls: Any = settings_class(kind)
        default = {field.name: _default(field) for field in fields(cls)}
        descriptions = {names: text for names, text in _arguments(cls).items() if names != "name"}
        if unknown := {name for names in descriptions for name in names.split(", ")} ^ (default.keys() - {"name"}):
            raise ValueError(f"{kind}: the docstring and the fields differ in {', '.join(sorted(unknown))}")
        lines = [f"`evaluator: {kind}`", "", "| setting | default | what |", "|---|---|---|"]
        for names, text in descriptions.items():
            listed = names.split(", ")
            cells = [", ".join(f"`{name}`" for name in listed), ", ".join(default[name] for name in listed), text]
            lines.append("| " + " | ".join(cells).replace("||", r"\|\|") + " |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def _default(field: Field) -> str:
    """How a file would write it."""
    value = field.default if field.default_factory is MISSING else field.default_factory()
    return "needed" if value is MISSING else f"`{json.dumps(round(value, 4) if isinstance(value, float) else value)}`"


def _arguments(cls: type) -> dict[str, str]:
    """Names and text of each entry below ``Args:`` or ``Attributes:``, in Markdown."""
    section = re.search(r"^Args:\n(.*?)(?=^\S|\Z)", inspect.getdoc(cls) or "", re.DOTALL | re.MULTILINE)
    entries = re.findall(
        r"^    (\w[\w, ]*): (.*?)(?=^    \w|\Z)", section[1] if section else "", re.DOTALL | re.MULTILINE
    )
    return {names: _markdown(" ".join(text.split())) for names, text in entries}


def _markdown(text: str) -> str:
    """A docstring's words without the roles of Sphinx; of a dotted name the class and what follows, or the last part."""

    def shortened(match: re.Match[str]) -> str:
        parts = match[1].split(".")
        return "`" + ".".join(parts[-2:] if len(parts) > 1 and parts[-2][0].isupper() else parts[-1:]) + "`"

    return re.sub(r":\w+:`~?([\w.]+)`", shortened, text).replace("``", "`")


def renewed(text: str) -> str:
    """The README with its tables as they have to be now."""
    for table in (benchmarks, known_models, evaluators):
        name = table.__name__
        pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
        text = pattern.sub(lambda match, table=table: f"{match[1]}{table()}\n{match[2]}", text)
    return text


if __name__ == "__main__":
    README.write_text(renewed(README.read_text("utf-8")), "utf-8")
