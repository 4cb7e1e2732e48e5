"""The tables of evaluation/README.md, from the files that they describe: ``python evaluation/tables.py`` renews them."""

from __future__ import annotations

import re
from pathlib import Path

from st_biomed.evaluators.benchmark import PROTOCOLS, Benchmark, benchmark_names
from st_biomed.measuring.models import read_baselines

README = Path(__file__).with_name("README.md")


def benchmarks() -> str:
    """A row for each benchmark, by evaluator."""
    lines = ["| name | what | files | version | licence | published figures |", "|---|---|---|---|---|--:|"]
    every = sorted(
        (Benchmark.read(name) for name in benchmark_names()), key=lambda one: (one.evaluator, str(one.path))
    )
    for one in every:
        stem = one.path.stem if one.path else one.name
        files = "<br>".join(f"`{file}`" for file in one.data.files) or one.data.source
        cells = [f"[{stem}](benchmarks/{stem}.yaml)", one.title, files, one.data.version, one.data.licence]
        lines.append("| " + " | ".join([*cells, str(len(one.published) or "")]) + " |")
    return "\n".join(lines)


def baselines() -> str:
    """A row for each known model."""
    lines = ["| name | model | pooling | tokens | source |", "|---|---|---|--:|---|"]
    for one in read_baselines().values():
        cells = [one.name, f"`{one.model}`", one.pooling or "its own", str(one.max_length or ""), one.source]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def evaluators() -> str:
    """A row for each evaluator: its name in a benchmark and the class of its settings."""
    lines = ["| `evaluator:` | settings |", "|---|---|"]
    return "\n".join([*lines, *(f"| `{kind}` | `st_biomed.evaluators.{home}` |" for kind, home in PROTOCOLS.items())])


def renewed(text: str) -> str:
    """The README with its tables as they have to be now."""
    for table in (benchmarks, baselines, evaluators):
        name = table.__name__
        pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
        text = pattern.sub(lambda match, table=table: f"{match[1]}{table()}\n{match[2]}", text)
    return text


if __name__ == "__main__":
    README.write_text(renewed(README.read_text("utf-8")), "utf-8")
