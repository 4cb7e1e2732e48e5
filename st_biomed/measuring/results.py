"""What was measured, in files: a line of JSON for each model and evaluator, and the units beside it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from filelock import FileLock

from st_biomed.errors import InputError
from st_biomed.measuring.unit_files import read_units, unit_file_name, write_units
from st_biomed.metrics.units import PairedTest, Units


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
        versions: Of Python and the packages that computed it.
        units_file: Name of the file of its units in the folder ``units``; empty in results of older versions.
        definition: The benchmark as it was read, see :func:`~st_biomed.measuring.provenance.definition_of`.
        encoder: The model as it was loaded, see :attr:`~st_biomed.measuring.models.OpenModel.description`.
        computation: Batch size, device and whether it embedded under bfloat16 autocast.
        measured_at: When, in UTC (ISO 8601).
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
    units_file: str = ""
    definition: dict[str, Any] = field(default_factory=dict)
    encoder: dict[str, Any] = field(default_factory=dict)
    computation: dict[str, Any] = field(default_factory=dict)
    measured_at: str = ""

    @property
    def key(self) -> str:
        """Digest of what the figures depend on."""
        return result_key(self.evaluator, self.model_digest, self.settings)

    @property
    def metric(self) -> str:
        """The primary metric without the evaluator's name."""
        return self.primary.removeprefix(f"{self.evaluator}_")


def result_key(evaluator: str, model_digest: str, settings: Mapping[str, Any]) -> str:
    """What tells one measurement from another: evaluator, model, settings."""
    content = json.dumps([evaluator, model_digest, settings], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:24]


class ResultsFolder:
    """``results.jsonl`` and ``units/*.npz`` in a folder, which several processes may write to at once.

    Args:
        folder: Made when it is not there.

    Raises:
        InputError: A file in its place, or a line that is none but the last, which an interrupted run may have cut.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        if self.folder.exists() and not self.folder.is_dir():
            raise InputError(f"{folder}: is a file, a folder for the results is needed")
        self._results = self._read()

    @property
    def results(self) -> list[Result]:
        """The results, the one that was asked for last at the end; a model has one of each key."""
        return list(self._results.values())

    def find(self, key: str) -> Result | None:
        """The latest result of a key, whatever its model is called."""
        return next((one for one in reversed(self.results) if one.key == key), None)

    def add(self, result: Result, units: Mapping[str, Units] | None = None) -> Result:
        """Keep a result as the latest, beside those that other processes have added since.

        Args:
            result: What was found.
            units: What it is counted over; ``None`` where a file has them already.

        Returns:
            The result with the file of its units.
        """
        with self._lock():
            if units is not None:
                result = replace(result, units_file=unit_file_name(result.model, result.evaluator, result.key))
                write_units(self._units(result), units, asdict(result))
            self._results = self._read()
            self._results.pop((result.key, result.model), None)
            self._results[result.key, result.model] = result
            self._replace("results.jsonl", "".join(map(_line, self.results)))
        return result

    def units(self, result: Result) -> dict[str, Units]:
        """What a result was counted over.

        Raises:
            InputError: The file is missing or damaged, or holds the units of something else.
        """
        found = read_units(self._units(result))
        for metric, (n, _) in result.units.items():
            if len(found.get(metric.removeprefix(f"{result.evaluator}_"), ())) != n:
                raise InputError(f"{self._units(result)}: does not hold the {n:,} units of {metric}")
        return found

    def tests(self) -> dict[str, PairedTest]:
        """The paired tests that were made before, by what :func:`~st_biomed.measuring.comparison.compare` calls them."""
        try:
            found = json.loads((self.folder / "tests.json").read_text("utf-8"))
            return {name: PairedTest(*numbers) for name, numbers in found.items()}
        except (OSError, ValueError, TypeError, AttributeError):
            return {}  # they are made again

    def add_tests(self, tests: Mapping[str, PairedTest]) -> None:
        """Keep tests beside those that are there."""
        with self._lock():
            self._replace("tests.json", json.dumps({**self.tests(), **tests}, indent=0))

    def write(self, name: str, text: str) -> Path:
        """Write a report beside the results."""
        with self._lock():
            self._replace(name, text)
        return self.folder / name

    def _read(self) -> dict[tuple[str, str], Result]:
        path = self.folder / "results.jsonl"
        found: dict[tuple[str, str], Result] = {}
        lines = path.read_text("utf-8").splitlines(keepends=True) if path.is_file() else []
        for number, line in enumerate(lines, start=1):
            try:
                result = Result(**json.loads(line))
            except (ValueError, TypeError) as error:
                if number == len(lines) and not line.endswith("\n"):
                    break
                raise InputError(f"{path}:{number}: is no result ({error})") from error
            found.pop((result.key, result.model), None)
            found[result.key, result.model] = result
        return found

    def _lock(self) -> FileLock:
        self.folder.mkdir(parents=True, exist_ok=True)
        return FileLock(self.folder / "lock")

    def _replace(self, name: str, text: str) -> None:
        partial = self.folder / f"{name}.partial"
        partial.write_text(text, "utf-8")
        partial.replace(self.folder / name)

    def _units(self, result: Result) -> Path:
        return self.folder / "units" / (result.units_file or f"{result.key}.npz")


def _line(result: Result) -> str:
    return json.dumps(asdict(result), default=str) + "\n"  # a date in the settings of a benchmark becomes its text
