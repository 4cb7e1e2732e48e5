"""Benchmarks that scripts write: one YAML file each, as ``st-biomed evaluate -b FILE`` reads it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from st_biomed.files import write_text


def write_benchmark(
    folder: Path, name: str, *, evaluator: str, title: str, language: str, settings: Mapping[str, Any]
) -> None:
    """Write ``folder/NAME.yaml``; paths among the settings are written as text."""
    plain = {key: str(value) if isinstance(value, Path) else value for key, value in settings.items()}
    keys = {"name": name, "title": title, "language": language, "evaluator": evaluator, "settings": plain}
    write_text(folder / f"{name}.yaml", yaml.safe_dump(keys, sort_keys=False, allow_unicode=True))
