"""What was measured, in files: a line of JSON for each model and evaluator, and the units beside it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from st_biomed.errors import InputError
from st_biomed.metrics.units import Units, load_units, save_units


@dataclass(frozen=True)
class Result:
    """What one evaluator found of one model.

    Attributes:
        benchmark: Its benchmark.
        evaluator: The evaluator's name, which begins its metrics.
        model: Name of the model in tables.
        model_digest: What the model computes.
        settings: What was measured and how: the evaluator's configuration and ``as_published``.
        metrics: Name to figure.
        primary: The metric that stands for all.
        headline: Label to metric, what a table shows.
        units: Metric to the number of its units and what they are, e.g. ``{"acc@1": [960, "mention"]}``.
        seconds: How long it took.
        versions: Of the packages that computed it.
    """

    benchmark: str
    evaluator: str
    model: str
    model_digest: str
    settings: dict[str, Any]
    metrics: dict[str, float]
    primary: str
    headline: dict[str, str]
    units: dict[str, list[Any]] = field(default_factory=dict)
    seconds: float = 0.0
    versions: dict[str, str] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """Digest of what the figures depend on."""
        return result_key(self.evaluator, self.model_digest, self.settings)


def result_key(evaluator: str, model_digest: str, settings: Mapping[str, Any]) -> str:
    """What tells one measurement from another: evaluator, model, settings."""
    content = json.dumps([evaluator, model_digest, settings], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:24]


class ResultsFolder:
    """``results.jsonl`` and ``units/*.npz`` in a folder; a result is there once its line is.

    Args:
        folder: Made when it is not there.

    Attributes:
        results: By key, in the order of their measurement; a later line replaces an earlier one of the same key.

    Raises:
        InputError: A file in its place, or a line that is none but the last, which an interrupted run may have cut.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        if self.folder.exists() and not self.folder.is_dir():
            raise InputError(f"{folder}: is a file, a folder for the results is needed")
        self.results: dict[str, Result] = {}
        lines = self._path.read_text("utf-8").splitlines(keepends=True) if self._path.is_file() else []
        for number, line in enumerate(lines, start=1):
            try:
                result = Result(**json.loads(line))
            except (ValueError, TypeError) as error:
                if number == len(lines) and not line.endswith("\n"):
                    break
                raise InputError(f"{self._path}:{number}: is no result ({error})") from error
            self.results[result.key] = result

    def add(self, result: Result, units: Mapping[str, Units]) -> None:
        """Keep a result and its units."""
        (self.folder / "units").mkdir(parents=True, exist_ok=True)
        partial = self._units(result).with_suffix(".partial")
        save_units(partial, units)
        partial.replace(self._units(result))
        self.results[result.key] = result
        partial = self._path.with_suffix(".partial")
        partial.write_text("".join(json.dumps(asdict(one)) + "\n" for one in self.results.values()), "utf-8")
        partial.replace(self._path)

    def units(self, result: Result) -> dict[str, Units]:
        """What a result was counted over.

        Raises:
            InputError: The file is missing or damaged.
        """
        return load_units(self._units(result))

    def write(self, name: str, text: str) -> Path:
        """Write a report beside the results."""
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(text, "utf-8")
        return self.folder / name

    @property
    def _path(self) -> Path:
        return self.folder / "results.jsonl"

    def _units(self, result: Result) -> Path:
        return self.folder / "units" / f"{result.key}.npz"
