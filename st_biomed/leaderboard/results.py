"""What was measured, in files: a line of JSON for each model and evaluator, and the units beside it."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from st_biomed.errors import InputError
from st_biomed.files import lock, replace_text
from st_biomed.files.sealed import checksum_of, has_seal, read_sealed, sealed, unsealed
from st_biomed.leaderboard.unit_files import read_units, unit_file_name, write_units
from st_biomed.metrics.significance import PairedTest, Units

logger = logging.getLogger(__name__)

_OTHERS = {
    "terminology.json": "a terminology",
    "index.json": "a concept index",
    "modules.json": "a model",
    "run.json": "a release",
    "table.json": "graph embeddings",
}
"""Files by which folders are told that hold something else."""


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
        units_checksum: Of that file; empty in results of older versions.
        definition: The benchmark as it was read, see :func:`~st_biomed.leaderboard.provenance.definition_of`.
        encoder: The model as it was loaded, see :attr:`~st_biomed.leaderboard.models.OpenModel.description`.
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
    units_checksum: str = ""
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

    @property
    def is_raw(self) -> bool:
        """Whether it is of a data set as it is distributed, before the steps of its benchmark."""
        return self.evaluator == f"{self.benchmark}_raw"


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
        for marker, what in _OTHERS.items():
            if (self.folder / marker).is_file():
                raise InputError(f"{folder}: holds {what} ({marker}); choose another folder for the results")
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
                result = replace(result, units_checksum=checksum_of(self._units(result)))
            self._results = self._read()
            self._results.pop((result.key, result.model), None)
            self._results[result.key, result.model] = result
            replace_text(self.folder / "results.jsonl", "".join(map(_line, self.results)))
        return result

    def units(self, result: Result) -> dict[str, Units]:
        """What a result was counted over.

        Raises:
            InputError: The file is missing or damaged, or holds the units of something else.
        """
        path = self._units(result)
        if result.units_checksum and path.is_file() and checksum_of(path) != result.units_checksum:
            raise InputError(f"{path}: cannot be read as the units of a benchmark (its checksum is another)")
        found = read_units(path)
        for metric, (n, _) in result.units.items():
            if len(found.get(metric.removeprefix(f"{result.evaluator}_"), ())) != n:
                raise InputError(f"{path}: does not hold the {n:,} units of {metric}")
        return found

    def tests(self) -> dict[str, PairedTest]:
        """The paired tests that were made before, by what :func:`~st_biomed.leaderboard.comparison.compare` calls them."""
        path = self.folder / "tests.json"
        if not path.is_file():
            return {}
        try:
            found = read_sealed(path, "the tests are made again")
            return {name: PairedTest(*numbers) for name, numbers in found.items()}
        except InputError as error:
            logger.warning("%s", error)
            return {}

    def add_tests(self, tests: Mapping[str, PairedTest]) -> None:
        """Keep tests beside those that are there."""
        with self._lock():
            replace_text(self.folder / "tests.json", sealed({**self.tests(), **tests}))

    def write(self, name: str, text: str) -> Path:
        """Write a report beside the results."""
        with self._lock():
            replace_text(self.folder / name, text)
        return self.folder / name

    def _read(self) -> dict[tuple[str, str], Result]:
        path = self.folder / "results.jsonl"
        found: dict[tuple[str, str], Result] = {}
        lines = path.read_bytes().splitlines(keepends=True) if path.is_file() else []
        for number, line in enumerate(lines, start=1):
            try:
                said = json.loads(line)
                result = Result(**(unsealed(said) if has_seal(said) else said))
            except (ValueError, TypeError, RecursionError) as error:
                if number == len(lines) and not line.endswith(b"\n"):
                    logger.warning("%s:%d: was cut off; its result is measured again", path, number)
                    break
                raise InputError(
                    f"{path}:{number}: is no result ({error}); without this line it is measured again"
                ) from error
            found.pop((result.key, result.model), None)
            found[result.key, result.model] = result
        return found

    @contextmanager
    def _lock(self) -> Iterator[None]:
        with lock(self.folder, wait=True):
            self.folder.mkdir(exist_ok=True)
            yield

    def _units(self, result: Result) -> Path:
        return self.folder / "units" / (result.units_file or f"{result.key}.npz")


def _line(result: Result) -> str:
    return sealed(asdict(result), indent=None)
